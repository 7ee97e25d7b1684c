"""A scorer with slots as a worker of the consuming loop, on records that a test makes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from prometheus_client import CollectorRegistry

from monitor.ingest.consumer.loop import ConsumingLoop
from monitor.ingest.consumer.worker import LoopLimits
from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.formats.by_topic import NATIVE, TopicFormats
from monitor.judge.limits.limits import Limits
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.protocol import Judge
from monitor.kafka.record import Partition
from monitor.records import ScoreRecord, read_score_record
from monitor.runtime.health import Health
from monitor.sampling.blocks import BlockPlan
from monitor.sampling.hashing import Sampler
from monitor.sampling.pace import Pace, PaceBounds
from monitor.sampling.slot_buffer import SlotBuffer
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.picking import Member, Picker, PickSettings
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.scorer.slots import Slots
from monitor.scorer.traces import DEFAULT_BOUNDS, TraceBounds
from monitor.telemetry import ScorerTelemetry
from tests.stages.fixed_pace import FixedPace
from tests.stages.loop import A, Record, Told
from tests.stages.plain import encoded, interaction
from tests.stages.process import until
from tests.stages.producers import Memory

LIMITS = LoopLimits(max_in_flight=64, commit_interval_s=0.01, drain_s=0.05)


def record(offset: int, **fields: Any) -> Record:
    """An interaction at an offset, with the offset in its id."""
    value = encoded(interaction(f"i{offset}", **fields))
    return Record(offset, timestamp=int(time.time() * 1000), value=value)


@dataclass
class Stage:
    """A scorer with slots in a running loop; ``later`` lets time pass for the blocks."""

    consumer: Told
    loop: ConsumingLoop
    written: Memory
    registry: CollectorRegistry
    slot_buffer: SlotBuffer[Member]
    waited: list[float]

    @property
    def scores(self) -> list[ScoreRecord]:
        """The score records so far, by their first offset."""
        found = [read_score_record(v or b"") for topic, v in self.written.values if topic == "s"]
        return sorted(found, key=lambda one: (one.sampling.first_offset or 0, one.application))

    def ended(self, outcome: str, reason: str = "") -> float:
        """Interactions with this outcome."""
        labels = {"outcome": outcome, "reason": reason}
        return self.registry.get_sample_value("rag_monitor_interactions_total", labels) or 0.0

    def is_balanced(self) -> bool:
        """Whether consumed is outcomes and in flight."""
        samples = [s for family in self.registry.collect() for s in family.samples]
        ended = sum(s.value for s in samples if s.name == "rag_monitor_interactions_total")
        consumed, flying = (
            self.registry.get_sample_value(f"rag_monitor_interactions_{name}") or 0.0
            for name in ("consumed_total", "in_flight")
        )
        return consumed == ended + flying

    async def read(self, *records: Record) -> None:
        """Have a batch read and handed out."""
        polls = self.consumer.polls
        self.consumer.batches.put_nowait(list[Any](records))
        await until(lambda: self.consumer.polls > polls + 2, "the batch to be read", every_s=0.002)

    async def committed(self, offset: int) -> None:
        """Wait for the commit of this offset."""
        await until(lambda: self.consumer.committed(A) == offset, f"{offset}", every_s=0.002)


@asynccontextmanager
async def staged(
    length: int = 8,
    *,
    judge: Judge | None = None,
    settings: PickSettings | None = None,
    rate: float = 1.0,
    segment_by: tuple[str, ...] = (),
    traffic: Callable[[ScoringPolicy], Policies] = Policies,
    share: float = 1.0,
    segment_text: Callable[[str], str] = str,
    plain: bool = False,
    pace: Pace | None = None,
    key: str = "interaction_id",
    formats: TopicFormats = NATIVE,
    partitions: Sequence[Partition] = (A,),
    trace_bounds: TraceBounds = DEFAULT_BOUNDS,
) -> AsyncIterator[Stage]:
    """A scorer that has one partition; ``plain``: without anything that knows of blocks."""
    consumer, written, stop = Told(), Memory(), asyncio.Event()
    registry, health = CollectorRegistry(), Health(time.monotonic)
    telemetry, waited = ScorerTelemetry(registry), [0.0]
    fixed = FixedPace(BlockPlan(length, share))
    slot_buffer: SlotBuffer[Member] = SlotBuffer(pace or fixed, lambda: waited[0])
    picker = Picker(settings or PickSettings(), segment_text)
    slots = Slots(slot_buffer, picker)
    if pace is not None:
        allowed = PaceBounds(4, requests_per_minute=60)
        slots = replace(slots, pace=pace, allowed=allowed, monotonic=lambda: waited[0])
    gate = DeadLetterGate(CircuitLimits(), telemetry, health, time.monotonic)
    policy = ScoringPolicy(
        Sampler(rate, key), judge or OfflineJudge(), Limits(4, 60.0), segment_by=segment_by
    )
    scorer = Scorer(
        ScorerSettings("s", 1_000_000, trace_bounds=trace_bounds),
        traffic(policy),
        written,
        DeadLetters(written, "dead", gate, group="g", version="1"),
        telemetry,
        time.time,
        slots=None if plain else slots,
        formats=formats,
        monotonic=lambda: waited[0],
    )
    loop = ConsumingLoop(consumer, scorer, LIMITS, telemetry, health, time.time)
    running = asyncio.create_task(loop.run(["t"], stop))
    await until(lambda: consumer.assignment is not None, "the subscription", every_s=0.002)
    await loop.assigned(partitions)
    try:
        yield Stage(consumer, loop, written, registry, slot_buffer, waited)
    finally:
        stop.set()
        await asyncio.wait({running})
        assert not running.exception()
