"""Corrections are published while labels are young, and withdrawn when all have grown old."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from monitor.app.connections import connection
from monitor.audit.correction import LABELS_MS
from monitor.audit.correction_publisher import CorrectionPublisher
from monitor.audit.readings import HumanLabel
from monitor.audit.store.database import Database
from monitor.audit.store.drawing import AuditDrawing, DrawRequest
from monitor.audit.store.evidence import EvidenceStore, Position
from monitor.audit.store.labels import LabelStore
from monitor.config import load
from monitor.control.publisher import Outbox
from monitor.records.control import correction_key
from monitor.runtime.health import Health
from tests.stages.audits import MIXED, judged, placed
from tests.stages.process import until
from tests.stages.score_records import FIRST, START

NOW_S = START + 10_000.0


async def test_what_old_labels_said_is_taken_back(tmp_path: Path) -> None:
    """Also by a process that has begun after they grew old: the record stands on the topic."""
    database = Database(f"sqlite:///{tmp_path}/a.db")
    await database.migrate()
    now_ms, labels = round(NOW_S * 1000), LabelStore(database)
    await EvidenceStore(database, "s").add(
        [placed(judged(i)) for i in range(10)], {0: Position(10, now_ms)}
    )
    drawing = AuditDrawing(database)
    await drawing.draw(DrawRequest("bot", "faithfulness", 0, now_ms, 10, "uniform"), now_ms)
    while (item := await drawing.next_for("ann", now_ms)) is not None:
        await labels.add(item.evidence_id, HumanLabel("ann", now_ms, MIXED, ""))
    key, settings = correction_key("bot", FIRST.label), load({})

    async def published(at_s: float) -> CorrectionPublisher:
        health = Health(time.monotonic)
        outbox = Outbox(connection(settings), "rag.control.v1", health, what="correction")
        found = CorrectionPublisher(labels, outbox, lambda: at_s)
        running = asyncio.create_task(found.run())
        await until(lambda: outbox.is_under_way(key), "something under its key", every_s=0.01)
        running.cancel()
        return found

    assert key in (await published(NOW_S)).latest
    assert (await published(NOW_S + LABELS_MS / 1000 + 1)).latest == {}
    await database.close()
