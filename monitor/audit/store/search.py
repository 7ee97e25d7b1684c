"""Finding judged interactions: filters, pages by key, and one in full."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from monitor.audit.listing import Filters, JudgeInUse, Key
from monitor.audit.store.database import Database
from monitor.audit.store.rows import digest, has_id, stored_name
from monitor.audit.store.tables import evidence, is_in_doubt, label, score
from monitor.records import ScoreRecord, read_score_record

#: Rows of a page.
PAGE: Final = 50
#: So many interactions are looked up one by one.
_FEW: Final = 500
#: The numbers of so many are read as a set; of more nearly each value is of one of them.
_MANY: Final = 50_000


class Listed(NamedTuple):
    """A row of a page: ``scores`` by metric, ``labels`` how many people have labelled it."""

    number: int
    application: str
    interaction_id: str
    judge: str
    event_ms: int
    segment: str
    outcome: str
    reason: str | None
    headline: str
    scores: dict[str, float]
    labels: int


class Page(NamedTuple):
    """Rows, and where the next ones begin; None after the last."""

    rows: tuple[Listed, ...]
    after: Key | None


class FoundInteraction(NamedTuple):
    """One interaction; ``record`` is None where it can no longer be read."""

    number: int
    record: ScoreRecord | None
    has_texts: bool
    partition: int
    offset: int


class EvidenceSearch:
    """Reads the database; raises ``DatabaseAway``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, filters: Filters, after: Key | None = None) -> Page:
        """The rows behind ``after``, ``PAGE`` at most."""
        async with self._database.reading() as connection:
            narrowing = await _narrowing(connection, filters)
            statement = _listed(filters, after).where(*narrowing).limit(PAGE + 1)
            rows = (await connection.execute(statement)).all()
            shown = rows[:PAGE]
            numbers = [row.id for row in shown]
            values = await connection.execute(
                select(score.c.evidence_id, score.c.metric, score.c.value).where(
                    score.c.evidence_id.in_(numbers)
                )
            )
            scores: dict[int, dict[str, float]] = {number: {} for number in numbers}
            for number, metric, value in values:
                scores[number][metric] = value
            counts = await connection.execute(
                select(label.c.evidence_id, func.count(label.c.reviewer.distinct()))
                .where(label.c.evidence_id.in_(numbers))
                .group_by(label.c.evidence_id)
            )
            labels = {row[0]: row[1] for row in counts}
        last = shown[-1] if len(rows) > PAGE else None
        return Page(
            tuple(_row(row, scores[row.id], labels.get(row.id, 0)) for row in shown),
            None if last is None else Key(last.place, last.id),
        )

    async def one(self, number: int) -> FoundInteraction | None:
        """By its number."""
        return await self._found(evidence.c.id == number)

    async def named(
        self, application: str, interaction_id: str, judge: str
    ) -> FoundInteraction | None:
        """By what it is called."""
        return await self._found(evidence.c.digest == digest(application, interaction_id, judge))

    async def with_id(self, interaction_id: str) -> list[int]:
        """The numbers of all that have this id, the latest judgement first."""
        async with self._database.reading() as connection:
            found = await connection.execute(
                select(evidence.c.id)
                .where(has_id(interaction_id))
                .order_by(evidence.c.judged_ms.desc(), evidence.c.id.desc())
                .limit(PAGE)
            )
            return list(found.scalars())

    async def judges(self) -> list[JudgeInUse]:
        """All that are kept, by application, the latest first; 500 at most."""
        last = func.max(evidence.c.judged_ms)
        statement = (
            select(
                evidence.c.application,
                evidence.c.judge,
                func.count(),
                func.min(evidence.c.judged_ms),
                last,
            )
            .group_by(evidence.c.application, evidence.c.judge)
            .order_by(evidence.c.application, last.desc(), evidence.c.judge)
            .limit(500)
        )
        pair = evidence.c.application, evidence.c.judge
        doubtful = select(*pair, func.count()).where(is_in_doubt).group_by(*pair)
        async with self._database.reading() as connection:
            in_doubt = {(row[0], row[1]): row[2] for row in await connection.execute(doubtful)}
            found = [JudgeInUse(*row) for row in await connection.execute(statement)]
        return [
            one._replace(in_doubt=in_doubt.get((one.application, one.judge), 0)) for one in found
        ]

    async def choices(self) -> dict[str, list[str]]:
        """What can be filtered by: names of applications and of judges."""
        async with self._database.reading() as connection:
            found = {}
            for column in (evidence.c.application, evidence.c.judge):
                names = await connection.execute(select(column).distinct().limit(200))
                found[column.name] = sorted(names.scalars())
        return found

    async def _found(self, condition: Any) -> FoundInteraction | None:
        columns = (
            evidence.c.id,
            evidence.c.record,
            evidence.c.has_texts,
            evidence.c.partition,
            evidence.c.offset,
        )
        async with self._database.reading() as connection:
            row = (await connection.execute(select(*columns).where(condition))).one_or_none()
        if row is None:
            return None
        record = read_score_record(row.record.encode())
        return FoundInteraction(row.id, record, row.has_texts, row.partition, row.offset)


