"""Texts out of the database; the numbers stay."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, exists, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from monitor.audit.store.database import Database
from monitor.audit.store.rows import Placed, evidence_row, has_id, stored_name
from monitor.audit.store.tables import evidence, forgotten, item, label
from monitor.records import ScoreRecord, read_score_record
from monitor.records.control import ForgottenRecord
from monitor.records.forgetting import ForgettingRequest, without_texts

#: Rows that are looked through at once.
_CHUNK: Final = 500
_CHANGED: Final = ("record", "bytes", "has_texts", "headline", "segment")

#: Application and interaction id.
InteractionName = tuple[str, str]


class _WithTexts(NamedTuple):
    number: int
    record: ScoreRecord


class TextForgetting:
    """Finds interactions whose texts must go; raises ``DatabaseAway``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        #: Whether nothing of what was forgotten is left in the database's files, as far as it can.
        self.is_overwritten = True

    async def overwrite(self) -> bool:
        """Try that again; whether it is so now."""
        self.is_overwritten = await self._database.scrub()
        return self.is_overwritten

    async def named_by(self, request: ForgettingRequest) -> list[InteractionName]:
        """Those that are kept with texts, and would lose them."""
        found = self._candidates(_narrowed(request), request.names)
        return [(each.record.application, each.record.interaction_id) async for each in found]

    async def with_texts(self, names: Iterable[InteractionName]) -> set[InteractionName]:
        """Those of them that are kept with texts: whose they are stands there."""
        found = set()
        async with self._database.reading() as connection:
            for application, name in names:
                of_it = evidence.c.has_texts & (evidence.c.application == stored_name(application))
                asked = select(exists().where(of_it, has_id(name)))
                if (await connection.execute(asked)).scalar_one():
                    found.add((application, name))
        return found

    async def forget(self, request: ForgettingRequest) -> int:
        """Take the texts of what is asked for away; of how many interactions."""
        return await self._forget(_narrowed(request), request.names, request.attribute)

    async def apply(self, asked: ForgottenRecord, now_ms: int) -> int | None:
        """Look through all rows for what a record stands for; None where that was done before."""
        async with self._database.reading() as connection:
            known = await connection.execute(
                select(exists().where(forgotten.c.fingerprint == asked.fingerprint))
            )
            if known.scalar_one():
                return None
        kind = asked.kind_of_value
        number = await self._forget(
            [], lambda record: kind.of(record) == asked.fingerprint, asked.attribute
        )
        async with self._database.writing() as connection:
            row = {"fingerprint": asked.fingerprint, "applied_ms": now_ms}
            await connection.execute(insert(forgotten).values(row))
        return number

    async def _forget(
        self,
        narrowed: list[ColumnElement[bool]],
        is_wanted: Callable[[ScoreRecord], bool],
        attribute: str,
    ) -> int:
        number = 0
        async for each in self._candidates(narrowed, is_wanted):
            bare = without_texts(each.record, attribute)
            row = evidence_row(Placed(bare, bare.to_json(), 0, 0, is_forgotten=True))
            async with self._database.writing() as connection:
                await connection.execute(
                    update(evidence)
                    .where(evidence.c.id == each.number)
                    .values({name: row[name] for name in _CHANGED})
                )
                if bare.segment != each.record.segment:  # it tells whose they are
                    await _unname_stratum(connection, each.number, each.record.segment)
                # A note may quote them.
                await connection.execute(
                    update(label).where(label.c.evidence_id == each.number).values(note="")
                )
            number += 1
        if number:
            await self.overwrite()
        return number

    async def _candidates(
        self, narrowed: list[ColumnElement[bool]], is_wanted: Callable[[ScoreRecord], bool]
    ) -> AsyncIterator[_WithTexts]:
        behind = 0
        while True:
            rows = await self._chunk(behind, narrowed)
            if not rows:
                return
            for row in rows:
                record = read_score_record(row.record.encode())
                if is_wanted(record):
                    yield _WithTexts(row.id, record)
            behind = rows[-1].id

    async def _chunk(self, behind: int, narrowed: list[ColumnElement[bool]]) -> list[Any]:
        statement = (
            select(evidence.c.id, evidence.c.record)
            .where(evidence.c.has_texts, evidence.c.id > behind, *narrowed)
            .order_by(evidence.c.id)
            .limit(_CHUNK)
        )
        async with self._database.reading() as connection:
            return list((await connection.execute(statement)).all())


async def _unname_stratum(connection: AsyncConnection, number: int, segment: str) -> None:
    """An item keeps of its stratum whether that was the good or the bad one."""
    rest = func.replace(item.c.stratum, f"{stored_name(segment)}: ", "")
    await connection.execute(update(item).where(item.c.evidence_id == number).values(stratum=rest))


def _narrowed(request: ForgettingRequest) -> list[ColumnElement[bool]]:
    """Of attributes nothing is known but that their value stands somewhere in the record."""
    if request.attribute:
        return []
    return [has_id(request.value)]
