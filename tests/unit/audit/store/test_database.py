"""The database, as SQLite and as PostgreSQL: the same promises of both."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, event, func, insert, inspect, select

from monitor.audit.listing import Filters, Order
from monitor.audit.readings import HumanLabel
from monitor.audit.store.database import Database, DatabaseAway, ValueRefused
from monitor.audit.store.drawing import LEASE_MS, AuditDrawing, DrawRequest, Strategy
from monitor.audit.store.evidence import EvidenceStore, Position
from monitor.audit.store.forgetting import TextForgetting
from monitor.audit.store.labels import LabelStore
from monitor.audit.store.rows import digest, evidence_row, has_id, score_rows
from monitor.audit.store.search import PAGE, EvidenceSearch
from monitor.audit.store.tables import evidence, is_in_doubt, metadata, score
from monitor.errors import ConfigurationError
from monitor.metrics.claim_rows import claim_tables
from monitor.records import Claims, ScoreRecord, Verdicts
from monitor.records.forgetting import ForgettingRequest
from tests.stages.audits import MIXED, RIGHT, judged, placed
from tests.stages.score_records import FIRST, START, slot

NOW_MS = (START + 10_000) * 1000


async def filled(database: Database, number: int, **fields: object) -> EvidenceStore:
    """So many interactions, of which every fifth has a wrong claim."""
    store = EvidenceStore(database, "scores")
    records = [placed(judged(i, MIXED if i % 5 == 0 else RIGHT, **fields)) for i in range(number)]
    await store.add(records, {0: Position(number, NOW_MS)})
    return store


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index")
@pytest.mark.filterwarnings(
    "ignore:autogenerate skipping metadata-specified expression-based index"
)
async def test_migrations_make_the_tables_and_drop_them(database: Database) -> None:
    """What the steps make is what the code goes by; down and up again works, too."""

    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    def tables(connection: Connection) -> list[str]:
        return inspect(connection).get_table_names()

    async with database.reading() as connection:
        assert await connection.run_sync(differences) == []
    await database.migrate("base")
    async with database.reading() as connection:
        assert await connection.run_sync(tables) == ["alembic_version"]
    await database.migrate()
    await database.migrate()


async def test_a_topic_that_is_read_twice_leaves_the_same_rows(database: Database) -> None:
    """Each interaction once, whatever stands on the topic again; and where reading stands."""
    store = await filled(database, 20)
    again = [placed(judged(i, MIXED if i % 5 == 0 else RIGHT), offset=100 + i) for i in range(20)]
    assert await store.add(again, {0: Position(120, NOW_MS + 1), 1: Position(7, 8)}) == 0
    assert await store.count() == 20
    assert await store.positions() == {0: Position(120, NOW_MS + 1), 1: Position(7, 8)}
    found = await EvidenceSearch(database).one((await EvidenceSearch(database).with_id("3"))[0])
    assert found is not None
    assert (found.record, found.offset) == (judged(3, RIGHT), 3)


async def test_a_batch_may_hold_an_interaction_twice(database: Database) -> None:
    """The first is kept, with its scores; more of them than go into one statement."""
    store, search = EvidenceStore(database, "scores"), EvidenceSearch(database)
    twice = [(i, MIXED if again else RIGHT, again) for i in range(70) for again in (0, 1)]
    batch = [placed(judged(i, made), offset=2 * i + again) for i, made, again in twice]
    assert await store.add(batch, {}) == 70
    for i in (0, 69):
        found = await search.one((await search.with_id(str(i)))[0])
        assert found is not None
        assert (found.record, found.offset) == (judged(i, RIGHT), 2 * i)
    async with database.reading() as connection:
        kept = (await connection.execute(select(score.c.evidence_id, score.c.metric))).all()
        assert len(set(kept)) == len(kept) == 70 * len(score_rows(judged(0, RIGHT), 1))


async def test_texts_that_no_database_takes_are_kept(database: Database) -> None:
    """NUL, and names longer than an index."""
    store = EvidenceStore(database, "scores")
    odd = judged(1, application="a\x00" + "é" * 900, segment="s" * 900)
    other = judged(2, application="a\x00" + "é" * 900 + "b")
    await store.add([placed(odd), placed(other)], {})
    page = await EvidenceSearch(database).page(Filters(application=odd.application))
    assert [row.interaction_id for row in page.rows] == ["1"]
    found = await EvidenceSearch(database).one(page.rows[0].number)
    assert found is not None
    assert found.record == odd


async def test_an_id_may_be_longer_than_a_row_of_an_index(database: Database) -> None:
    """It is kept, found by all of it, and forgotten; ids that begin alike are others."""
    random = Random(1)
    name = "".join(chr(random.randrange(0x4E00, 0x9FA0)) for _ in range(1_000))
    store, search = EvidenceStore(database, "scores"), EvidenceSearch(database)
    records = [named(judged(1), name), named(judged(2), name + "x")]
    assert await store.add([placed(one, 1) for one in records], {}) == 2
    for record in records:
        (number,) = await search.with_id(record.interaction_id)
        found = await search.one(number)
        assert found is not None
        assert found.record == record
    assert await TextForgetting(database).forget(ForgettingRequest(name)) == 1
    await database.migrate("base")
    await database.migrate()


async def test_an_id_is_found_by_the_index(database: Database) -> None:
    """Else each look at one interaction reads them all."""
    async with database.reading() as connection:
        if not database.is_sqlite:  # so few rows are read as they stand
            await connection.exec_driver_sql("SET enable_seqscan = off")
        asked = select(evidence.c.id).where(has_id("7")).compile(dialect=connection.dialect)
        # The statement as it is sent, with its values beside it.
        explain = "EXPLAIN QUERY PLAN" if database.is_sqlite else "EXPLAIN"
        plan = (await connection.exec_driver_sql(f"{explain} {asked}", ("7",) * 3)).all()
    assert "ix_evidence_interaction_id" in str(plan)


async def test_one_record_that_cannot_be_kept_leaves_the_others(database: Database) -> None:
    """One that makes no row, and one that the database refuses; neither by way of its texts."""
    store = EvidenceStore(database, "scores")
    odd = MIXED.model_copy(update={"relevant_by_label": (True, True, True)})
    twice = {"m" * 64 + "1": 0.5, "m" * 64 + "2": 0.5}  # one name, as a table has it
    records = [
        judged(0),
        judged(1).model_copy(update={"verdicts": odd}),
        judged(2).model_copy(update={"scores": twice}),
        judged(3),
    ]
    reached = {0: Position(4, NOW_MS)}
    for one in records[1:3]:
        with pytest.raises(ValueRefused):
            await store.add([placed(judged(4)), placed(one)], reached)
        assert (await store.count(), await store.positions()) == (0, {})
    added = await store.add_each([placed(one) for one in records], reached)
    assert (added.new, await store.count()) == (2, 2)
    assert [each.placed.offset for each in added.refused] == [1, 2]
    assert not any("warranty" in each.why for each in added.refused)
    assert await store.positions() == reached


async def test_a_table_that_is_gone_is_no_fault_of_a_record(database: Database) -> None:
    """Whoever took it away brings it back: nothing may be left out meanwhile."""
    store = EvidenceStore(database, "scores")
    await database.migrate("base")
    with pytest.raises(DatabaseAway) as raised:
        await store.add([placed(judged(1))], {})
    assert not isinstance(raised.value, ValueRefused)


async def test_what_was_cut_to_the_last_is_kept(database: Database) -> None:
    """No claim and no passage is left on the record; labels say how many there were."""
    labels = Verdicts(relevant_by_label=(True, False), relevant_to_question=(True, False))
    bare = judged(1).model_copy(
        update={"verdicts": labels, "claims": Claims(), "interaction": {}, "truncated": True}
    )
    assert await EvidenceStore(database, "scores").add([placed(bare)], {}) == 1
    assert [row["relevant"] for row in claim_tables(bare)["passages"]] == [True, False]


def named(record: ScoreRecord, name: str) -> ScoreRecord:
    """The same, of another interaction."""
    return record.model_copy(update={"interaction_id": name})


@pytest.mark.parametrize(
    "filters",
    [
        Filters(),
        Filters(application="bot"),
        Filters(metric="faithfulness"),
        Filters(metric="noise_sensitivity_irrelevant", application="bot", order="worst"),
        Filters(metric="claim_precision", order="worst"),
    ],
)
async def test_pages_hold_every_row_once(database: Database, filters: Filters) -> None:
    """By key, also where many rows stand at the same place of the order."""
    number = 2 * PAGE + 7
    await filled(database, number)
    search, found, after = EvidenceSearch(database), list[str](), None
    for _ in range(4):
        page = await search.page(filters, after)
        found += [row.interaction_id for row in page.rows]
        after = page.after
        if after is None:
            break
    assert len(found) == number
    assert set(found) == {str(i) for i in range(number)}
    if filters.order == "worst":
        assert all(int(name) % 5 == 0 for name in found[: number // 5])
    else:
        assert found == sorted(found, key=int, reverse=True)


async def test_filters_leave_what_is_asked_for(database: Database) -> None:
    """Score band, time, segment, judge, outcome, each alone."""
    store = await filled(database, 20)
    await store.add([placed(judged(99, segment="acme", application="other"))], {})
    search = EvidenceSearch(database)

    async def ids(**fields: object) -> set[str]:
        page = await search.page(Filters(**fields))  # type: ignore[arg-type]
        return {row.interaction_id for row in page.rows}

    fifth = {"0", "5", "10", "15"}
    assert await ids(metric="noise_sensitivity_irrelevant", least=0.4) == fifth | {"99"}
    assert await ids(metric="claim_precision", most=0.9, application="bot") == fifth
    assert await ids(segment="acme") == {"99"}
    assert await ids(judge="nobody@1") == set()
    assert len(await ids(judge=FIRST.label)) == 21
    assert await ids(since_ms=(START + 18) * 1000, until_ms=(START + 20) * 1000) == {"18", "19"}
    assert await ids(outcome="judge_failed") == set()
    metric = "claim_precision"  # beside one the rows of a rare filter are looked up by themselves
    for order in ("newest", "worst"):
        assert await ids(metric=metric, segment="acme", order=order) == {"99"}
        assert len(await ids(metric=metric, outcome="scored", order=order)) == 21
        for rare in ({"judge": "nobody@1"}, {"segment": "none"}, {"outcome": "judge_failed"}):
            assert await ids(metric=metric, order=order, **rare) == set()
    assert await search.choices() == {"application": ["bot", "other"], "judge": [FIRST.label]}


async def unjudged(database: Database, number: int) -> None:
    """So many interactions whose judge failed: they have no value of a metric."""
    failed = judged(0, outcome="judge_failed", reason="deadline", scores={})
    row = evidence_row(placed(failed))
    rows = [
        row | {"digest": digest("bot", f"failed-{i}", "x"), "event_ms": i} for i in range(number)
    ]
    async with database.writing() as connection:
        await connection.execute(insert(evidence), rows)


async def written_at_once(database: Database, number: int) -> list[int]:
    """How many interactions each statement wrote, of so many that were read at once."""
    rows = list[int]()

    def note(_connection: object, _cursor: object, said: str, values: Any, *_: object) -> None:
        if "INTO evidence" in said:
            rows.append(len(values) // len(evidence_row(placed(judged(0)))))

    async with database.reading() as connection:
        engine = connection.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    await filled(database, number)
    return rows


async def test_a_statement_writes_a_hundred_at_most(database: Database) -> None:
    """Each may have megabytes, and a statement that takes too long is given up."""
    assert await written_at_once(database, 250) == [100, 100, 50]
    assert await EvidenceStore(database, "scores").count() == 250


@pytest.mark.parametrize("order", ["newest", "worst"])
async def test_values_are_held_against_an_index_where_a_filter_leaves_others(
    database: Database, order: Order
) -> None:
    """Else the interaction of each value is looked up, to find that it is another one's."""
    await filled(database, 60)
    await unjudged(database, 600)
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_rest: Any) -> None:
        asked.append((statement, values))

    async with database.reading() as connection:
        engine = connection.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    search = EvidenceSearch(database)
    page = await search.page(Filters(metric="faithfulness", outcome="judge_failed", order=order))
    assert page.rows == ()
    statement, values = next(each for each in asked if "ORDER BY" in each[0])
    async with database.reading() as connection:
        if not database.is_sqlite:
            await connection.exec_driver_sql("SET enable_seqscan = off")
        explain = "EXPLAIN QUERY PLAN" if database.is_sqlite else "EXPLAIN"
        plan = str((await connection.exec_driver_sql(f"{explain} {statement}", values)).all())
    assert ("LIST SUBQUERY" if database.is_sqlite else "hashed SubPlan") in plan, plan
    found = await search.page(Filters(metric="faithfulness", outcome="scored", order=order))
    assert len(found.rows) == PAGE


