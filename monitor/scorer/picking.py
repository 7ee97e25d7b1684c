"""What becomes of a slot when it closes: which member is judged, and what the record says of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from monitor.control.calibrations import Calibrations
from monitor.errors import MessageRejected
from monitor.ingest.offload import offloaded
from monitor.judge.offline.judge import unsupported_share
from monitor.kafka.record import KafkaRecord
from monitor.metrics.catalogue import CATALOGUE, defined_for
from monitor.metrics.redacted import without_redacted
from monitor.records import Interaction, SamplingRecord
from monitor.runtime.logs import logger
from monitor.runtime.threads import Threads
from monitor.sampling.floors import Floors
from monitor.sampling.picks import Picked, Signalled, pick
from monitor.sampling.rules import EVERYTHING, Filter
from monitor.sampling.slot_buffer import Slot
from monitor.scorer.judging import JudgingInput, ScoringPolicy
from monitor.scorer.score_records import segment_of
from monitor.stats.calibration import Calibration

RiskSignal = Callable[[Interaction], float]
#: Slots whose risk is worked out at the same time.
MOST_SIGNALS_AT_ONCE: Final = 2
#: Traffic names applications: so many of them have floors of their own.
MOST_NAMES = 10_000


class Member(NamedTuple):
    """An interaction in a slot, ``probability`` that with which it was taken."""

    record: KafkaRecord
    judging_input: JudgingInput
    policy: ScoringPolicy
    probability: float

    @property
    def interaction(self) -> Interaction:
        """It, as it was logged."""
        return self.judging_input.interaction


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
    """How members are picked: ``directed`` by the risk signal, once it is calibrated.

    ``floors`` are least shares by segment; what matches one of the rules ``forced`` is judged
    whether it is picked or not, and with ``force_unanswered`` so are blank responses.
    """

    directed: bool = True
    floors: Mapping[str, float] = field(default_factory=dict)
    forced: Filter = EVERYTHING
    force_unanswered: bool = False


class Picker:
    """Picks one member of each slot. ``segment_text`` is what a record may say of a segment."""

    def __init__(
        self,
        settings: PickSettings,
        segment_text: Callable[[str], str] = str,
        calibrations: Calibrations | None = None,
        signal: RiskSignal = unsupported_share,
        threads: Threads | None = None,
    ) -> None:
        self._calibrations = calibrations or Calibrations()
        self._settings, self._segment_text, self._signal = settings, segment_text, signal
        self._floors: dict[str, Floors] = {}
        self._threads = threads or Threads("redaction")
        self._risk_threads = Threads("risk", MOST_SIGNALS_AT_ONCE)

    async def choose(self, slot: Slot[Member]) -> Choice:
        """Pick a member of a slot that is closed."""
        members = list(slot.members.values())
        segments = [await self._segment(member) for member in members]
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
        judge = member.policy.judge.identity.label
        return self._calibrations.of(member.interaction.application, judge)

    async def _signals(self, members: Sequence[Member]) -> list[float] | None:
        """One for each; None where the offline judge fails: then all members are equally likely."""
        try:
            return await self._risk_threads.run(
                lambda: [self._signal(without_redacted(member.interaction)) for member in members]
            )
        except Exception:  # noqa: BLE001 - see above; what went wrong may quote a text
            logger().exception("signal_bug", application=members[0].interaction.application)
            return None

    async def _segment(self, member: Member) -> str:
        raw = segment_of(member.interaction, member.policy.segment_by)
        parts = (raw.encode(errors="surrogatepass"),)
        try:
            return await offloaded(self._threads, parts, self._segment_text, raw)
        except MessageRejected as error:  # its record will be, too, if it is picked
            return error.cause

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
    chosen, kind = member.policy.metrics, member.interaction.kind
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
        q=chosen.probability,
        u=found.u,
        signal=signal,
        segments=found.segments,
        expected=found.expected,
    )


def forced_sampling(interaction: Interaction) -> SamplingRecord:
    """A record without a slot: it has no weight anywhere."""
    nothing: dict[str, None] = dict.fromkeys(("first_offset", "last_offset", "m", "q", "u"))
    return SamplingRecord.model_validate({**nothing, "kind": interaction.kind, "forced": True})
