"""The scorer: what becomes of an interaction, from its Kafka record to its outcome.

Which ones are taken says ``intake.py``; here they are judged, and their score records written.
Everything that can go wrong on the way ends in one outcome with a reason; ``ledger.py``
counts them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from monitor.control.pauses import Pauses
from monitor.errors import DependencyRefused, MessageRejected
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.formats.by_topic import NATIVE, TopicFormats
from monitor.ingest.formats.gathered import TraceRecord
from monitor.ingest.formats.otlp import Span
from monitor.ingest.formats.otlp_format import SpanFormat
from monitor.ingest.formats.rejection import internal_error
from monitor.ingest.offload import LONG, offloaded
from monitor.ingest.reading import Arrived, read, read_trace
from monitor.ingest.redaction.redactor import Redactor
from monitor.ingest.work import Work, Works, WorkState
from monitor.judge.limits.deadline import Deadline
from monitor.kafka.producer import Producer, RecordRefused
from monitor.kafka.record import KafkaRecord, Partition, Unreadable, records_in
from monitor.records import Interaction, Outcome, Reason, SamplingRecord, Unscored
from monitor.runtime.logs import logger
from monitor.runtime.offload import isolated
from monitor.runtime.threads import Threads
from monitor.sampling.blocks import BlockSpan
from monitor.scorer import score_records
from monitor.scorer.intake import ALONE, Admitted, Intake, Policies
from monitor.scorer.judging import JudgeRun, JudgingInput, ScoringPolicy, all_redacted
from monitor.scorer.ledger import Ledger
from monitor.scorer.picking import Member
from monitor.scorer.score_records import JudgingResult
from monitor.scorer.slots import Ended, Slots, SlotWorker
from monitor.scorer.trace_work import TraceWorker
from monitor.scorer.traces import DEFAULT_BOUNDS, TraceAssembler, TraceBounds
from monitor.telemetry import ScorerTelemetry

#: How often it is asked whether there is money again.
ASK_AGAIN_S = 1.0
#: So many make a score record a matter of milliseconds; a megabyte holds a hundred times as many.
MANY_PASSAGES = 1_000
_E = TypeVar("_E")
_T = TypeVar("_T")


@dataclass(frozen=True)
class ScorerSettings:
    """What the scorer is told; sizes in bytes.

    Where ``waits_for_budget``, nothing ends as over budget: reading pauses until there is some. Of
    traces as ``TraceAssembler`` has it.
    """

    scores_topic: str
    max_record_bytes: int
    waits_for_budget: bool = False
    trace_quiet_s: float = 5.0
    trace_wait_s: float = 300.0
    trace_bounds: TraceBounds = DEFAULT_BOUNDS


class Scorer:
    """A worker of the consuming loop.

    ``clock`` gives epoch seconds, ``broker_time`` those of the brokers, ``monotonic`` those between
    two looks.
    """

    def __init__(
        self,
        settings: ScorerSettings,
        policies: Policies,
        producer: Producer,
        dead_letters: DeadLetters,
        telemetry: ScorerTelemetry,
        clock: Callable[[], float],
        redactor: Redactor | None = None,
        slots: Slots | None = None,
        pauses: Pauses | None = None,
        threads: Threads | None = None,
        broker_time: Callable[[], float] | None = None,
        formats: TopicFormats = NATIVE,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._formats = settings, formats
        self._producer, self._dead_letters = producer, dead_letters
        self._telemetry, self._clock = telemetry, clock
        self._redactor = redactor or Redactor(None)
        self._threads = threads or Threads("redaction")
        self.ledger, self.works = Ledger(telemetry), Works()
        self._intake = Intake(
            policies,
            self.ledger,
            dead_letters.gate,
            telemetry,
            clock,
            pauses or Pauses(),
            None if slots is None else slots.slot_buffer,
            broker_time,
            formats=formats,
            pace=None if slots is None else slots.pace,
        )
        self._traces = self._trace_worker(monotonic)
        self._slots: SlotWorker | None = None
        if slots is not None:
            self._slots = SlotWorker(
                slots, self.works, self.ledger, self._brought_to_end, self._given_up, telemetry
            )
        telemetry.waiting_for_budget.set_function(
            lambda: self.works.count(WorkState.WAITING_FOR_BUDGET)
        )

    def _trace_worker(self, monotonic: Callable[[], float]) -> TraceWorker:
        settings = self._settings
        assembler = TraceAssembler(
            settings.trace_quiet_s,
            settings.trace_wait_s,
            monotonic,
            self._clock,
            self._telemetry,
            settings.trace_bounds,
        )
        return TraceWorker(assembler, self.works, self.ledger, self._intake, self._trace_settled)

    def room(self, partition: Partition) -> int | None:
        """How many records of the partition may be taken now; None without a bound."""
        if self.works.count(WorkState.WAITING_FOR_BUDGET):
            return 0
        if not self._traces.has_room and self._formats.spans_of(partition.topic) is not None:
            return 0
        if self._slots is not None and not self._slots.has_room:
            return 0
        return self._dead_letters.gate.room(partition)

    def awaits(self, record: KafkaRecord) -> bool:
        """Whether the schema of a record is not known yet."""
        return self._formats.awaits(record)

    def turn(self) -> None:
        """The consuming loop comes round."""
        self._dead_letters.gate.turn()
        self._intake.turn()
        self._traces.turn()
        if self._slots is not None:
            self._slots.pace_controller.waiting = self.works.count(WorkState.WAITING)
            self._slots.pace_controller.turn()
            self._slots.slot_buffer.turn()

    def log_ended(self, partition: Partition) -> None:
        """No more comes of the partition's log: an open block waits for nothing."""
        if self._slots is not None:
            self._slots.slot_buffer.end(partition)

    def behind(self, seconds: float) -> None:
        """How old the oldest record is that was not begun."""
        self._traces.behind(seconds)
        if self._slots is not None:
            self._slots.pace_controller.lag_s = seconds

    def prefilter(self, batch: Sequence[KafkaRecord]) -> Sequence[KafkaRecord]:
        """What may be judged of a batch; the rest is counted, and has ended."""
        return self._intake.prefilter(batch)

    def begin(self, record: KafkaRecord) -> Work | None:
        """Take a record in; None when its interaction has ended, or has joined a slot."""
        slots, partition = self._slots, Partition(record.topic, record.partition)
        log_format = self._formats[record.topic]
        is_read = not isinstance(record, Unreadable) and record.value is not None
        spans = log_format if is_read and isinstance(log_format, SpanFormat) else None
        if spans is None:
            self.ledger.consume(record.records if isinstance(record, Unreadable) else 1)
        if self._dead_letters.gate.is_probing:
            self._dead_letters.gate.begun(partition)
        span = ALONE if slots is None else slots.slot_buffer.begin(partition, record.offset)
        try:
            if spans is not None:
                return self._traces.begin(record, spans, span)
            arrived = read(record, log_format, self._intake.now)
            admitted = self._intake.take(record, arrived, span)
            if admitted is None:
                return None
            if slots is not None and admitted.in_slot:
                return self._join(slots, record, admitted)
            return Work(record, partial(self._scored_alone, record, admitted), self.works)
        except MessageRejected as error:
            if spans is not None:  # none of the traces in it is known
                self.ledger.consume()
            return self._reject(record, error)
        finally:
            if slots is not None and span.length > 1:
                slots.slot_buffer.passed(partition)

    async def _trace_settled(
        self, record: TraceRecord, root: Span, block: BlockSpan, work: Work
    ) -> None:
        ending = self._trace_ending(record, root, block, work)
        await self._settled(work, record, root.trace_id, ending)

    async def _trace_ending(
        self, record: TraceRecord, root: Span, block: BlockSpan, work: Work
    ) -> Ended | None:
        try:
            arrived = await self._read_trace(record, root, work)
            admitted = self._intake.take_trace(record, arrived, block)
        except MessageRejected as error:
            error = self._redactor.message(error)
            self._dead_letters.gate.failed(error.cause, was_fine=True)
            return await self._bury(work, record, error)
        if admitted is None:
            return None
        return await self._score(work, record, JudgingInput(admitted.interaction), admitted.policy)

    async def _read_trace(self, record: TraceRecord, root: Span, work: Work) -> Arrived | None:
        whole = record, root, self._intake.now
        if sum(span.size for span in record.spans) < LONG:
            return read_trace(*whole)
        with work.at(WorkState.REDACTING):
            return await offloaded(self._threads, (), read_trace, *whole, may_be_slow=True)

    async def _scored_alone(self, record: KafkaRecord, admitted: Admitted, work: Work) -> None:
        interaction, policy = admitted.interaction, admitted.policy
        ending = self._score(work, record, JudgingInput(interaction), policy)
        await self._settled(work, record, interaction.interaction_id, ending)

    def _join(self, slots: SlotWorker, record: KafkaRecord, admitted: Admitted) -> Work | None:
        interaction, policy = admitted.interaction, admitted.policy
        judging_input = JudgingInput(interaction)
        if (redacted := all_redacted(judging_input, policy)) is not None:
            self.ledger.settle(redacted.outcome, redacted.reason)
            self._count_pick(interaction, redacted)
            return None
        return slots.join(Member(record, judging_input, policy, policy.sampler.rate))

    def _reject(self, record: KafkaRecord, error: MessageRejected) -> Work:
        # It may name an unknown field, and people use the oddest keys.
        error = self._redactor.message(error)
        where = f"{record.topic}/{record.partition}/{record.offset}"
        unread = not self._formats.has_readable_id(record.topic, record.value or b"")
        self._dead_letters.gate.failed(error.cause, unread=unread)
        return Work(record, partial(self._buried, record, where, error), self.works)

    async def _buried(
        self, record: KafkaRecord, name: str, error: MessageRejected, work: Work
    ) -> None:
        await self._settled(work, record, name, self._bury(work, record, error))

    async def _settled(
        self, work: Work, record: KafkaRecord, name: str, ending: Awaitable[Ended | None]
    ) -> None:
        """Settle all that the record stands for, whatever happens to its work.

        None: it has been settled on the way.
        """
        count = records_in(record)
        try:
            ended = await self._or_buried(work, record, name, ending)
        except asyncio.CancelledError:
            self.ledger.settle(Outcome.HANDED_OVER, work.handover_reason, count)
            raise
        if ended is not None:
            self.ledger.settle(*ended, count)

    async def _or_buried(
        self, work: Work, record: KafkaRecord, name: str, ending: Awaitable[_E]
    ) -> _E | Ended:
        """The work's ending; a bug of ours becomes a dead letter, and wedges no partition."""
        try:
            return await ending
        except DependencyRefused:
            raise
        except Exception as error:  # noqa: BLE001 - see above
            return await self._given_up(work, record, name, error)

    async def _given_up(
        self, work: Work, record: KafkaRecord, name: str, error: Exception
    ) -> Ended:
        """A dead letter for what a bug of ours has kept from its end."""
        logger().error("scorer_bug", interaction_id=name, exc_info=error)
        rejected = internal_error(error, stage="score")
        self._dead_letters.gate.failed(rejected.cause, was_fine=True)
        return await self._bury(work, record, rejected)

    async def _bury(self, work: Work, record: KafkaRecord, error: MessageRejected) -> Ended:
        error = await self._dead_letters.bury(record, error, self._now(), work)
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

    async def _brought_to_end(self, work: Work, member: Member, sampling: SamplingRecord) -> Ended:
        record, judging_input = member.record, member.judging_input
        ending = self._score(work, record, judging_input, member.policy, sampling)
        name = member.interaction.interaction_id
        return await self._or_buried(work, record, name, ending)

    async def _score(
        self,
        work: Work,
        record: KafkaRecord,
        judging_input: JudgingInput,
        policy: ScoringPolicy,
        sampling: SamplingRecord | None = None,
    ) -> Ended:
        # From here on nobody sees it otherwise: judge, record, log and dead letter agree.
        try:
            with work.at(WorkState.REDACTING):
                interaction = await self._redacted(record, judging_input.interaction)
            judging_input = judging_input.of(interaction)
            result = await self._result(work, judging_input, policy)
            await self._publish(interaction, result, policy, sampling)
        except MessageRejected as error:
            self._dead_letters.gate.failed(error.cause, was_fine=True)
            return await self._bury(work, record, error)
        work.has_written = True
        self._count(interaction, result)
        if policy.canaries is not None:
            policy.canaries.judged(result)
        # Of the preferred model: against another one, a recheck says nothing of batching.
        preferred = result.judge == policy.judge.identity
        if policy.recheck and result.judgement and preferred:
            policy.recheck.offer(judging_input.shown, result.judgement, result.asked)
        return result.outcome, result.reason

    async def _redacted(self, record: KafkaRecord, interaction: Interaction) -> Interaction:
        redact, own = self._redactor.interaction, self._redactor.has_own
        # A trace is not encoded for this: its ids and times would look like numbers to hide, too.
        is_trace = isinstance(record, TraceRecord)
        logged = interaction.model_dump_json().encode() if is_trace else record.value
        return await offloaded(self._threads, (logged,), redact, interaction, may_be_slow=own)

    async def _result(
        self, work: Work, judging_input: JudgingInput, policy: ScoringPolicy
    ) -> JudgingResult:
        if (redacted := all_redacted(judging_input, policy)) is not None:
            return redacted
        result = await self._admitted(work, judging_input, policy)
        while result.outcome is Outcome.OVER_BUDGET and self._settings.waits_for_budget:
            with work.at(WorkState.WAITING_FOR_BUDGET):
                await asyncio.sleep(ASK_AGAIN_S)
            result = await self._admitted(work, judging_input, policy)
        return result

    async def _admitted(
        self, work: Work, judging_input: JudgingInput, policy: ScoringPolicy
    ) -> JudgingResult:
        async def perform(
            judging: Coroutine[Any, Any, JudgingResult], deadline: Deadline
        ) -> JudgingResult:
            if work.has_written:  # another interaction of its slot
                deadline.has_cost()
            with work.at(WorkState.JUDGING, deadline):
                return await _unless_stuck(work, judging)

        with work.at(WorkState.WAITING):
            result = await JudgeRun(judging_input, policy, self._clock).result(perform)
        timings = result.timings
        if result.was_judged:
            self._telemetry.judgement_seconds.observe(timings["judge_s"])
        policy.limits.busy_s += timings["judge_s"]
        if self._slots is not None:
            self._slots.pace_controller.judged(result, timings["judge_s"])
        return result

    async def _publish(
        self,
        interaction: Interaction,
        result: JudgingResult,
        policy: ScoringPolicy,
        sampling: SamplingRecord | None,
    ) -> None:
        build = partial(
            score_records.build,
            rate=policy.sampler.rate,
            segment_by=policy.segment_by,
            metrics=policy.metrics,
            sampling=sampling,
            now=self._now(),
            rechecks_usd=self._spent_beside(interaction, policy),
        )
        record = await self._offloaded(interaction, build, interaction, result)
        key = record.key.encode()
        limit = self._settings.max_record_bytes - len(key)
        while True:
            record, line = await self._offloaded(interaction, score_records.shrink, record, limit)
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

    async def _offloaded(
        self, interaction: Interaction, function: Callable[..., _T], *given: Any
    ) -> _T:
        """What a function of an interaction's record returns; in a thread where it takes long."""
        if len(interaction.retrieved_contexts) < MANY_PASSAGES:
            return function(*given)
        return await self._threads.run(function, *given)

    def _spent_beside(self, interaction: Interaction, policy: ScoringPolicy) -> float:
        """What rechecks have cost that stands on no record yet."""
        if policy.budget is None:
            return 0.0
        source = interaction.source
        place = (source.topic, source.partition, source.offset)
        return policy.budget.put_on_record(place)

    def _count_pick(self, interaction: Interaction, result: JudgingResult) -> None:
        if result.outcome is not Outcome.OVER_BUDGET:
            reason = result.reason if result.outcome is Outcome.UNSCORABLE else None
            self._telemetry.count_pick(interaction.application, result.outcome, reason or "")

    def _count(self, interaction: Interaction, result: JudgingResult) -> None:
        self._count_pick(interaction, result)
        if result.judgement is not None:
            self._telemetry.count_evidence(result.judgement.evidence)
        for metric, score in result.scores.items():
            if isinstance(score, Unscored):
                self._telemetry.unscored.labels(metric, score.value).inc()
            else:
                self._telemetry.observe_score(
                    metric, interaction.application, score, interaction.interaction_id
                )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


async def _unless_stuck(work: Work, judging: Coroutine[Any, Any, JudgingResult]) -> JudgingResult:
    """The result; raises ``MessageRejected`` when the consuming loop finds it stuck."""
    try:
        return await isolated(judging)
    except asyncio.CancelledError:
        if not work.goes_on():
            raise
        raise MessageRejected(
            "judging has not ended, and has not heeded judge.deadline_s",
            stage="score",
            cause=Reason.STUCK,
        ) from None
