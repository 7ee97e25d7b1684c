"""What is drawn each week: once, of the week that is over, also if nobody was there on Monday."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from monitor.audit.store.database import Database, DatabaseAway
from monitor.audit.store.drawing import AuditDrawing
from monitor.audit.store.evidence import EvidenceStore, Position
from monitor.audit.store.weekly import WeeklyOrder, WeeklyOrders
from monitor.audit.weekly import WeeklyDraws
from tests.stages.audits import judged, placed

#: A Wednesday; the records are of the Friday before.
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC).timestamp()
WEEK_S = 604_800


async def opened(folder: Path) -> Database:
    """Ten interactions of last week, ten of this one."""
    database = Database(f"sqlite:///{folder}/a.db")
    await database.migrate()
    rows = []
    for i in range(20):
        at = datetime(2026, 11, 20 if i < 10 else 24, tzinfo=UTC)
        rows.append(placed(judged(i).model_copy(update={"event_time": at, "judged_at": at})))
    await EvidenceStore(database, "t").add(rows, {0: Position(20, 0)})
    return database


async def test_a_week_is_drawn_once(tmp_path: Path) -> None:
    """By whichever of two processes comes first; the next week has others."""
    database = await opened(tmp_path)
    orders, now = WeeklyOrders(database), [NOW]
    drawing = AuditDrawing(database)
    two = [WeeklyDraws(orders, drawing, lambda: now[0]) for _ in range(2)]
    monday_before = round((NOW - 14 * 86_400) * 1000)
    await orders.put(WeeklyOrder("bot", "claim_precision", "uniform", 4, monday_before))

    async def drawn() -> list[int]:
        for each in two:
            await each.look()
        return [one.drawn for one in await drawing.progress()]

    assert [await drawn(), await drawn()] == [[4], [4]]
    now[0] += WEEK_S
    assert await drawn() == [8]
    now[0] += 5 * WEEK_S  # nobody has logged anything: nothing is left to draw
    assert await drawn() == [8]
    assert [await orders.end("bot"), await orders.end("bot")] == [True, False]
    await database.close()


async def test_an_application_has_one_order(tmp_path: Path) -> None:
    """The latest one holds."""
    database = await opened(tmp_path)
    orders = WeeklyOrders(database)
    order = WeeklyOrder("bot", "claim_precision", "uniform", 4, 0)
    await orders.put(order)
    await orders.put(order._replace(strategy="boundary", places=7))
    assert await orders.all() == [order._replace(strategy="boundary", places=7)]
    await database.close()


async def test_a_week_that_could_not_be_drawn_is_drawn_later(tmp_path: Path) -> None:
    """The database goes away in the middle of it: nothing is noted as done."""
    database = await opened(tmp_path)
    orders, drawing = WeeklyOrders(database), AuditDrawing(database)
    await orders.put(WeeklyOrder("bot", "claim_precision", "uniform", 4, 0))
    weekly = WeeklyDraws(orders, drawing, lambda: NOW)
    async with database.writing() as connection:
        await connection.exec_driver_sql("ALTER TABLE item RENAME TO gone")
    with pytest.raises(DatabaseAway):
        await weekly.look()
    async with database.writing() as connection:
        await connection.exec_driver_sql("ALTER TABLE gone RENAME TO item")
    await weekly.look()
    assert [one.drawn for one in await drawing.progress()] == [4]
    await database.close()
