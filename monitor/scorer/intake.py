"""Which interactions are taken: what a batch is screened for, then one record after the other.

Screen → decode → sample → filter → pause → block → copy. Whatever is not taken ends here, counted
with its reason; what becomes of one that is taken stands in ``scorer.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from monitor.control.pauses import Pauses
from monitor.errors import MessageRejected
from monitor.ingest import headers
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.event_time import NEWEST
from monitor.ingest.formats import native
from monitor.kafka.bounds import MOST_HEADERS, MOST_RECORDS
from monitor.kafka.record import KafkaRecord, Partition, Unreadable, records_in
from monitor.records import Interaction, Outcome, Reason, Source
from monitor.sampling.blocks import BlockSpan
from monitor.sampling.copies import Copies
from monitor.sampling.hashing import Sampler, Screen
from monitor.sampling.prefilter import Screen as BatchScreen
from monitor.sampling.prefilter import screen_for
from monitor.sampling.rules import EVERYTHING, MOST_NAMES, Filter, FirstMatch, RuleCase
from monitor.sampling.slot_buffer import SlotBuffer
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.ledger import Ledger
from monitor.scorer.picking import Member
from monitor.telemetry import ScorerTelemetry

#: What is left unread on purpose, by the error that stands for it.
_BOUNDS = {
    "BatchTooLarge": f"a batch of more than kafka.max_read_bytes, or than {MOST_RECORDS} records",
    "TooManyHeaders": f"a record with more than {MOST_HEADERS} headers",
}


class Policies:
    """Which traffic is judged, and how: the first of ``cases`` that matches, else ``otherwise``."""

    def __init__(
        self,
        otherwise: ScoringPolicy,
        cases: Sequence[RuleCase[ScoringPolicy]] = (),
        let_through: Filter = EVERYTHING,
    ) -> None:
        self.policy = FirstMatch(cases, otherwise)
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


class Admitted(NamedTuple):
    """An interaction that is to be judged, and how.

    ``in_slot``: only where it is picked among those of its block. ``times``: how much likelier it
    was taken than without a burst. ``offsets`` are those that it was taken of, without a slot.
    """

    interaction: Interaction
    policy: ScoringPolicy
    in_slot: bool = False
    times: float = 1.0
    offsets: int = 1


class Intake:
    """Takes interactions in; ``slot_buffer`` where blocks have slots.

    ``clock`` gives epoch seconds, ``broker_time`` those of the brokers, where they may differ.
    ``copies`` remember what was taken lately.
    """

    def __init__(
        self,
        traffic: Policies,
        ledger: Ledger,
        gate: DeadLetterGate,
        telemetry: ScorerTelemetry,
        clock: Callable[[], float],
        pauses: Pauses,
        slot_buffer: SlotBuffer[Member] | None = None,
        broker_time: Callable[[], float] | None = None,
        copies: Copies | None = None,
    ) -> None:
        self._broker_time = broker_time or clock
        self._traffic, self._ledger, self._gate = traffic, ledger, gate
        self._telemetry, self._clock, self._pauses = telemetry, clock, pauses
        self._slot_buffer = slot_buffer
        self._copies = copies or Copies(time.monotonic)
        self._screen = screen_for(traffic.screen.samplers)

    def screen(self, batch: Sequence[KafkaRecord]) -> Sequence[KafkaRecord]:
        """What may be judged of a batch; the rest is counted, and has ended."""
        if self._slot_buffer is None:
            return self._screened(batch)
        spans = self._slot_buffer.read(batch)
        left = self._shed(self._screened_in(batch, spans), spans)
        self._slot_buffer.left(batch, left)
        return left

    def _shed(
        self, records: Sequence[KafkaRecord], spans: Sequence[BlockSpan]
    ) -> Sequence[KafkaRecord]:
        """What is left of them at the shares of their blocks, when the monitor is behind."""
        if all(span.share >= 1.0 for span in spans):
            return records
        left: list[KafkaRecord] = []
        for share, some in _by_share(records, spans):
            left += some if share >= 1.0 else self._screen_at(share)(some).left
        self._ledger.skip(len(records) - len(left), Outcome.NOT_SAMPLED, Reason.LAG)
        return left

    def _screened_in(
        self, batch: Sequence[KafkaRecord], spans: Sequence[BlockSpan]
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
            self._gate.glimpsed(read)
            if not self._traffic.screen.samplers[0].needs_decoding:
                self._telemetry.key_fallbacks.inc(read)
        return left

    def take(self, record: KafkaRecord) -> Admitted | None:
        """Decode, sample and filter; None when the interaction has ended already.

        The hash comes first, at the largest rate that may apply: before decoding where the key is
        known by then. Then, decoded, it is taken at the rate of its application; rules come last.
        Raises ``MessageRejected`` for what cannot be read.
        """
        self._ledger.consume(records_in(record))
        if isinstance(record, Unreadable):
            raise _unreadable(record)
        if record.value is None:
            self._ledger.settle(Outcome.UNSCORABLE, Reason.TOMBSTONE)
            return None
        share = self._share(record)
        if not self._traffic.screen.may_take(record.key, record.headers, share):
            return self._not_sampled(Reason.HASH)
        interaction = self._readable(record, record.value)
        self._gate.fine()
        policy = self._traffic.policy(interaction)
        if not self._takes(policy.sampler.at(share), record, interaction):
            return self._not_sampled(Reason.HASH)
        if self._traffic.filter.against(interaction) is not None:
            return self._not_sampled(Reason.FILTERED)
        if self._pauses.is_paused(interaction.application, self._clock()):
            return self._not_sampled(Reason.PAUSED)
        taken: Admitted | None = Admitted(interaction, policy)
        if self._slot_buffer is not None:
            taken = self._placed(self._slot_buffer, record, interaction, policy)
        if taken is not None and self._is_copy(record, interaction):
            return self._not_sampled(Reason.DUPLICATE)
        return taken

    def turn(self) -> None:
        """Time passes."""
        self._copies.turn()

    def _is_copy(self, record: KafkaRecord, interaction: Interaction) -> bool:
        """Whether the same record was taken already; what the log gives no id may be another."""
        has_id = interaction.interaction_id != str(headers.origin_of(record))
        return has_id and self._copies.is_copy(record)

    def _share(self, record: KafkaRecord) -> float:
        """Which share of all rates is taken: 1, or more in a burst."""
        if self._slot_buffer is None:
            return 1.0
        partition = Partition(record.topic, record.partition)
        return max(1.0, self._slot_buffer.span(partition, record.offset).share)

    def _placed(
        self,
        slot_buffer: SlotBuffer[Member],
        record: KafkaRecord,
        interaction: Interaction,
        whole: ScoringPolicy,
    ) -> Admitted | None:
        """In the slot of its block, or alone where its application is split by rules."""
        span = slot_buffer.span(Partition(record.topic, record.partition), record.offset)
        apart = self._traffic.is_split(interaction.application)
        part = span.share / span.length if apart else span.share
        policy = whole.at(part)
        if part < 1.0 and not policy.sampler.takes(_key(policy.sampler, record, interaction)):
            return self._not_sampled(Reason.HASH if span.share == 1.0 else Reason.LAG)
        in_slot = not (apart or span.length == 1)
        times = max(1.0, policy.sampler.rate / whole.sampler.rate)
        return Admitted(interaction, policy, in_slot, times, span.length)

    def _not_sampled(self, reason: Reason) -> Admitted | None:
        self._ledger.settle(Outcome.NOT_SAMPLED, reason)
        return None

    def _takes(self, sampler: Sampler, record: KafkaRecord, interaction: Interaction) -> bool:
        if not sampler.needs_decoding and not sampler.record_key(record.key, record.headers):
            self._telemetry.key_fallbacks.inc()
        return sampler.takes(_key(sampler, record, interaction))

    def _readable(self, record: KafkaRecord, value: bytes) -> Interaction:
        try:
            return self._decode(record, value)
        except MessageRejected:
            raise
        except Exception as error:
            raise internal_error(error, stage="decode") from error

    def _decode(self, record: KafkaRecord, value: bytes) -> Interaction:
        # After a redrive still where it stood first: an interaction without an id keeps its name.
        origin = headers.origin_of(record)
        source = Source(topic=origin.topic, partition=origin.partition, offset=origin.offset)
        # A producer may set any timestamp: none lies further ahead than a plausible event time.
        now = self._broker_time()
        newest_ms = int((now + NEWEST.total_seconds()) * 1000)
        # And it may set none, which Kafka gives as -1: then the record is as old as its reading.
        broker_ms = origin.timestamp_ms if origin.timestamp_ms >= 0 else int(now * 1000)
        decoded = native.decode(value, source, min(broker_ms, newest_ms))
        if decoded.timestamp_replaced:
            self._telemetry.timestamps_replaced.labels(decoded.timestamp_replaced).inc()
        return decoded.interaction


def internal_error(error: Exception, *, stage: str) -> MessageRejected:
    """A bug of ours: a dead letter, and not our end."""
    return MessageRejected(
        f"internal error: {type(error).__name__}", stage=stage, cause=Reason.INTERNAL
    )


def _by_share(
    records: Sequence[KafkaRecord], spans: Sequence[BlockSpan]
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
    what, stays = "record", "it stays on its topic"
    if record.last_offset > record.offset:
        what = f"{record.records} records, offsets {record.offset} to {record.last_offset}"
        stays = "they stay on their topic"
    bound = _BOUNDS.get(record.error)
    why = f"the client does not unpack {bound}" if bound else "the client cannot unpack it"
    return MessageRejected(
        f"{what}: {why} ({record.error}); {stays}",
        stage="decode",
        cause=Reason.UNREADABLE,
    )