async def test_judges_say_how_often_they_were_in_doubt(database: Database) -> None:
    """From an index of those alone."""
    sure, doubtful = {"c1": {"1": 0.9}}, {"c1": {"1": 0.6}}
    records = [judged(i, probabilities=doubtful if i % 4 == 0 else sure) for i in range(20)]
    await EvidenceStore(database, "scores").add([placed(one) for one in records], {})
    (found,) = await EvidenceSearch(database).judges()
    assert (found.judged, found.in_doubt) == (20, 5)
    async with database.reading() as connection:
        if not database.is_sqlite:
            await connection.exec_driver_sql("SET enable_seqscan = off")
        asked = select(func.count()).where(is_in_doubt, evidence.c.application == "bot")
        explain = "EXPLAIN QUERY PLAN" if database.is_sqlite else "EXPLAIN"
        statement = asked.compile(dialect=connection.dialect)
        plan = (await connection.exec_driver_sql(f"{explain} {statement}", ("bot",))).all()
    assert "ix_evidence_in_doubt" in str(plan)


@pytest.mark.parametrize("strategy", ["uniform", "stratified", "worst"])
async def test_each_draw_has_its_probability(database: Database, strategy: Strategy) -> None:
    """What is drawn once is not drawn again; 1/π adds up to all there are."""
    await filled(database, 100)
    drawing = AuditDrawing(database)
    request = DrawRequest("bot", "claim_precision", 0, NOW_MS, 20, strategy, seed=7)
    first = await drawing.draw(request, NOW_MS)
    assert first is not None
    assert (first.drawn, first.judge) == (20, FIRST.label)
    if strategy == "stratified":
        assert {name: tuple(each) for name, each in first.strata.items()} == {
            "bad": (10, 20),
            "good": (10, 80),
        }
    stands_for = sum(each.places / each.probability for each in first.strata.values())
    assert stands_for == pytest.approx(100)
    for left in (60, 20, 0):
        more = await drawing.draw(request._replace(places=60 if left == 60 else 20), NOW_MS)
        assert (0 if more is None else more.drawn) == left
    (progress,) = await drawing.progress()
    assert (progress.drawn, progress.done) == (100, 0)


