"""The scorer: one interaction from its Kafka record to its outcome and its score record.

Decode → sample → judge → metrics → score record. Everything that can go wrong on the way ends in
one outcome with a reason; ``ingest/outcomes.py`` counts them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from monitor.errors import DependencyRefused, MessageRejected
from monitor.ingest import letter, score_records
from monitor.ingest.apart import apart, worked_through
from monitor.ingest.dead_letters import DeadLetters
from monitor.ingest.event_time import NEWEST
from monitor.ingest.filters import EVERYTHING, MOST_NAMES, Case, Filter, FirstMatch
from monitor.ingest.formats import native
from monitor.ingest.outcomes import Ledger, Reason
from monitor.ingest.redaction.redactor import Redactor
from monitor.ingest.sampling import Sampler, Screen
from monitor.ingest.score_records import Ending
from monitor.ingest.screening import Screen as BatchScreen
from monitor.ingest.screening import screen_for
from monitor.ingest.slots.blocks import Span
from monitor.ingest.worker import Work
from monitor.judging import Treatment, hidden, judgeable, paid_for
from monitor.kafka.producer import Producer, RecordRefused
from monitor.kafka.record import KafkaRecord, Partition, Unreadable
from monitor.logs import logger
from monitor.pausing import Pauses
from monitor.records import Interaction, Outcome, SamplingRecord, Source, Unscored
from monitor.slot_works import Slots, SlotWorks
from monitor.slotting import Member
from monitor.telemetry import ScorerTelemetry

#: How often it is asked whether there is money again.
ASK_AGAIN_S = 1.0


@dataclass(frozen=True)
class ScorerSettings:
    """What the scorer is told; sizes in bytes.

    Where ``waits_for_money``, nothing ends as over budget: reading pauses until there is some.
    """

    scores_topic: str
    max_record_bytes: int
    waits_for_money: bool = False


class Traffic:
    """Which traffic is judged, and how: the first of ``cases`` that matches, else ``otherwise``."""

    def __init__(
        self,
        otherwise: Treatment,
        cases: Sequence[Case[Treatment]] = (),
        let_through: Filter = EVERYTHING,
    ) -> None:
        self.treatment = FirstMatch(cases, otherwise)
        self.filter = let_through
        self.screen = Screen(one.sampler for one in (otherwise, *(case.then for case in cases)))
        self._ruled = [case.named for case in cases if case.when]
        self._split: dict[str, bool] = {}

    def is_split(self, application: str) -> bool:
        """Whether rules may treat interactions of one application differently."""
        if not self._ruled:
            return False
        found = self._split.get(application)
        if found is None:
            found = any(named(application) for named in self._ruled)
            if len(self._split) < MOST_NAMES:
                self._split[application] = found
        return found


class Scorer:
    """A worker of the consuming loop. ``clock`` gives epoch seconds."""

    def __init__(
        self,
        settings: ScorerSettings,
        traffic: Traffic,
        producer: Producer,
        dead_letters: DeadLetters,
        telemetry: ScorerTelemetry,
        clock: Callable[[], float],
        redactor: Redactor | None = None,
        slots: Slots | None = None,
        pauses: Pauses | None = None,
    ) -> None:
        self._settings, self._traffic = settings, traffic
        self._pauses = pauses or Pauses()
        self._producer, self._dead_letters = producer, dead_letters
        self._telemetry, self._clock = telemetry, clock
        self._redactor = redactor or Redactor(None)
        self._ledger = Ledger(telemetry)
        self._screen = screen_for(traffic.screen.samplers)
        self._slots: SlotWorks | None = None
        if slots is not None:
            self._slots = SlotWorks(
                slots, self._ledger, self._brought_to_end, self._given_up, telemetry
            )
        self._judging: set[asyncio.Task[None] | None] = set()
        self._waiting: set[asyncio.Task[None] | None] = set()
        self._penniless: set[asyncio.Task[None] | None] = set()
        telemetry.waiting_for_money.set_function(lambda: len(self._penniless))

    def room(self, partition: Partition) -> int | None:
        """How many records of the partition may be taken now; None without a bound."""
        if self._penniless or (self._slots is not None and not self._slots.has_room):
            return 0
        return self._dead_letters.gate.room(partition)

    def parked(self) -> int:
        """How many works wait for a dead letter to be taken, for money, or for their block."""
        waiting = self._dead_letters.gate.waiting + len(self._penniless)
        return waiting if self._slots is None else waiting + len(self._slots.parked)

    def turn(self) -> None:
        """The consuming loop comes round."""
        self._dead_letters.gate.turn()
        if self._slots is not None:
            self._slots.steering.turn()
            self._slots.gathering.turn()

    def behind(self, seconds: float) -> None:
        """How old the oldest record is that was not begun."""
        if self._slots is not None:
            self._slots.steering.lag_s = seconds

    def is_busy(self, task: asyncio.Task[None]) -> bool:
        """Whether the work is judging; all else it may do is wait, for a place or for Kafka."""
        return task in self._judging

    def waits_for_block(self, task: asyncio.Task[None]) -> bool:
        """Whether the work waits for its block to close, or for the others of its block."""
        return self._slots is not None and task in self._slots.parked

    def waits(self, task: asyncio.Task[None]) -> bool:
        """Whether the work waits: at the judge, for money, for a dead letter, or its block."""
        if self.waits_for_block(task):
            return True
        waiting = task in self._waiting or task in self._penniless
        return waiting or task in self._dead_letters.gate.held_works

    def screen(self, batch: Sequence[KafkaRecord]) -> Sequence[KafkaRecord]:
        """What may be judged of a batch; the rest is counted, and has ended."""
        if self._slots is None:
            return self._screened(batch)
        spans = self._slots.gathering.read(batch)
        left = self._shed(self._screened_in(batch, spans), spans)
        self._slots.gathering.left(batch, left)
        return left

    def _shed(self, records: Sequence[KafkaRecord], spans: Sequence[Span]) -> Sequence[KafkaRecord]:
        """What is left of them at the shares of their blocks, when the monitor is behind."""
        if all(span.share == 1.0 for span in spans):
            return records
        left: list[KafkaRecord] = []
        for share, some in _by_share(records, spans):
            left += self._screen_at(min(1.0, share))(some).left
        self._ledger.skip(len(records) - len(left), Outcome.NOT_SAMPLED, Reason.LAG)
        return left

    def _screened_in(
        self, batch: Sequence[KafkaRecord], spans: Sequence[Span]
    ) -> Sequence[KafkaRecord]:
        """What the hash leaves of them: in a burst that is more."""
        if all(span.share <= 1.0 for span in spans):
            return self._screened(batch)
        left: list[KafkaRecord] = []
        for share, some in _by_share(batch, spans):
            left += self._screened(some, max(1.0, share))
        return left

    def _screen_at(self, share: float) -> BatchScreen:
        if share == 1.0:
            return self._screen
        return screen_for([one.at(share) for one in self._traffic.screen.samplers])

    def _screened(self, batch: Sequence[KafkaRecord], share: float = 1.0) -> Sequence[KafkaRecord]:
        left, read = self._screen_at(share)(batch)
        if dropped := len(batch) - len(left):
            self._ledger.skip(dropped, Outcome.NOT_SAMPLED, Reason.HASH)
        if read:
            self._dead_letters.gate.glimpsed(read)
            if not self._traffic.screen.samplers[0].needs_decoding:
                self._telemetry.key_fallbacks.inc(read)
        return left

    def begin(self, record: KafkaRecord) -> Work | None:
        """Take a record in; None when its interaction has ended, or has joined a slot."""
        if self._slots is None:
            return self._begin(record)
        partition = Partition(record.topic, record.partition)
        self._slots.gathering.begin(partition, record.offset)
        share = self._slots.gathering.span(partition, record.offset).share
        try:
            return self._begin(record, max(1.0, share))
        finally:
            self._slots.gathering.passed(partition)

    def _begin(self, record: KafkaRecord, share: float = 1.0) -> Work | None:
        """Decode, sample and filter; None when the interaction has ended already.

        The hash comes first, at the largest rate that may apply: before decoding where the key is
        known by then. Then, decoded, it is taken at the rate of its application; rules come last.
        In a burst the ``share`` of all rates is above 1.
        """
        self._ledger.consume()
        if isinstance(record, Unreadable):
            return self._reject(record, _unreadable(record))
        if record.value is None:
            self._ledger.settle(Outcome.UNSCORABLE, Reason.TOMBSTONE)
            return None
        if not self._traffic.screen.may_take(record.key, record.headers, share):
            return self._not_sampled(Reason.HASH)
        try:
            interaction = self._decode(record, record.value)
        except MessageRejected as error:
            return self._reject(record, error)
        except Exception as error:  # noqa: BLE001 - a bug of ours: a dead letter, and not our end
            return self._reject(record, _bug(error, stage="decode"))
        self._dead_letters.gate.fine()
        treatment = self._traffic.treatment(interaction)
        if not self._takes(treatment.sampler.at(share), record, interaction):
            return self._not_sampled(Reason.HASH)
        if self._traffic.filter.against(interaction) is not None:
            return self._not_sampled(Reason.FILTERED)
        if self._pauses.is_paused(interaction.application, self._clock()):
            return self._not_sampled(Reason.PAUSED)
        if self._slots is not None:
            return self._join(self._slots, record, interaction, treatment)
        return self._alone(record, interaction, treatment)

    def _alone(self, record: KafkaRecord, interaction: Interaction, treatment: Treatment) -> Work:
        work = self._score(record, interaction, treatment)
        return self._guarded(record, interaction.interaction_id, work)

    def _join(
        self, slots: SlotWorks, record: KafkaRecord, interaction: Interaction, whole: Treatment
    ) -> Work | None:
        """Into the slot of its block, or alone where its application is split by rules."""
        span = slots.gathering.span(Partition(record.topic, record.partition), record.offset)
        apart = self._traffic.is_split(interaction.application)
        part = span.share / span.length if apart else span.share
        treatment = whole.at(part)
        if part < 1.0 and not treatment.sampler.takes(_key(treatment.sampler, record, interaction)):
            return self._not_sampled(Reason.HASH if span.share == 1.0 else Reason.LAG)
        if apart or span.length == 1:
            slots.steering.picked(max(1.0, treatment.sampler.rate / whole.sampler.rate))
            return self._alone(record, interaction, treatment)
        if (unseen := hidden(interaction, treatment)) is not None:
            self._ledger.settle(unseen.outcome, unseen.reason)
            return None
        return slots.join(Member(record, interaction, treatment, treatment.sampler.rate))

    def _not_sampled(self, reason: Reason) -> Work | None:
        self._ledger.settle(Outcome.NOT_SAMPLED, reason)
        return None

    def _takes(self, sampler: Sampler, record: KafkaRecord, interaction: Interaction) -> bool:
        if not sampler.needs_decoding and not sampler.record_key(record.key, record.headers):
            self._telemetry.key_fallbacks.inc()
        return sampler.takes(_key(sampler, record, interaction))

    def _decode(self, record: KafkaRecord, value: bytes) -> Interaction:
        # After a redrive still where it stood first: an interaction without an id keeps its name.
        origin = letter.origin_of(record)
        source = Source(topic=origin.topic, partition=origin.partition, offset=origin.offset)
        # A producer may set any timestamp: none lies further ahead than a plausible event time.
        newest_ms = int((self._clock() + NEWEST.total_seconds()) * 1000)
        # And it may set none, which Kafka gives as -1: then the record is as old as its reading.
        broker_ms = origin.timestamp_ms if origin.timestamp_ms >= 0 else int(self._clock() * 1000)
        decoded = native.decode(value, source, min(broker_ms, newest_ms))
        if decoded.timestamp_replaced:
            self._telemetry.timestamps_replaced.labels(decoded.timestamp_replaced).inc()
        return decoded.interaction

    def _reject(self, record: KafkaRecord, error: MessageRejected) -> Work:
        # It may name an unknown field, and people use the oddest keys.
        error = self._redactor.message(error)
        where = f"{record.topic}/{record.partition}/{record.offset}"
        unread = not native.has_readable_id(record.value or b"")
        self._dead_letters.gate.failed(error.cause, unread=unread)
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
            return await self._given_up(record, name, error)

    async def _given_up(
        self, record: KafkaRecord, name: str, error: Exception
    ) -> tuple[Outcome, str | None]:
        """A dead letter for what a bug of ours has kept from its end."""
        logger().error("scorer_bug", interaction_id=name, exc_info=error)
        rejected = _bug(error, stage="score")
        self._dead_letters.gate.failed(rejected.cause, was_fine=True)
        return await self._bury(record, rejected)

    async def _bury(
        self, record: KafkaRecord, error: MessageRejected
    ) -> tuple[Outcome, str | None]:
        error = await self._dead_letters.bury(record, error, self._now())
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

    async def _brought_to_end(
        self,
        record: KafkaRecord,
        interaction: Interaction,
        treatment: Treatment,
        sampling: SamplingRecord,
    ) -> tuple[Outcome, str | None]:
        work = self._score(record, interaction, treatment, sampling)
        return await self._or_buried(record, interaction.interaction_id, work)

    async def _score(
        self,
        record: KafkaRecord,
        interaction: Interaction,
        treatment: Treatment,
        sampling: SamplingRecord | None = None,
    ) -> tuple[Outcome, str | None]:
        # From here on nobody sees it otherwise: judge, record, log and dead letter agree.
        size = len(record.value or b"")
        try:
            interaction = await worked_through(size, self._redactor.interaction, interaction)
            ending = await self._ending(interaction, treatment)
            await self._publish(interaction, ending, treatment, sampling)
        except MessageRejected as error:
            self._dead_letters.gate.failed(error.cause, was_fine=True)
            return await self._bury(record, error)
        self._count(interaction, ending)
        # Of the preferred model: against another one, a second judgement says nothing of batching.
        preferred = ending.judge == treatment.judge.identity
        if treatment.recheck and ending.judgement and preferred:
            treatment.recheck.offer(judgeable(interaction), ending.judgement)
        return ending.outcome, ending.reason

    async def _ending(self, interaction: Interaction, treatment: Treatment) -> Ending:
        if (unseen := hidden(interaction, treatment)) is not None:
            return unseen
        ending = await self._admitted(interaction, treatment)
        while ending.outcome is Outcome.OVER_BUDGET and self._settings.waits_for_money:
            task = asyncio.current_task()
            self._penniless.add(task)
            try:
                await asyncio.sleep(ASK_AGAIN_S)
            finally:
                self._penniless.discard(task)
            ending = await self._admitted(interaction, treatment)
        return ending

    async def _admitted(self, interaction: Interaction, treatment: Treatment) -> Ending:
        waiting_since, task = self._clock(), asyncio.current_task()
        self._waiting.add(task)
        try:
            async with treatment.limits.admitted():
                self._waiting.discard(task)
                admitted = self._clock()
                ending = await self._watched(paid_for(interaction, treatment, self._clock))
        finally:
            self._waiting.discard(task)
        timings = {"wait_s": admitted - waiting_since, "judge_s": self._clock() - admitted}
        self._telemetry.judgement_seconds.observe(timings["judge_s"])
        if self._slots is not None:
            self._slots.steering.judged(ending, timings["judge_s"])
        return ending._replace(timings=timings)

    async def _watched(self, judging: Coroutine[Any, Any, Ending]) -> Ending:
        """The ending; raises ``MessageRejected`` when the consuming loop finds it stuck."""
        task = asyncio.current_task()
        self._judging.add(task)
        try:
            return await apart(judging)
        except asyncio.CancelledError as cancelled:
            if task is None or cancelled.args != (Reason.STUCK.value,):
                raise
            task.uncancel()  # the work goes on: to the dead letters
            raise MessageRejected(
                "judging has not ended, and has not heeded judge.deadline_s",
                stage="score",
                cause=Reason.STUCK,
            ) from None
        finally:
            self._judging.discard(task)

    async def _publish(
        self,
        interaction: Interaction,
        ending: Ending,
        treatment: Treatment,
        sampling: SamplingRecord | None,
    ) -> None:
        record = score_records.build(
            interaction,
            ending,
            rate=treatment.sampler.rate,
            segment_by=treatment.segment_by,
            metrics=treatment.metrics,
            sampling=sampling,
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
        if ending.judgement is not None:
            self._telemetry.count_evidence(ending.judgement.evidence)
        for metric, score in ending.scores.items():
            if isinstance(score, Unscored):
                self._telemetry.unscored.labels(metric, score.value).inc()
            else:
                self._telemetry.observe_score(
                    metric, interaction.application, score, interaction.interaction_id
                )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _bug(error: Exception, *, stage: str) -> MessageRejected:
    return MessageRejected(
        f"internal error: {type(error).__name__}", stage=stage, cause=Reason.INTERNAL
    )


def _by_share(
    records: Sequence[KafkaRecord], spans: Sequence[Span]
) -> Iterator[tuple[float, list[KafkaRecord]]]:
    """The records of the blocks, in order, together where blocks of the same share follow."""
    for share, group in groupby(spans, key=lambda span: span.share):
        same = list(group)
        first, last = same[0].first, same[-1].last
        yield share, [one for one in records if first <= one.offset <= last]


def _key(sampler: Sampler, record: KafkaRecord, interaction: Interaction) -> bytes:
    """What is hashed: the id where the configured key is missing."""
    found = sampler.record_key(record.key, record.headers)
    return interaction.interaction_id.encode() if found is None else found


def _unreadable(record: Unreadable) -> MessageRejected:
    return MessageRejected(
        f"record: the client cannot unpack it ({record.error}); it stays on its topic",
        stage="decode",
        cause=Reason.UNREADABLE,
    )
