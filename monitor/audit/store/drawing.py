"""Drawing interactions to be audited, each with its probability, and handing them out."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from random import Random
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import and_, case, exists, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from monitor.audit.store.database import Database
from monitor.audit.store.rows import stored_name
from monitor.audit.store.tables import batch, evidence, item, label, score
from monitor.metrics.catalogue import CATALOGUE
from monitor.stats.audit_drawing import Drawn, Stratum, allocated, drawn_from
from monitor.stats.sums import as_worse

Strategy = Literal["uniform", "stratified", "boundary", "worst"]
STRATEGIES: Final[tuple[Strategy, ...]] = ("uniform", "stratified", "boundary", "worst")
#: Milliseconds for which an item is one reviewer's.
LEASE_MS: Final = 15 * 60_000
#: Every so many-th item is read by two.
SECOND_EVERY: Final = 10
#: With larger meaning worse: what lies above is a bad score.
_BAD_ABOVE: Final = 0.0
#: From here on the judge is in doubt: a probability between a quarter and three.
_IN_DOUBT: Final = 0.5


class DrawRequest(NamedTuple):
    """What to draw: from the interactions of an application and judge with a value of ``metric``.

    ``judge`` None is that of the latest of them. Times are epoch milliseconds.
    """

    application: str
    metric: str
    since_ms: int
    until_ms: int
    places: int
    strategy: Strategy = "stratified"
    judge: str | None = None
    seed: int = 0


def new_seed() -> int:
    """One that no other draw has; it is kept with the batch."""
    return secrets.randbits(31)


class DrawnBatch(NamedTuple):
    """What was drawn: how many, of how many, by stratum."""

    number: int
    judge: str
    strata: Mapping[str, Drawn]

    @property
    def drawn(self) -> int:
        """How many."""
        return sum(each.places for each in self.strata.values())


class AuditItem(NamedTuple):
    """An interaction to be audited."""

    number: int
    evidence_id: int


class AuditProgress(NamedTuple):
    """Of an application and judge: how many were drawn, and how many of them are labelled.

    ``twice`` of them are for two people, and ``twice_done`` have both labels; ``mine`` have one of
    the reviewer who asks.
    """

    application: str
    judge: str
    drawn: int
    done: int
    twice: int
    twice_done: int
    mine: int


#: What is done in the transaction of a draw, before it.
FirstOfAll = Callable[[AsyncConnection], Awaitable[None]]
#: Whose an item is: what can be said to somebody who sends a label.
ItemHold = Literal["yours", "somebody_elses", "labelled"]


class _Rated(NamedTuple):
    evidence_id: int
    segment: str
    worse: float
    doubt: float
    #: Whether it is one already, as one of the worst.
    is_item: bool


async def _nothing(_connection: AsyncConnection) -> None:
    """What is to be done first, where there is nothing."""


class AuditDrawing:
    """Items of the database; raises ``DatabaseAway``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def draw(
        self, request: DrawRequest, now_ms: int, first: FirstOfAll = _nothing
    ) -> DrawnBatch | None:
        """Draw from those that were never drawn; None where there are none.

        ``first`` is done together with it: both or neither.

        What was only looked at as one of the worst may be drawn by chance as well, and then counts
        as that: without it the others would stand for a whole that lacks its worst part.
        """
        async with self._database.writing_alone() as connection:
            await first(connection)
            judge = request.judge or await _latest_judge(connection, request)
            if judge is None:
                return None
            candidates = await _candidates(connection, request, judge)
            if not candidates:
                return None
            chosen, strata = _chosen(candidates, request)
            number = await _insert_batch(connection, request, judge, len(candidates), now_ms)
            random = Random(request.seed)
            random.shuffle(chosen)  # whoever stops half-way has read some of every stratum
            before = (await connection.execute(select(func.count()).select_from(item))).scalar_one()
            rows = [
                {
                    "batch_id": number,
                    "evidence_id": candidate.evidence_id,
                    "stratum": stratum,
                    "probability": probability,
                    # Over all draws: small ones would have no second readings at all.
                    "readings": 2 if place % SECOND_EVERY == SECOND_EVERY - 1 else 1,
                }
                for place, (candidate, stratum, probability) in enumerate(chosen, before)
            ]
            await _put(connection, rows, {one.evidence_id for one in candidates if one.is_item})
        return DrawnBatch(number, judge, strata)

    async def next_for(
        self, reviewer: str, now_ms: int, application: str | None = None, behind: int = 0
    ) -> AuditItem | None:
        """An item that waits for this reviewer, and is nobody else's; it is theirs for 15 minutes.

        ``behind``: the number of the item that is passed over for now.
        """
        async with self._database.writing() as connection:
            statement = _next(reviewer, now_ms, application)
            found = (
                await connection.execute(statement.where(item.c.id > behind).limit(1))
            ).one_or_none()
            if found is None and behind:
                found = (await connection.execute(statement.limit(1))).one_or_none()
            if found is None:
                return None
            taken = await connection.execute(
                update(item)
                .where(item.c.id == found.id, _is_free(reviewer, now_ms))
                .values(leased_by=reviewer, leased_until_ms=now_ms + LEASE_MS)
            )
        if not taken.rowcount:  # another was quicker
            return await self.next_for(reviewer, now_ms, application, found.id)
        return AuditItem(found.id, found.evidence_id)

    async def hold(self, number: int, reviewer: str, now_ms: int) -> ItemHold:
        """Whether this reviewer may label an item now; then it is theirs for 15 minutes more.

        Who comes back late may, while nobody else has it and it still needs a label; who has
        labelled it may label it again.
        """
        readings = (
            select(func.count(label.c.reviewer.distinct()))
            .where(label.c.evidence_id == item.c.evidence_id)
            .scalar_subquery()
        )
        own = exists().where(
            label.c.evidence_id == item.c.evidence_id, label.c.reviewer == reviewer
        )
        async with self._database.writing() as connection:
            taken = await connection.execute(
                update(item)
                .where(item.c.id == number, or_(own, readings < item.c.readings))
                .where(or_(own, _is_free(reviewer, now_ms)))
                .values(
                    leased_by=case((own, item.c.leased_by), else_=reviewer),
                    leased_until_ms=case((own, item.c.leased_until_ms), else_=now_ms + LEASE_MS),
                )
            )
            if taken.rowcount:
                return "yours"
            done = select(readings >= item.c.readings).where(item.c.id == number)
            is_done = (await connection.execute(done)).scalar_one_or_none()
        return "labelled" if is_done else "somebody_elses"

    async def waits_for(self, evidence_id: int, reviewer: str) -> bool:
        """Whether this reviewer may still be given it: until then they see nobody else's label."""
        statement = _waiting(reviewer).where(item.c.evidence_id == evidence_id)
        async with self._database.reading() as connection:
            return (await connection.execute(statement)).first() is not None

    async def evidence_of(self, number: int) -> int | None:
        """The interaction of an item; None where it was dropped."""
        async with self._database.reading() as connection:
            found = await connection.execute(select(item.c.evidence_id).where(item.c.id == number))
            return found.scalar_one_or_none()

    async def progress(self, reviewer: str = "") -> list[AuditProgress]:
        """By application and judge, in the order of their names."""
        labels = label.c.evidence_id == item.c.evidence_id
        readings = select(func.count(label.c.reviewer.distinct())).where(labels).scalar_subquery()
        is_done, is_twice = readings >= item.c.readings, item.c.readings > 1
        own = exists().where(labels, label.c.reviewer == reviewer)
        counted = {
            "done": is_done,
            "twice": is_twice,
            "twice_done": and_(is_twice, is_done),
            "mine": own,
        }
        rows = (
            select(
                batch.c.application,
                batch.c.judge,
                func.count().label("drawn"),
                *(func.sum(_one_if(each)).label(name) for name, each in counted.items()),
            )
            .join(batch, batch.c.id == item.c.batch_id)
            .group_by(batch.c.application, batch.c.judge)
            .order_by(batch.c.application, batch.c.judge)
        )
        async with self._database.reading() as connection:
            found = await connection.execute(rows)
            return [AuditProgress(r[0], r[1], *(int(each or 0) for each in r[2:])) for r in found]


