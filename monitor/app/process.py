"""The composition root: one process, its port, and the roles that run in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import ClassVar, Literal

from monitor import __version__
from monitor.app.audit_process import audits_kept_running
from monitor.app.export_role import ExportRole
from monitor.app.score_role import ScoreRole
from monitor.app.scores import aggregators
from monitor.app.shared import Shared
from monitor.app.topics import topic_specs
from monitor.config import Settings, seconds
from monitor.control.pause_log import pauses_logged
from monitor.exporter.serve.front_page import Front
from monitor.exporter.serve.http import HttpServer
from monitor.kafka.availability import watched
from monitor.kafka.clock_watch import ClockWatch
from monitor.kafka.connection import Connection
from monitor.kafka.topics import create_missing
from monitor.records.alarm import AlarmRecord
from monitor.runtime.logs import logger
from monitor.runtime.shutdown import stop_on_signals, until
from monitor.runtime.supervision import meanwhile
from monitor.telemetry import KafkaTelemetry, PausedTelemetry, ProcessTelemetry

Role = Literal["score", "export"]


class Monitor:
    """One process: its HTTP server and roles. ``clock`` gives epoch seconds."""

    score_role: ClassVar[type[ScoreRole]] = ScoreRole
    export_role: ClassVar[type[ExportRole]] = ExportRole

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        machine: Callable[[], float] = time.time,
    ) -> None:
        self.shared = shared = Shared(settings, clock)
        self.aggregators = aggregators(settings)
        self.port = 0
        self._roles: Sequence[Role] = ()
        self._scorer: ScoreRole | None = None
        self._exporter: ExportRole | None = None
        PausedTelemetry(shared.registry, lambda: shared.controls.pauses.since(clock()))
        self._process = ProcessTelemetry(shared.registry, __version__)
        self._kafka = kafka = KafkaTelemetry(shared.registry)
        for cluster in shared.clusters:
            cluster.clock.own = machine
            cluster.problems.shown_by(kafka.watch)
            cluster.losses.counted_by(kafka.lost, kafka.went_back)

    @property
    def alarms(self) -> Mapping[str, AlarmRecord]:
        """The latest record of each alarm, open or closed; none without the exporter's role."""
        return {} if self._exporter is None else self._exporter.alarms

    async def run(self, roles: Sequence[Role], stop: asyncio.Event) -> None:
        """Serve HTTP and run the roles until ``stop`` is set, or one of them fails."""
        shared, http = self.shared, self.shared.settings.http
        self._open(roles)
        # Bound first: a taken port is said before anything is consumed.
        server = HttpServer(
            shared.registry,
            shared.health,
            self._process,
            self._front,
            allowed_hosts=http.allowed_hosts,
        )
        self.port = await server.start(http.host, http.port)
        try:
            if shared.settings.kafka.create_topics:
                await until(stop, self._create_topics())
            async with (
                watched(self._used(roles), shared.health),
                pauses_logged(shared.controls.pauses, shared.clock),
                self._clocks_watched(),
                asyncio.TaskGroup() as group,
            ):
                if self._scorer is not None and not stop.is_set():
                    group.create_task(self._scorer.run(stop))
                if self._exporter is not None and not stop.is_set():
                    group.create_task(self._exporter.run(stop, server.pages))
        finally:
            await server.stop()

    def _open(self, roles: Sequence[Role]) -> None:
        """Make the roles; in one process the control topic is read by one of them."""
        self._roles = roles
        if "score" in roles:
            self._scorer = self.score_role(self.shared, follows_control="export" not in roles)
        if "export" in roles:
            report = (lambda _: None) if self._scorer is None else self._scorer.count_control
            self._exporter = self.export_role(self.shared, self.aggregators, report)
        # Not ready before the roles have said what they wait for.
        for role in (self._scorer, self._exporter):
            if role is not None:
                self.shared.health.waits(role.part, "start")

    @asynccontextmanager
    async def _clocks_watched(self) -> AsyncIterator[None]:
        """This machine's clock is held against that of every cluster meanwhile."""
        limit_s, works = seconds(self.shared.settings.alerts.clock), []
        for cluster in self.shared.clusters:
            show = partial(self._kafka.show_offset, cluster.section)
            watch = ClockWatch(cluster, self.shared.health, limit_s, show)
            works.append((f"the clock of {cluster.section}", watch.run()))
        async with meanwhile(*works):
            yield

    def _front(self) -> Front:
        """What the page at ``/`` says."""
        controls, scorer = self.shared.controls, self._scorer
        paused = controls.pauses.records(self.shared.clock())
        alarms = [one for one in self.alarms.values() if one.state == "open"]
        return Front(
            __version__,
            self._roles,
            None if controls.pauses.are_unknown else paused,
            None if scorer is None else scorer.judges(),
            None if self._exporter is None else alarms,
            None if scorer is None else scorer.budget_status(),
            controls.are_known.is_set(),
            None if scorer is None else scorer.refused(),
            None if self._exporter is None else self._exporter.scores,
            None if scorer is None else scorer.outcomes(),
            missing=list if self._exporter is None else self._exporter.missing,
            known_alarms=self.alarms,
            alarms_read=self._exporter is not None and self._exporter.alarms_are_read,
        )

    def _used(self, roles: Sequence[Role]) -> dict[str, tuple[Connection, set[str]]]:
        """Section → its cluster, and the topics on it that these roles cannot go on without."""
        topics, shared = self.shared.settings.kafka.topics, self.shared
        used = {cluster.section: (cluster, set[str]()) for cluster in shared.clusters}
        used[shared.output.section][1].add(topics.scores)
        if "score" in roles:
            used[shared.output.section][1].add(topics.dead_letters)
            used[shared.connection.section][1].update(topics.interactions)
        return used

    async def _create_topics(self) -> None:
        shared = self.shared
        read = set(shared.settings.kafka.topics.interactions)
        specs = topic_specs(shared.settings)
        inputs = [spec for spec in specs if spec.name in read]
        await create_missing(shared.connection, inputs, shared.health)
        await create_missing(shared.output, [s for s in specs if s not in inputs], shared.health)


async def serve(
    settings: Settings, roles: Sequence[Role], audits: Sequence[str] | None = None
) -> None:
    """Run roles until a signal ends them; with ``audits``, its arguments, that process, too."""
    stop = asyncio.Event()
    stop_on_signals(stop)
    works = [] if audits is None else [("the audits", audits_kept_running(audits))]
    async with meanwhile(*works):
        await Monitor(settings).run(roles, stop)
    logger().info("stopped")
