"""When is learned: from time to time, as of a moment from before which every record was read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from monitor.exporter.baselines.bad_times import AlarmsOf
from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.days import WasOpen
from monitor.exporter.scores.aggregator import OTHER, ScoreAggregator
from monitor.exporter.scores.steps import in_turns
from monitor.kafka.reader import TopicReader
from monitor.records.keyed import Keyed
from monitor.stats.baseline import is_unsteady
from monitor.telemetry import ExporterTelemetry

LEAST_EVERY_S, MOST_EVERY_S = 0.5, 60.0


class LearningSchedule:
    """Looks how far learning is, ten times in the time that slots must have waited.

    ``clock`` gives epoch seconds; ``was_open`` says of which days nothing is learned, ``alarms_of``
    which alarms there were when something was.
    """

    def __init__(
        self,
        aggregator: ScoreAggregator,
        baselines: Baselines,
        telemetry: ExporterTelemetry,
        clock: Callable[[], float],
        was_open: WasOpen,
        alarms_of: AlarmsOf,
    ) -> None:
        self._was_open, self._alarms_of = was_open, alarms_of
        self._aggregator, self._baselines = aggregator, baselines
        self._telemetry, self._clock = telemetry, clock
        self._every_s = min(
            max(LEAST_EVERY_S, baselines.learning_settings.wait_s / 10), MOST_EVERY_S
        )
        self._due = 0.0
        self._as_of: float | None = None

    async def look(self, reader: TopicReader) -> list[Keyed]:
        """What to publish of what was learned, when it is time to look and all has been read."""
        now = asyncio.get_running_loop().time()
        if self._as_of is None:
            if now < self._due:
                return []
            self._due, as_of = now + self._every_s, self._clock()
            if not await reader.aim_at_end():
                return []
            self._as_of = as_of
        try:
            if await reader.left_to_replay():
                return []
        except TimeoutError:  # the broker is away
            return []
        as_of, self._as_of = self._as_of, None
        found = await in_turns(
            self._baselines.learned_in_steps(
                self._aggregator.training_slots, as_of, self._was_open, self._alarms_of
            )
        )
        self.show()
        return found

    def show(self) -> None:
        """Export how far learning is."""
        show(self._baselines, self._aggregator, self._telemetry)


def show(baselines: Baselines, aggregator: ScoreAggregator, telemetry: ExporterTelemetry) -> None:
    """Export what is being learned, and from how many slots.

    Of the applications without a label value of their own only whether one of them is learning.
    """
    named, others = aggregator.named(), dict[str, bool]()
    telemetry.baseline_needed.set(baselines.learning_settings.slots)
    telemetry.baseline_slots.clear()
    telemetry.baseline_learning.clear()
    for status in baselines.status():
        application, judge = status.pair
        if application in named:
            telemetry.baseline_learning.labels(application, judge).set(status.is_learning)
            if status.slots is not None:
                telemetry.baseline_slots.labels(application, judge).set(status.slots)
        else:
            others[judge] = others.get(judge, False) or status.is_learning
    for judge, is_learning in others.items():
        telemetry.baseline_learning.labels(OTHER, judge).set(is_learning)
    _show_missing(baselines, named, telemetry)
    _show_learned(baselines, named, telemetry)


def _show_missing(baselines: Baselines, named: set[str], telemetry: ExporterTelemetry) -> None:
    """A baseline need not have all metrics: it was learned while one of them had no value."""
    missing: dict[tuple[str, str, str], bool] = {}
    for (metric, application, judge), is_held in baselines.drift.watched():
        labels = metric, application if application in named else OTHER, judge
        missing[labels] = missing.get(labels, False) or not is_held
    telemetry.baseline_missing.clear()
    for labels, is_missing in missing.items():
        telemetry.baseline_missing.labels(*labels).set(is_missing)


def _show_learned(baselines: Baselines, named: set[str], telemetry: ExporterTelemetry) -> None:
    """What a baseline was learned from, and whether that was steady."""
    in_alarm = telemetry.baseline_learned_in_alarm
    gauges = telemetry.baseline_provisional, telemetry.baseline_unsteady, telemetry.baseline_values
    for gauge in (*gauges, in_alarm):
        gauge.clear()
    for record in baselines.records().values():
        if not record.metrics or record.application not in named:
            continue
        pair = record.application, record.judge
        telemetry.baseline_provisional.labels(*pair).set(record.tolerates_more)
        for metric, found in record.metrics.items():
            in_alarm.labels(metric, *pair).set(found.learned_in_alarm_of is not None)
            if found.values:
                telemetry.baseline_unsteady.labels(metric, *pair).set(is_unsteady(found.halves_z))
                telemetry.baseline_values.labels(metric, *pair).set(found.values)
