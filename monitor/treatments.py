"""Which interactions are judged, by whom and how: settings turned into judges and treatments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.config import Effective, Settings
from monitor.config import Judge as JudgeSettings
from monitor.ingest.filters import Case, Filter, compiled
from monitor.ingest.sampling import Sampler
from monitor.judge.limits import Limits
from monitor.judge.llm import LlmJudge, LlmSettings
from monitor.judge.observe import CountedCalls
from monitor.judge.offline import OfflineJudge
from monitor.judge.protocol import Judge
from monitor.scorer import Traffic, Treatment
from monitor.telemetry import ScorerTelemetry


@dataclass(frozen=True)
class Seat:
    """A judge, the section that it was built from, and the limits that hold for it alone."""

    section: JudgeSettings
    judge: Judge
    limits: Limits


def build_judges(settings: Settings, telemetry: ScorerTelemetry) -> list[Seat]:
    """One judge for each distinct section; the first is that of the settings themselves."""
    seats: list[Seat] = []
    for section in (each.judge for each in (settings.base, *settings.effective)):
        if all(section != seat.section for seat in seats):
            limits = Limits(section.concurrency, section.deadline_s)
            seats.append(Seat(section, _judge(section, telemetry), limits))
    return seats


def traffic(settings: Settings, seats: Sequence[Seat]) -> Traffic:
    """Which interactions are judged, and how, by application."""

    def treatment(whole: Effective) -> Treatment:
        seat = next(seat for seat in seats if seat.section == whole.judge)
        sampler = Sampler(whole.sampling.rate, whole.sampling.key)
        return Treatment(sampler, seat.judge, seat.limits, whole.segment, whole.metrics)

    cases = [
        Case(
            re.compile(entry.name_regex).fullmatch,
            tuple(map(compiled, entry.when)),
            treatment(whole),
        )
        for entry, whole in zip(settings.applications, settings.effective, strict=True)
    ]
    let_through = Filter.of(settings.ingest.include, settings.ingest.exclude)
    return Traffic(treatment(settings.base), cases, let_through)


def _judge(judge: JudgeSettings, telemetry: ScorerTelemetry) -> Judge:
    if judge.kind == "offline":
        return OfflineJudge(judge.label_name)
    return LlmJudge(
        LlmSettings(
            model=judge.model or "",
            name=judge.label_name,
            api_base=judge.api_base,
            api_key=judge.api_key.get_secret_value() if judge.api_key else None,
            headers={key: value.get_secret_value() for key, value in judge.headers.items()},
            pipeline=judge.pipeline,
            extract_model=judge.extract_model,
            claims_per_call=judge.claims_per_call,
            passages_per_call=judge.passages_per_call,
            prompt_tokens=judge.prompt_tokens,
            structured=judge.structured,
            reasoning_effort=judge.reasoning_effort,
            evidence=judge.evidence,
            attempt_timeout_s=judge.attempt_timeout_s,
        ),
        observe=CountedCalls(telemetry),
    )
