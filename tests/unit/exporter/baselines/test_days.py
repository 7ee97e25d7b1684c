"""Whole days after a baseline was learned: hours, their spread, and metrics with few values."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from monitor.exporter.baselines.days import with_rhythm
from monitor.exporter.baselines.learning import normal_of
from monitor.exporter.scores.detectors import DriftKey
from monitor.stats.days import HourSums, rhythm
from monitor.stats.period import DAY_S
from monitor.stats.recent_mix import recent_mix
from tests.stages.daily_exporter import METRICS, MORNING, PAIR
from tests.stages.daily_exporter import DailyExporter as Exporter


def steady(_day: int, _hour: int) -> float:
    """Nothing changes."""
    return 0.2


def bad_noons(_day: int, hour: int) -> float:
    """From ten to two twice as many are bad."""
    return 0.4 if 10 <= hour < 14 else 0.16


def test_seven_whole_days_teach_the_hours_once() -> None:
    """From the first whole day after the baseline; it is held against slots after the last one."""
    exporter = Exporter().play(range(8), bad_noons)
    found = exporter.metric()
    assert [day.day.toordinal() for day in exporter.days()] == sorted(
        day.day.toordinal() for day in exporter.days()
    )
    assert len(exporter.days()) == found.days == 7
    assert found.effective_from == datetime.fromtimestamp(MORNING + 8 * DAY_S, UTC)
    noon, others = found.hours[10:14], found.hours[:10] + found.hours[14:]
    print(f"noon {[round(x, 2) for x in noon]}, mean {found.mean:.3f} ± {found.se:.3f}")
    assert sum(noon) / 4 < -0.08, "in the direction of the metric: lower there"
    assert min(others) > -0.05
    before = len(exporter.published)
    exporter.play(range(8, 11), bad_noons)
    assert len(exporter.published) == before, "nothing is left to learn"


def test_a_week_says_more_of_the_traffic_than_the_first_day() -> None:
    """The error of the mix is that of the week then: it would widen the margin of the first day."""
    exporter = Exporter().play(range(8), steady, segment="acme")
    first, found = exporter.first(), exporter.metric()
    ((share, error),) = (found.spreads[segment] for segment in found.segments)
    print(f"error of the only segment: {first.spreads['acme'][1]:.4f}, then {error:.4f}")
    assert share == 1.0
    assert error == pytest.approx(found.se, rel=0.2)
    mix = recent_mix(normal_of(exporter.baseline).metrics["faithfulness"])
    assert mix is not None
    assert mix.margin() == 0.0


def test_hours_that_are_known_are_no_dependence() -> None:
    """The first day took its swing for that; what is seen beside the hours stays."""
    exporter = Exporter().play(range(8), bad_noons)
    week = rhythm(
        [[HourSums(*hour) for hour in day.metrics[METRICS[0]]] for day in exporter.days()]
    )
    assert week is not None
    assert week.dependence == 1.0
    first = exporter.first().model_copy(update={"dependence": 4.0})
    at = datetime.fromtimestamp(MORNING, UTC)
    assert week.swing > 0.1  # a batch of 40 is five hours here
    assert with_rhythm(METRICS[0], first, week, at).dependence == 4.0 - week.swing
    for seen, swing, kept in ((2.5, 9.0, 2.5), (9.0, 9.0, 4.0), (None, 9.0, 4.0), (1.0, 0.5, 3.5)):
        other = week._replace(dependence=seen, swing=swing)
        of_sessions = with_rhythm(METRICS[0], first, other, at)
        assert of_sessions.dependence == kept
        assert of_sessions.se == pytest.approx(
            math.sqrt(kept * week.se**2 + week.day_spread**2 / week.days)
        )


def test_before_that_it_is_what_was_learned_first() -> None:
    """Six days say nothing yet."""
    exporter = Exporter().play(range(7), bad_noons)
    assert len(exporter.days()) == 6
    assert (exporter.metric().days, exporter.metric().hours) == (0, ())


def test_days_that_differ_have_a_spread() -> None:
    """And those that do not have next to none."""
    uneven = Exporter().play(range(9), lambda day, _: 0.1 if day % 2 else 0.3).metric()
    alike = Exporter().play(range(9), steady).metric()
    print(f"τ {uneven.day_spread:.3f}, of days alike {alike.day_spread:.3f}")
    assert uneven.day_spread == pytest.approx(0.1, rel=0.4)
    assert alike.day_spread < 0.03


def test_a_day_with_an_alarm_teaches_nothing() -> None:
    """And where one is open nothing is changed: its evidence would be gone."""

    def was_open(key: DriftKey, since: float) -> bool:
        return key.metric == "faithfulness" and since <= MORNING + 2 * DAY_S

    exporter = Exporter(was_open).play(range(9), steady)
    assert [day.start for day in exporter.days()] == [
        MORNING + number * DAY_S for number in range(3, 9)
    ]
    assert exporter.metric().days == 0
    exporter.play(range(9, 12), steady)
    assert exporter.metric().days == 7
    ever_open = Exporter(lambda _key, since: since == float("inf")).play(range(10), steady)
    assert ever_open.metric().days == 0


def test_a_metric_with_few_values_learns_on() -> None:
    """Its first day gives 16 values, a week of days gives more than 60."""
    exporter = Exporter().play(range(3), steady, rare=12)
    assert set(exporter.baseline.metrics) == {"faithfulness"}
    exporter.play(range(3, 9), steady, rare=12)
    found = exporter.metric("context_recall")
    shares = [exporter.baselines.learned_share(DriftKey(name, *PAIR)) for name in METRICS]
    assert shares == [1.0, 0.0], "of slots: it is not known how many days had"
    assert found.values == 112
    assert found.mean == pytest.approx(0.8, abs=0.12)
    assert found.effective_from is not None


def test_the_others_keep_their_evidence_meanwhile() -> None:
    """A baseline that changes for one metric is that of before for the rest."""
    open_for = "faithfulness"
    exporter = Exporter(lambda key, since: key.metric == open_for and since == float("inf"))
    exporter.play(range(9), steady, rare=12)
    assert exporter.metric("context_recall").values == 112
    assert exporter.metric() == exporter.first()
    assert exporter.drift.history(DriftKey("faithfulness", *PAIR), MORNING + 9 * DAY_S) is not None


def test_a_week_that_is_surely_better_is_said() -> None:
    """Learned in a bad time: the mean goes with the week, and what was learned first stands by."""
    exporter = Exporter().play(range(9), lambda day, _: 0.4 if day < 1 else 0.15)
    found = exporter.metric()
    assert found.first_mean == pytest.approx(0.6, abs=0.08)
    assert found.mean == pytest.approx(0.85, abs=0.03)
    assert Exporter().play(range(9), steady).metric().first_mean is None


def test_a_week_that_is_worse_is_not_learned() -> None:
    """But for as much as the first mean may have been wrong."""
    exporter = Exporter().play(range(9), lambda day, _: 0.1 if day < 1 else 0.4)
    found, before = exporter.metric(), exporter.first()
    assert found.days == 7
    assert found.mean >= before.mean - 2 * before.se - 1.5 * found.day_spread - 1e-9
    assert found.mean > 0.75


def test_a_day_has_one_place_in_four_weeks() -> None:
    """Keys come round, and a second exporter writes the same bytes."""
    one, other = Exporter().play(range(9), steady), Exporter().play(range(9), steady)
    assert [each.to_json() for each in one.published] == [
        each.to_json() for each in other.published
    ]
    keys = {day.key for day in one.days()}
    assert keys == {f"day/bot/offline@1/{day.day.toordinal() % 28}" for day in one.days()}


def test_a_baseline_that_is_reset_forgets_its_days() -> None:
    """What was before says nothing of what is learned anew."""
    exporter = Exporter().play(range(5), steady)
    reset = exporter.baseline.model_copy(
        update={
            "metrics": {},
            "effective_from": datetime.fromtimestamp(MORNING + 5 * DAY_S, UTC),
        }
    )
    exporter.control.apply(reset.key.encode(), reset.to_json())
    exporter.play(range(5, 13), steady)
    assert exporter.metric().days == 0
    exporter.play(range(13, 15), steady)
    assert exporter.metric().days == 7
