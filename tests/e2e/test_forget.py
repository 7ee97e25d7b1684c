"""``audit forget``: the text is there before, and nowhere after; not even after a replay."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.control.state import MOST_KEYS
from monitor.records import ScoreRecord
from monitor.records.alarm import AlarmRecord, read_alarm_record
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.alarm_records import CLAIM, WORST, alarm
from tests.stages.audit_setting import DATABASES, AuditSetting, database_url
from tests.stages.audit_site import SiteVisitor
from tests.stages.audits import TEXTS, judged
from tests.stages.process import MonitorProcess, total, until

SECRET = "my diagnosis"


def told(number: int, person: str) -> ScoreRecord:
    """Of ann a secret."""
    said = f"{SECRET} is known to {person}" if person == "ann" else "nothing"
    texts = {**TEXTS, "user_input": said, "response": said}
    return judged(number, attributes={"user_id": person}).model_copy(update={"interaction": texts})


@pytest.fixture(params=DATABASES)
async def setting(
    request: pytest.FixtureRequest, kafka_broker: RunningBroker, tmp_path: Path
) -> AuditSetting:
    """An alarm quotes an answer to ann, one to bob, and one that is kept nowhere else."""
    database = await database_url(request, tmp_path)
    found = AuditSetting(kafka_broker.bootstrap, tmp_path, database)
    await found.made()
    await found.write([told(0, "bob"), told(1, "ann"), told(2, "bob"), told(3, "ann")])
    quotes = [
        WORST.model_copy(
            update={"interaction_id": name, "claims": (CLAIM.model_copy(update={"text": text}),)}
        )
        for name, text in (("1", SECRET), ("2", "what bob was told"), ("77", "who knows"))
    ]
    record = alarm(application="bot", worst=tuple(quotes))
    rows = [Record(record.to_json(), record.key.encode())]
    await produce(found.bootstrap, found.topics["alarms"], rows)
    return found


async def pages(setting: AuditSetting, process: MonitorProcess) -> str:
    """All that somebody sees of all of them, and what a file of audits holds."""
    async with SiteVisitor(process.url) as visitor:
        await visitor.log_in("annes-password")
        paths = ["/", "/interactions", "/audit", *(f"/interactions/{i}" for i in range(4))]
        seen = [(await visitor.get(path))[1] for path in paths]
    code, _, err = await asyncio.to_thread(
        setting.command, "export", "--out", setting.folder / "out.jsonl", "--since", "3650d"
    )
    assert code == 0, err
    return "".join(seen) + (setting.folder / "out.jsonl").read_text("utf-8")


async def quoted(setting: AuditSetting) -> dict[str, int]:
    """Interaction → claims, in the alarm as it stands on its topic now."""
    rows = await read_all(setting.bootstrap, setting.topics["alarms"])
    record = read_alarm_record(rows[-1].key, rows[-1].value)
    assert record is not None
    return {one.interaction_id: len(one.claims) for one in record.worst}


async def test_a_person_is_forgotten(setting: AuditSetting) -> None:
    """Store, pages, export, alarms; after a restart; and in a database that begins anew."""
    process = setting.serving()
    try:
        await process.ready()
        await until(lambda: _taken(process, 4), "all four")
        setting.command("select", "--application", "bot", "-n", "4", "--since", "3650d")
        assert (await pages(setting, process)).count(SECRET) >= 4
        before = await _scores(process)
        code, _, err = await asyncio.to_thread(
            setting.command, "forget", "--attribute", "user_id=ann"
        )
        assert (code, "say --yes" in err) == (2, True)
        assert "1 interaction that alarms quote and nothing else keeps: whose they are is" in err
        assert "--interaction ID forgets one (77)" in err
        assert SECRET in await pages(setting, process)

        code, out, err = await asyncio.to_thread(
            setting.command, "forget", "--attribute", "user_id=ann", "--yes"
        )
        assert code == 0, err
        assert out == "forgotten: 2 interactions in the database, 1 alarms\n"
        for place in ("scores", "dead_letters", "interactions", "alarms"):
            assert f"{setting.topics[place]}: " in err
        assert "(retention.ms is " in err
        assert SECRET not in out + err
        await setting.write([told(4, "ann")])  # judged a little later
        await until(lambda: _taken(process, 5), "the fifth")
        seen = await pages(setting, process)
        assert SECRET not in seen
        assert "what bob was told" in seen
        assert "Its texts were forgotten. The numbers stay." in seen
        # Bob's is still there, and what nobody can tell to be ann's.
        assert await quoted(setting) == {"1": 0, "2": 1, "77": 1}
        assert (await _scores(process))[: len(before)] == before
    finally:
        await process.end()
    await setting.write([told(1, "ann"), told(3, "ann")])
    process = setting.serving("again")
    try:
        await process.ready()
        assert SECRET not in await pages(setting, process)
    finally:
        await process.end()
    setting.settings["audit__database"] = f"sqlite:///{setting.folder}/new.db"
    process = setting.serving("anew")
    try:
        await process.ready()
        await until(lambda: _taken(process, 5), "all five")
        assert SECRET not in await pages(setting, process)
        files = [path for path in setting.folder.iterdir() if path.name.startswith("new.db")]
        assert not any(SECRET.encode() in path.read_bytes() for path in files)
        assert SECRET.encode() not in process.log.read_bytes()
    finally:
        await process.end()


async def test_one_interaction_is_forgotten(kafka_broker: RunningBroker, tmp_path: Path) -> None:
    """By its id, also where there is no database; the role goes by the fingerprint alone."""
    setting = AuditSetting(kafka_broker.bootstrap, tmp_path, f"sqlite:///{tmp_path}/a.db")
    await setting.made()
    await setting.write([told(1, "ann"), told(2, "ann")])
    process = setting.serving()
    try:
        await process.ready()
        await until(lambda: _taken(process, 2), "both")
        database = setting.settings.pop("audit__database")
        code, out, err = await asyncio.to_thread(
            setting.command, "forget", "--interaction", "1", "--application", "bot", "--yes"
        )
        setting.settings["audit__database"] = database
        assert (code, "audit.database is not set" in err) == (0, True), err
        assert "0 interactions in the database" in out

        async def is_gone() -> bool:
            async with SiteVisitor(process.url) as visitor:
                await visitor.log_in("annes-password")
                return SECRET not in (await visitor.get("/interactions/1"))[1]

        await until(is_gone, "the text")
        async with SiteVisitor(process.url) as visitor:
            await visitor.log_in("annes-password")
            assert SECRET in (await visitor.get("/interactions/2"))[1]
    finally:
        await process.end()
    assert '"interactions": 1' in process.log.read_text("utf-8")


async def test_no_alarm_is_one_too_many(kafka_broker: RunningBroker, tmp_path: Path) -> None:
    """Of more than a process holds all are looked at; one that cannot be read is told."""
    setting = AuditSetting(kafka_broker.bootstrap, tmp_path, f"sqlite:///{tmp_path}/a.db")
    await setting.made()
    claim = CLAIM.model_copy(update={"text": SECRET})
    worst = (WORST.model_copy(update={"interaction_id": "1", "claims": (claim,)}),)
    record = alarm(application="bot", worst=worst)
    key, value = record.key.encode(), record.to_json()
    rows = [
        Record(value.replace(b'"bot"', b'"%d"' % n), key.replace(b"/bot/", b"/%d/" % n), 0)
        for n in range(MOST_KEYS)
    ]
    rows += [Record(b"{", key.replace(b"/bot/", b"/broken/"), 0), Record(value, key, 0)]
    await produce(setting.bootstrap, setting.topics["alarms"], rows)
    code, out, err = await asyncio.to_thread(
        setting.command, "forget", "--interaction", "1", "--application", "bot", "--yes"
    )
    assert code == 0, err
    assert out == "forgotten: 0 interactions in the database, 1 alarms\n"
    told = json.loads(next(one for one in err.splitlines() if "alarm_records_skipped" in one))
    assert (told["records"], told["offset"]) == (1, MOST_KEYS)
    assert await quoted(setting) == {"1": 0}


async def test_an_alarm_is_cleared_as_it_stands(
    kafka_broker: RunningBroker, tmp_path: Path
) -> None:
    """Of an interaction that is found nowhere else; one that closes meanwhile stays closed.

    Also where an exporter writes it once more, which had not read yet what the command has written.
    """
    setting = AuditSetting(kafka_broker.bootstrap, tmp_path, f"sqlite:///{tmp_path}/a.db")
    await setting.made()
    claim = CLAIM.model_copy(update={"text": SECRET})
    quotes = [
        WORST.model_copy(update={"interaction_id": name, "claims": (claim,)}) for name in "12"
    ]
    opened = alarm(application="bot", worst=tuple(quotes))
    ended = {"state": "closed", "closed_at": opened.opened_at + timedelta(hours=1)}
    closed = opened.model_copy(update=ended | {"closed_because": "recovered"})

    async def write(record: AlarmRecord) -> None:
        rows = [Record(record.to_json(), record.key.encode())]
        await produce(setting.bootstrap, setting.topics["alarms"], rows)

    await write(opened)
    ours, theirs = pty.openpty()  # the question is asked on a terminal alone
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rag_monitor", "audit", "forget", "--interaction", "1"),
        *("--application", "bot"),
        env=os.environ | setting.environ(),
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert command.stderr is not None
    said = await command.stderr.readuntil(b"Forget their texts?")
    assert b"1 alarms that quote them" in said
    await write(closed)
    os.write(ours, b"y\n")
    late = asyncio.create_task(_written_late(setting, closed))
    out, err = await command.communicate()
    await late
    os.close(ours)
    os.close(theirs)
    assert command.returncode == 0, err
    assert b"forgotten: 0 interactions in the database, 1 alarms" in out
    assert await quoted(setting) == {"1": 0, "2": 1}
    rows = await read_all(setting.bootstrap, setting.topics["alarms"])
    latest = read_alarm_record(rows[-1].key, rows[-1].value)
    assert latest is not None
    assert latest.state == "closed"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name one of --interaction ID, --attribute NAME=VALUE and --person VALUE"),
        (["--interaction", "1", "--person", "ann"], "name one of"),
        (["--attribute", "user_id"], "--attribute: found 'user_id', expected NAME=VALUE"),
        (["--person", "ann"], "set audit.person_attribute"),
    ],
)
def test_what_cannot_be_meant_is_named(arguments: list[str], said: str, tmp_path: Path) -> None:
    """Before anything is read."""
    setting = AuditSetting("127.0.0.1:1", tmp_path, f"sqlite:///{tmp_path}/a.db")
    code, _, err = setting.command("forget", *arguments, "--yes")
    assert (code, said in err) == (2, True), err


async def _written_late(setting: AuditSetting, record: AlarmRecord) -> None:
    """As soon as the quotes are gone, with them."""

    async def are_gone() -> bool:
        return (await quoted(setting))["1"] == 0

    await until(are_gone, "the quotes")
    rows = [Record(record.to_json(), record.key.encode())]
    await produce(setting.bootstrap, setting.topics["alarms"], rows)


async def _taken(process: MonitorProcess, number: int) -> bool:
    samples = await process.metrics()
    return total(samples, "rag_monitor_audit_records_total", result="kept") >= number


async def _scores(process: MonitorProcess) -> list[str]:
    """The numbers on the list, the oldest first."""
    async with SiteVisitor(process.url) as visitor:
        await visitor.log_in("annes-password")
        _, page = await visitor.get("/interactions")
    rows = page.split("<tbody>")[1].split("</tbody>")[0].split("<tr>")[1:]
    return [json.dumps([cell.split("<")[0] for cell in row.split("<td")[3:]]) for row in rows][::-1]
