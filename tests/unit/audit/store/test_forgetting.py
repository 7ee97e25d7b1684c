"""Texts are forgotten: in rows, in the file itself, and in all that comes later."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from monitor.audit.listing import Filters
from monitor.audit.readings import HumanLabel
from monitor.audit.store.database import Database
from monitor.audit.store.drawing import AuditDrawing, DrawRequest
from monitor.audit.store.evidence import EvidenceStore, Position
from monitor.audit.store.forgetting import TextForgetting
from monitor.audit.store.labels import LabelStore
from monitor.audit.store.search import EvidenceSearch
from monitor.audit.store.tables import item
from monitor.records import ScoreRecord
from monitor.records.control import ForgottenRecord
from monitor.records.forgetting import ForgettingRequest
from tests.stages.audits import MIXED, judged, placed
from tests.stages.records import NOON
from tests.stages.score_records import START

NOW_MS = (START + 10_000) * 1000
SALT = "5a" * 16


def told(number: int, person: str) -> ScoreRecord:
    """What somebody asked, in words of their own."""
    texts = {"user_input": f"I am {person}, number {number}", "response": f"Hello {person}."}
    return judged(number, attributes={"user_id": person}, segment=person).model_copy(
        update={"interaction": texts}
    )


async def kept(database: Database) -> None:
    """Three of ann and one of bob, the first of them drawn and labelled."""
    store = EvidenceStore(database, "scores")
    records = [*(told(i, "ann-marie") for i in range(3)), told(3, "bob")]
    await store.add([placed(one) for one in records], {0: Position(4, NOW_MS)})
    await LabelStore(database).add(1, HumanLabel("eve", NOW_MS, MIXED, "ann-marie is right"))


async def texts_of(database: Database) -> str:
    """All that a page of one shows, of all of them."""
    search = EvidenceSearch(database)
    rows = (await search.page(Filters())).rows
    found = [str(row) + str(await search.one(row.number)) for row in rows]
    history = [str(await LabelStore(database).history(row.number)) for row in rows]
    return "".join(found + history)


async def test_whose_it_is_is_known_while_texts_are_kept(database: Database) -> None:
    """Of the application that is named; not any more once the texts are forgotten."""
    await kept(database)
    texts, names = TextForgetting(database), [("bot", "1"), ("bot", "9"), ("shop", "1")]
    assert await texts.with_texts(names) == {("bot", "1")}
    await texts.forget(ForgettingRequest("1"))
    assert await texts.with_texts(names) == set()


@pytest.mark.parametrize(
    ("request_", "gone", "number"),
    [
        (ForgettingRequest("ann-marie", "user_id"), ["ann-marie"], 3),
        (ForgettingRequest("1"), ["number 1"], 1),
        (ForgettingRequest("bob", "user_id", "bot"), ["bob"], 1),
        (ForgettingRequest("bob", "user_id", "another"), [], 0),
        (ForgettingRequest("nobody"), [], 0),
    ],
)
async def test_texts_go_and_numbers_stay(
    database: Database, request_: ForgettingRequest, gone: list[str], number: int
) -> None:
    """Of those that are named, and of nobody else; a second time there is nothing left."""
    await kept(database)
    store, search = TextForgetting(database), EvidenceSearch(database)
    before = [row.scores for row in (await search.page(Filters())).rows]
    assert len(await store.named_by(request_)) == number
    assert await store.forget(request_) == number
    after = await texts_of(database)
    assert [word in after for word in gone] == [False] * len(gone)
    assert ("Hello bob" in after) == ("bob" not in gone)
    assert [row.scores for row in (await search.page(Filters())).rows] == before
    assert await store.named_by(request_) == []
    assert await store.forget(request_) == 0


async def test_a_fingerprint_is_looked_for_once(database: Database) -> None:
    """Without anybody's name: as the control topic has it."""
    await kept(database)
    request = ForgettingRequest("ann-marie", "user_id")
    asked = ForgottenRecord(
        salt=SALT, fingerprint=request.fingerprint(SALT), attribute="user_id", forgotten_at=NOON
    )
    store = TextForgetting(database)
    assert [await store.apply(asked, NOW_MS) for _ in range(2)] == [3, None]
    assert "ann-marie" not in await texts_of(database)


