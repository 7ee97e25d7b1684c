"""Audits end to end: score records on a real Kafka, people at the pages, corrections behind it."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from urllib.parse import quote

import aiohttp
import pytest

from monitor.audit.store.database import Database
from monitor.audit.store.evidence import EvidenceStore, Position
from monitor.records import ScoreRecord, read_score_record
from monitor.records.control import CorrectionRecord, read_control_record
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.servers.postgres_server import PostgresServer
from tests.stages.audit_setting import DATABASES, AuditSetting, database_url
from tests.stages.audit_site import SiteVisitor
from tests.stages.audits import MIXED, RIGHT, judged, placed
from tests.stages.command import rag_monitor
from tests.stages.process import MonitorProcess, total, until


@pytest.fixture(params=DATABASES)
async def setting(
    request: pytest.FixtureRequest, kafka_broker: RunningBroker, tmp_path: Path
) -> AuditSetting:
    """Its topics are there and empty."""
    database = await database_url(request, tmp_path)
    found = AuditSetting(kafka_broker.bootstrap, tmp_path, database)
    await found.made()
    return found


def records(number: int) -> list[ScoreRecord]:
    """Every other one has a wrong claim."""
    return [judged(i, MIXED if i % 2 else RIGHT) for i in range(number)]


async def corrections(setting: AuditSetting) -> list[CorrectionRecord]:
    """What is on the control topic, the latest last."""
    rows = await read_all(setting.bootstrap, setting.topics["control"])
    found = [read_control_record(row.key, row.value) for row in rows]
    return [one for one in found if isinstance(one, CorrectionRecord)]


async def test_from_nothing_to_the_first_corrected_number(setting: AuditSetting) -> None:
    """Follow, draw, log in, label all, and the judge's errors stand on the control topic."""
    await setting.write(records(80))
    process = setting.serving()
    try:
        await process.ready()
        await until(lambda: _kept(process, 80), "80 interactions")
        code, out, err = await asyncio.to_thread(
            setting.command,
            *("select", "--application", "bot", "-n", "60", "--since", "3650d"),
            *("--metric", "claim_precision", "--json"),
        )
        assert (code, json.loads(out)["drawn"]) == (0, 60), err
        async with SiteVisitor(process.url) as ann, SiteVisitor(process.url) as bob:
            assert (await ann.log_in("annes-password"))[0] == 200
            assert (await bob.log_in("bobs-password"))[0] == 200
            labelled = [await _label_all(ann, "agree"), await _label_all(bob, "agree")]
            assert labelled == [60, 6]
            _, page = await ann.get("/")
            assert "60 of 60" in page
            await until(lambda: _knows_all(ann), "alarms, pauses and scores are read")
            assert "There has been no alarm." in (await ann.get("/alarms"))[1]

        async def published() -> bool:
            found = await corrections(setting)
            if not found or "reviewers" not in found[-1].agreement:
                return False
            second = found[-1].agreement["reviewers"].audits
            return (found[-1].metrics["claim_precision"].audits, second) == (60, 6)

        await until(published, "the correction")
    finally:
        await process.end()
    record = (await corrections(setting))[-1]
    errors = record.metrics["claim_precision"].errors
    assert errors is not None
    assert errors.alpha == pytest.approx(0.0)
    assert errors.beta == pytest.approx(1.0)
    assert record.agreement["response_by_reference"].kappa[0] == 1.0
    assert record.agreement["reviewers"].audits == 6


