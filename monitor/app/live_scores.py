"""How good applications are, for a process that shows it and writes nothing.

It follows the same topics as the exporter, with the same aggregates: so the numbers are the same.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Final

from monitor.app.scores import aggregators, segment_names
from monitor.app.topics import keep_seconds
from monitor.config import Settings
from monitor.control.controls import Controls
from monitor.exporter.baselines.baselines import learning_slots
from monitor.exporter.exporter import Exporter, Followed
from monitor.exporter.serve.live_table import LiveRow, live_rows
from monitor.kafka.connection import Connection
from monitor.runtime.health import Health
from monitor.telemetry import ExporterTelemetry, new_registry

#: Seconds for which rows are shown again: no visitor pays for another.
_FRESH_S: Final = 5.0


class LiveScores:
    """Rows of applications and metrics. ``clock`` gives epoch seconds."""

    def __init__(
        self, settings: Settings, connection: Connection, clock: Callable[[], float]
    ) -> None:
        topics, self._found = settings.kafka.topics, aggregators(settings)
        #: Of its own: pages of texts are ready without it, and its metrics are the exporter's.
        self.health = Health(time.monotonic)
        self.controls = Controls()
        self._exporter = Exporter(
            connection,
            Followed(
                topics.scores,
                lambda span: keep_seconds(settings, span),
                topics.control,
                topics.alarms,
            ),
            self._found.scores,
            self._found.baselines,
            ExporterTelemetry(new_registry()),
            self.health,
            clock,
            segment_of=segment_names(settings),
            writer=secrets.token_hex(8),
            controls=self.controls,
            publishes=False,
        )
        self._rows: list[LiveRow] = []
        self._made = float("-inf")

    async def run(self) -> None:
        """Follow the topics until cancelled."""
        await self._exporter.run()

    @property
    def is_ready(self) -> bool:
        """Whether all was replayed."""
        return self._exporter.is_ready

    def learning(self, application: str, judge: str) -> tuple[int, int] | None:
        """Scored slots, and how many a baseline takes; None where there is one, or none begins."""
        return learning_slots(self._found.baselines).get((application, judge))

    async def rows(self) -> list[LiveRow]:
        """Those of now, a few seconds old at most; none before all was replayed."""
        if not self.is_ready:
            return []
        async with self._exporter.still:
            now = self._exporter.clock()
            if not 0 <= now - self._made < _FRESH_S:
                self._rows = live_rows(
                    self._found.scores, learning_slots(self._found.baselines), now
                )
                self._made = now
        return self._rows
