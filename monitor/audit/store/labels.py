"""What people say of a judge's verdicts: every label stays, the latest of each reviewer holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sqlalchemy import exists, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from monitor.audit.readings import MOST_NAME, AuditReading, HumanLabel
from monitor.audit.store.database import Database
from monitor.audit.store.rows import stored, stored_name
from monitor.audit.store.tables import batch, evidence, item, label
from monitor.records import Verdicts, read_score_record

#: By when it was said, and not by when it came: a file may bring what was said before.
_IN_TIME: Final = (label.c.labelled_ms, label.c.id)


class OwnLabel(NamedTuple):
    """An interaction that somebody has labelled, and when they last did (epoch milliseconds)."""

    number: int
    application: str
    interaction_id: str
    headline: str
    labelled_ms: int


class LabelStore:
    """Labels of the database; raises ``DatabaseAway``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, evidence_id: int, given: HumanLabel) -> bool:
        """One more; what this reviewer said before is history. Whether its note was kept, too.

        It is not where the texts of the interaction were forgotten: it may quote them.
        """
        return not await self.add_all([(evidence_id, given)])

    async def add_all(self, given: Iterable[tuple[int, HumanLabel]]) -> int:
        """All of them or none, each with the number of its interaction; how many lost their note.

        As ``add`` does.
        """
        async with self._database.writing() as connection:
            return sum([not await _added(connection, number, one) for number, one in given])

    async def is_drawn(self, evidence_id: int) -> bool:
        """Whether an interaction was drawn or chosen: labels of others count for nothing."""
        async with self._database.reading() as connection:
            found = await connection.execute(
                select(exists().where(item.c.evidence_id == evidence_id))
            )
            return bool(found.scalar_one())

    async def history(self, evidence_id: int) -> list[HumanLabel]:
        """All of an interaction, in the order of time."""
        async with self._database.reading() as connection:
            rows = await connection.execute(
                select(label).where(label.c.evidence_id == evidence_id).order_by(*_IN_TIME)
            )
            return [_label(row) for row in rows]

    async def latest_of(self, reviewer: str, number: int) -> list[OwnLabel]:
        """The last so many interactions that somebody has labelled, the latest first."""
        last = func.max(label.c.labelled_ms).label("labelled_ms")
        statement = (
            select(
                evidence.c.id,
                evidence.c.application,
                evidence.c.interaction_id,
                evidence.c.headline,
                last,
            )
            .join(label, label.c.evidence_id == evidence.c.id)
            .where(label.c.reviewer == reviewer)
            .group_by(evidence.c.id)
            .order_by(last.desc(), evidence.c.id.desc())
            .limit(number)
        )
        async with self._database.reading() as connection:
            return [OwnLabel(*row) for row in await connection.execute(statement)]

    async def readings(self, application: str, judge: str, since_ms: int) -> list[AuditReading]:
        """Those that were drawn and labelled since then, in the order of their first label."""
        statement = (
            select(
                evidence.c.record,
                evidence.c.weight,
                item.c.probability,
                batch.c.strategy,
                label,
            )
            .join(evidence, evidence.c.id == label.c.evidence_id)
            .join(item, item.c.evidence_id == evidence.c.id)
            .join(batch, batch.c.id == item.c.batch_id)
            .where(
                evidence.c.application == stored_name(application),
                evidence.c.judge == stored_name(judge),
                label.c.labelled_ms >= since_ms,
            )
            .order_by(*_IN_TIME)
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return _readings(rows)

    async def pairs(self, since_ms: int) -> list[tuple[str, str]]:
        """Applications and judges with a label since then, as they are stored."""
        async with self._database.reading() as connection:
            rows = await connection.execute(
                select(evidence.c.application, evidence.c.judge)
                .join(label, label.c.evidence_id == evidence.c.id)
                .where(label.c.labelled_ms >= since_ms)
                .distinct()
                .order_by(evidence.c.application, evidence.c.judge)
            )
            return [(row.application, row.judge) for row in rows]


async def _added(connection: AsyncConnection, evidence_id: int, given: HumanLabel) -> bool:
    await connection.execute(  # who reads it as the second need not wait
        update(item)
        .where(item.c.evidence_id == evidence_id, item.c.leased_by == given.reviewer)
        .values(leased_by=None, leased_until_ms=None)
    )
    # The row stays as it is until the note is there: SQLite has one writer, which this is
    # since the update; PostgreSQL locks it. So whoever forgets it finds the note.
    found = await connection.execute(
        select(evidence.c.has_texts).where(evidence.c.id == evidence_id).with_for_update(read=True)
    )
    has_texts = bool(found.scalar_one_or_none())
    row = {
        "evidence_id": evidence_id,
        "reviewer": stored_name(given.reviewer)[:MOST_NAME],
        "labelled_ms": given.labelled_ms,
        "verdicts": given.verdicts.model_dump_json(),
        "note": stored(given.note) if has_texts else "",
    }
    await connection.execute(insert(label).values(row))
    return has_texts or not given.note


def _readings(rows: Any) -> list[AuditReading]:
    latest: dict[int, dict[str, HumanLabel]] = defaultdict(dict)
    of: dict[int, Any] = {}
    for row in rows:
        of[row.evidence_id] = row
        latest[row.evidence_id][row.reviewer] = _label(row)
    return [
        AuditReading(
            read_score_record(row.record.encode()),
            row.weight or 0.0,
            row.probability,
            row.strategy == "stratified",
            tuple(latest[number].values()),
        )
        for number, row in of.items()
    ]


def _label(row: Any) -> HumanLabel:
    verdicts = Verdicts.model_validate_json(row.verdicts)
    return HumanLabel(row.reviewer, row.labelled_ms, verdicts, row.note)