async def test_labels_go_out_and_come_in(setting: AuditSetting) -> None:
    """All of a file or none; twice is once; the record of an export is the one of the topic."""
    await setting.write(records(8))
    process = setting.serving()
    try:
        await process.ready()
        await until(lambda: _kept(process, 8), "8 interactions")
        setting.command("select", "--application", "bot", "-n", "4", "--since", "3650d")
        async with SiteVisitor(process.url) as ann:
            await ann.log_in("annes-password")
            assert await _label_all(ann, "correct") == 4
    finally:
        await process.end()
    file = setting.folder / "audits.jsonl"
    code, _, err = setting.command("export", "--out", file, "--since", "3650d")
    assert (code, err.split()[:2]) == (0, ["4", "audits"])
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    # Sent without a tick: nothing supports anything.
    assert {each["labels"][0]["values"]["claim_precision"] for each in lines} == {0.0}
    kept = {one.interaction_id: one for one in records(8)}
    for each in lines:
        raw = json.dumps(each["record"]).encode()
        assert read_score_record(raw) == kept[each["interaction_id"]]
    assert "0 labels are new, 4 were there" in setting.command("import", file)[2]
    lines[0]["labels"][0]["reviewer"] = "bob"
    lines[3]["labels"][0]["verdicts"]["response_by_context"] = [True]
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    code, _, err = setting.command("import", file)
    assert code == 2
    assert f"{file}:4: labels.0.verdicts: response_by_context has the shape" in err
    assert "nothing was imported" in err
    file.write_text("\n".join(map(json.dumps, lines[:3])), "utf-8")
    assert "1 labels are new, 2 were there" in setting.command("import", file)[2]
    forgotten = str(lines[1]["interaction_id"])
    assert setting.command("forget", "--interaction", forgotten, "--yes")[0] == 0
    lines[1]["labels"][0] |= {"reviewer": "eve", "note": "It quotes a text."}
    file.write_text(json.dumps(lines[1]), "utf-8")
    code, _, err = setting.command("import", file)
    assert (code, "1 labels are new" in err, "1 notes were left out" in err) == (0, True, True)
    code, out, err = setting.command("export", "--out", "-", "--since", "3650d")
    assert (code, '"eve"' in out, "It quotes" in out) == (0, True, False), err


async def test_a_kill_loses_nothing(setting: AuditSetting) -> None:
    """While records come in: the rows are those of an undisturbed run."""
    process = setting.serving()
    try:
        await process.ready()
        for part in range(3):
            await setting.write(records(400)[part * 130 : (part + 1) * 130 + 40])
            process.kill()
            process = setting.serving(f"audit-{part}")
            await process.listening()
        await process.ready()

        async def all_there() -> bool:
            async with SiteVisitor(process.url) as ann:
                _, page = await ann.log_in("annes-password")
            return "400 judged interactions are kept (" in page

        await until(all_there, "all 400")
    finally:
        await process.end()


async def test_one_record_that_cannot_be_kept_stops_nothing(setting: AuditSetting) -> None:
    """It is counted and named by its offset; an id that is too long for an index is kept."""
    random = Random(1)
    long_id = "".join(chr(random.randrange(0x4E00, 0x9FA0)) for _ in range(1_000))
    odd = MIXED.model_copy(update={"relevant_by_label": (True, True, True)})
    given = records(30)
    given[1] = given[1].model_copy(update={"interaction_id": long_id})
    given[2] = given[2].model_copy(update={"verdicts": odd})
    await setting.write(given)
    process = setting.serving()
    try:
        await process.ready()
        samples = await process.metrics()
        read = "rag_monitor_audit_records_total"
        found = [total(samples, read, result=each) for each in ("kept", "refused", "known")]
        assert found == [29, 1, 0]
        async with SiteVisitor(process.url) as ann:
            await ann.log_in("annes-password")
            assert quote(long_id) in (await ann.get("/interactions"))[1]
    finally:
        await process.end()
    log = process.log.read_text("utf-8")
    assert '"score_record_not_kept"' in log
    assert "warranty" not in log


