"""Of so small an application a baseline comes late or never, and it is said so while it learns."""

from __future__ import annotations

import pytest

from monitor.exporter.baselines.baselines import Baselines, learning_slots
from monitor.exporter.baselines.learning import Learner, LearningSettings, Progress
from monitor.exporter.baselines.unlikely import (
    is_unlikely,
    outlooks,
    unlikely,
    week_helps,
)
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings
from monitor.exporter.scores.observation import Observation
from monitor.exporter.serve.score_tables import score_tables
from monitor.stats.baseline import NOTHING
from monitor.stats.period import DAY_S, LEARNING_S, MOST_PER_DAY, HorizonSpan
from tests.stages.daily_exporter import MORNING, PAIR
from tests.stages.score_records import START, record

LEARNED = LearningSettings(1_000, 600, ("faithfulness",), DAY_S)
HELD = HorizonSpan(DAY_S, LEARNING_S)


def played(
    per_day: int, days: float, span: HorizonSpan = HELD, start: float = MORNING
) -> tuple[ScoreAggregator, Baselines, float]:
    """So many scores a day, of an installation that has enough of others for a period of a day."""
    drift = DriftDetectors(DriftSettings(("faithfulness",), 1.0, None, NOTHING, DAY_S, 0))
    scores = ScoreAggregator({"24h": DAY_S}, DAY_S, drift=drift)
    scores.begin_anew(span)
    baselines, now = Baselines(drift, Learner(LEARNED)), start + days * DAY_S
    for number in range(round(per_day * days)):
        one = record(str(number + 1), start - START + number * DAY_S / per_day)
        scores.add(one, one.to_json())
    scores.advance(now)
    baselines.learn(scores.training_slots, now)
    return scores, baselines, now


@pytest.mark.parametrize(
    ("per_day", "days", "told"),
    [
        (5, 3.0, False),
        (5, 5.0, True),
        (5, 12.0, True),
        (7, 6.0, True),
        (8, 6.0, False),
        (20, 6.0, False),
    ],
)
def test_what_is_held_of_a_small_one_is_too_little(per_day: int, days: float, told: bool) -> None:
    """Of eight days sixty are needed. Half of that time has to be seen before a pace is told."""
    scores, baselines, now = played(per_day, days)
    late = unlikely(baselines, scores, now)
    assert late == ({PAIR} if told else set())
    due = outlooks(baselines, scores, now)
    (table,) = score_tables(scores, learning_slots(baselines), now, due)
    assert table.outlook is not None
    assert table.outlook.is_unlikely == told


def test_a_period_holds_more() -> None:
    """Five a day have enough in two periods of 28 days; in two of a day a thousand are needed."""
    progress = Progress(PAIR, 40, 1_000, done=False, first=0.0)
    now = 8.0 * DAY_S
    assert is_unlikely(progress, LEARNED, 8.0 * DAY_S, now)
    assert not is_unlikely(progress, LEARNED, 56.0 * DAY_S, now)
    busy = progress._replace(slots=400)
    assert is_unlikely(busy, LEARNED, 2.0 * DAY_S, 1.1 * DAY_S)
    assert not is_unlikely(busy._replace(slots=600), LEARNED, 2.0 * DAY_S, 1.1 * DAY_S)
    assert not is_unlikely(progress._replace(done=True), LEARNED, 8.0 * DAY_S, now)


def test_a_week_is_enough_only_where_it_is_held() -> None:
    """With eight days sixty do, when the week is over; with two of a day nobody holds a week."""
    scores, baselines, now = played(20, 5.0)
    assert week_helps(baselines, scores, now) is True
    found = outlooks(baselines, scores, now)[PAIR]
    over_s = MORNING + 7 * DAY_S + LEARNED.wait_s
    assert found == (60, True, over_s, False, False)
    scores.begin_anew(HorizonSpan(DAY_S))
    assert week_helps(baselines, scores, now) is False


@pytest.mark.parametrize(("per_day", "days"), [(5, 9.0), (6, 30.0), (4, 8.0), (7, 7.5)])
def test_no_day_is_named_where_answers_lack(per_day: int, days: float) -> None:
    """A week is over, and there are not sixty: the day was one that is past, for ever."""
    scores, baselines, now = played(per_day, days)
    found = outlooks(baselines, scores, now)[PAIR]
    assert found.comes_s is None
    assert found.is_week_over


@pytest.mark.parametrize("per_day", [5, 9, 20, 100])
def test_a_day_that_is_named_is_that_of_the_baseline(per_day: int) -> None:
    """It never moves, and there is a baseline on it, and not before."""
    named = {}
    for half_days in range(1, 16):
        scores, baselines, now = played(per_day, half_days / 2)
        for found in outlooks(baselines, scores, now).values():
            if found.comes_s is not None:
                named[now] = found.comes_s
    assert set(named.values()) == ({MORNING + 7 * DAY_S + LEARNED.wait_s} if named else set())
    assert bool(named) == (per_day > 8)
    assert all(now < comes_s for now, comes_s in named.items())
    for comes_s in set(named.values()):
        baselines.learn(scores.training_slots, comes_s - 1)
        assert not baselines.progress[0].done
        baselines.learn(scores.training_slots, comes_s)
        assert baselines.progress[0].done


def test_a_week_that_is_not_held_to_its_end_has_no_day() -> None:
    """Of two periods of four days: what came later than on the first one is gone by then."""
    span, named = HorizonSpan(4 * DAY_S), []
    for day in range(4):
        start = MORNING // span.period_s * span.period_s + (day + 0.5) * DAY_S
        scores, baselines, now = played(100, 3.0, span, start)
        assert week_helps(baselines, scores, now) is True
        named.append(outlooks(baselines, scores, now)[PAIR].comes_s is not None)
    assert named == [True, False, False, False]


def test_before_a_pace_is_known_no_week_is_promised() -> None:
    """Above 20,000 a day none is held; a first day does not say how many there are."""
    for days in (0.5, 1.2, 1.9):
        scores, baselines, now = played(60, days)
        assert week_helps(baselines, scores, now) is None
        assert outlooks(baselines, scores, now)[PAIR].week_helps is None
    scores, baselines, now = played(60, 2.2)
    assert week_helps(baselines, scores, now) is True, "a whole day has passed"
    scores.begin_anew(HorizonSpan(DAY_S))
    assert week_helps(baselines, scores, now) is False
    longer = ScoreAggregator({"9d": 9 * DAY_S}, DAY_S)
    assert week_helps(baselines, longer, now) is True, "a window of nine days is held at any pace"


def test_where_a_day_has_more_than_are_held_for_a_week_none_is_promised() -> None:
    """An hour of the first day makes the mean of the first days look like less."""
    scores, baselines, now = played(60, 2.5)
    slot = next(scores.watched()).payload
    assert isinstance(slot, Observation)
    for number in range(MOST_PER_DAY + 1):
        baselines.drift.pace(now - number, slot, 1)
    assert week_helps(baselines, scores, now) is None
