"""The scorer, put together of settings: for live traffic, and for a dry run of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from monitor import __version__
from monitor.app.judges import ConfiguredJudge
from monitor.app.policies import build_policies
from monitor.config import Settings
from monitor.control.pauses import Pauses
from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.formats.by_topic import TopicFormats
from monitor.ingest.redaction.redactor import Redactor
from monitor.judge.limits.budget import Budget
from monitor.kafka.producer import Producer
from monitor.runtime.health import Health
from monitor.runtime.threads import Threads
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.scorer.slots import Slots
from monitor.telemetry import ScorerTelemetry


def build_scorer(
    settings: Settings,
    judges: Sequence[ConfiguredJudge],
    blocks: Slots | None,
    producer: Producer,
    telemetry: ScorerTelemetry,
    health: Health,
    clock: Callable[[], float],
    *,
    formats: TopicFormats,
    redactor: Redactor,
    pauses: Pauses,
    budget: Budget | None = None,
    threads: Threads | None = None,
    broker_time: Callable[[], float] | None = None,
    waits_for_budget: bool = False,
    monotonic: Callable[[], float] = time.monotonic,
) -> Scorer:
    """Everything that becomes of a record.

    ``clock`` and ``broker_time`` give epoch seconds, ``monotonic`` gives seconds.
    """
    circuit = CircuitLimits(**settings.ingest.circuit.model_dump())
    gate = DeadLetterGate(circuit, telemetry, health, monotonic)
    return Scorer(
        _scorer_settings(settings, waits_for_budget),
        build_policies(settings, judges, budget),
        producer,
        DeadLetters(
            producer,
            settings.kafka.topics.dead_letters,
            gate,
            group=settings.kafka.group_id,
            version=__version__,
            redactor=redactor,
            threads=threads,
        ),
        telemetry,
        clock,
        redactor,
        blocks,
        pauses,
        threads,
        broker_time=broker_time,
        formats=formats,
        monotonic=monotonic,
    )


def _scorer_settings(settings: Settings, waits_for_budget: bool) -> ScorerSettings:
    return ScorerSettings(
        settings.kafka.topics.scores,
        settings.kafka.max_record_bytes,
        waits_for_budget=waits_for_budget,
        trace_quiet_s=settings.ingest.trace_quiet_s,
        trace_wait_s=settings.ingest.trace_wait_s,
    )
