"""What the commands ``audit select``, ``export`` and ``import`` do to the database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from monitor.audit.exchange import LabelledLine, Refused, checked, read_line, refuse
from monitor.audit.readings import AuditReading, HumanLabel
from monitor.audit.store.database import Database, DatabaseAway
from monitor.audit.store.drawing import AuditDrawing, DrawnBatch, DrawRequest
from monitor.audit.store.labels import LabelStore
from monitor.audit.store.search import EvidenceSearch, FoundInteraction
from monitor.audit.store.weekly import WeeklyOrder, WeeklyOrders, monday
from monitor.errors import DependencyRefused


class Imported(NamedTuple):
    """What a file has brought: labels that are new, and those that were there.

    ``without_note`` of the new ones have lost it, since the texts were forgotten; ``undrawn`` are
    of interactions that were not drawn here, so that they correct nothing.
    """

    new: int
    known: int
    without_note: int
    undrawn: int


@asynccontextmanager
async def opened(database: Database) -> AsyncIterator[Database]:
    """The database with the tables of this version; closed at the end.

    Raises ``DependencyRefused`` where it does not answer: a command does not wait.
    """
    try:
        await database.migrate()
        yield database
    except DatabaseAway as error:
        raise DependencyRefused(str(error)) from error
    finally:
        await database.close()


async def select(
    database: Database, request: DrawRequest, now_ms: int, *, weekly: bool = False
) -> DrawnBatch | None:
    """Draw; None where nothing is left to be drawn from.

    With ``weekly`` also such of each week that ends from now on.
    """
    async with opened(database):
        if weekly:
            what = (request.application, request.metric, request.strategy, request.places)
            await WeeklyOrders(database).put(WeeklyOrder(*what, monday(now_ms)))
        return await AuditDrawing(database).draw(request, now_ms)


async def applications(database: Database) -> list[str]:
    """Of which something is kept."""
    async with opened(database):
        return (await EvidenceSearch(database).choices())["application"]


async def end_weekly(database: Database, application: str) -> bool:
    """Draw no more each week; whether it was drawn."""
    async with opened(database):
        return await WeeklyOrders(database).end(application)


async def readings(database: Database, since_ms: int) -> list[AuditReading]:
    """All audits with a label since then."""
    found: list[AuditReading] = []
    async with opened(database):
        labels = LabelStore(database)
        for application, judge in await labels.pairs(since_ms):
            found += await labels.readings(application, judge, since_ms)
    return found


async def import_labels(
    database: Database, file: str, lines: Iterable[str], now: float
) -> Imported:
    """Import the labels of all lines, or of none. ``now``: epoch seconds.

    Raises ``ConfigurationError`` that names the first line that cannot be taken.
    """
    async with opened(database):
        search, labels = EvidenceSearch(database), LabelStore(database)
        found, refused = [], []
        for number, text in _numbered(lines):
            line = read_line(text, number, now)
            if isinstance(line, Refused):
                refused.append(line)
                continue
            kept = await search.named(line.application, line.interaction_id, line.judge)
            wrong = checked(None if kept is None else kept.record, line, number)
            if wrong is not None:
                refused.append(wrong)
            elif kept is not None:
                found.append((kept, line))
        refuse(file, refused)
        return await _kept(labels, found)


async def _kept(labels: LabelStore, found: list[tuple[FoundInteraction, LabelledLine]]) -> Imported:
    given, known, undrawn = dict[tuple[int, str, int], HumanLabel](), 0, 0
    for kept, line in found:
        there = {(each.reviewer, each.labelled_ms) for each in await labels.history(kept.number)}
        is_drawn = await labels.is_drawn(kept.number)
        for each in line.labels:
            label = each.label()
            key = kept.number, label.reviewer, label.labelled_ms
            if key[1:] in there or key in given:
                known += 1
                continue
            given[key] = label
            undrawn += not is_drawn
    lost = await labels.add_all([(key[0], label) for key, label in given.items()])
    return Imported(len(given), known, lost, undrawn)


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    for number, text in enumerate(lines, 1):
        if text.strip():
            yield number, text
