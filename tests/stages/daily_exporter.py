"""An exporter that is played a few days: scores in, what it publishes holds at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from monitor.exporter.baselines.bad_times import AlarmsOf, no_alarms
from monitor.exporter.baselines.baselines import Baselines, control_state
from monitor.exporter.baselines.commands import with_the_rest
from monitor.exporter.baselines.days import WasOpen, never_open
from monitor.exporter.baselines.learning import Learner, LearningSettings, frozen
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings, Normal
from monitor.records import ScoreRecord
from monitor.records.control import BaselineRecord, DayRecord, MetricBaseline
from monitor.stats.baseline import NOTHING
from monitor.stats.period import DAY_S
from tests.stages.score_records import START, record

MORNING = START // DAY_S * DAY_S
HOUR_S = 3_600
METRICS = ("faithfulness", "context_recall")
PAIR = "bot", "offline@1"
#: Seconds since midnight → the mean, larger meaning worse.
Law = Callable[[int, int], float]


@lru_cache(maxsize=8_192)
def _scored(
    name: int, at: int, score: float, metrics: tuple[str, ...], segment: str
) -> tuple[ScoreRecord, bytes]:
    """A record, and as it is written; kept, as most days are played by many tests."""
    one = record(str(name), at, scores=dict.fromkeys(metrics, score), segment=segment)
    return one, one.to_json()


class DailyExporter:
    """Records in, a look every hour; what is to be published holds at once."""

    def __init__(
        self,
        was_open: WasOpen = never_open,
        alarms_of: AlarmsOf = no_alarms,
        fixed: Normal | None = None,
    ) -> None:
        chosen = DriftSettings(METRICS, 1.0, None, NOTHING, DAY_S, 0)
        self.drift = DriftDetectors(chosen, lambda _application, _judge: fixed)
        self.was_open, self.alarms_of = was_open, alarms_of
        self.scores = ScoreAggregator({"1h": HOUR_S}, DAY_S, drift=self.drift)
        self.baselines = Baselines(self.drift, Learner(LearningSettings(100, 0, METRICS, DAY_S)))
        self.control = control_state(self.baselines)
        self.published: list[Any] = []

    def play(
        self,
        days: range,
        law: Law,
        *,
        rare: int = 0,
        seed: int = 1,
        segment: str = "",
        hours: range = range(24),
        steady: int = 0,
    ) -> DailyExporter:
        """Eight scores an hour, of these hours of a day; every ``rare``-th has a second metric.

        ``steady``: so many in their place, each as bad as all of the hour are.
        """
        for day in days:
            for hour in hours:
                self.add(day, hour, law, rare=rare, seed=seed, segment=segment, steady=steady)
                self.look(MORNING + day * DAY_S + (hour + 1) * HOUR_S)
        return self

    def add(
        self,
        day: int,
        hour: int,
        law: Law,
        *,
        rare: int = 0,
        seed: int = 1,
        segment: str = "",
        steady: int = 0,
    ) -> None:
        """The scores of an hour."""
        rng, many = random.Random(f"{seed} {day} {hour}"), steady or 8
        for number in range(many):
            name = (day * 24 + hour) * many + number
            bad = law(day, hour) if steady else float(rng.random() < law(day, hour))
            metrics = METRICS if rare and name % rare == 0 else METRICS[:1]
            at = MORNING - START + day * DAY_S + hour * HOUR_S + number * 3_200 // many
            self.scores.add(*_scored(name + 1, at, 1.0 - bad, metrics, segment))

    def look(self, now: float) -> None:
        """Let time pass, and learn."""
        self.scores.advance(now)
        slots = self.scores.training_slots
        while found := self.baselines.learn(slots, now, self.was_open, self.alarms_of):
            for one in found:
                self.published.append(one)
                self.control.apply(one.key.encode(), one.to_json())

    def freeze(self, now: float, slots: int) -> BaselineRecord:
        """So many of the latest slots are normal from now on."""
        chosen = LearningSettings(slots, 0, METRICS, DAY_S)
        (found,) = frozen(self.scores.watched(), chosen, lambda _: True, now)
        made = with_the_rest(found, self.baseline, now)
        self.control.apply(made.key.encode(), made.to_json())
        return made

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