async def test_a_draw_is_of_the_judge_who_judged_its_span_last(database: Database) -> None:
    """Not of one who judged later what the span leaves out, nor of another application's."""
    store = EvidenceStore(database, "scores")
    for number, name, application, judged_s in (
        (10, "new", "bot", 50),
        (11, "old", "bot", 40),
        (20, "later", "bot", 90),
        (12, "other", "shop", 95),
    ):
        at = datetime.fromtimestamp(START + judged_s, UTC)
        judge = FIRST.model_copy(update={"name": name})
        found = judged(number, application=application, judge=judge, judged_at=at)
        await store.add([placed(found)], {})
    until_ms = (START + 15) * 1000
    request = DrawRequest("bot", "faithfulness", 0, until_ms, 1)
    drawn = await AuditDrawing(database).draw(request, NOW_MS)
    assert drawn is not None
    assert drawn.judge == FIRST.model_copy(update={"name": "new"}).label


async def test_what_has_no_weight_or_no_value_is_not_drawn(database: Database) -> None:
    """Forced records stand for nobody else."""
    store = EvidenceStore(database, "scores")
    forced = slot(1).model_copy(
        update=dict.fromkeys(["first_offset", "last_offset", "m", "q", "u"]) | {"forced": True}
    )
    await store.add([placed(judged(1, sampling=forced))], {})
    request = DrawRequest("bot", "faithfulness", 0, NOW_MS, 5)
    assert await AuditDrawing(database).draw(request, NOW_MS) is None
    assert await AuditDrawing(database).draw(request._replace(application="x"), NOW_MS) is None


