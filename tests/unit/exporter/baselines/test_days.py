"""Whole days after a baseline was learned: hours, their spread, and metrics with few values."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from monitor.exporter.baselines.baselines import Baselines, control_state
from monitor.exporter.baselines.days import WasOpen, never_open
from monitor.exporter.baselines.learning import Learner, LearningSettings, normal_of
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftDetectors, DriftKey, DriftSettings
from monitor.records.control import BaselineRecord, DayRecord, MetricBaseline
from monitor.stats.baseline import NOTHING
from monitor.stats.period import DAY_S
from monitor.stats.recent_mix import recent_mix
from tests.stages.score_records import START, record

MORNING = START // DAY_S * DAY_S
HOUR_S = 3_600
METRICS = ("faithfulness", "context_recall")
PAIR = "bot", "offline@1"
#: Seconds since midnight → the mean, larger meaning worse.
Law = Callable[[int, int], float]


class Exporter:
    """Records in, a look every hour; what is to be published holds at once."""

    def __init__(self, was_open: WasOpen = never_open) -> None:
        chosen = DriftSettings(METRICS, 1.0, None, NOTHING, DAY_S, 0)
        self.drift, self.was_open = DriftDetectors(chosen), was_open
        self.scores = ScoreAggregator({"1h": HOUR_S}, DAY_S, drift=self.drift)
        self.baselines = Baselines(self.drift, Learner(LearningSettings(100, 0, METRICS, DAY_S)))
        self.control = control_state(self.baselines)
        self.published: list[Any] = []

    def play(
        self, days: range, law: Law, *, rare: int = 0, seed: int = 1, segment: str = ""
    ) -> Exporter:
        """Eight scores an hour; every ``rare``-th has a second metric."""
        for day in days:
            for hour in range(24):
                rng = random.Random(f"{seed} {day} {hour}")
                for number in range(8):
                    name = (day * 24 + hour) * 8 + number
                    bad = float(rng.random() < law(day, hour))
                    scores = {"faithfulness": 1.0 - bad}
                    if rare and name % rare == 0:
                        scores["context_recall"] = 1.0 - bad
                    at = MORNING - START + day * DAY_S + hour * HOUR_S + number * 400
                    one = record(str(name + 1), at, scores=scores, segment=segment)
                    self.scores.add(one, one.to_json())
                self.look(MORNING + day * DAY_S + (hour + 1) * HOUR_S)
        return self

    def look(self, now: float) -> None:
        """Let time pass, and learn."""
        self.scores.advance(now)
        while found := self.baselines.learn(self.scores.training_slots, now, self.was_open):
            for one in found:
                self.published.append(one)
                self.control.apply(one.key.encode(), one.to_json())

    @property
    def baseline(self) -> BaselineRecord:
        """What holds."""
        (found,) = self.baselines.records().values()
        return found

    def metric(self, name: str = "faithfulness") -> MetricBaseline:
        """Of one metric."""
        return self.baseline.metrics[name]

    def first(self) -> MetricBaseline:
        """What was learned at first, of a whole day."""
        learned = [one for one in self.published if isinstance(one, BaselineRecord)]
        return next(one for one in learned if not one.provisional).metrics["faithfulness"]

    def days(self) -> list[DayRecord]:
        """That were published."""
        return [one for one in self.published if isinstance(one, DayRecord)]


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
