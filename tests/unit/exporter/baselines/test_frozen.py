"""What people froze: more is tolerated until a week is known, and then its hours count."""

from __future__ import annotations

import math

import pytest

from monitor.exporter.baselines.days import frozen_with_rhythm
from monitor.exporter.baselines.learning import LearningSettings, frozen, normal_of
from monitor.records.control import BaselineRecord, DayRecord, MetricBaseline
from monitor.stats.baseline import PROVISIONAL, STANDARD_ERRORS, Tolerance
from monitor.stats.days import HourSums, rhythm, summed, unseen_spread
from monitor.stats.period import DAY_S
from tests.stages.daily_exporter import HOUR_S, METRICS, MORNING, DailyExporter

TOLERANCE = Tolerance(share=0.1)
#: When it is frozen: at two in the afternoon of a second day, and in an hour of its bad ones.
FROZEN_AT = MORNING + DAY_S + 14 * HOUR_S


def bad_noons(_day: int, hour: int) -> float:
    """From ten to two twice as many are bad."""
    return 0.4 if 10 <= hour < 14 else 0.16


def of_four_hours(law: int = 1) -> tuple[DailyExporter, BaselineRecord]:
    """Learned in a day; the four bad hours of the next one are frozen."""
    exporter = DailyExporter().play(range(1), bad_noons, seed=law)
    exporter.play(range(1, 2), bad_noons, seed=law, hours=range(14))
    return exporter, exporter.freeze(FROZEN_AT, 32)


def of_metric(record: BaselineRecord) -> MetricBaseline:
    """Of the one that is watched."""
    return record.metrics["faithfulness"]


def test_hours_that_were_not_seen_are_tolerated() -> None:
    """As a provisional baseline that is learned; what is of a day is not, nor with no learn_for."""
    exporter, made = of_four_hours()
    found = of_metric(made)
    assert found.seen_s == 3 * HOUR_S + 7 * 400.0
    assert (found.provisional, made.provisional, made.tolerates_more) == (True, False, True)
    held = normal_of(made).metrics["faithfulness"]
    unseen = unseen_spread(held.mean, found.seen_s)
    assert held.hour_spread == unseen > 0.0
    assert held.margin(TOLERANCE) == pytest.approx(
        STANDARD_ERRORS * held.se + PROVISIONAL * held.mean + unseen
    )
    for slots, for_s, least in ((300, DAY_S, DAY_S), (32, 0, 3 * HOUR_S)):
        chosen = LearningSettings(slots, 0, METRICS, for_s)
        (other,) = frozen(exporter.scores.watched(), chosen, lambda _: True, FROZEN_AT)
        assert of_metric(other).seen_s >= least  # type: ignore[operator]
        assert not other.tolerates_more


def test_seven_whole_days_tell_its_hours_and_its_level_stays() -> None:
    """The bad hours that were frozen have the mean that they had; all others a better one."""
    exporter, made = of_four_hours()
    exporter.play(range(1, 2), bad_noons, hours=range(14, 24)).play(range(2, 8), bad_noons)
    assert exporter.baseline == made
    assert len(exporter.days()) == 6
    exporter.play(range(8, 9), bad_noons)
    before, found = of_metric(made), exporter.metric()
    assert (found.days, found.origin, found.provisional) == (7, "frozen", False)
    assert found.decided_at == before.decided_at
    assert found.effective_from is not None
    assert found.effective_from.timestamp() == MORNING + 9 * DAY_S
    noon = sum(found.hours[10:14]) / 4
    assert found.mean + noon == pytest.approx(before.mean, abs=0.01)
    assert noon < -0.05, "in the direction of the metric: lower there"
    assert found.mean > before.mean + 0.05
    assert not exporter.baseline.tolerates_more
    exporter.play(range(9, 11), bad_noons)
    assert exporter.metric() == found, "nothing is left to learn"


def test_what_people_set_or_an_earlier_version_froze_stays() -> None:
    """Nobody knows in which hours that was."""
    exporter, made = of_four_hours()
    old = of_metric(made).model_copy(update={"seen_s": None, "provisional": False})
    earlier = made.model_copy(update={"metrics": {"faithfulness": old}})
    exporter.control.apply(earlier.key.encode(), earlier.to_json())
    exporter.play(range(2, 11), bad_noons)
    assert exporter.metric() == old
    assert exporter.days() == []


def test_days_before_it_was_frozen_say_nothing() -> None:
    """Those of the baseline that was learned before it are of another quality, perhaps."""
    exporter = DailyExporter().play(range(5), bad_noons)
    learned = len(exporter.days())
    assert learned == 4
    now = MORNING + 5 * DAY_S
    exporter.freeze(now, 32)
    exporter.play(range(5, 11), bad_noons)
    assert exporter.metric().days == 0
    exporter.play(range(11, 12), bad_noons)
    assert exporter.metric().days == 7
    of_frozen = [day for day in exporter.days() if day.start >= now]
    assert len(of_frozen) == 7


def test_the_error_is_that_of_the_level_the_hours_and_a_day() -> None:
    """SE, as the docstring has it, from days that lie apart; the segments move with the mean."""
    exporter, made = of_four_hours()
    exporter.play(range(2, 9), lambda day, hour: bad_noons(day, hour) * (0.5 + day % 2))
    before, days = of_metric(made), exporter.days()
    week = rhythm([read(day) for day in days])
    assert week is not None
    assert week.day_spread > 0.03
    by_hour = [summed(hour) for hour in zip(*[read(day) for day in days], strict=True)]
    at = exporter.metric().effective_from
    assert before.seen_s is not None
    assert at is not None
    acme = before.model_copy(update={"segments": {"acme": before.mean - 0.1}, "dependence": 2.0})
    found = frozen_with_rhythm("faithfulness", acme, week, by_hour, at)
    assert found.segments["acme"] == pytest.approx(found.mean - 0.1)
    v = week.dependence_after(2.0)
    assert found.se == pytest.approx(
        math.sqrt(
            before.se**2 * v / 2.0 + v * week.se**2 * DAY_S / before.seen_s + week.day_spread**2
        )
    )


def read(day: DayRecord) -> list[HourSums]:
    """The sums of its hours."""
    return [HourSums(*hour) for hour in day.metrics["faithfulness"]]
