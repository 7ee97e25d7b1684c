"""Why was it not scored? Which interactions are taken: a batch is prefiltered, then each record.

Prefilter → read → sample → age → filter → pause → block → copy. What is not taken ends here,
counted with its reason; what becomes of one that is taken stands in ``scorer.py``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from monitor.control.pauses import Pauses
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.formats.by_topic import NATIVE, TopicFormats
from monitor.ingest.formats.gathered import TraceRecord
from monitor.ingest.reading import Arrived
from monitor.kafka.record import KafkaRecord
from monitor.records import Interaction, Outcome, Reason
from monitor.sampling.blocks import BlockSpan
from monitor.sampling.copies import Copies
from monitor.sampling.hashing import MultiPrefilter
from monitor.sampling.pace import Pace
from monitor.sampling.prefilter import Prefilter, prefilter_for
from monitor.sampling.rules import EVERYTHING, Filter, FirstMatch, RuleCase
from monitor.sampling.slot_buffer import SlotBuffer
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.ledger import Ledger
from monitor.scorer.picking import Member
from monitor.telemetry import ScorerTelemetry

#: Of a rate: from it on most records hold a trace that is taken.
_WORTH_ASKING = 0.5
#: A record for which nothing was buffered: it is a block of its own.
ALONE = BlockSpan(0, 0)


class Policies:
    """Which traffic is judged, and how: the first of ``cases`` that matches, else ``otherwise``."""

    def __init__(
        self,
        otherwise: ScoringPolicy,
        cases: Sequence[RuleCase[ScoringPolicy]] = (),
        let_through: Filter = EVERYTHING,
        oldest: Callable[[float], float] = lambda _now: -math.inf,
    ) -> None:
        self.oldest = oldest
        self.policy = FirstMatch(cases, otherwise)
        self.filter = let_through
        self.prefilter = MultiPrefilter(
            one.sampler for one in (otherwise, *(case.then for case in cases))
        )


class Admitted(NamedTuple):
    """An interaction that is to be judged, and how; ``in_slot``: if it is picked in its block."""

    interaction: Interaction
    policy: ScoringPolicy
    in_slot: bool = False


class Intake:
    """Takes interactions in; ``slot_buffer`` where blocks have slots, at a ``pace``.

    ``clock`` gives epoch seconds, ``broker_time`` those of the brokers, where they may differ.
    ``copies`` remember what was taken lately.
    """

    def __init__(
        self,
        policies: Policies,
        ledger: Ledger,
        gate: DeadLetterGate,
        telemetry: ScorerTelemetry,
        clock: Callable[[], float],
        pauses: Pauses,
        slot_buffer: SlotBuffer[Member] | None = None,
        broker_time: Callable[[], float] | None = None,
        copies: Copies | None = None,
        formats: TopicFormats = NATIVE,
        pace: Pace | None = None,
    ) -> None:
        self._formats = formats
        self._broker_time = broker_time or clock
        self._policies, self._ledger = policies, ledger
        self._look_at_the_clock()
        self._gate, self._circuit = gate, gate.circuit
        self._telemetry, self._clock, self._pauses = telemetry, clock, pauses
        self._slot_buffer, self._pace = slot_buffer, pace
        self._copies = copies or Copies(time.monotonic)
        self._prefilter = prefilter_for(policies.prefilter.samplers, formats)

    def prefilter(self, batch: Sequence[KafkaRecord]) -> Sequence[KafkaRecord]:
        """What may be judged of a batch; the rest is counted, and has ended."""
        self._look_at_the_clock()
        if self._slot_buffer is None:
            return self._prefiltered(batch)
        spans = self._slot_buffer.read(batch)
        left = self._shed(self._prefiltered_in(batch, spans), spans)
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
            left += some if share >= 1.0 else self._prefilter_at(share)(some).left
        self._ledger.skip(len(records) - len(left), Outcome.NOT_SAMPLED, Reason.LAG)
        return left

    def _prefiltered_in(
        self, batch: Sequence[KafkaRecord], spans: Sequence[BlockSpan]
    ) -> Sequence[KafkaRecord]:
        """What the hash leaves of them: in a burst that is more."""
        if all(span.share <= 1.0 for span in spans):
            return self._prefiltered(batch)
        left: list[KafkaRecord] = []
        for share, some in _by_share(batch, spans):
            left += self._prefiltered(some, max(1.0, share))
        return left

    def _prefilter_at(self, share: float) -> Prefilter:
        if share == 1.0:
            return self._prefilter
        samplers = [one.at(share) for one in self._policies.prefilter.samplers]
        return prefilter_for(samplers, self._formats)

    def _prefiltered(
        self, batch: Sequence[KafkaRecord], share: float = 1.0
    ) -> Sequence[KafkaRecord]:
        left, read = self._prefilter_at(share)(batch)
        if dropped := len(batch) - len(left):
            self._ledger.skip(dropped, Outcome.NOT_SAMPLED, Reason.HASH)
        if read:
            self._gate.glimpsed(read)
            if not self._policies.prefilter.samplers[0].needs_decoding:
                self._telemetry.key_fallbacks.inc(read)
        return left

    def take(
        self, record: KafkaRecord, arrived: Arrived | None, span: BlockSpan = ALONE
    ) -> Admitted | None:
        """Sample and filter; None when the interaction has ended already.

        ``arrived`` is what was read of it, None of a tombstone; ``span`` is its block, with the
        share that is taken of it. In this order decide: the hash, at the rate of its application;
        age, rules, pause, block, and whether it is a copy.
        """
        if arrived is None:
            self._ledger.settle(Outcome.UNSCORABLE, Reason.TOMBSTONE)
            return None
        return self._admitted(record, arrived, span)

    def may_take(self, record: KafkaRecord, trace_id: str, span: BlockSpan) -> bool:
        """Whether a trace may be judged, of which so far only its id is known.

        Else it has ended, counted like what the hash takes no part of.
        """
        reason = self.left_out(record, trace_id, span)
        if reason is not None:
            self._ledger.settle(Outcome.NOT_SAMPLED, reason)
        return reason is None

    def left_out(self, record: KafkaRecord, trace_id: str, span: BlockSpan) -> Reason | None:
        """Why such a trace is not judged; None where it may be."""
        reason = self._policies.prefilter.left_out(
            record.key, record.headers, trace_id, span.share / span.length
        )
        return _left_out(span) if reason is Reason.SLOT else reason

    @property
    def leaves_most_out(self) -> bool:
        """Whether the hash takes so little that it is worth to ask before a record is read."""
        return all(one.rate < _WORTH_ASKING for one in self._policies.prefilter.samplers)

    def take_trace(
        self, record: TraceRecord, arrived: Arrived | None, span: BlockSpan
    ) -> Admitted | None:
        """As ``take``, of a trace that was read; ``span`` is the block of its first record.

        It joins no slot, and is taken by its hash.
        """
        if arrived is None:
            return self._not_sampled(Reason.FILTERED)
        if arrived.links_elsewhere:
            self._telemetry.traces_linked.inc()
        return self._admitted(record, arrived, span, is_trace=True)

    def _admitted(
        self, record: KafkaRecord, arrived: Arrived, span: BlockSpan, *, is_trace: bool = False
    ) -> Admitted | None:
        interaction, is_redriven = arrived.interaction, arrived.is_redriven
        self._circuit.fine()
        if arrived.timestamp_replaced:
            self._telemetry.timestamps_replaced.labels(arrived.timestamp_replaced).inc()
        whole = self._policies.policy(interaction)
        is_let_through = self._policies.filter.against(interaction) is None
        is_split = span.length > 1 and (
            is_trace or self._policies.policy.is_split(interaction.application)
        )
        # In the slot of its block; or alone, of all offsets of its block, where rules split it.
        share = span.share / span.length if is_split else span.share
        digest, lacks_key = whole.sampler.draw(
            record.key, record.headers, interaction.interaction_id
        )
        is_taken = whole.sampler.lies_below(digest, max(1.0, span.share))
        is_in_share = share >= 1.0 or whole.sampler.lies_below(digest, share)
        if lacks_key:
            self._telemetry.key_fallbacks.inc()
        if not is_taken:
            # Nobody wants a score of an application whose rate is 0, and nobody expects one.
            return self._not_sampled(Reason.HASH if whole.sampler.rate else Reason.FILTERED)
        # No gauge could count it. But what was redriven, somebody wants judged.
        if interaction.event_time.timestamp() < self._oldest and not is_redriven:
            return self._not_sampled(Reason.TOO_OLD)
        if not is_let_through:
            return self._not_sampled(Reason.FILTERED)
        if self._pauses.is_paused(interaction.application, self._clock()):
            return self._not_sampled(Reason.PAUSED)
        if not is_in_share:
            reason = Reason.HASH if span.share == 1.0 else Reason.LAG
            return self._not_sampled(_left_out(span) if is_trace else reason)
        # Of records without an id two that are equal may be two interactions.
        may_be_copied = arrived.has_own_id and not is_redriven and not is_trace
        if may_be_copied and self._copies.is_copy(record):
            return self._not_sampled(Reason.DUPLICATE)
        policy = whole if share == 1.0 else whole.at(share)
        in_slot = span.length > 1 and not is_split
        if self._pace is not None and not in_slot:
            more_often = max(1.0, policy.sampler.rate / whole.sampler.rate)
            self._pace.picked(more_often, span.length, 1 / policy.sampler.rate)
            self._telemetry.sampling_probability.set(self._pace.picked_share)
        return Admitted(interaction, policy, in_slot)

    def turn(self) -> None:
        """Time passes."""
        self._look_at_the_clock()
        self._copies.turn()

    def _look_at_the_clock(self) -> None:
        """What the brokers' clocks say, and what is too old by them: both hold for a whole turn."""
        self.now = self._broker_time()
        self._oldest = self._policies.oldest(self.now)

    def _not_sampled(self, reason: Reason) -> Admitted | None:
        self._ledger.settle(Outcome.NOT_SAMPLED, reason)
        return None


def _left_out(span: BlockSpan) -> Reason:
    """Why a trace is not judged that would be, if its block were not one for many."""
    return Reason.SLOT if span.share >= 1.0 else Reason.LAG


def _by_share(
    records: Sequence[KafkaRecord], spans: Sequence[BlockSpan]
) -> Iterator[tuple[float, list[KafkaRecord]]]:
    """The records of the blocks, in order, together where blocks of the same share follow."""
    for share, group in groupby(spans, key=lambda span: span.share):
        same = list(group)
        first, last = same[0].first, same[-1].last
        yield share, [one for one in records if first <= one.offset <= last]
