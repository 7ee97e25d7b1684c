"""What is drawn anew each week: kept in the database, one order an application."""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from monitor.audit.store.database import Database
from monitor.audit.store.drawing import Strategy
from monitor.audit.store.rows import stored_name
from monitor.audit.store.tables import weekly

_DAY_MS: Final = 86_400_000
WEEK_MS: Final = 7 * _DAY_MS
#: The first Monday of the epoch.
_MONDAY_MS: Final = 4 * _DAY_MS


class WeeklyOrder(NamedTuple):
    """So many of an application a week; ``drawn_until_ms``: the Monday up to which it is done."""

    application: str
    metric: str
    strategy: Strategy
    places: int
    drawn_until_ms: int


class WeeklyOrders:
    """Orders of the database; raises ``DatabaseAway``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[WeeklyOrder]:
        """By application."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(weekly).order_by(weekly.c.application))
            return [
                WeeklyOrder(
                    row.application,
                    row.metric,
                    cast(Strategy, row.strategy),
                    row.places,
                    row.drawn_until_ms,
                )
                for row in rows
            ]

    async def put(self, order: WeeklyOrder) -> None:
        """It takes the place of the one that the application had."""
        async with self._database.writing() as connection:
            name = stored_name(order.application)
            await connection.execute(delete(weekly).where(weekly.c.application == name))
            await connection.execute(
                insert(weekly).values(order._replace(application=name)._asdict())
            )

    async def end(self, application: str) -> bool:
        """Whether there was one."""
        async with self._database.writing() as connection:
            found = await connection.execute(
                delete(weekly).where(weekly.c.application == stored_name(application))
            )
        return bool(found.rowcount)


class AlreadyDrawn(Exception):
    """Another process has drawn that week, or somebody has changed the order."""


async def claim(connection: AsyncConnection, order: WeeklyOrder, until_ms: int) -> None:
    """Note that it is drawn up to there. Raises ``AlreadyDrawn``: of two processes one draws."""
    found = await connection.execute(
        update(weekly)
        .where(
            weekly.c.application == order.application,
            weekly.c.drawn_until_ms == order.drawn_until_ms,
        )
        .values(drawn_until_ms=until_ms)
    )
    if not found.rowcount:
        raise AlreadyDrawn


def monday(now_ms: int) -> int:
    """The Monday, at 0:00 UTC, that the current week began with; epoch milliseconds.

    >>> from datetime import UTC, datetime
    >>> wednesday = datetime(2026, 11, 25, 13, tzinfo=UTC)
    >>> datetime.fromtimestamp(monday(round(wednesday.timestamp() * 1000)) / 1000, UTC).isoformat()
    '2026-11-23T00:00:00+00:00'
    """
    return (now_ms - _MONDAY_MS) // WEEK_MS * WEEK_MS + _MONDAY_MS
