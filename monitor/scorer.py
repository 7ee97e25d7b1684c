"""The scorer: one interaction from its Kafka record to its outcome and its score record.

Decode → sample → judge → metrics → score record. Everything that can go wrong on the way ends in
one outcome with a reason; ``ingest/outcomes.py`` counts them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from monitor.errors import DependencyRefused, JudgeFailed, MessageRejected
from monitor.ingest import score_records
from monitor.ingest.dead_letters import DeadLetters
from monitor.ingest.event_time import NEWEST
from monitor.ingest.formats import native
from monitor.ingest.loop import Work
from monitor.ingest.outcomes import Ledger, Reason
from monitor.ingest.sampling import Sampler
from monitor.ingest.score_records import Ending
from monitor.judge.limits import Limits
from monitor.judge.protocol import Bill, Judge
from monitor.kafka.producer import Producer, RecordRefused
from monitor.kafka.record import KafkaRecord
from monitor.logs import logger
from monitor.metrics.catalogue import score_all
from monitor.records import Interaction, Outcome, Source, Unscored, Usage
from monitor.telemetry import ScorerTelemetry


@dataclass(frozen=True)
class ScorerSettings:
    """What the scorer is told; sizes in bytes."""

    scores_topic: str
    max_record_bytes: int
    segment_by: str | None


class Scorer:
    """A worker of the consuming loop. ``clock`` gives epoch seconds."""

    def __init__(
        self,
        settings: ScorerSettings,
        sampler: Sampler,
        judge: Judge,
        limits: Limits,
        producer: Producer,
        dead_letters: DeadLetters,
        telemetry: ScorerTelemetry,
        clock: Callable[[], float],
    ) -> None:
        self._settings, self._sampler = settings, sampler
        self._judge, self._limits = judge, limits
        self._producer, self._dead_letters = producer, dead_letters
        self._telemetry, self._clock = telemetry, clock
        self._ledger = Ledger(telemetry)

    def begin(self, record: KafkaRecord) -> Work | None:
        """Decode and sample; None when the interaction has ended already."""
        self._ledger.consume()
        if record.value is None:
            self._ledger.settle(Outcome.UNSCORABLE, Reason.TOMBSTONE)
            return None
        key = self._sampler.record_key(record.key, record.headers)
        if key is not None and not self._sampler.takes(key):
            return self._not_sampled()
        try:
            interaction = self._decode(record, record.value)
        except MessageRejected as error:
            return self._reject(record, error)
        if key is None:
            if not self._sampler.needs_decoding:
                self._telemetry.key_fallbacks.inc()
            if not self._sampler.takes(interaction.interaction_id.encode()):
                return self._not_sampled()
        return self._guarded(record, interaction.interaction_id, self._score(record, interaction))

    def _not_sampled(self) -> Work | None:
        self._ledger.settle(Outcome.NOT_SAMPLED, Reason.HASH)
        return None

    def _decode(self, record: KafkaRecord, value: bytes) -> Interaction:
        source = Source(topic=record.topic, partition=record.partition, offset=record.offset)
        # A producer may set any timestamp: none lies further ahead than a plausible event time.
        newest_ms = (self._clock() + NEWEST.total_seconds()) * 1000
        decoded = native.decode(value, source, min(record.timestamp, int(newest_ms)))
        if decoded.timestamp_replaced:
            self._telemetry.timestamps_replaced.labels(decoded.timestamp_replaced).inc()
        return decoded.interaction

    def _reject(self, record: KafkaRecord, error: MessageRejected) -> Work:
        where = f"{record.topic}/{record.partition}/{record.offset}"
        return self._guarded(record, where, self._bury(record, error))

    async def _guarded(
        self, record: KafkaRecord, name: str, work: Awaitable[tuple[Outcome, str | None]]
    ) -> None:
        """Settle the interaction whatever happens to its work."""
        try:
            outcome, reason = await self._or_buried(record, name, work)
        except asyncio.CancelledError as cancelled:
            why = str(cancelled.args[0]) if cancelled.args else Reason.SHUTDOWN.value
            self._ledger.settle(Outcome.HANDED_OVER, why)
            raise
        self._ledger.settle(outcome, reason)

    async def _or_buried(
        self, record: KafkaRecord, name: str, work: Awaitable[tuple[Outcome, str | None]]
    ) -> tuple[Outcome, str | None]:
        """The work's ending; a bug of ours becomes a dead letter, and wedges no partition."""
        try:
            return await work
        except DependencyRefused:
            raise
        except Exception as error:  # noqa: BLE001 - see above
            logger().exception("scorer_bug", interaction_id=name)
            rejected = MessageRejected(
                f"internal error: {type(error).__name__}", stage="score", cause=Reason.INTERNAL
            )
        return await self._bury(record, rejected)

    async def _bury(
        self, record: KafkaRecord, error: MessageRejected
    ) -> tuple[Outcome, str | None]:
        await self._dead_letters.send(record, error, self._now())
        self._telemetry.dead_letters.labels(error.stage, error.cause).inc()
        logger().warning(
            "dead_letter",
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            stage=error.stage,
            reason=error.cause,
            error=str(error),
        )
        return Outcome.DEAD_LETTERED, error.cause

    async def _score(
        self, record: KafkaRecord, interaction: Interaction
    ) -> tuple[Outcome, str | None]:
        waiting_since = self._clock()
        async with self._limits.admitted():
            admitted = self._clock()
            ending = await self._judged(interaction)
        timings = {"wait_s": admitted - waiting_since, "judge_s": self._clock() - admitted}
        self._telemetry.judgement_seconds.observe(timings["judge_s"])
        try:
            await self._publish(interaction, ending._replace(timings=timings))
        except MessageRejected as error:
            return await self._bury(record, error)
        self._count(interaction, ending)
        return ending.outcome, ending.reason

    async def _judged(self, interaction: Interaction) -> Ending:
        """The judgement within the deadline, as an ending."""
        bill = Bill()
        try:
            async with self._limits.deadline():
                judgement = await self._judge.judge(interaction, bill)
        except TimeoutError:
            return self._failed(interaction, Reason.DEADLINE, bill.usage)
        except JudgeFailed as error:
            return self._failed(interaction, error.reason, bill.usage)
        scores = score_all(judgement)
        scored = any(isinstance(score, float) for score in scores.values())
        return Ending(
            Outcome.SCORED if scored else Outcome.UNSCORABLE,
            None if scored else _why_unscorable(scores),
            judgement.judge,
            judgement.usage,
            judgement,
            scores,
            {},
        )

    def _failed(self, interaction: Interaction, reason: str, usage: Usage) -> Ending:
        logger().warning(
            "judge_failed", interaction_id=interaction.interaction_id, reason=str(reason)
        )
        identity = self._judge.identity
        return Ending(Outcome.JUDGE_FAILED, str(reason), identity, usage, None, {}, {})

    async def _publish(self, interaction: Interaction, ending: Ending) -> None:
        record = score_records.build(
            interaction,
            ending,
            rate=self._sampler.rate,
            segment_by=self._settings.segment_by,
            now=self._now(),
        )
        key = record.key.encode()
        limit = self._settings.max_record_bytes - len(key)
        while True:
            record, line = score_records.shrink(record, limit)
            try:
                await self._producer.write(self._settings.scores_topic, line, key=key)
            except RecordRefused as error:
                if len(line) > limit or not (record.interaction or record.attributes):
                    raise MessageRejected(
                        f"score record of {len(line)} bytes: {error}; raise the topic's "
                        "max.message.bytes",
                        stage="publish",
                        cause="refused",
                    ) from error
                limit = len(line) - 1  # the broker takes less than configured: fewer texts
            else:
                self._telemetry.truncated.inc(record.truncated)
                return

    def _count(self, interaction: Interaction, ending: Ending) -> None:
        for metric, score in ending.scores.items():
            if isinstance(score, Unscored):
                self._telemetry.unscored.labels(metric, score.value).inc()
            else:
                self._telemetry.observe_score(
                    metric, interaction.application, score, interaction.interaction_id
                )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _why_unscorable(scores: dict[str, float | Unscored]) -> str:
    """The first metric's reason, in the catalogue's order, stands for the interaction."""
    reasons = (score for score in scores.values() if isinstance(score, Unscored))
    return next(reasons).value.lower()
