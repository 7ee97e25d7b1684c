"""Which interactions are judged, by whom and how: settings turned into judges and policies."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar
from zoneinfo import ZoneInfo

from monitor.app.caches import Caches
from monitor.app.start import oldest_judged
from monitor.config import Effective, Settings, seconds
from monitor.config import JudgeSettings as JudgeSettings
from monitor.control.calibrations import Calibrations
from monitor.errors import ConfigurationError
from monitor.ingest.redaction.redactor import OFF, RedactionRules, Redactor
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
from monitor.judge.llm.judge import LlmJudge, LlmSettings
from monitor.judge.llm.library import require_llm
from monitor.judge.observers import CountedCalls, CountedRecheck, ShownIds, ShownQuota, ShownState
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.pipeline.complaints import ReplyTally
from monitor.judge.pipeline.identity import VerifierSettings
from monitor.judge.pipeline.model_ids import Ids
from monitor.judge.pipeline.pairing import THRESHOLD
from monitor.judge.pipeline.recheck_choice import other_order
from monitor.judge.protocol import Judge
from monitor.judge.verifier import VerifierJudge, verifier_of
from monitor.records import Interaction
from monitor.runtime.threads import Threads
from monitor.sampling.hashing import Sampler
from monitor.sampling.meters import Meter, Meters
from monitor.sampling.pace import FIRST_LENGTH, Pace, PaceBounds
from monitor.sampling.rules import Filter, FirstMatch, RuleCase, compiled
from monitor.sampling.slot_buffer import SlotBuffer
from monitor.scorer.canaries import CanaryWatch
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.picking import Picker, PickSettings
from monitor.scorer.recheck import AgreementTracker, Rechecks
from monitor.scorer.slots import Slots
from monitor.telemetry import RecheckTelemetry, ScorerTelemetry

T = TypeVar("T")


@dataclass(frozen=True)
class ConfiguredJudge:
    """A judge, the section that it was built from, and the limits that hold for it alone."""

    section: JudgeSettings
    judge: Judge
    limits: Limits
    provider_gates: ProviderGates
    recheck: Rechecks | None = None
    canaries: CanaryWatch | None = None


def build_redactor(settings: Settings, telemetry: ScorerTelemetry) -> Redactor:
    """What replaces personal data; raises ``ConfigurationError`` for a wrong region or pattern."""
    return Redactor(redaction_rules(settings), lambda k: telemetry.redactions.labels(k).inc())


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
            handled = handling(section, redaction_rules(settings))
            if section.kind == "offline":
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


def in_order(preferred: LlmSettings, others: Sequence[str]) -> list[LlmSettings]:
    """One judge for each model; another one has no extraction and no price of its own."""
    return [
        preferred,
        *(replace(preferred.of_model(m), extract_model=None, price=None) for m in others),
    ]


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
    if any(each.judge.kind == "llm" for each in (settings.base, *settings.effective)):
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
    spend: Callable[[float], None] = lambda _usd: None,
    affords: Callable[[], bool] = lambda: True,
) -> list[ConfiguredJudge]:
    """The same judges, where models have a second one judge a share of the interactions again.

    ``spend`` is told of its cost; ``affords`` says whether there is money left.
    """
    tracker = AgreementTracker(telemetry)

    def rechecked(configured: ConfiguredJudge) -> ConfiguredJudge:
        section, share = configured.section, configured.section.recheck_rate
        # Pair by pair nothing is batched, and no order is left to be changed.
        if section.kind != "llm" or section.asks_pairs or not share:
            return configured
        settings = replace(llm_settings(section), pipeline="single", evidence="off")
        observe = CountedRecheck(telemetry, spend)
        first = judges_of(configured)[0]
        second = LlmJudge(
            settings,
            observe=observe,
            order=other_order,
            provider_gates=configured.provider_gates,
            examples=first.examples if isinstance(first, LlmJudge) else None,
        )
        made = Rechecks(share, second, configured.limits, tracker, telemetry, affords)
        return replace(configured, recheck=made)

    return list(map(rechecked, configured_judges))


def build_budget(settings: Settings) -> Budget | None:
    """What may be spent in a day; None where nobody says, or no model is asked."""
    usd, sections = settings.limits.usd_per_day, [settings.judge]
    sections += [each.judge for each in settings.effective]
    if usd is None or all(section.kind == "offline" for section in sections):
        return None
    return Budget(usd, ZoneInfo(settings.budget.timezone))


def has_budget(settings: Settings) -> bool:
    """Whether there is one."""
    return build_budget(settings) is not None


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
    rules = redaction_rules(settings)
    return [
        configured
        if configured.section.kind == "offline"
        else replace(
            configured,
            judge=DryRunJudge(
                llm_settings(configured.section, handling(configured.section, rules)),
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


def unused_floors(settings: Settings) -> str | None:
    """Why ``sampling.floors`` change nothing, None where they do, or there are none."""
    if not settings.sampling.floors:
        return None
    if not any(each.segment for each in (settings.base, *settings.effective)):
        return "nothing has a segment: set export.segment"
    if settings.sampling.block == 1:
        return "nothing is picked from blocks: set sampling.block"
    return None


def traffic(
    settings: Settings, configured_judges: Sequence[ConfiguredJudge], budget: Budget | None = None
) -> Policies:
    """Which interactions are judged, and how, by application."""

    def policy(whole: Effective) -> ScoringPolicy:
        configured = next(
            configured for configured in configured_judges if configured.section == whole.judge
        )
        sampler = Sampler(whole.sampling.rate, whole.sampling.key)
        return ScoringPolicy(
            sampler,
            configured.judge,
            configured.limits,
            whole.segment,
            whole.metrics,
            labels_win=whole.judge.relevance == "labels",
            recheck=configured.recheck,
            canaries=configured.canaries,
            # What costs nothing waits for no money.
            budget=None if whole.judge.kind == "offline" else budget,
        )

    otherwise, cases = by_application(settings, policy)
    return Policies(otherwise, cases, ingest_filter(settings), oldest_judged(settings))


def by_application(
    settings: Settings, made: Callable[[Effective], T]
) -> tuple[T, list[RuleCase[T]]]:
    """What is made of the settings themselves, and of each entry of ``applications``."""
    cases = [
        RuleCase(
            re.compile(entry.name_regex).fullmatch,
            tuple(map(compiled, entry.when)),
            made(whole),
        )
        for entry, whole in zip(settings.applications, settings.effective, strict=True)
    ]
    return made(settings.base), cases


def segment_attributes(settings: Settings) -> Callable[[Interaction], tuple[str, ...]]:
    """The attributes whose values are the segment of an interaction, by its application."""
    cases = [
        RuleCase(
            re.compile(entry.name_regex).fullmatch, tuple(map(compiled, entry.when)), whole.segment
        )
        for entry, whole in zip(settings.applications, settings.effective, strict=True)
    ]
    return FirstMatch(cases, settings.base.segment)


def ingest_filter(settings: Settings) -> Filter:
    """What ``ingest.include`` and ``ingest.exclude`` let through."""
    return Filter.of(settings.ingest.include, settings.ingest.exclude)


def slots(
    settings: Settings,
    redactor: Redactor,
    calibrations: Calibrations,
    configured_judges: Sequence[ConfiguredJudge],
    budget: Budget | None = None,
    share: Callable[[], float] = lambda: 1.0,
    burst: Callable[[], float] = lambda: 1.0,
    *,
    wall: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
    threads: Threads | None = None,
) -> Slots | None:
    """What picks from blocks; None where every interaction is judged, however late.

    ``configured_judges`` are all that may judge, each with limits of its own. ``share`` is the part
    of the limits that is for this process, ``burst`` how many times as many judgements are asked
    for now: never more than ``drift.burst.times``.
    """
    sampling, ingest = settings.sampling, settings.ingest
    sheds = ingest.when_behind == "freshness"
    if sampling.block == 1 and not sheds and not _may_take_more(settings):
        return None
    most = settings.drift.burst.times if settings.drift.burst.per_day_s else 1
    limited = list(meters(settings, configured_judges))
    has_limits = budget is not None or any(meter.is_shared for meter in limited)
    pace = Pace(
        None if sampling.block == "auto" else sampling.block,
        sheds=sheds,
        behind_s=seconds(ingest.behind_after),
        first=FIRST_LENGTH if has_limits else 1,
    )
    rules = PickSettings(
        sampling.directed,
        sampling.floors,
        Filter.of(sampling.forced, ()),
        sampling.force_unanswered,
    )
    return Slots(
        SlotBuffer(pace, monotonic),
        Picker(rules, redactor.text, calibrations, threads=threads),
        pace,
        PaceBounds(sum(configured.limits.concurrency for configured in configured_judges)),
        budget,
        share,
        wall,
        monotonic,
        burst=lambda: min(most, burst()),
        meters=Meters(limited),
    )


def meters(settings: Settings, configured_judges: Sequence[ConfiguredJudge]) -> Iterator[Meter]:
    """Requests and tokens of each model that may be asked, and the places of each judge."""
    asked = {
        id(one): one for configured in configured_judges for one in configured.provider_gates.made()
    }
    for one in asked.values():
        requests, tokens = settings.limits.of(one.model)
        if requests is not None:
            yield Meter(requests, partial(getattr, one, "requests"))
        if tokens is not None:
            yield Meter(tokens, partial(getattr, one, "tokens"))
    for limits in (configured.limits for configured in configured_judges):
        yield Meter(60.0 * limits.concurrency, partial(getattr, limits, "busy_s"), is_shared=False)


def _may_take_more(settings: Settings) -> bool:
    """Whether a burst can take what is left out otherwise."""
    return settings.drift.burst.per_day_s > 0 and any(0 < rate < 1 for rate in settings.rates)


def redaction_rules(settings: Settings) -> RedactionRules | None:
    """What is redacted; None where nothing is."""
    chosen = settings.redaction
    if not chosen.enabled:
        return None
    salt = chosen.salt.get_secret_value() if chosen.salt else ""
    return RedactionRules(chosen.kinds, chosen.regions, chosen.patterns, salt)


def handling(judge: JudgeSettings, rules: RedactionRules | None) -> str:
    """What is done with an interaction around its judge, for the version of the judge."""
    tag = rules.tag if rules else OFF
    return f"{tag}, labels win" if judge.relevance == "labels" else tag


def local_judge(judge: JudgeSettings, handled: str = OFF) -> OfflineJudge | VerifierJudge:
    """The judge of a section of kind ``offline``; raises ``ConfigurationError``."""
    settings = llm_settings(judge, handled)
    if (verifier := verifier_of(settings)) is not None:
        return VerifierJudge(settings, verifier)
    return OfflineJudge(judge.label_name, redaction=handled, threshold=judge.threshold)


def llm_settings(judge: JudgeSettings, handled: str = OFF) -> LlmSettings:
    """How the section of an LLM judge says that the model is asked."""
    verifier, extracts = None, judge.extract_model
    if judge.verifier is not None:
        # One model is left to be asked, and what is verified is pairs.
        verifier = VerifierSettings(judge.verifier, judge.verifier_batch, judge.verifier_device)
        extracts = None
    return LlmSettings(
        model=(judge.extract_model if verifier else None) or judge.model or "",
        name=judge.label_name,
        api_base=judge.api_base,
        api_key=judge.api_key.get_secret_value() if judge.api_key else None,
        headers={key: value.get_secret_value() for key, value in judge.headers.items()},
        pipeline="pairs" if verifier else judge.pipeline,
        verifier=verifier,
        threshold=THRESHOLD if judge.threshold is None else judge.threshold,
        extract_model=extracts,
        claims_per_call=judge.claims_per_call,
        passages_per_call=judge.passages_per_call,
        prompt_tokens=judge.prompt_tokens,
        structured=judge.structured,
        examples=judge.examples,
        max_tokens=judge.max_tokens,
        reasoning_effort=judge.reasoning_effort,
        evidence=judge.evidence,
        relevant_to_question=judge.relevant_to_question,
        answer_relevance=judge.answer_relevance,
        attempt_timeout_s=judge.attempt_timeout_s,
        retries_s=judge.deadline_s,
        max_calls=judge.max_calls,
        max_input_tokens=judge.max_input_tokens,
        calls_at_once=judge.concurrency,
        version_from=judge.version_from,
        price=judge.price.pair,
        redaction=handled,
    )
