"""The work of slots: from the first member to the last of the block, at a pace that limits set."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from monitor.ingest.work import Work, Works, WorkState
from monitor.judge.limits.budget import Budget
from monitor.kafka.record import KafkaRecord
from monitor.records import Outcome, Reason, SamplingRecord, Source
from monitor.runtime.logs import logger
from monitor.sampling.meters import Meters
from monitor.sampling.pace import Costs, JudgementCost, Pace, PaceBounds, Spent, affordable, room
from monitor.sampling.slot_buffer import MOST_UNPICKED, Slot, SlotBuffer
from monitor.scorer.ledger import Ledger
from monitor.scorer.picking import Choice, Member, Picker, forced_sampling
from monitor.scorer.score_records import JudgingResult
from monitor.telemetry import ScorerTelemetry

Ended = tuple[Outcome, str | None]
#: The work of a slot, one of its members, and what that stands for.
ScorePick = Callable[[Work, Member, SamplingRecord], Awaitable[Ended]]
#: Work, record, name of the interaction, and the bug that nothing but a dead letter is left after.
Bury = Callable[[Work, KafkaRecord, str, Exception], Awaitable[Ended]]
DAY_S: Final = 86_400
#: What is left, with each look, of the weight of earlier picks and their price.
_KEEP_MINUTE: Final = 0.8


@dataclass(frozen=True)
class Slots:
    """What a scorer needs for blocks; ``allowed`` and ``budget`` say what they may cost.

    ``share`` is this replica's part of what all are allowed a minute. ``wall`` gives epoch seconds,
    ``monotonic`` those between two looks. ``burst`` says how many times as many judgements are
    asked for now. ``meters`` say what each model that may judge leaves room for.
    """

    slot_buffer: SlotBuffer[Member]
    picker: Picker
    pace: Pace = field(default_factory=lambda: Pace(1, sheds=False, behind_s=0.0))
    allowed: PaceBounds = field(default_factory=lambda: PaceBounds(1))
    budget: Budget | None = None
    share: Callable[[], float] = lambda: 1.0
    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    burst: Callable[[], float] = lambda: 1.0
    meters: Meters = field(default_factory=lambda: Meters(()))


class PaceController:
    """Looks at demand, costs and lag once a minute, and sets the pace."""

    def __init__(self, slots: Slots, telemetry: ScorerTelemetry) -> None:
        self._slots, self._telemetry = slots, telemetry
        self._costs = Costs()
        self._spent_usd, self._spent = 0.0, Spent(0.0, 0.0)
        self._asked = False, 1.0
        self._affordable: float | None = None
        self.lag_s = 0.0
        #: Interactions that are to be judged, and wait for a place.
        self.waiting = 0

    def judged(self, result: JudgingResult, seconds: float) -> None:
        """A judgement has ended, at this cost; what nobody was asked for costs nothing."""
        if not result.was_judged:
            return
        usage = result.usage
        tokens = usage.prompt_tokens + usage.completion_tokens + usage.reasoning_tokens
        self._costs.judged(JudgementCost(usage.calls, tokens, usage.usd, seconds))
        self._slots.meters.judged()

    def turn(self) -> None:
        """Time passes."""
        slots, now = self._slots, self._slots.monotonic()
        looks = slots.pace.is_due(now, costs_known=self._costs.mean is not None)
        asked = slots.burst()
        if looks:
            self._look(now)
        # At once, and not only with the next look.
        wanted = slots.pace.is_behind(self.lag_s), asked
        if looks or wanted != self._asked:
            self._asked = wanted
            self._burst(1.0 if wanted[0] else asked)

    def _look(self, now: float) -> None:
        slots, (allowed, _), spent = self._slots, self._allowed(), self._latest(now)
        self._affordable = affordable(allowed, self._costs.mean, spent)
        under_way = slots.slot_buffer.under_way()
        slots.pace.look(now, self._affordable, self.lag_s, self.waiting, under_way)

    def _latest(self, now: float) -> Spent:
        """Picks and dollars, the latest minutes counting most: of few picks none may be in one."""
        slots, before_usd = self._slots, self._spent_usd
        if slots.budget is not None:
            self._spent_usd = slots.budget.spent()
        usd = slots.pace.per_minute(max(0.0, self._spent_usd - before_usd), now)
        picks = _KEEP_MINUTE * self._spent.picks + slots.pace.demand(now)
        self._spent = Spent(picks, _KEEP_MINUTE * self._spent.usd + usd)
        return self._spent

    def _burst(self, asked: float) -> None:
        pace, times = self._slots.pace, 1.0
        if asked > 1.0:
            allowed, left_s = self._allowed()
            times = max(1.0, min(asked, room(allowed, self._costs.mean, pace.expected, left_s)))
        if times != pace.times:
            logger().info("burst", times=round(times, 2), asked=asked)
        plan = pace.burst(times)
        self._telemetry.show_plan(plan.length, min(1.0, plan.share), self._affordable)
        self._telemetry.burst.set(times)

    def _allowed(self) -> tuple[PaceBounds, float]:
        """What is allowed now, and for how many seconds the day's money has to last."""
        slots = self._slots
        share = slots.share()
        allowed = slots.allowed.part(share)
        allowed = allowed._replace(judgements_per_minute=slots.meters.affordable(share))
        if slots.budget is None:
            return allowed, float(DAY_S)
        left_s = max(60.0, slots.budget.day_end() - slots.wall())
        return allowed._replace(usd_per_minute=60 * slots.budget.left() / left_s), left_s