async def test_two_who_draw_at_once_draw_different_ones(database: Database) -> None:
    """One after the other, also where two processes do it: each gets all that it asks for."""
    await filled(database, 120)
    url = database.url.set(drivername=database.url.get_backend_name())
    others = [Database(url.render_as_string(hide_password=False)) for _ in range(3)]
    request = DrawRequest("bot", "claim_precision", 0, NOW_MS, 30, "uniform")
    found = await asyncio.gather(
        *(
            AuditDrawing(each).draw(request._replace(seed=seed), NOW_MS)
            for seed, each in enumerate((database, *others))
        )
    )
    assert [one.drawn for one in found if one is not None] == [30, 30, 30, 30]
    assert [one.drawn for one in await AuditDrawing(database).progress()] == [120]
    for each in others:
        await each.close()


async def test_nobody_reads_what_another_reads(database: Database) -> None:
    """For 15 minutes; every tenth item is read by two, and by none of them twice."""
    await filled(database, 30)
    drawing, labels = AuditDrawing(database), LabelStore(database)
    await drawing.draw(DrawRequest("bot", "faithfulness", 0, NOW_MS, 10, "uniform"), NOW_MS)
    ann = await drawing.next_for("ann", NOW_MS)
    bob = await drawing.next_for("bob", NOW_MS)
    assert ann is not None
    assert bob is not None
    assert ann != bob
    assert await drawing.next_for("ann", NOW_MS) == ann
    other = await drawing.next_for("ann", NOW_MS, None, ann.number)
    assert other not in (ann, bob, None)
    late = NOW_MS + LEASE_MS + 1
    assert await drawing.next_for("bob", late) == ann
    late += LEASE_MS + 1
    for name in ("ann", "bob"):
        read = 0
        while (item := await drawing.next_for(name, late)) is not None:
            await labels.add(item.evidence_id, HumanLabel(name, late, RIGHT, ""))
            read += 1
        assert read == {"ann": 10, "bob": 1}[name]
    (progress,) = await drawing.progress()
    assert (progress.drawn, progress.done) == (10, 10)


