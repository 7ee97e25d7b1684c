"""``score --dry-run``: the scorer itself, with nobody to ask and nothing to write.

From where the scorers' group has committed to where the topics end now. The group is not joined.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, Final

from monitor import __version__
from monitor.access import connection
from monitor.config import Settings
from monitor.health import Health
from monitor.ingest.circuit import CircuitLimits
from monitor.ingest.dead_letters import DeadLetters
from monitor.ingest.gate import Gate
from monitor.ingest.worker import Work
from monitor.judge.rehearsal import RehearsedJudge
from monitor.kafka.connection import Connection
from monitor.kafka.producer import Outgoing, Producer
from monitor.kafka.record import KafkaRecord, Partition
from monitor.kafka.replay import TopicScan
from monitor.records import Usage, read_score_record
from monitor.scorer import Scorer, ScorerSettings
from monitor.slotting import Calibrations
from monitor.telemetry import ScorerTelemetry, new_registry
from monitor.treatments import (
    Seat,
    build_judges,
    build_redactor,
    handling,
    llm_settings,
    redaction_rules,
    slots,
    traffic,
)

_CHUNK: Final = 200
#: The reason of ``handed_over`` where a block is not full yet.
_CANCEL: Final = "open_block"
_JUDGED: Final = ("scored", "judge_failed")


class Counting(Producer):
    """Takes everything, writes nothing, and adds up what the score records say they cost."""

    def __init__(self, connection: Connection, health: Health, scores_topic: str) -> None:
        super().__init__(connection, None, health, lambda _topic: None)
        self._scores_topic = scores_topic
        self.usage = Usage()

    async def deliver(self, record: Outgoing) -> None:
        """Nothing goes out."""
        if record.topic == self._scores_topic and record.value is not None:
            self.usage += read_score_record(record.value).usage


async def rehearse(
    settings: Settings, clock: Callable[[], float], health: Health
) -> dict[str, Any]:
    """What would be judged and spent; raises ``DependencyRefused``."""
    registry = new_registry()
    telemetry = ScorerTelemetry(registry)
    cluster, topics = connection(settings), settings.kafka.topics
    counting = Counting(cluster, health, topics.scores)
    scorer = _scorer(settings, telemetry, counting, clock, health)
    scan = await TopicScan.start(cluster, health, group_id=settings.kafka.group_id)
    try:
        for topic in topics.interactions:
            await _work_through(scorer, scan, topic)
    finally:
        await scan.stop()
    return _told(telemetry, counting.usage)


def _told(telemetry: ScorerTelemetry, usage: Usage) -> dict[str, Any]:
    outcomes = {
        "/".join(filter(None, (sample.labels["outcome"], sample.labels["reason"]))): sample.value
        for family in telemetry.outcomes.collect()
        for sample in family.samples
        if sample.name.endswith("_total")
    }
    judged = sum(n for name, n in outcomes.items() if name.partition("/")[0] in _JUDGED)
    return {
        "consumed": int(sum(outcomes.values())),
        "judged": int(judged),
        "outcomes": {name: int(n) for name, n in sorted(outcomes.items())},
        # Summed in whatever order judgements end.
        "usage": {**usage.model_dump(), "usd": round(usage.usd, 9)},
    }


def _rehearsed(settings: Settings, seat: Seat) -> Seat:
    """The same, with a judge that asks nobody."""
    if seat.section.kind == "offline":
        return seat
    handled = handling(seat.section, redaction_rules(settings))
    return replace(seat, judge=RehearsedJudge(llm_settings(seat.section, handled)))


def _scorer(
    settings: Settings,
    telemetry: ScorerTelemetry,
    producer: Producer,
    clock: Callable[[], float],
    health: Health,
) -> Scorer:
    seats = [_rehearsed(settings, seat) for seat in build_judges(settings, telemetry)]
    redactor, topics = build_redactor(settings, telemetry), settings.kafka.topics
    circuit = CircuitLimits(**settings.ingest.circuit.model_dump())
    return Scorer(
        ScorerSettings(topics.scores, settings.kafka.max_record_bytes),
        traffic(settings, seats),
        producer,
        DeadLetters(
            producer,
            topics.dead_letters,
            Gate(circuit, telemetry, health, time.monotonic),
            group=settings.kafka.group_id,
            version=__version__,
            redactor=redactor,
        ),
        telemetry,
        clock,
        redactor,
        slots(settings, redactor, Calibrations()),
    )


async def _work_through(scorer: Scorer, scan: TopicScan, topic: str) -> None:
    works: set[asyncio.Task[None]] = set()
    async for batch in _batches(scan, topic):
        for record in scorer.screen(batch):
            work = scorer.begin(record)
            if work is not None:
                works.add(asyncio.create_task(_done(work)))
        scorer.turn()
        works = await _settled(scorer, works)
    for task in works:  # in blocks that are still open: later interactions join them
        task.cancel(_CANCEL)
    await asyncio.gather(*works, return_exceptions=True)


async def _done(work: Work) -> None:
    await work


async def _settled(scorer: Scorer, works: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    """Those that wait for others of their block; all else has ended. Raises what they raise."""
    while busy := {task for task in works if not (task.done() or scorer.waits_for_block(task))}:
        await asyncio.wait(busy, timeout=0.05)
    for task in works:
        if task.done():
            task.result()
    return {task for task in works if not task.done()}


async def _batches(scan: TopicScan, topic: str) -> AsyncIterator[list[KafkaRecord]]:
    """Records of one partition in a row, some at a time."""
    batch: list[KafkaRecord] = []
    async for record in scan.records(topic, from_committed=True):
        if batch and (len(batch) >= _CHUNK or _place(record) != _place(batch[0])):
            yield batch
            batch = []
        batch.append(record)
    if batch:
        yield batch


def _place(record: KafkaRecord) -> Partition:
    return Partition(record.topic, record.partition)
