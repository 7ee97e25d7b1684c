"""The audit role: its own process and port, so that no page delays a scrape."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial
from pathlib import Path

from aiohttp import web
from markupsafe import Markup

from monitor import __version__
from monitor.app.connections import connection as input_connection
from monitor.app.connections import output_connection
from monitor.app.live_scores import LiveScores
from monitor.audit.correction_publisher import CorrectionPublisher
from monitor.audit.follower import EvidenceFollower, KeptEvidence
from monitor.audit.forgetter import TextForgetter
from monitor.audit.serve.judges import JudgeOnControl
from monitor.audit.serve.pages import AuditPages
from monitor.audit.serve.people import Passwords, TrustedProxy
from monitor.audit.serve.site import AlarmViews, AuditSite, LiveBoard, SiteParts
from monitor.audit.store.database import Database, DatabaseAway
from monitor.audit.store.drawing import AuditDrawing
from monitor.audit.store.evidence import EvidenceStore
from monitor.audit.store.forgetting import TextForgetting
from monitor.audit.store.labels import LabelStore
from monitor.audit.store.search import EvidenceSearch
from monitor.audit.store.weekly import WeeklyOrders
from monitor.audit.weekly import WeeklyDraws
from monitor.config import Settings, seconds
from monitor.control.decisions import beside_decisions
from monitor.control.follower import FollowedTopic, StateFollower
from monitor.control.latest_alarms import LatestAlarms
from monitor.control.latest_records import LatestRecords
from monitor.control.publisher import Outbox
from monitor.control.state import ControlState
from monitor.errors import ConfigurationError
from monitor.exporter.serve.alarm_page import (
    UNREAD,
    alarm_fragment,
    alarm_status,
    alarms_so_far,
    calm_in_words,
)
from monitor.exporter.serve.front_page import Front
from monitor.exporter.serve.http import HttpServer
from monitor.exporter.serve.live_table import live_table
from monitor.kafka.availability import watched
from monitor.records.alarm import AlarmRecord
from monitor.records.control import (
    BASELINE,
    FORGOTTEN,
    BaselineRecord,
    baseline_key,
    correction_key,
)
from monitor.runtime.health import Health
from monitor.runtime.logs import logger
from monitor.runtime.shutdown import until
from monitor.runtime.supervision import meanwhile
from monitor.telemetry import AuditTelemetry, KafkaTelemetry, ProcessTelemetry, new_registry

#: Seconds between two attempts to reach a database at start.
_WAIT_S = 2.0


def database_of(settings: Settings) -> Database:
    """The configured database; raises ``ConfigurationError`` where there is none."""
    url = settings.audit.database
    if url is None:
        raise ConfigurationError(
            "audit.database: needed for audits; set it to sqlite:///audits.db, or to "
            "postgresql://USER:PASSWORD@HOST/NAME"
        )
    return Database(url.get_secret_value())


def passwords_of(settings: Settings) -> Passwords:
    """Who may log in; raises ``ConfigurationError`` where nobody may."""
    file = settings.audit.password_file
    if file is None:
        raise ConfigurationError(
            "audit.password_file: needed, since the pages show texts; write a password of 8 "
            "characters or more into a file, and name it here"
        )
    return Passwords(Path(file))


def proxy_of(settings: Settings) -> TrustedProxy | None:
    """Where people log in elsewhere; None where nobody does."""
    audit = settings.audit
    if audit.proxy_header is None or audit.proxy_address is None:
        return None
    return TrustedProxy(audit.proxy_header, audit.proxy_address)


class AuditRole:
    """Follows score records into the database, and serves the pages. ``clock``: epoch seconds."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        """Raises ``ConfigurationError`` where the database or the passwords are missing."""
        self._settings, self._database = settings, database_of(settings)
        passwords = passwords_of(settings)
        self._registry, self._health = new_registry(), Health(time.monotonic)
        self._telemetry = AuditTelemetry(self._registry)
        self._process = ProcessTelemetry(self._registry, __version__)
        self._connection = output_connection(settings, input_connection(settings))
        self._connection.problems.shown_by(KafkaTelemetry(self._registry).watch)
        topics = settings.kafka.topics
        store, labels = EvidenceStore(self._database, topics.scores), LabelStore(self._database)
        self._outbox = Outbox(self._connection, topics.control, self._health, what="correction")
        self._corrections = CorrectionPublisher(labels, self._outbox, clock)
        self._forgetter = TextForgetter(TextForgetting(self._database), clock)
        self._control_known = asyncio.Event()
        self._alarms = LatestAlarms()
        self._live = LiveScores(settings, self._connection, clock)
        self._baselines = LatestRecords(BaselineRecord, beside_decisions)
        self._alarms_follower = self._follower_of_alarms()
        self._control = self._control_follower()
        self._follower = EvidenceFollower(
            self._connection,
            topics.scores,
            store,
            self._telemetry,
            self._health,
            clock,
            KeptEvidence(seconds(settings.audit.keep), settings.audit.keep_bytes),
            self._forgetter,
        )
        drawing = AuditDrawing(self._database)
        self._weekly = WeeklyDraws(WeeklyOrders(self._database), drawing, clock)
        parts = self._parts(store, labels, drawing, clock)
        self._site = AuditSite(parts, passwords, proxy_of(settings))

    def _parts(
        self,
        store: EvidenceStore,
        labels: LabelStore,
        drawing: AuditDrawing,
        clock: Callable[[], float],
    ) -> SiteParts:
        return SiteParts(
            store,
            EvidenceSearch(self._database),
            drawing,
            labels,
            self._corrections,
            self._health,
            self._telemetry,
            clock,
            AlarmViews(
                self._alarms.by_key,
                partial(alarm_fragment, answers="/interactions"),
                self._alarms_so_far,
                partial(alarm_status, answers="/interactions"),
                lambda: self._alarms_follower.is_ready,
            ),
            self._on_control,
            self._board,
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Serve and follow until ``stop`` is set."""
        audit, names = self._settings.audit, self._settings.kafka.topics
        scores = names.scores
        self._health.waits("audit", "start")
        server = HttpServer(
            self._registry,
            self._health,
            self._process,
            partial(Front, __version__, ("audit",)),
            allowed_hosts=audit.allowed_hosts,
            site=self._add_pages,
        )
        await server.start(audit.host, audit.port)
        try:
            await until(stop, self._migrated())
            topics = {scores, names.control, names.alarms}
            used = {self._connection.section: (self._connection, topics)}
            async with watched(used, self._health):
                await until(stop, self._works())
        finally:
            await server.stop()
            await self._database.close()

    async def _works(self) -> None:
        async with meanwhile(
            ("dropping what is too old", self._follower.prune()),
            ("writing corrections", self._outbox.run()),
            ("computing corrections", self._corrections.run()),
            ("reading the control topic", self._control.run()),
            ("drawing each week", self._weekly.run()),
            ("forgetting texts", self._forgetter.run()),
            ("reading the alarms", self._alarms_follower.run()),
            ("reading the numbers", self._live.run()),
        ):
            await self._control_known.wait()  # else texts come back that must not
            await self._follower.run()

    def _alarms_so_far(self, records: Collection[AlarmRecord], now: datetime) -> Markup:
        return alarms_so_far(records, now, are_read=self._alarms_follower.is_ready)

    async def _board(self) -> LiveBoard:
        """The numbers of now, or why there are none."""
        live = self._live
        rows, now = await live.rows(), time.time()
        waiting = "; ".join(f"{name} waits: {why}" for name, why in live.health.waiting.items())
        empty = "No scores yet: nothing was scored within the horizon."
        if not live.is_ready:
            empty = f"The numbers are still being read. {waiting}".rstrip()
        # Two readers: that of the alarms may still be behind that of the numbers.
        are_known = live.is_ready and self._alarms_follower.is_ready
        calm = calm_in_words(one.row for one in rows) if are_known else UNREAD
        table = live_table(rows, self._alarms.by_key.values(), "/interactions")
        return LiveBoard(
            table if rows else "",
            "" if rows else empty,
            calm,
            tuple(str(one) for one in live.controls.pauses.records(now)),
            live.controls.are_known.is_set(),
            live.health.waiting,
        )

    def _on_control(self, application: str, judge: str) -> JudgeOnControl:
        return JudgeOnControl(
            self._corrections.latest.get(correction_key(application, judge)),
            self._baselines.of(baseline_key(application, judge)),
            self._live.learning(application, judge),
        )

    def _follower_of_alarms(self) -> StateFollower:
        return StateFollower(
            self._connection,
            FollowedTopic(self._settings.kafka.topics.alarms, "alarms", "old alarms would be gone"),
            lambda record: self._alarms.apply(record.key, record.value),
            lambda result: self._telemetry.alarm_records.labels(result).inc(),
            self._health,
        )

    def _control_follower(self) -> StateFollower:
        readers = {FORGOTTEN: self._forgetter.texts.apply, BASELINE: self._baselines.apply}
        return StateFollower(
            self._connection,
            FollowedTopic(
                self._settings.kafka.topics.control, "control", "forgotten texts would come back"
            ),
            ControlState(readers).apply_record,
            lambda result: self._telemetry.control_records.labels(result).inc(),
            self._health,
            self._control_known.set,
        )

    def _add_pages(self, app: web.Application) -> None:
        self._site.add_to(app)
        AuditPages(self._site).add_to(app)

    async def _migrated(self) -> None:
        """The tables are those of this version, however long the database takes to answer."""
        while True:
            try:
                await self._database.migrate()
            except DatabaseAway as error:
                self._health.waits("audit_database", str(error))
                logger().warning("audit_database_away", error=str(error))
                await asyncio.sleep(_WAIT_S)
                continue
            self._telemetry.database_up.set(1)
            self._health.ready("audit_database")
            return