async def test_two_who_ask_at_once_get_two_items(database: Database) -> None:
    """Whoever is second goes on to the next."""
    await filled(database, 30)
    drawing = AuditDrawing(database)
    await drawing.draw(DrawRequest("bot", "faithfulness", 0, NOW_MS, 10, "uniform"), NOW_MS)
    names = [f"r{i}" for i in range(6)]
    found = await asyncio.gather(*(drawing.next_for(name, NOW_MS) for name in names))
    assert len({item.number for item in found if item is not None}) == 6


async def test_the_latest_label_of_each_reviewer_holds(database: Database) -> None:
    """All stay as history, also when what was judged is dropped with age."""
    store = await filled(database, 10)
    drawing, labels = AuditDrawing(database), LabelStore(database)
    await drawing.draw(DrawRequest("bot", "faithfulness", 0, NOW_MS, 10, "uniform"), NOW_MS)
    item = await drawing.next_for("ann", NOW_MS)
    assert item is not None
    for moment, name, verdicts in ((1, "ann", MIXED), (2, "bob", MIXED), (3, "ann", RIGHT)):
        await labels.add(
            item.evidence_id, HumanLabel(name, NOW_MS + moment, verdicts, f"note {moment}")
        )
    assert [each.note for each in await labels.history(item.evidence_id)] == [
        "note 1",
        "note 2",
        "note 3",
    ]
    (reading,) = await labels.readings("bot", FIRST.label, NOW_MS)
    assert {each.reviewer: each.verdicts for each in reading.labels} == {"ann": RIGHT, "bob": MIXED}
    assert (reading.probability, reading.weight) == (1.0, 1.0)
    assert await labels.pairs(NOW_MS) == [("bot", FIRST.label)]
    assert await labels.pairs(NOW_MS + 10) == []
    assert await store.drop_before(NOW_MS) == 9
    assert await store.count() == 1
    assert len(await labels.history(item.evidence_id)) == 3


@pytest.mark.parametrize("url", ["mysql://x/y", "nothing", "sqlite+pysqlite:///x"])
def test_another_database_is_refused(url: str) -> None:
    """With what may be written."""
    with pytest.raises(ConfigurationError, match=r"expected sqlite:///PATH or postgresql://"):
        Database(url)


