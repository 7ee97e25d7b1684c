"""The exporter's role in a process: score records in, gauges and alarms out."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import ClassVar

from monitor.app.scores import Aggregators, burst_allowance, promises, segment_names
from monitor.app.shared import Shared
from monitor.app.topics import keep_seconds
from monitor.exporter.baselines.baselines import learning_slots
from monitor.exporter.baselines.unlearned import unlearned
from monitor.exporter.baselines.unlikely import outlooks
from monitor.exporter.exporter import Exporter, Followed, watch_group
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.missing import MissingMetric, missing_of
from monitor.exporter.serve.pages import Pages
from monitor.exporter.serve.score_tables import ScoreTable, score_tables
from monitor.records.alarm import AlarmRecord
from monitor.runtime.shutdown import until
from monitor.runtime.supervision import meanwhile
from monitor.stats.period import HorizonSpan
from monitor.telemetry import BurstTelemetry, ExporterTelemetry


class ExportRole:
    """Follows scores, control and alarms; ``pages`` get its gauges.

    ``report`` is told the result of every control record, for others in the process.
    """

    #: What follows the topics.
    exporter: ClassVar[type[Exporter]] = Exporter
    #: What it calls itself in ``Health`` once it runs.
    part: ClassVar[str] = "exporter"

    def __init__(
        self,
        shared: Shared,
        aggregators: Aggregators,
        report: Callable[[str], None] = lambda _result: None,
    ) -> None:
        self._shared, self._aggregators = shared, aggregators
        settings, topics = shared.settings, shared.settings.kafka.topics
        self._telemetry = ExporterTelemetry(shared.registry)
        self._exporter = self.exporter(
            shared.output,
            Followed(topics.scores, self._keep_s, topics.control, topics.alarms),
            aggregators.scores,
            aggregators.baselines,
            self._telemetry,
            shared.health,
            shared.clock,
            segment_of=segment_names(settings),
            allowed=burst_allowance(settings),
            controls=shared.controls,
            report=report,
            writer=secrets.token_hex(8),
        )

    def _keep_s(self, span: HorizonSpan) -> int:
        return keep_seconds(self._shared.settings, span)

    @property
    def alarms(self) -> Mapping[str, AlarmRecord]:
        """The latest record of each alarm, open or closed."""
        return self._exporter.alarms

    @property
    def alarms_are_read(self) -> bool:
        """Whether these are all."""
        return self._exporter.alarms_are_read

    def missing(self) -> list[MissingMetric]:
        """The metrics that have a baseline and no value any more; none before all is replayed."""
        if not self._exporter.is_ready:
            return []
        found = missing_of(self._aggregators.scores, self._aggregators.baselines.learned_share)
        return [one for _, one in found if one is not None]

    def scores(self) -> list[ScoreTable]:
        """How good each application is; nothing before all records were replayed."""
        exporter, found = self._exporter, self._aggregators
        if not exporter.is_ready:
            return []
        now = exporter.clock()
        learning, due = (
            learning_slots(found.baselines),
            outlooks(found.baselines, found.scores, now),
        )
        return score_tables(found.scores, learning, now, due, unlearned(found.baselines))

    async def run(self, stop: asyncio.Event, pages: Pages) -> None:
        """Until ``stop`` is set; raises ``MonitorError`` when it cannot go on."""
        shared, exporter = self._shared, self._exporter
        self._show_bursts()
        collector = QualityCollector(
            self._aggregators.scores,
            exporter.clock,
            lambda: exporter.is_ready,
            promises(shared.settings),
            lambda: exporter.alarms,
            self._aggregators.baselines.learned_share,
            exporter.corrections,
        )
        pages.with_part(collector, exporter.still)
        kafka = shared.settings.kafka
        watch = watch_group(
            shared.connection,
            kafka.group_id,
            kafka.topics.interactions,
            self._telemetry,
            shared.health,
        )
        async with meanwhile(("the watch of the scorers' group", watch)):
            await until(stop, exporter.run())

    def _show_bursts(self) -> None:
        allowed = burst_allowance(self._shared.settings)
        if allowed is None:
            return
        bursts, clock, zone = self._shared.controls.bursts, self._shared.clock, allowed.zone
        BurstTelemetry(
            self._shared.registry, allowed.per_day_s, lambda: bursts.granted_s(clock(), zone)
        )