async def test_a_partition_that_was_not_reached_is_read_from_its_beginning(
    setting: AuditSetting,
) -> None:
    """After a kill behind the first batch, which had brought records of one partition alone."""
    now_ms, hour_ms = int(time.time() * 1000), 3_600_000
    begin_ms = now_ms - 100 * hour_ms
    rows = [
        Record(one.to_json(), one.key.encode(), i % 2, begin_ms + i * hour_ms // 5)
        for i, one in enumerate(records(400))
    ]
    await produce(setting.bootstrap, setting.topics["scores"], rows)
    database = Database(setting.database)
    await database.migrate()
    first = [placed(one, offset=i // 2) for i, one in enumerate(records(400)) if i % 2 == 0]
    reached = {0: Position(200, rows[-2].timestamp_ms or 0)}
    assert await EvidenceStore(database, setting.topics["scores"]).add(first, reached) == 200
    await database.close()
    process = setting.serving()
    try:
        await process.ready()
        async with SiteVisitor(process.url) as ann:
            _, page = await ann.log_in("annes-password")
        assert "400 judged interactions are kept (" in page
    finally:
        await process.end()


async def test_nobody_without_a_password_sees_a_text(
    kafka_broker: RunningBroker, tmp_path: Path
) -> None:
    """Nor by a forged form, another site's, or a name in the address."""
    setting = AuditSetting(kafka_broker.bootstrap, tmp_path, f"sqlite:///{tmp_path}/audits.db")
    await setting.made()
    await setting.write([judged(1)])
    process = setting.serving()
    try:
        await process.ready()
        await until(lambda: _kept(process, 1), "it")
        async with SiteVisitor(process.url) as eve:
            for path in ("/", "/interactions", "/interactions/1", "/audit"):
                status, page = await eve.get(path)
                assert (status, "Log in" in page, "warranty" in page) == (200, True, False)
            assert (await eve.post("/audit/1", action="agree"))[0] == 403
            assert (await eve.log_in("wrong-password"))[0] == 401
            assert (await eve.post("/login", password="eves-password"))[0] == 403
            assert (await eve.log_in("eves-password"))[0] == 200
            _, page = await eve.get("/interactions/1")
            assert "How long is the warranty?" in page
            status, page = await eve.get("/audit")
            assert (status, "reads only" in page) == (403, True)
            assert (await eve.post("/audit/1", "/interactions", action="agree"))[0] == 403
            assert (await eve.post("/logout", csrf_token="0" * 64))[0] == 403
            assert (await eve.get("/interactions"))[1].count("Log out") == 1
            status, page = await eve.get("/interactions?least=much")
            assert (status, "least: found" in page) == (400, True)
            assert (await eve.get("/interactions/nothing"))[0] == 404
            assert (await eve.get("/login?next=https://evil.example"))[1].count('value="/"') == 1
            assert "Log in" in (await eve.post("/logout", "/interactions"))[1]
            assert "Log in" in (await eve.get("/interactions"))[1]
        samples = await process.metrics()
        assert total(samples, "rag_monitor_audit_logins_total", result="refused") == 1
        assert total(samples, "rag_monitor_audit_logins_total", result="ok") == 1
    finally:
        await process.end()
    assert "warranty" not in process.log.read_text("utf-8")


async def test_a_proxy_says_who_it_is(kafka_broker: RunningBroker, tmp_path: Path) -> None:
    """Its header opens the pages, and its forms need their token; from elsewhere it opens none."""
    setting = AuditSetting(kafka_broker.bootstrap, tmp_path, f"sqlite:///{tmp_path}/audits.db")
    await setting.made()
    await setting.write([judged(1)])
    setting.settings["audit__proxy_header"] = "X-Forwarded-User"
    named = {"X-Forwarded-User": "ann"}
    for address, is_known in (("127.0.0.1", True), ("127.0.0.2", False)):
        setting.settings["audit__proxy_address"] = address
        process = setting.serving(address)
        try:
            await process.ready()
            await until(partial(_kept, process, int(is_known)), "it")
            async with SiteVisitor(process.url, named) as ann, SiteVisitor(process.url) as eve:
                assert ("How long is" in (await ann.get("/interactions/1"))[1]) == is_known
                assert await _cookies(process.url, {}) == {False}
                for scheme, is_tls in (("https", True), ("http", False), ("https, http", True)):
                    found = await _cookies(process.url, {"X-Forwarded-Proto": scheme})
                    assert found == {is_tls and is_known}
                assert "Log in" in (await eve.get("/interactions/1"))[1]
                if is_known:
                    code, _, err = await asyncio.to_thread(
                        setting.command,
                        *("select", "--application", "bot", "-n", "1", "--since", "3650d"),
                        *("--metric", "claim_precision", "--weekly"),
                    )
                    assert (code, "each Monday" in err) == (0, True)
                    assert (await ann.post("/audit/1", csrf_token="0" * 64))[0] == 403
                    assert await _label_all(ann, "agree") == 1
                    assert ">ann" in (await ann.get("/"))[1]
        finally:
            await process.end()
    stopped = ("select", "--application", "bot", "--stop")
    assert [setting.command(*stopped)[0] for _ in range(2)] == [0, 1]


#: Seconds for which PostgreSQL is away, beyond the moment in which that is seen; more by hand.
AWAY_S = float(os.environ.get("DATABASE_AWAY_SECONDS", "0"))


@pytest.mark.timeout(900 + 2 * AWAY_S)
async def test_a_database_that_goes_away_is_waited_for(
    kafka_broker: RunningBroker, postgres_server_of_its_own: PostgresServer, tmp_path: Path
) -> None:
    """It is said, the pages say it, and what came meanwhile is there afterwards."""
    server = postgres_server_of_its_own
    setting = AuditSetting(kafka_broker.bootstrap, tmp_path, server.create("audits"))
    await setting.made()
    process = setting.serving()
    try:
        await process.ready()
        async with SiteVisitor(process.url) as ann:
            await ann.log_in("annes-password")
            await asyncio.to_thread(server.stop)
            await setting.write(records(50))

            async def is_away() -> bool:
                samples = await process.metrics()
                return total(samples, "rag_monitor_audit_database_up") == 0

            await until(is_away, "the gauge")
            assert (await ann.get("/"))[0] == 503
            status, ready = await process.get("/readyz")
            assert (status, "audit_database" in ready) == (503, True)
            assert (await process.get("/healthz"))[0] == 200
            await asyncio.sleep(AWAY_S)
            await asyncio.to_thread(server.start)
            await until(lambda: _kept(process, 50), "all 50")
            assert "50 judged interactions are kept (" in (await ann.get("/"))[1]
    finally:
        await process.end()


@pytest.fixture
def postgres_server_of_its_own(
    postgres_server: PostgresServer, tmp_path: Path
) -> Iterator[PostgresServer]:
    """One that may be stopped."""
    with PostgresServer(tmp_path) as server:
        yield server


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ([], "audit.database: needed for audits"),
        (["audit.database=sqlite:///x.db"], "audit.password_file: needed"),
        (["audit.database=mysql://x"], "expected sqlite:///PATH or postgresql://"),
    ],
)
def test_what_is_missing_is_named(settings: list[str], said: str) -> None:
    """Before anything is read."""
    done = rag_monitor("audit", "serve", *(word for each in settings for word in ("--set", each)))
    assert (done.returncode, said in done.stderr) == (2, True)


async def _cookies(url: str, headers: dict[str, str]) -> set[bool]:
    """Whether the cookies of a login are sent by TLS alone: that of the form, and the session's."""
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(cookie_jar=jar, headers=headers) as session:
        async with session.get(f"{url}/login") as answer:
            (form,) = answer.cookies.values()
            token = (await answer.text()).split('name="csrf_token" value="')[1].split('"')[0]
        sent = {"csrf_token": token, "password": "annes-password"}
        async with session.post(
            f"{url}/login",
            data=sent,
            headers={"Cookie": f"{form.key}={form.value}"},
            allow_redirects=False,
        ) as answer:
            (kept,) = answer.cookies.values()
    return {bool(form["secure"]), bool(kept["secure"])}


async def _knows_all(visitor: SiteVisitor) -> bool:
    """What it says of itself."""
    return "nothing is paused · these pages are up to date." in (await visitor.get("/"))[1]


async def _kept(process: MonitorProcess, number: int) -> bool:
    samples = await process.metrics()
    return total(samples, "rag_monitor_audit_records_total", result="kept") >= number


async def _label_all(site: SiteVisitor, action: str) -> int:
    """As long as there is an item; how many there were."""
    number = 0
    while True:
        _, page = await site.get("/audit")
        if 'action="/audit/' not in page:
            return number
        item = page.split('action="/audit/')[1].split('"')[0]
        token = page.split('name="csrf_token" value="')[1].split('"')[0]
        status, _ = await site.post(f"/audit/{item}", csrf_token=token, action=action)
        assert status == 200
        number += 1
