"""An installation that watches traffic: what its exporter makes of it, without topics and clock.

The detectors, the learner and the alarms are the product's own, and are asked at the moments at
which the exporter asks them: five seconds after five seconds, without those at which there is
nothing new. Left out is what decides nothing: topics, JSON, the choice of records, gauges. That
this changes no alarm is held by ``tests/unit/exporter/test_promise.py``.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

from monitor.app.scores import Aggregators, aggregators
from monitor.config import Settings, load, seconds
from monitor.exporter.alarms.publisher import every
from monitor.exporter.alarms.transitions import carry_over, transitions, was_open
from monitor.exporter.baselines.bad_times import alarm_spans
from monitor.exporter.baselines.baselines import control_state
from monitor.exporter.baselines.commands import with_the_rest
from monitor.exporter.baselines.learning import frozen
from monitor.exporter.scores.observation import Observation
from monitor.exporter.scores.repeats import Repeats
from monitor.exporter.scores.training_slots import TrainingSlots
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import JudgeIdentity, Outcome, ScoreRecord, Source
from monitor.records.alarm import AlarmRecord
from monitor.records.control import BaselineRecord
from monitor.records.score import SamplingRecord, UnscoredMark
from monitor.stats.candidates import Candidate, SlotChange
from monitor.stats.period import HorizonSpan, day_bounds, horizon_span, pace
from monitor.stats.sums import as_worse
from tests.benchmarks.promising.worlds import DAY, METRICS, Picks
from tests.stages.candidates import candidate_of

APPLICATION: Final = "support"
JUDGE: Final = JudgeIdentity(name="offline", version="1", model="", prompts="p", pipeline="p")
#: More than two of the longest periods have where a period is longer than a day.
MOST_READ_AGAIN: Final = 100_000
#: From an interaction to its score record on the topic, and between two looks at learning.
JUDGED_S, LEARN_EVERY_S = 1.0, 60.0


def settings(**flags: object) -> Settings:
    """Those that are shipped, for the three metrics of the promise."""
    return load({}, flags={"drift.metrics": ",".join(METRICS), **flags})


class Pick(NamedTuple):
    """One pick: what a score record says of it. ``values``: larger meaning worse.

    ``answer`` is the number of the first pick with the same question and response.
    """

    at: float
    number: int
    values: tuple[float, ...]
    segment: str
    answer: int
    failed: bool


def picks(found: Picks, first: int) -> Iterator[Pick]:
    """The picks of a day one by one, numbered from ``first`` on."""
    columns = (found.times, found.scores, found.tenants, found.answers, found.failed)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, (at, values, tenant, answer, failed) in enumerate(rows, first):
        yield Pick(at, number, tuple(values), f"tenant-{tenant:02}", first + answer, failed)


def record(pick: Pick) -> ScoreRecord:
    """The score record that a scorer writes of it."""
    at = datetime.fromtimestamp(pick.at, UTC)
    scores: dict[str, float | UnscoredMark] = {
        metric: as_worse(value, CATALOGUE[metric].higher_is_better)
        for metric, value in zip(METRICS, pick.values, strict=True)
    }
    return ScoreRecord(
        application=APPLICATION,
        interaction_id=f"{pick.number:010}",
        event_time=at,
        judged_at=at,
        source=Source(topic="rag.interactions.v1", partition=0, offset=pick.number),
        judge=JUDGE,
        sampling=SamplingRecord(
            first_offset=pick.number, last_offset=pick.number, kind="with_reference"
        ),
        segment=pick.segment,
        interaction={"user_input": f"q{pick.answer}", "response": f"r{pick.answer}"},
        scores={} if pick.failed else scores,
        outcome=Outcome.JUDGE_FAILED if pick.failed else Outcome.SCORED,
    )


class Advancing(Protocol):
    """What an exporter lets time pass for, and learns from: a ``ScoreAggregator``, or less."""

    @property
    def training_slots(self) -> TrainingSlots:
        """The slots that baselines are learned from."""

    def advance(self, now: float) -> None:
        """Let time pass."""


class Scores(Advancing, Protocol):
    """What takes in picks, as a ``ScoreAggregator`` takes in their records."""

    def begin_anew(self, span: HorizonSpan) -> None:
        """Forget all picks; they count for another span."""

    def add(self, pick: Pick) -> None:
        """Take in a pick, whose event time is the latest of all."""


class SlotsOnly:
    """The slots of one application and judge, for detectors and learner; no gauges."""

    def __init__(self, found: Aggregators) -> None:
        self._drift, self._whole = found.drift, found.scores
        self._alike: dict[tuple[str, bool], tuple[Candidate, Observation]] = {}
        self._begin()

    def _begin(self) -> None:
        self._held, self._repeats = deque[Candidate](), Repeats()
        self._training_slots = TrainingSlots(self._drift.is_known, lambda: iter(self._held))

    @property
    def training_slots(self) -> TrainingSlots:
        """The slots that baselines are learned from."""
        return self._training_slots

    @property
    def held(self) -> Sequence[Candidate]:
        """Those that are within the horizon, in their order."""
        return self._held

    def begin_anew(self, span: HorizonSpan) -> None:
        """Forget all picks; they count for another span."""
        self._whole.begin_anew(span)
        self._begin()

    def add(self, pick: Pick) -> None:
        """Take in a pick."""
        candidate, slot = self._candidate(pick)
        self._held.append(candidate)
        self._drift.pace(pick.at, slot, +1)
        self._watch(self._repeats.changes(candidate, +1))
        self._training_slots.apply(candidate, slot, +1)

    def _watch(self, changes: Iterable[SlotChange]) -> None:
        for candidate, sign in changes:
            slot = candidate.payload
            assert isinstance(slot, Observation)
            self._drift.watch(candidate, slot, sign)

    def advance(self, now: float) -> None:
        """Let time pass: what is before the horizon does not count."""
        start = self._whole.horizon_start(now)
        self._drift.advance(now, start)
        self._training_slots.drop_before(start)
        self._watch(self._repeats.drop_before(start))
        while self._held and self._held[0].event_time < start:
            self._held.popleft()

    def _candidate(self, pick: Pick) -> tuple[Candidate, Observation]:
        """What a record's reader makes of it, without making the record each time."""
        key = pick.segment, pick.failed
        like = self._alike.get(key)
        if like is None:
            made = candidate_of(record(pick), b"")
            assert isinstance(made.payload, Observation)
            like = self._alike[key] = made, made.payload
        candidate, slot = like
        if not pick.failed:
            slot = slot._replace(numbers=pick.values, content=pick.answer + 1)
        named = candidate._replace(
            interaction_id=f"{pick.number:010}", event_time=pick.at, payload=slot
        )
        return named, slot


