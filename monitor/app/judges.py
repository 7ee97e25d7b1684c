"""Settings → judges, each with the limits that hold for it alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from monitor.app.caches import Caches
from monitor.app.judge_settings import handling, in_order, llm_settings, local_judge
from monitor.app.redaction import redaction_tag
from monitor.config import JudgeSettings as JudgeSettings
from monitor.config import Settings, seconds
from monitor.errors import ConfigurationError
from monitor.judge.cache.judgements import CachedJudge
from monitor.judge.limits.breaker import BreakerSettings
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.limits import Limits
from monitor.judge.limits.provider_gates import ProviderGates
from monitor.judge.limits.quota import LocalQuota, PerMinute, Quota
from monitor.judge.limits.redis_limiter import RedisLimits
from monitor.judge.limits.shared_quota import SharedQuota
from monitor.judge.llm.dry_run import DryRunJudge
from monitor.judge.llm.fallback import FallbackJudge
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.llm.library import require_llm
from monitor.judge.observers import CountedCalls, CountedRecheck, ShownIds, ShownQuota, ShownState
from monitor.judge.pipeline.complaints import ReplyTally
from monitor.judge.pipeline.model_ids import Ids
from monitor.judge.pipeline.recheck_choice import other_order
from monitor.judge.protocol import Judge
from monitor.scorer.canaries import CanaryWatch
from monitor.scorer.recheck import AgreementTracker, Rechecks
from monitor.telemetry import RecheckTelemetry, ScorerTelemetry


@dataclass(frozen=True)
class ConfiguredJudge:
    """A judge, the section that it was built from, and the limits that hold for it alone."""

    section: JudgeSettings
    judge: Judge
    limits: Limits
    provider_gates: ProviderGates
    recheck: Rechecks | None = None
    canaries: CanaryWatch | None = None


def build_judges(
    settings: Settings,
    telemetry: ScorerTelemetry,
    caches: Caches | None = None,
    *,
    whole: bool = False,
    paused: Callable[[str, str | None], None] | None = None,
    share: Callable[[], float] = lambda: 1.0,
    replies: ReplyTally | None = None,
) -> list[ConfiguredJudge]:
    """One judge for each distinct section; the first is that of the settings themselves.

    With ``caches`` claims are kept, and if ``whole``, a model's judgements as well; then a model
    that has never answered is not waited for: a file is no traffic, and can be given again.
    ``paused`` is told of a judge of whose models none answers for now, and with None when one does.
    ``share`` is the part of the limits that this process keeps to where replicas share none.
    ``replies`` counts those of models.
    """
    configured_judges: list[ConfiguredJudge] = []
    probe_s = seconds(settings.limits.stop_probe)
    breaker_settings = BreakerSettings(stop_probe_s=probe_s, awaits_first=not whole)
    provider_gates = ProviderGates(
        ShownState(telemetry, partial(_tell, configured_judges, paused) if paused else None),
        breaker_settings,
        partial(_quota, settings, telemetry, share),
        ids=Ids(ShownIds(telemetry)),
    )
    for section in (each.judge for each in (settings.base, *settings.effective)):
        if all(section != configured.section for configured in configured_judges):
            handled = handling(section, redaction_tag(settings))
            if not section.asks_a_model:
                offline = local_judge(section, handled)
                limits = Limits(section.concurrency, section.deadline_s)
                configured_judges.append(ConfiguredJudge(section, offline, limits, provider_gates))
                continue
            made = in_order(llm_settings(section, handled), section.fallback_models)
            asked = [provider_gates.all_of(one) for one in made]
            limits = Limits(section.concurrency, section.deadline_s, asked[0], asked[1:])
            keep = caches.claims(section.cache) if caches else None
            observe = CountedCalls(telemetry, tally=replies)
            judges: list[Judge] = [
                LlmJudge(one, observe=observe, cache=keep, provider_gates=provider_gates)
                for one in made
            ]
            if caches and whole:
                judges = [caches.keeping(judge, section.cache) for judge in judges]
            judge = judges[0] if len(judges) == 1 else FallbackJudge(judges, limits.is_aside)
            configured_judges.append(ConfiguredJudge(section, judge, limits, provider_gates))
    return configured_judges


def _tell(
    configured_judges: Sequence[ConfiguredJudge], paused: Callable[[str, str | None], None]
) -> None:
    """Judging pauses, which is no reason to be called stuck; or it goes on."""
    silent: dict[str, bool] = {}
    for configured in configured_judges:  # not by its version, which the first reply changes
        name = f"{configured.section.label_name} {configured.section.model or ''}".strip()
        silent[name] = silent.get(name, False) or configured.limits.is_silent
    for name, is_silent in silent.items():
        paused(name, "the provider does not answer" if is_silent else None)


def _quota(
    settings: Settings, telemetry: ScorerTelemetry, share: Callable[[], float], model: str
) -> Quota:
    """The limits of a model, and how much of them is used."""
    limits, redis = PerMinute(*settings.limits.of(model)), settings.limits.redis
    if redis.url is None or limits == PerMinute():
        quota: Quota = LocalQuota(limits, time.monotonic, share=share, inherits=True)
    else:
        made = RedisLimits(
            redis.url.get_secret_value(), prefix=redis.prefix, timeout_s=redis.timeout_s
        )
        limiters = (
            made.limiter(f"{model}:requests", limits.requests),
            made.limiter(f"{model}:tokens", limits.tokens),
        )
        observe = ShownQuota(telemetry)
        quota = SharedQuota(
            model, limits, limiters, observe, time.monotonic, share, close=made.aclose
        )
    for name, limit in (
        ("requests_per_minute", limits.requests),
        ("tokens_per_minute", limits.tokens),
    ):
        if limit is not None:
            used = telemetry.limit_used.labels(model, name)
            used.set_function(partial(quota.used_ratio, name))
    return quota


def require_judges(settings: Settings) -> None:
    """Raises ``ConfigurationError`` where a judge needs packages that are not installed."""
    if any(each.judge.asks_a_model for each in (settings.base, *settings.effective)):
        require_llm()


def require_addresses(settings: Settings) -> None:
    """Raises ``ConfigurationError`` for the Redis of limits that none uses yet, if it is none."""
    redis = settings.limits.redis
    if redis.url is not None:
        url = redis.url.get_secret_value()
        RedisLimits(url, prefix=redis.prefix, timeout_s=redis.timeout_s)


def with_rechecks(
    configured_judges: Sequence[ConfiguredJudge],
    telemetry: RecheckTelemetry,
    budget: Budget | None = None,
) -> list[ConfiguredJudge]:
    """The same judges, where models have a second one judge a share of the interactions again.

    ``budget`` pays for it.
    """
    tracker = AgreementTracker(telemetry)

    def rechecked(configured: ConfiguredJudge) -> ConfiguredJudge:
        section, share = configured.section, configured.section.recheck_rate
        # Pair by pair nothing is batched, and no order is left to be changed.
        if not section.asks_a_model or section.asks_pairs or not share:
            return configured
        settings = replace(llm_settings(section), pipeline="single", evidence="off")
        observe = CountedRecheck(telemetry, budget)
        first = judges_of(configured)[0]
        second = LlmJudge(
            settings,
            observe=observe,
            order=other_order,
            provider_gates=configured.provider_gates,
            manner=first.manner if isinstance(first, LlmJudge) else None,
        )
        made = Rechecks(share, second, configured.limits, tracker, telemetry, budget)
        return replace(configured, recheck=made)

    return list(map(rechecked, configured_judges))


def judges_of(configured: ConfiguredJudge) -> tuple[Judge, ...]:
    """All that may judge there, in order of preference."""
    return (
        configured.judge.judges
        if isinstance(configured.judge, FallbackJudge)
        else (configured.judge,)
    )


def require_prices(configured_judges: Sequence[ConfiguredJudge]) -> None:
    """With a budget each model needs a price; raises ``ConfigurationError``. After ``prepare``."""
    for number, model in _unpriced(configured_judges):
        what = (
            "leave it out of judge.fallback_models: judge.price is not for those"
            if number
            else "give judge.price.input_usd_per_million and judge.price.output_usd_per_million"
        )
        raise ConfigurationError(
            f"limits.usd_per_day: the price of {model} is not in litellm's list, so its "
            f"costs would count as nothing; {what}"
        )


def with_dry_run_judges(
    settings: Settings, configured_judges: Sequence[ConfiguredJudge]
) -> list[ConfiguredJudge]:
    """The same, with judges that ask no model: they only count what it would cost."""
    tag = redaction_tag(settings)
    return [
        configured
        if not configured.section.asks_a_model
        else replace(
            configured,
            judge=DryRunJudge(
                llm_settings(configured.section, handling(configured.section, tag)),
                configured.provider_gates,
            ),
        )
        for configured in configured_judges
    ]


def unpriced(configured_judges: Sequence[ConfiguredJudge]) -> list[str]:
    """Models whose price nobody knows. After ``prepare``."""
    return sorted({model for _, model in _unpriced(configured_judges)})


def _unpriced(configured_judges: Sequence[ConfiguredJudge]) -> Iterator[tuple[int, str]]:
    """The models, each with its place among its section's judges: 0 is asked first."""
    for configured in configured_judges:
        for number, each in enumerate(judges_of(configured)):
            judge = each.asked if isinstance(each, CachedJudge) else each
            for model in judge.unpriced() if isinstance(judge, LlmJudge) else ():
                yield number, model


def unused_limits(settings: Settings, configured_judges: Sequence[ConfiguredJudge]) -> list[str]:
    """Models of ``limits.models`` that no judge asks: most likely, their names are misspelt."""
    asked = {
        one.model for configured in configured_judges for one in configured.provider_gates.made()
    }
    return sorted(settings.limits.models.keys() - asked)