def _chosen(
    candidates: Sequence[_Rated], request: DrawRequest
) -> tuple[list[tuple[_Rated, str, float]], dict[str, Drawn]]:
    """Each with its stratum and π, and how many were drawn of each stratum."""
    if request.strategy == "worst":
        worst = sorted(candidates, key=lambda one: (-one.worse, one.evidence_id))[: request.places]
        return [(one, "worst", 0.0) for one in worst], {"worst": Drawn(len(worst), len(candidates))}
    members: dict[Stratum, list[_Rated]] = defaultdict(list)
    for one in candidates:
        members[_stratum(one, request.strategy)].append(one)
    random = Random(request.seed)
    found, strata = [], {}
    sizes = {stratum: len(members[stratum]) for stratum in sorted(members)}
    for stratum, drawn in allocated(sizes, request.places).items():
        strata[stratum.name] = drawn
        found += [
            (one, stratum.name, drawn.probability)
            for one in drawn_from(members[stratum], drawn.places, random)
        ]
    return found, strata


def _stratum(candidate: _Rated, strategy: Strategy) -> Stratum:
    if strategy == "uniform":
        return Stratum("all", is_bad=False)
    if strategy == "boundary":
        in_doubt = candidate.doubt >= _IN_DOUBT
        return Stratum("in doubt" if in_doubt else "clear", is_bad=in_doubt)
    is_bad = candidate.worse > _BAD_ABOVE
    band = "bad" if is_bad else "good"
    return Stratum(f"{candidate.segment}: {band}" if candidate.segment else band, is_bad)