class Look(NamedTuple):
    """What the exporter sees at a moment, and which alarms it opens or closes."""

    now: float
    records: list[AlarmRecord]
    in_alarm: bool


class Exporter:
    """What an exporter does with ``scores`` from time to time; alarms hold as they are written.

    Their segments are values of the attribute ``segment_by``.
    """

    def __init__(
        self, found: Aggregators, scores: Advancing, segment_by: str | None = None
    ) -> None:
        self._found, self._scores, self._segment_by = found, scores, segment_by
        self._control = control_state(found.baselines)
        self._last: dict[str, AlarmRecord] = {}
        self._learn_at = -math.inf

    @property
    def learned(self) -> bool:
        """Whether there is a baseline."""
        return bool(self.baselines)

    @property
    def baselines(self) -> Mapping[str, BaselineRecord]:
        """Those that hold, by key."""
        return self._found.baselines.records()

    def hold(self, record: BaselineRecord) -> None:
        """It stands on the control topic."""
        self._control.apply(record.key.encode(), record.to_json())

    def look(self, now: float) -> Look:
        """Let time pass until now (epoch seconds), learn, and open and close alarms."""
        self._scores.advance(now)
        if now >= self._learn_at:
            self._learn_at = now + LEARN_EVERY_S
            slots, ever = self._scores.training_slots, partial(was_open, self._last)
            spans = partial(alarm_spans, self._last)
            for learned in self._found.baselines.learn(slots, now, ever, spans):
                self._control.apply(learned.key.encode(), learned.to_json())
        drift = self._found.drift
        states = list(drift.states(now))
        written = transitions(self._last, states, drift.history, now, self._segment_by)
        changed = [one for one in written if self._changes(one)]
        self._last.update((one.key, one) for one in written)
        for one in written:
            carry_over(one, drift)
        return Look(now, changed, any(state.alarm for state in states))

    def _changes(self, record: AlarmRecord) -> bool:
        """Whether it opens or closes: one that goes on in another period is written again."""
        before = self._last.get(record.key)
        return before is None or before.state != record.state