def test_a_folder_that_is_not_there_is_named() -> None:
    """A file of SQLite is made, its folder is not."""
    with pytest.raises(ConfigurationError, match="there is no folder /nowhere/at/all"):
        Database("sqlite:////nowhere/at/all/x.db")


async def test_a_database_that_is_away_is_told_without_its_password() -> None:
    """In one line."""
    database = Database("postgresql://u:secret@127.0.0.1:1/x")
    with pytest.raises(DatabaseAway) as raised:
        await database.migrate()
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith("audit.database ")
    await database.close()


async def test_half_are_drawn_where_the_judge_was_in_doubt(database: Database) -> None:
    """As far as there are any: by a probability near one half, or a quote that is not there."""
    store = EvidenceStore(database, "scores")
    doubts: list[dict[str, object]] = [
        {"probabilities": {"c1": {"1": 0.6, "R": 0.99}}},
        {"evidence": {"c1": {"1": None}}},
        {"probabilities": {"c1": {"1": 0.98}}},
        {},
    ]
    records = [judged(i, RIGHT, **doubts[i % 4 if i < 20 else 3]) for i in range(100)]
    await store.add([placed(one) for one in records], {0: Position(100, NOW_MS)})
    request = DrawRequest("bot", "claim_precision", 0, NOW_MS, 10, "boundary", None, 1)
    found = await AuditDrawing(database).draw(request, NOW_MS)
    assert found is not None
    drawn = {name: (each.places, each.of) for name, each in found.strata.items()}
    assert drawn == {"in doubt": (5, 10), "clear": (5, 90)}


async def test_the_oldest_go_where_there_is_no_room(database: Database) -> None:
    """But for those with a label; the newest stay, and what is left fits."""
    store = await filled(database, 1_200)
    one = await store.bytes() // 1_200
    assert await store.drop_beyond(2_000 * one) == 0
    await LabelStore(database).add(1, HumanLabel("ann", NOW_MS, RIGHT, ""))
    dropped = await store.drop_beyond(100 * one)
    assert 1_095 <= dropped <= 1_101
    assert await store.bytes() <= 101 * one
    rows = (await EvidenceSearch(database).page(Filters())).rows
    assert rows[0].interaction_id == "1199"
    assert await EvidenceSearch(database).one(1) is not None
    assert await EvidenceSearch(database).one(2) is None
    assert await store.drop_beyond(100 * one) == 0


async def test_the_worst_that_were_looked_at_first_are_drawn_by_chance_as_well(
    database: Database,
) -> None:
    """Else those that are left stand for a whole that lacks its worst part."""
    await filled(database, 100)
    drawing, labels = AuditDrawing(database), LabelStore(database)
    worst = DrawRequest("bot", "claim_precision", 0, NOW_MS, 20, "worst")
    assert await drawing.draw(worst, NOW_MS) is not None
    item = await drawing.next_for("ann", NOW_MS)
    assert item is not None
    await labels.add(item.evidence_id, HumanLabel("ann", NOW_MS, MIXED, ""))
    assert [each.probability for each in await labels.readings("bot", FIRST.label, 0)] == [0.0]
    every = await drawing.draw(worst._replace(strategy="stratified", places=100), NOW_MS)
    assert every is not None
    assert {name: tuple(each) for name, each in every.strata.items()} == {
        "bad": (20, 20),
        "good": (80, 80),
    }
    assert [each.probability for each in await labels.readings("bot", FIRST.label, 0)] == [1.0]
    (progress,) = await drawing.progress()
    assert (progress.drawn, progress.done) == (100, 1)
    assert await drawing.draw(worst, NOW_MS) is None


async def test_every_tenth_of_all_is_read_by_two(database: Database) -> None:
    """Also where each draw is of fewer than ten."""
    await filled(database, 60)
    drawing, labels = AuditDrawing(database), LabelStore(database)
    for seed in range(5):
        request = DrawRequest("bot", "faithfulness", 0, NOW_MS, 9, "uniform", seed=seed)
        await drawing.draw(request, NOW_MS)
    read = {"ann": 0, "bob": 0}
    for name in read:
        while (item := await drawing.next_for(name, NOW_MS)) is not None:
            await labels.add(item.evidence_id, HumanLabel(name, NOW_MS, RIGHT, ""))
            read[name] += 1
    assert read == {"ann": 45, "bob": 4}
