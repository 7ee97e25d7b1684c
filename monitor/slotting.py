"""What becomes of a slot when it closes: which member is judged, and what the record says of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from monitor.control import (
    CALIBRATION,
    CalibrationRecord,
    Removed,
    calibration_key,
    read_control_record,
)
from monitor.errors import RecordSkipped
from monitor.ingest.filters import EVERYTHING, Filter
from monitor.ingest.gathering import MOST_UNPICKED, Gathering, Slot
from monitor.ingest.outcomes import Ledger, Reason
from monitor.ingest.score_records import Ending, segment_of
from monitor.ingest.slots.floors import Floors
from monitor.ingest.slots.pace import Allowance, Cost, Costs, Pace, Spent, affordable
from monitor.ingest.slots.picks import Picked, Signalled, pick
from monitor.ingest.worker import Work
from monitor.judge.offline import unsupported_share
from monitor.judging import Treatment
from monitor.kafka.record import KafkaRecord
from monitor.logs import logger
from monitor.metrics.catalogue import CATALOGUE, defined_for
from monitor.metrics.hidden import readable
from monitor.records import Interaction, Outcome, SamplingRecord, Source
from monitor.stats.calibration import Calibration
from monitor.telemetry import ScorerTelemetry

Ended = tuple[Outcome, str | None]
#: Record, interaction, treatment, and the slot that the interaction stands for.
Score = Callable[[KafkaRecord, Interaction, Treatment, SamplingRecord], Awaitable[Ended]]
#: Record, name of the interaction, and the bug that nothing but a dead letter is left after.
Bury = Callable[[KafkaRecord, str, Exception], Awaitable[Ended]]
Signal = Callable[[Interaction], float]
#: Slots that are screened at the same time: judging needs threads, too.
MOST_SCREENS: Final = 2
DAY_S: Final = 86_400
#: What an older slot still counts, in shares of the latest ones.
_KEEP: Final = 0.99
#: Traffic names applications: so many of them have floors of their own.
MOST_NAMES = 10_000


class Member(NamedTuple):
    """An interaction in a slot, ``q`` the probability with which it was taken."""

    record: KafkaRecord
    interaction: Interaction
    treatment: Treatment
    q: float


class Choice(NamedTuple):
    """The pick with the slot that it stands for, and those that are judged besides it.

    ``directed``: risk had a say in it.
    """

    member: Member
    sampling: SamplingRecord
    forced: Sequence[Member]
    directed: bool


@dataclass(frozen=True)
class PickSettings:
    """How members are picked: ``directed`` by the risk that the screen sees, where it can tell.

    ``floors`` are least shares by segment; what matches one of the rules ``forced`` is judged
    whether it is picked or not, and with ``force_unanswered`` so are blank responses.
    """

    directed: bool = True
    floors: Mapping[str, float] = field(default_factory=dict)
    forced: Filter = EVERYTHING
    force_unanswered: bool = False


class Calibrations:
    """The latest calibration of each application and judge (``name@version``)."""

    def __init__(self) -> None:
        self._held: dict[str, Calibration] = {}

    def of(self, application: str, judge: str) -> Calibration | None:
        """What holds; None while there is none."""
        return self._held.get(calibration_key(application, judge))

    def take_in(self, key: bytes | None, value: bytes | None) -> RecordSkipped | None:
        """Let a control record hold; what was wrong with one that was left out.

        Of those that are no calibrations nothing is said: others read them.
        """
        try:
            found = read_control_record(key, value)
        except RecordSkipped as skipped:
            ours = (key or b"").startswith(f"{CALIBRATION}/".encode())
            return skipped if ours else None
        if isinstance(found, Removed):
            self._held.pop(found.key, None)
        elif isinstance(found, CalibrationRecord):
            self._held[found.key] = Calibration(found.edges, found.spreads, found.expected)
        return None


class Picker:
    """Picks one member of each slot. ``segment_text`` is what a record may say of a segment."""

    def __init__(
        self,
        settings: PickSettings,
        segment_text: Callable[[str], str] = str,
        calibrations: Calibrations | None = None,
        signal: Signal = unsupported_share,
    ) -> None:
        self._calibrations = calibrations or Calibrations()
        self._settings, self._segment_text, self._signal = settings, segment_text, signal
        self._floors: dict[str, Floors] = {}
        self._screens = asyncio.Semaphore(MOST_SCREENS)

    async def choose(self, slot: Slot[Member]) -> Choice:
        """Pick a member of a slot that is closed."""
        members = list(slot.members.values())
        segments = [self._segment(member) for member in members]
        calibration = self._calibration(members[0])
        signals = None if calibration is None else await self._signals(members)
        found = pick(self._signalled(members, segments, signals, calibration))
        chosen = members[found.number]
        self._floors_of(chosen).picked(segments[found.number])
        signal = None if signals is None else signals[found.number]
        if signals is None and self._settings.directed:  # a calibration is learned from these
            (signal,) = await self._signals([chosen]) or (None,)
        others = [m for number, m in enumerate(members) if number != found.number]
        return Choice(
            chosen,
            _sampling(slot, chosen, found, signal),
            [member for member in others if self._is_forced(member.interaction)],
            directed=signals is not None,
        )

    def _signalled(
        self,
        members: Sequence[Member],
        segments: Sequence[str],
        signals: Sequence[float] | None,
        calibration: Calibration | None,
    ) -> list[Signalled]:
        floors = self._floors_of(members[0])
        names = _defined(members[0])
        return [
            signalled(
                member.interaction.interaction_id,
                segments[number],
                None if signals is None else signals[number],
                calibration,
                floors.factor(segments[number]),
                names,
            )
            for number, member in enumerate(members)
        ]

    def _calibration(self, member: Member) -> Calibration | None:
        if not self._settings.directed:
            return None
        judge = member.treatment.judge.identity.label
        return self._calibrations.of(member.interaction.application, judge)

    async def _signals(self, members: Sequence[Member]) -> list[float] | None:
        """One for each; None where the screen fails: then no member is likelier than another."""
        try:
            async with self._screens:
                return await asyncio.to_thread(
                    lambda: [self._signal(readable(member.interaction)) for member in members]
                )
        except Exception:  # noqa: BLE001 - see above; what went wrong may quote a text
            logger().exception("signal_bug", application=members[0].interaction.application)
            return None

    def _segment(self, member: Member) -> str:
        return self._segment_text(segment_of(member.interaction, member.treatment.segment_by))

    def _floors_of(self, member: Member) -> Floors:
        name = member.interaction.application
        found = self._floors.get(name)
        if found is None:
            found = Floors(self._settings.floors)
            if len(self._floors) < MOST_NAMES:
                self._floors[name] = found
        return found

    def _is_forced(self, interaction: Interaction) -> bool:
        if self._settings.force_unanswered and not interaction.response.strip():
            return True
        rules = self._settings.forced.include
        return any(rule(interaction) for rule in rules)


def signalled(
    interaction_id: str,
    segment: str,
    signal: float | None,
    calibration: Calibration | None,
    factor: float = 1.0,
    metrics: Collection[str] | None = None,
) -> Signalled:
    """A member with what its signal says; without one or a calibration it is like all others.

    ``metrics`` are those that something may be expected of (None: all that are calibrated).
    """
    if calibration is None or signal is None:
        return Signalled(interaction_id, segment, factor)
    k = calibration.bin(signal)
    expected = {
        name: f[k] for name, f in calibration.expected.items() if metrics is None or name in metrics
    }
    return Signalled(interaction_id, segment, factor * calibration.spreads[k], expected)


def _defined(member: Member) -> frozenset[str]:
    """The metrics that stand on a record of its kind, and may have a value."""
    chosen, kind = member.treatment.metrics, member.interaction.kind
    return frozenset(
        name
        for name, metric in CATALOGUE.items()
        if defined_for(metric, kind) and (chosen is None or name in chosen)
    )


def _sampling(
    slot: Slot[Member], chosen: Member, found: Picked, signal: float | None
) -> SamplingRecord:
    return SamplingRecord(
        first_offset=slot.first_offset,
        last_offset=slot.last_offset,
        kind=chosen.interaction.kind,
        m=len(slot.members),
        q=chosen.q,
        u=found.u,
        signal=signal,
        segments=found.segments,
        expected=found.expected,
    )


def forced_sampling(interaction: Interaction) -> SamplingRecord:
    """A record without a slot: it has no weight anywhere."""
    nothing: dict[str, None] = dict.fromkeys(("first_offset", "last_offset", "m", "q", "u"))
    return SamplingRecord.model_validate({**nothing, "kind": interaction.kind, "forced": True})


class Money(Protocol):
    """What all scorers spend in a day; times are epoch seconds."""

    def left(self, now: float) -> float:
        """US dollars."""

    def spent(self, now: float) -> float:
        """US dollars since midnight."""

    def day_start(self, now: float) -> float:
        """The latest midnight."""


@dataclass(frozen=True)
class Slots:
    """What a scorer needs for blocks; ``allowed`` and ``money`` say what they may cost.

    ``share`` is this replica's part of what all are allowed a minute. ``wall`` gives epoch seconds,
    ``monotonic`` those between two looks.
    """

    gathering: Gathering[Member]
    picker: Picker
    pace: Pace = field(default_factory=lambda: Pace(1, sheds=False, behind_s=0.0))
    allowed: Allowance = field(default_factory=lambda: Allowance(1))
    money: Money | None = None
    share: Callable[[], float] = lambda: 1.0
    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic


class Steering:
    """Looks at demand, costs and lag once a minute, and sets the pace."""

    def __init__(self, slots: Slots, telemetry: ScorerTelemetry) -> None:
        self._slots, self._telemetry = slots, telemetry
        self._costs = Costs()
        self._spent_usd = 0.0
        self.lag_s = 0.0

    def picked(self) -> None:
        """One more interaction is to be judged."""
        self._slots.pace.picked()

    def judged(self, ending: Ending, seconds: float) -> None:
        """A judgement has ended, at this cost; what nobody was asked for costs nothing."""
        if ending.outcome is Outcome.OVER_BUDGET:
            return
        usage = ending.usage
        tokens = usage.prompt_tokens + usage.completion_tokens + usage.reasoning_tokens
        self._costs.judged(Cost(usage.calls, tokens, usage.usd, seconds))

    def turn(self) -> None:
        """Time passes."""
        slots, now = self._slots, self._slots.monotonic()
        if not slots.pace.is_due(now):
            return
        demand = slots.pace.demand(now)
        before_usd, allowed = self._spent_usd, slots.allowed.part(slots.share())
        if slots.money is not None:
            wall = slots.wall()
            left_s = max(60.0, slots.money.day_start(wall) + DAY_S - wall)
            allowed = allowed._replace(usd_per_minute=60 * slots.money.left(wall) / left_s)
            self._spent_usd = slots.money.spent(wall)
        spent = Spent(demand, max(0.0, self._spent_usd - before_usd))
        budget = affordable(allowed, self._costs.mean, spent)
        plan = slots.pace.look(now, budget, self.lag_s)
        self._telemetry.show_plan(plan.length, plan.share, budget)


class Latest:
    """How many of the latest interactions were picked, older ones counting less and less.

    >>> latest = Latest()
    >>> latest.add(4.0), latest.add(4.0)
    (0.25, 0.25)
    """

    def __init__(self) -> None:
        self._picks = self._interactions = 0.0

    def add(self, interactions: float) -> float:
        """One more slot, which stands for so many interactions; the share that was picked."""
        self._picks = _KEEP * self._picks + 1.0
        self._interactions = _KEEP * self._interactions + interactions
        return self._picks / self._interactions


class SlotWorks:
    """The work of slots, as the consuming loop knows it. ``score`` brings a member to its end."""

    def __init__(
        self,
        slots: Slots,
        ledger: Ledger,
        score: Score,
        bury: Bury,
        telemetry: ScorerTelemetry,
    ) -> None:
        self.gathering, self._picker = slots.gathering, slots.picker
        self._ledger, self._telemetry = ledger, telemetry
        self._score, self._bury = score, bury
        self._picks = Latest()
        self.steering = Steering(slots, telemetry)
        #: Those that wait for their block to close, or for the others of their block.
        self.parked: set[asyncio.Task[None] | None] = set()

    @property
    def has_room(self) -> bool:
        """Whether more may be read."""
        return self.gathering.unpicked < MOST_UNPICKED

    def join(self, member: Member) -> Work | None:
        """Put an interaction into its slot; the work of the slot where it is the first one."""
        found, record = member.interaction, member.record
        source = Source(topic=record.topic, partition=record.partition, offset=record.offset)
        if found.source != source:  # redriven: its slot lies where it was read now
            member = member._replace(interaction=found.model_copy(update={"source": source}))
        key = found.application, found.kind
        slot = self.gathering.join(record, key, found.interaction_id, member)
        return None if slot is None else self._work(slot)

    async def _work(self, slot: Slot[Member]) -> None:
        """Wait for the block to close, judge a member, settle all; then wait for the block."""
        try:
            await self._until(slot.block.closed)
            first, interactions = next(iter(slot.members.values())), slot.interactions
            try:
                choice = await self._picker.choose(slot)
            except Exception as error:  # noqa: BLE001 - a bug of ours wedges no partition
                endings = [await self._bury(first.record, first.interaction.interaction_id, error)]
                self.gathering.picked(slot)
            else:
                self.gathering.picked(slot)
                endings = await self._judged(choice)
        except asyncio.CancelledError as cancelled:
            why = str(cancelled.args[0]) if cancelled.args else Reason.SHUTDOWN.value
            self._ledger.settle(Outcome.HANDED_OVER, why, slot.interactions)
            self.gathering.abandon(slot)
            raise
        for outcome, reason in endings:
            self._ledger.settle(outcome, reason)
        self._ledger.settle(Outcome.NOT_SAMPLED, Reason.SLOT, interactions - len(endings))
        slot.block.finish()
        # Its offsets stay open until the block is done: whoever reads again reads all of it.
        await self._until(slot.block.done)

    async def _judged(self, choice: Choice) -> list[Ended]:
        """How the pick and those that are forced have ended."""
        self._count(choice)
        endings = [await self._scored(choice.member, choice.sampling)]
        for member in choice.forced:
            endings.append(await self._scored(member, forced_sampling(member.interaction)))
        return endings

    def _count(self, choice: Choice) -> None:
        self.steering.picked()
        m, q = choice.sampling.m or 1, choice.sampling.q or 1.0
        self._telemetry.slot_interactions.observe(m)
        self._telemetry.slots.labels("directed" if choice.directed else "uniform").inc()
        self._telemetry.sampling_probability.set(self._picks.add(m / q))

    async def _scored(self, member: Member, sampling: SamplingRecord) -> Ended:
        return await self._score(member.record, member.interaction, member.treatment, sampling)

    async def _until(self, event: asyncio.Event) -> None:
        task = asyncio.current_task()
        self.parked.add(task)
        try:
            await event.wait()
        finally:
            self.parked.discard(task)
