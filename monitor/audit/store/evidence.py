"""Taking score records in: each judged interaction once, however often it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Table, delete, exists, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from monitor.audit.store.database import Database, ValueRefused
from monitor.audit.store.rows import Placed, evidence_row, score_rows
from monitor.audit.store.tables import evidence, followed, label, score

#: Rows that are deleted in one transaction.
_CHUNK: Final = 1_000
#: Rows that are written by one statement, which may hold megabytes each.
_AT_ONCE: Final = 100


class Position(NamedTuple):
    """How far a partition was taken in: the next offset, and the broker's time before it."""

    next_offset: int
    broker_ms: int


class RefusedRecord(NamedTuple):
    """A record that no attempt would bring in; ``why`` has none of its texts."""

    placed: Placed
    why: str


class EachAdded(NamedTuple):
    """How many were new, and those that were left out."""

    new: int
    refused: tuple[RefusedRecord, ...]


class EvidenceStore:
    """Score records in the database."""

    def __init__(self, database: Database, topic: str) -> None:
        self._database, self._topic = database, topic

    async def positions(self) -> dict[int, Position]:
        """By partition, how far it was taken in."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(followed).where(followed.c.topic == self._topic))
            return {row.partition: Position(row.next_offset, row.broker_ms) for row in rows}

    async def add(self, records: Sequence[Placed], reached: Mapping[int, Position]) -> int:
        """Keep those that are new, and how far each partition was read: both or neither.

        How many were new. Raises ``DatabaseAway``; then nothing has changed, and it may be called
        again. Raises ``ValueRefused`` where one of them will never be taken: see ``add_each``.
        """
        rows = [(placed, _row(placed)) for placed in records]
        async with self._database.writing() as connection:
            new = 0
            for begun in range(0, len(rows), _AT_ONCE):
                new += await self._add_some(connection, rows[begun : begun + _AT_ONCE])
            for partition, position in reached.items():
                await self._move(connection, partition, position)
        return new

    async def add_each(
        self, records: Sequence[Placed], reached: Mapping[int, Position]
    ) -> EachAdded:
        """Keep those that can be kept, and leave out the others. Raises ``DatabaseAway``.

        One by one, and only then how far was read: what was kept by then is known when it is read
        again.
        """
        new, refused = 0, list[RefusedRecord]()
        for placed in records:
            try:
                new += await self.add([placed], {})
            except ValueRefused as error:
                refused.append(RefusedRecord(placed, str(error)))
        await self.add([], reached)
        return EachAdded(new, tuple(refused))

    async def _add_some(
        self, connection: AsyncConnection, rows: Sequence[tuple[Placed, dict[str, Any]]]
    ) -> int:
        statement = self._insert(evidence).on_conflict_do_nothing(index_elements=["digest"])
        added = await connection.execute(
            statement.returning(evidence.c.digest, evidence.c.id), [row for _, row in rows]
        )
        numbers: dict[bytes, int] = {row.digest: row.id for row in added}
        new = len(numbers)
        scores = [
            one
            for placed, row in rows
            # Of several of one digest the first was taken.
            if (number := numbers.pop(row["digest"], None)) is not None
            for one in score_rows(placed.record, number)
        ]
        if scores:
            await connection.execute(insert(score), scores)
        return new

    async def _move(self, connection: AsyncConnection, partition: int, to: Position) -> None:
        statement = self._insert(followed).values(
            topic=self._topic, partition=partition, **to._asdict()
        )
        await connection.execute(
            statement.on_conflict_do_update(
                index_elements=["topic", "partition"], set_=to._asdict()
            )
        )

    def _insert(self, table: Table) -> postgresql.Insert | sqlite.Insert:
        return sqlite.insert(table) if self._database.is_sqlite else postgresql.insert(table)

    async def drop_before(self, judged_ms: int) -> int:
        """Drop what was judged before, but for what people have labelled; how many."""
        return await self._drop(evidence.c.judged_ms < judged_ms)

    async def drop_beyond(self, most_bytes: int) -> int:
        """Drop the oldest, so that the others take no more; how many.

        What people have labelled stays, and counts.
        """
        if await self.bytes() <= most_bytes:
            return 0
        newest = evidence.c.judged_ms.desc(), evidence.c.id.desc()
        taken = func.sum(evidence.c.bytes).over(order_by=newest).label("taken")
        rows = select(evidence.c.id, taken).subquery()
        return await self._drop(
            evidence.c.id.in_(select(rows.c.id).where(rows.c.taken > most_bytes))
        )

    async def _drop(self, condition: ColumnElement[bool]) -> int:
        """Bit by bit, so that others may write, too."""
        dropped = 0
        kept = exists().where(label.c.evidence_id == evidence.c.id)
        some = select(evidence.c.id).where(condition, ~kept).limit(_CHUNK)
        while True:
            async with self._database.writing() as connection:
                found = await connection.execute(delete(evidence).where(evidence.c.id.in_(some)))
            if not found.rowcount:
                return dropped
            dropped += found.rowcount

    async def bytes(self) -> int:
        """Of all score records that are kept; the files of the database are larger."""
        async with self._database.reading() as connection:
            found = await connection.execute(select(func.sum(evidence.c.bytes)))
            return int(found.scalar_one() or 0)

    async def latest_ms(self) -> int | None:
        """When the latest one was judged, in epoch milliseconds; None of none."""
        async with self._database.reading() as connection:
            found = await connection.execute(select(func.max(evidence.c.judged_ms)))
            latest: int | None = found.scalar_one()
            return latest

    async def count(self) -> int:
        """How many interactions are kept."""
        async with self._database.reading() as connection:
            return (
                await connection.execute(select(func.count()).select_from(evidence))
            ).scalar_one()


def _row(placed: Placed) -> dict[str, Any]:
    """Raises ``ValueRefused`` for a record that contradicts itself."""
    try:
        return evidence_row(placed)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ValueRefused(f"it makes no row: {type(error).__name__}") from None