class SlotWorker:
    """The work of slots, as the consuming loop knows it. ``score`` brings a member to its end."""

    def __init__(
        self,
        slots: Slots,
        works: Works,
        ledger: Ledger,
        score: ScorePick,
        bury: Bury,
        telemetry: ScorerTelemetry,
    ) -> None:
        self.slot_buffer, self._picker = slots.slot_buffer, slots.picker
        self._works, self._ledger, self._telemetry = works, ledger, telemetry
        self._score, self._bury = score, bury
        self._pace, self.pace_controller = slots.pace, PaceController(slots, telemetry)

    @property
    def has_room(self) -> bool:
        """Whether more may be read."""
        return self.slot_buffer.unpicked < MOST_UNPICKED

    def join(self, member: Member) -> Work | None:
        """Put an interaction into its slot; the work of the slot where it is the first one."""
        found, record = member.interaction, member.record
        source = Source(topic=record.topic, partition=record.partition, offset=record.offset)
        if found.source != source:  # redriven: its slot lies where it was read now
            moved = found.model_copy(update={"source": source})
            member = member._replace(judging_input=member.judging_input.of(moved))
        key = found.application, found.kind
        slot = self.slot_buffer.join(record, key, found.interaction_id, member)
        return None if slot is None else Work(record, partial(self._do, slot), self._works)

    async def _do(self, slot: Slot[Member], work: Work) -> None:
        """Wait for the block to close, judge a member, settle all; then wait for the block."""
        try:
            with work.at(WorkState.PARKED):
                await slot.block.closed.wait()
            first, interactions = next(iter(slot.members.values())), slot.interactions
            try:
                choice = await self._picker.choose(slot)
            except Exception as error:  # noqa: BLE001 - a bug of ours wedges no partition
                name = first.interaction.interaction_id
                endings = [await self._bury(work, first.record, name, error)]
                self.slot_buffer.picked(slot)
            else:
                self.slot_buffer.picked(slot)
                self._count(slot, choice)
                endings = await self._judged(work, choice)
        except asyncio.CancelledError:
            self._ledger.settle(Outcome.HANDED_OVER, work.handover_reason, slot.interactions)
            self.slot_buffer.abandon(slot)
            raise
        for outcome, reason in endings:
            self._ledger.settle(outcome, reason)
        self._ledger.settle(Outcome.NOT_SAMPLED, Reason.SLOT, interactions - len(endings))
        slot.block.finish()
        # Its offsets stay open until the block is done: whoever reads again reads all of it.
        with work.at(WorkState.PARKED):
            await slot.block.done.wait()

    async def _judged(self, work: Work, choice: Choice) -> list[Ended]:
        """How the pick and those that are forced have ended."""
        endings = [await self._score(work, choice.member, choice.sampling)]
        for member in choice.forced:
            sampling = forced_sampling(member.interaction)
            endings.append(await self._score(work, member, sampling))
        return endings

    def _count(self, slot: Slot[Member], choice: Choice) -> None:
        m, q = choice.sampling.m or 1, choice.sampling.q or 1.0
        self._telemetry.slot_interactions.observe(m)
        self._telemetry.slots.labels("directed" if choice.directed else "uniform").inc()
        self._pace.picked(offsets=slot.block.length, interactions=m / q)
        self._telemetry.sampling_probability.set(self._pace.picked_share)
