"""Who is asked about canaries: settings turned into watches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random

from monitor.app.judge_settings import in_order, llm_settings
from monitor.app.judges import ConfiguredJudge, judges_of
from monitor.config import JudgeSettings
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.provider_gates import ProviderGates
from monitor.judge.llm.judge import LlmJudge, LlmSettings
from monitor.judge.observers import CountedAside
from monitor.judge.protocol import CostMeter, Judge
from monitor.records import JudgeIdentity, Judgement
from monitor.scorer.canaries import Asked, CanaryWatch
from monitor.telemetry import CanaryTelemetry

#: Told of a judge that does not judge, and why; or with None that it does again.
Tell = Callable[[str, str | None], None]


def with_canaries(
    configured_judges: Sequence[ConfiguredJudge],
    telemetry: CanaryTelemetry,
    *,
    budget: Budget | None = None,
    tell: Tell,
    clock: Callable[[], float],
    rng: Random,
) -> list[ConfiguredJudge]:
    """The same judges, where models are asked about canaries among their traffic.

    ``budget`` pays for them.
    """
    observe = CountedAside(telemetry, budget)
    numbers = Counter[str]()

    def called(section: JudgeSettings) -> str:
        """Two sections may have one model: each may guess while the other judges."""
        name = f"{section.label_name} {section.model}"
        numbers[name] += 1
        return name if numbers[name] == 1 else f"{name} ({numbers[name]})"

    def watched(configured: ConfiguredJudge) -> ConfiguredJudge:
        section = configured.section
        if not section.judgements_to_a_canary:
            return configured
        watch = CanaryWatch(
            section.judgements_to_a_canary,
            asked_models(configured, observe),
            configured.limits,
            telemetry,
            marks=section.not_judging == "fail",
            budget=budget,
            tell=partial(tell, called(section)),
            clock=clock,
            rng=rng,
        )
        return replace(configured, canaries=watch)

    return list(map(watched, configured_judges))


def asked_models(configured: ConfiguredJudge, observe: CountedAside) -> list[Asked]:
    """The preferred model and the others, without what changes no verdict and costs calls."""
    section = configured.section
    preferred = replace(
        llm_settings(section),
        evidence="off",
        relevant_to_question="labels",
        answer_relevance="off",
    )
    made = in_order(preferred, section.fallback_models)
    return [
        _asked(one, judge, configured.provider_gates, observe)
        for one, judge in zip(made, judges_of(configured), strict=True)
    ]


def _asked(
    settings: LlmSettings, judge: Judge, gates: ProviderGates, observe: CountedAside
) -> Asked:
    """As the judge of the traffic is asked: what is learned of one holds for both."""
    manner = judge.manner if isinstance(judge, LlmJudge) else None
    asked = LlmJudge(settings, observe=observe, provider_gates=gates, manner=manner)

    def answered(_: Judgement, spent: CostMeter) -> JudgeIdentity:
        """Not as it says itself: canaries are asked about without evidence and relevance."""
        return judge.identified(spent) if isinstance(judge, LlmJudge) else judge.identity

    return Asked(asked, settings.model, lambda: judge.identity, asked.ask_for_shaped, answered)