async def _narrowing(connection: AsyncConnection, filters: Filters) -> list[ColumnElement[bool]]:
    """Conditions on the values of a metric that say anew what the filters do, but quicker.

    A database would else walk along all values of the metric and look up the interaction of each,
    to find those that a filter leaves, or that there is none. That is how few of them are looked up
    one by one; of more, each value is held against their numbers, which an index has.
    """
    if filters.metric is None:
        return []
    found: list[ColumnElement[bool]] = []
    for each in _plain(filters._replace(since_ms=None, until_ms=None), evidence.c.event_ms):
        numbers = select(evidence.c.id).where(each).correlate(None)
        few = list((await connection.execute(numbers.limit(_FEW + 1))).scalars())
        if len(few) <= _FEW:
            return [score.c.evidence_id.in_(few)]
        more = numbers.limit(_MANY + 1).subquery()
        count = (await connection.execute(select(func.count()).select_from(more))).scalar_one()
        if count <= _MANY:
            # "is true": else PostgreSQL makes a join of it, and walks as before.
            found.append(score.c.evidence_id.in_(numbers).is_(True))
    return found


def _listed(filters: Filters, after: Key | None) -> Select[Any]:
    columns = [
        evidence.c.id,
        evidence.c.application,
        evidence.c.interaction_id,
        evidence.c.judge,
        evidence.c.event_ms,
        evidence.c.segment,
        evidence.c.outcome,
        evidence.c.reason,
        evidence.c.headline,
    ]
    if filters.metric is None:
        place, number, when = evidence.c.event_ms, evidence.c.id, evidence.c.event_ms
        statement = select(*columns, place.label("place"))
    else:
        is_worst = filters.order == "worst"
        place = score.c.worse if is_worst else score.c.event_ms
        number, when = score.c.evidence_id, score.c.event_ms
        statement = select(*columns, place.label("place")).join(
            score, score.c.evidence_id == evidence.c.id
        )
        statement = statement.where(*_of_metric(filters))
    statement = statement.where(*_plain(filters, when))
    if after is not None:
        same = and_(place == after.place, number < after.number)
        statement = statement.where(or_(place < after.place, same))
    return statement.order_by(place.desc(), number.desc())


def _of_metric(filters: Filters) -> Iterable[Any]:
    yield score.c.metric == filters.metric
    if filters.application is not None:
        yield score.c.application == stored_name(filters.application)
    if filters.least is not None:
        yield score.c.value >= filters.least
    if filters.most is not None:
        yield score.c.value <= filters.most


def _plain(filters: Filters, when: Any) -> Iterable[Any]:
    if filters.application is not None and filters.metric is None:
        yield evidence.c.application == stored_name(filters.application)
    if filters.judge is not None:
        yield evidence.c.judge == stored_name(filters.judge)
    if filters.segment is not None:
        yield evidence.c.segment == stored_name(filters.segment)
    if filters.outcome is not None:
        yield evidence.c.outcome == filters.outcome
    if filters.since_ms is not None:
        yield when >= filters.since_ms
    if filters.until_ms is not None:
        yield when < filters.until_ms


def _row(row: Row[Any], scores: dict[str, float], labels: int) -> Listed:
    return Listed(
        row.id,
        row.application,
        row.interaction_id,
        row.judge,
        row.event_ms,
        row.segment,
        row.outcome,
        row.reason,
        row.headline,
        scores,
        labels,
    )
