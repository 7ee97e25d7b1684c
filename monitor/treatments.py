"""Which interactions are judged, by whom and how: settings turned into judges and treatments."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from monitor.caches import Caches
from monitor.config import Effective, Settings
from monitor.config import Judge as JudgeSettings
from monitor.ingest.filters import Case, Filter, compiled
from monitor.ingest.gathering import Gathering
from monitor.ingest.redaction.redactor import OFF, Redactor, Rules
from monitor.ingest.sampling import Sampler
from monitor.ingest.slots.blocks import Plan
from monitor.judge.cache.claims import ClaimsCache
from monitor.judge.limits import Limits
from monitor.judge.llm import LlmJudge, LlmSettings
from monitor.judge.observe import CountedCalls, CountedRecheck
from monitor.judge.offline import OfflineJudge
from monitor.judge.protocol import Judge
from monitor.judge.second_look import other_order
from monitor.judging import Treatment
from monitor.rechecking import AgreementBook, Rechecks
from monitor.scorer import Traffic
from monitor.slotting import Calibrations, Picker, PickSettings, Slots
from monitor.telemetry import RecheckTelemetry, ScorerTelemetry


@dataclass(frozen=True)
class Seat:
    """A judge, the section that it was built from, and the limits that hold for it alone."""

    section: JudgeSettings
    judge: Judge
    limits: Limits
    recheck: Rechecks | None = None


def build_redactor(settings: Settings, telemetry: ScorerTelemetry) -> Redactor:
    """What replaces personal data; raises ``ConfigurationError`` for a wrong region or pattern."""
    return Redactor(redaction_rules(settings), lambda k: telemetry.redactions.labels(k).inc())


def build_judges(
    settings: Settings,
    telemetry: ScorerTelemetry,
    caches: Caches | None = None,
    *,
    whole: bool = False,
) -> list[Seat]:
    """One judge for each distinct section; the first is that of the settings themselves.

    With ``caches`` claims are kept, and if ``whole``, a model's judgements as well.
    """
    seats: list[Seat] = []
    for section in (each.judge for each in (settings.base, *settings.effective)):
        if all(section != seat.section for seat in seats):
            limits = Limits(section.concurrency, section.deadline_s)
            keep = caches.claims(section.cache) if caches else None
            judge = _judge(section, _handling(section, redaction_rules(settings)), telemetry, keep)
            if caches and whole and section.kind == "llm":
                judge = caches.keeping(judge, section.cache)
            seats.append(Seat(section, judge, limits))
    return seats


def with_rechecks(seats: Sequence[Seat], telemetry: RecheckTelemetry) -> list[Seat]:
    """The same seats, where models have a second one judge a share of the interactions again."""
    book = AgreementBook(telemetry)

    def rechecked(seat: Seat) -> Seat:
        share = seat.section.recheck_rate
        if seat.section.kind != "llm" or not share:
            return seat
        settings = replace(llm_settings(seat.section), pipeline="single", evidence="off")
        second = LlmJudge(settings, observe=CountedRecheck(telemetry), order=other_order)
        return replace(seat, recheck=Rechecks(share, second, seat.limits, book, telemetry))

    return list(map(rechecked, seats))


def traffic(settings: Settings, seats: Sequence[Seat]) -> Traffic:
    """Which interactions are judged, and how, by application."""

    def treatment(whole: Effective) -> Treatment:
        seat = next(seat for seat in seats if seat.section == whole.judge)
        sampler = Sampler(whole.sampling.rate, whole.sampling.key)
        return Treatment(
            sampler,
            seat.judge,
            seat.limits,
            whole.segment,
            whole.metrics,
            labels_win=whole.judge.relevance == "labels",
            recheck=seat.recheck,
        )

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


def slots(settings: Settings, redactor: Redactor, calibrations: Calibrations) -> Slots | None:
    """What picks from blocks; None where every interaction is a slot of its own."""
    sampling = settings.sampling
    if sampling.block == 1:
        return None
    plan = Plan(sampling.block)
    rules = PickSettings(sampling.directed, sampling.floors, Filter.of(sampling.forced, ()))
    return Slots(
        Gathering(lambda: plan, time.monotonic), Picker(rules, redactor.text, calibrations)
    )


def redaction_rules(settings: Settings) -> Rules | None:
    """What is redacted; None where nothing is."""
    chosen = settings.redaction
    if not chosen.enabled:
        return None
    salt = chosen.salt.get_secret_value() if chosen.salt else ""
    return Rules(chosen.kinds, chosen.regions, chosen.patterns, salt)


def _handling(judge: JudgeSettings, rules: Rules | None) -> str:
    """What is done with an interaction around its judge, for the version of the judge."""
    tag = rules.tag if rules else OFF
    return f"{tag}, labels win" if judge.relevance == "labels" else tag


def _judge(
    judge: JudgeSettings, handling: str, telemetry: ScorerTelemetry, cache: ClaimsCache | None
) -> Judge:
    if judge.kind == "offline":
        return OfflineJudge(judge.label_name, redaction=handling)
    return LlmJudge(llm_settings(judge, handling), observe=CountedCalls(telemetry), cache=cache)


def llm_settings(judge: JudgeSettings, handling: str = OFF) -> LlmSettings:
    """How the section of an LLM judge says that the model is asked."""
    return LlmSettings(
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
        redaction=handling,
    )