async def test_no_note_is_kept_of_what_was_forgotten(database: Database) -> None:
    """The label is: it has no text."""
    await kept(database)
    labels = LabelStore(database)
    await TextForgetting(database).forget(ForgettingRequest("1"))
    (number,) = await EvidenceSearch(database).with_id("1")
    assert not await labels.add(number, HumanLabel("ann", NOW_MS, MIXED, "ann-marie said so"))
    assert await labels.add(number, HumanLabel("bob", NOW_MS, MIXED, ""))
    found = await labels.history(number)
    assert [(each.reviewer, each.note) for each in found] == [("ann", ""), ("bob", "")]
    (other,) = await EvidenceSearch(database).with_id("2")
    assert await labels.add(other, HumanLabel("ann", NOW_MS, MIXED, "right"))
    assert [each.note for each in await labels.history(other)] == ["right"]


async def test_a_note_that_comes_meanwhile_is_forgotten(database: Database) -> None:
    """Whichever is first, nothing of it is left."""
    await kept(database)
    labels, store = LabelStore(database), TextForgetting(database)
    numbers = [(await EvidenceSearch(database).with_id(name))[0] for name in "012"]
    given = [HumanLabel(f"r{i}", NOW_MS, MIXED, "ann-marie said so") for i in range(8)]
    await asyncio.gather(
        store.forget(ForgettingRequest("ann-marie", "user_id")),
        *(labels.add(number, one) for one in given for number in numbers),
    )
    assert "ann-marie" not in await texts_of(database)


async def test_nobody_is_asked_to_audit_what_was_forgotten(database: Database) -> None:
    """Neither what was drawn already, nor by a later draw."""
    await kept(database)
    drawing = AuditDrawing(database)
    request = DrawRequest("bot", "claim_precision", 0, NOW_MS, 2, "uniform", None, 1)
    assert await drawing.draw(request, NOW_MS) is not None
    await TextForgetting(database).forget(ForgettingRequest("ann-marie", "user_id"))
    await TextForgetting(database).forget(ForgettingRequest("bob", "user_id"))
    assert await drawing.next_for("ann", NOW_MS) is None
    assert await drawing.draw(request._replace(places=10), NOW_MS) is None


async def test_the_file_does_not_hold_them(tmp_path: Path) -> None:
    """Neither in free pages of SQLite, nor in its log; nor as the name of a stratum drawn from."""
    database = Database(f"sqlite:///{tmp_path}/audits.db")
    await database.migrate()
    await kept(database)
    request = DrawRequest("bot", "claim_precision", 0, NOW_MS, 4, "stratified")
    assert await AuditDrawing(database).draw(request, NOW_MS) is not None

    def is_there(word: bytes) -> bool:
        return any(word in path.read_bytes() for path in tmp_path.iterdir())

    assert is_there(b"ann-marie")
    await TextForgetting(database).forget(ForgettingRequest("ann-marie", "user_id"))
    assert not is_there(b"ann-marie")
    assert is_there(b"Hello bob")
    async with database.reading() as connection:
        strata = await connection.execute(select(item.c.stratum).order_by(item.c.evidence_id))
        assert list(strata.scalars()) == ["bad", "bad", "bad", "bob: bad"]
    await database.close()


async def test_a_reader_holds_the_log_up_and_that_is_told(
    tmp_path: Path,
) -> None:
    """What was forgotten is in the file until the reader has ended; then it is overwritten."""
    database = Database(f"sqlite:///{tmp_path}/audits.db", busy_ms=100)
    await database.migrate()
    await kept(database)
    texts = TextForgetting(database)

    def is_there(word: bytes) -> bool:
        return any(word in path.read_bytes() for path in tmp_path.iterdir())

    with closing(sqlite3.connect(tmp_path / "audits.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM evidence").fetchone()
        await texts.forget(ForgettingRequest("ann-marie", "user_id"))
        assert (texts.is_overwritten, is_there(b"ann-marie")) == (False, True)
        assert not await texts.overwrite()
        reader.execute("ROLLBACK")
        assert await texts.overwrite()
        assert (texts.is_overwritten, is_there(b"ann-marie")) == (True, False)
    await database.close()