async def _latest_judge(connection: AsyncConnection, request: DrawRequest) -> str | None:
    """Of those who judged what is asked for, the one who did so last.

    Asked for one judge after the other, as each then walks back along an index from its latest:
    ``+ 0`` keeps the index of event times out, by which SQLite reads and sorts the whole span.
    """
    event_ms = evidence.c.event_ms + 0
    of_application = evidence.c.application == stored_name(request.application)
    judges = await connection.execute(select(evidence.c.judge).where(of_application).distinct())
    latest = dict[str, int]()
    for judge in sorted(judges.scalars()):
        found = await connection.execute(
            select(evidence.c.judged_ms)
            .where(
                of_application,
                evidence.c.judge == judge,
                event_ms >= request.since_ms,
                event_ms < request.until_ms,
            )
            .order_by(evidence.c.judged_ms.desc())
            .limit(1)
        )
        judged_ms = found.scalar_one_or_none()
        if judged_ms is not None:
            latest[judge] = judged_ms
    return max(latest, key=latest.__getitem__, default=None)


async def _candidates(
    connection: AsyncConnection, request: DrawRequest, judge: str
) -> list[_Rated]:
    """Those with a value, a weight and texts that were never drawn, in the order of numbers."""
    drawn = exists().where(item.c.evidence_id == evidence.c.id)
    if request.strategy != "worst":
        drawn = drawn.where(item.c.probability > 0)
    is_item = exists().where(item.c.evidence_id == evidence.c.id).label("is_item")
    rows = await connection.execute(
        select(evidence.c.id, evidence.c.segment, score.c.value, evidence.c.doubt, is_item)
        .join(score, score.c.evidence_id == evidence.c.id)
        .where(
            score.c.metric == request.metric,
            score.c.application == stored_name(request.application),
            score.c.event_ms >= request.since_ms,
            score.c.event_ms < request.until_ms,
            evidence.c.judge == stored_name(judge),
            evidence.c.weight.is_not(None),
            evidence.c.has_texts,
            ~drawn,
        )
        .order_by(evidence.c.id)
    )
    better = CATALOGUE[request.metric].higher_is_better
    # By position, and without names of fields: there may be 100,000 of them.
    return [
        _Rated(number, segment, as_worse(value, better), doubt, bool(is_item))
        for number, segment, value, doubt, is_item in rows
    ]


async def _put(
    connection: AsyncConnection, rows: Sequence[dict[str, Any]], items: Collection[int]
) -> None:
    """New items; those that are one already become one of this batch."""
    new = [row for row in rows if row["evidence_id"] not in items]
    if new:
        await connection.execute(insert(item), new)
    for row in rows:
        if row["evidence_id"] in items:
            where = item.c.evidence_id == row["evidence_id"]
            await connection.execute(update(item).where(where).values(row))


async def _insert_batch(
    connection: AsyncConnection, request: DrawRequest, judge: str, candidates: int, now_ms: int
) -> int:
    row = {
        "application": stored_name(request.application),
        "judge": stored_name(judge),
        "strategy": request.strategy,
        "metric": request.metric,
        "since_ms": request.since_ms,
        "until_ms": request.until_ms,
        "candidates": candidates,
        "seed": request.seed,
        "drawn_ms": now_ms,
    }
    found = await connection.execute(insert(batch).values(row).returning(batch.c.id))
    number: int = found.scalar_one()
    return number


def _waiting(reviewer: str) -> Any:
    """Items with fewer readings than they need, none of this reviewer's.

    Those whose texts were forgotten are nobody's any more.
    """
    labels = select(func.count(label.c.reviewer.distinct())).where(
        label.c.evidence_id == item.c.evidence_id
    )
    own = exists().where(label.c.evidence_id == item.c.evidence_id, label.c.reviewer == reviewer)
    readable = exists().where(evidence.c.id == item.c.evidence_id, evidence.c.has_texts)
    return select(item.c.id, item.c.evidence_id).where(
        labels.scalar_subquery() < item.c.readings, ~own, readable
    )


def _next(reviewer: str, now_ms: int, application: str | None) -> Any:
    """Those of them that are free, in their order."""
    statement = _waiting(reviewer).where(_is_free(reviewer, now_ms)).order_by(item.c.id)
    if application is not None:
        statement = statement.join(batch, batch.c.id == item.c.batch_id).where(
            batch.c.application == stored_name(application)
        )
    return statement


def _is_free(reviewer: str, now_ms: int) -> Any:
    return or_(
        item.c.leased_by.is_(None),
        item.c.leased_by == reviewer,
        item.c.leased_until_ms < now_ms,
    )


def _one_if(condition: Any) -> Any:
    return case((condition, 1), else_=0)