class Installation:
    """Picks in the order of their event times in, looks out.

    ``scores`` makes what takes them in.
    """

    def __init__(
        self,
        chosen: Settings,
        start: float,
        scores: Callable[[Aggregators], Scores] = SlotsOnly,
    ) -> None:
        found = aggregators(chosen)
        self._settle_s = seconds(chosen.drift.settle)
        self._every_s = every(self._settle_s)
        self._found, self._scores = found, scores(found)
        self.exporter = Exporter(found, self._scores)
        self._held, self._by_day = deque[Pick](), Counter[int]()
        self._due = deque[float]()
        self._midnight = start

    def promise(self, false_alarms_per_week: float, judged_per_week: float | None) -> None:
        """Go on with another promise; its threshold holds for all evidence."""
        drift = self._found.drift
        drift.settings = replace(
            drift.settings,
            false_alarms_per_week=false_alarms_per_week,
            judged_per_week=judged_per_week,
        )

    def play(self, pick: Pick) -> Iterator[Look]:
        """The looks before a pick's record is there; then it is taken in."""
        yield from self.until(pick.at + JUDGED_S)
        self._scores.add(pick)
        self._held.append(pick)
        self._by_day[int(pick.at) // DAY * DAY] += 1
        due = math.ceil((pick.at + self._settle_s) / self._every_s) * self._every_s
        if not self._due or due > self._due[-1]:
            self._due.append(due)

    def freeze(self, now: float, *, as_earlier: bool = False) -> float:
        """Say that what is now is normal; in how many seconds that came.

        ``as_earlier``: as versions did that knew no hours.
        """
        assert isinstance(self._scores, SlotsOnly)
        chosen = self._found.baselines.learning_settings
        (found,) = frozen(self._scores.held, chosen, lambda _: True, now)
        made = with_the_rest(found, self.exporter.baselines.get(found.key), now)
        if as_earlier:
            unknown = {"frozen_from": None, "frozen_until": None}
            gone = {**unknown, "provisional": False, "hour_spread": 0.0}
            old = {name: one.model_copy(update=gone) for name, one in made.metrics.items()}
            made = made.model_copy(update={"metrics": old})
        self.exporter.hold(made)
        begin = min(one.frozen_from for one in found.metrics.values() if one.frozen_from)
        return (found.effective_from - begin).total_seconds()

    def until(self, now: float) -> Iterator[Look]:
        """The looks until then at which something is new: a pick that has settled, or a day."""
        while self._due and self._due[0] <= now:
            if self._midnight < self._due[0]:
                yield from self._day_begins()
            else:
                yield self.exporter.look(self._due.popleft())
        while self._midnight <= now:
            yield from self._day_begins()

    def _day_begins(self) -> Iterator[Look]:
        self._fit(self._midnight)
        yield self.exporter.look(self._midnight)
        self._midnight += DAY

    def _fit(self, now: float) -> None:
        """Where the picks of late ask for another period, all of them are read again."""
        scores = self._found.scores
        counts = [self._by_day[day] for day, _ in pairwise(day_bounds(now))]
        asked = horizon_span(pace(counts))
        if scores.auto_period and asked != scores.span:
            self._scores.begin_anew(asked)
            self._scores.advance(now)
            for pick in self._held:
                if pick.at >= scores.horizon_start(now):
                    self._scores.add(pick)
        while len(self._held) > MOST_READ_AGAIN:
            self._held.popleft()
