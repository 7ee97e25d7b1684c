"""Of so small an application a baseline comes late or never, and it is said so while it learns."""

from __future__ import annotations

import pytest

from monitor.exporter.baselines.baselines import Baselines, learning_slots
from monitor.exporter.baselines.learning import Learner, LearningSettings, Progress
from monitor.exporter.baselines.unlikely import (
    is_unlikely,
    least_of_a_week,
    outlooks,
    unlikely,
)
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings
from monitor.exporter.serve.score_tables import score_tables
from monitor.stats.baseline import NOTHING
from monitor.stats.period import DAY_S, LEARNING_S, HorizonSpan
from tests.stages.daily_exporter import MORNING, PAIR
from tests.stages.score_records import START, record

LEARNED = LearningSettings(1_000, 600, ("faithfulness",), DAY_S)


def played(per_day: int, days: float) -> tuple[ScoreAggregator, Baselines, float]:
    """So many scores a day, of an installation that has enough of others for a period of a day."""
    drift = DriftDetectors(DriftSettings(("faithfulness",), 1.0, None, NOTHING, DAY_S, 0))
    scores = ScoreAggregator({"24h": DAY_S}, DAY_S, drift=drift)
    scores.begin_anew(HorizonSpan(DAY_S, LEARNING_S))
    baselines, now = Baselines(drift, Learner(LEARNED)), MORNING + days * DAY_S
    for number in range(round(per_day * days)):
        one = record(str(number + 1), MORNING - START + number * DAY_S / per_day)
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
    assert least_of_a_week(baselines, scores) == 60
    found = outlooks(baselines, scores, now)[PAIR]
    assert found == (60, MORNING + 7 * DAY_S + LEARNED.wait_s, False)
    scores.begin_anew(HorizonSpan(DAY_S))
    assert least_of_a_week(baselines, scores) is None
