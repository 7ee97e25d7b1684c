"""``report`` on a real Kafka: what was judged, and whether anybody has changed it since."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from monitor.records import Outcome
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import (
    Record,
    admin_client,
    create_topic,
    delete_topic,
    produce,
    read_all,
)
from tests.stages.alarm_records import alarm
from tests.stages.audit_setting import AuditSetting
from tests.stages.audits import judged
from tests.stages.command import rag_monitor

SECRET = "How long is the warranty?"


class Reporting(AuditSetting):
    """The same topics, for another command."""

    def report(self, *arguments: str | Path) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        done = rag_monitor("report", *arguments, environ=self.environ())
        return done.returncode, done.stdout, done.stderr


async def test_a_span_is_reported_and_checked(kafka_broker: RunningBroker, tmp_path: Path) -> None:
    """Counts, a page without texts, a seal that holds; and one that shows what was changed."""
    setting = Reporting(kafka_broker.bootstrap, tmp_path, f"sqlite:///{tmp_path}/a.db")
    await setting.made()
    await produce(setting.bootstrap, setting.topics["interactions"], [Record(b"{}")] * 7)
    failed = judged(20, scores={}, outcome=Outcome.JUDGE_FAILED, reason="malformed")
    await setting.write([*(judged(i) for i in range(20)), failed])
    record = alarm(application="bot", opened_at=datetime.now(UTC))
    rows = [Record(record.to_json(), record.key.encode())]
    await produce(setting.bootstrap, setting.topics["alarms"], rows)
    await asyncio.sleep(1.1)  # the span ends at a whole second
    file, page = tmp_path / "report.json", tmp_path / "report.html"
    for each in (file, page):
        code, _, err = await asyncio.to_thread(setting.report, "--since", "1h", "--out", each)
        assert code == 0, err
        assert err.startswith("21 score records from ")
        assert SECRET not in each.read_text("utf-8")
    found = json.loads(file.read_text("utf-8"))
    assert [one["records"] for one in found["logged"]] == [7]
    assert (found["deleted"], found["left_out"]) == ([], []), "nothing was"
    assert {one["outcome"]: one["records"] for one in found["outcomes"]} == {
        "scored": 20,
        "judge_failed": 1,
    }
    assert sum(one["records"] for one in found["seals"]) == 21
    assert [one["key"] for one in found["alarms"]] == [record.key]
    assert "judge_failed" in page.read_text("utf-8")

    code, out, _ = setting.report("--check", file)
    assert (code, out) == (0, f"unchanged: 21 records of {setting.topics['scores']}\n")
    await setting.write([judged(99)])  # what comes later is not of this span
    assert setting.report("--check", file)[0] == 0
    forged = tmp_path / "forged.json"
    forged.write_text(file.read_text("utf-8").replace('"judge_failed"', '"unscorable"'), "utf-8")
    code, out, _ = setting.report("--check", forged)
    assert (code, out) == (
        1,
        "outcomes: the records are the same, and the report says something else of them\n",
    )

    kept = await read_all(setting.bootstrap, setting.topics["scores"])
    await delete_topic(setting.bootstrap, setting.topics["scores"])
    await create_topic(setting.bootstrap, setting.topics["scores"], 2)
    changed = [
        Record(one.value if number != 5 else judged(5, reason="forged").to_json(), one.key)
        for number, one in enumerate(kept)
    ]
    await produce(setting.bootstrap, setting.topics["scores"], changed)
    code, out, _ = setting.report("--check", file)
    assert (code, "changed between the offsets" in out) == (1, True), out


async def test_records_may_stand_out_of_order(kafka_broker: RunningBroker, tmp_path: Path) -> None:
    """Two scorers have two clocks: what is behind the span between others of it changes nothing."""
    setting = Reporting(kafka_broker.bootstrap, tmp_path, f"sqlite:///{tmp_path}/a.db")
    await setting.made()
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    minutes = (1, 2, 61, 3, 62)
    rows = [
        Record(judged(i).to_json(), b"k", 0, round(noon.timestamp() * 1000) + at * 60_000)
        for i, at in enumerate(minutes)
    ]
    await produce(setting.bootstrap, setting.topics["scores"], rows)
    file = tmp_path / "hour.json"
    span = ("--since", noon.isoformat(), "--until", (noon + timedelta(hours=1)).isoformat())
    code, _, err = setting.report(*span, "--out", file)
    assert (code, err.split()[0]) == (0, "3"), err
    assert setting.report("--check", file)[:2] == (
        0,
        f"unchanged: 3 records of {setting.topics['scores']}\n",
    )


async def test_what_was_deleted_before_is_said(kafka_broker: RunningBroker, tmp_path: Path) -> None:
    """From when on each topic is complete; a span that begins later has lost nothing."""
    setting = Reporting(kafka_broker.bootstrap, tmp_path, f"sqlite:///{tmp_path}/a.db")
    await setting.made()
    begin = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=5)
    times = [round((begin + timedelta(hours=n)).timestamp() * 1000) for n in range(4)]
    values = [judged(n).to_json() for n in range(4)]
    # Of dead letters none is kept, of scores two, and the second partition of inputs has all.
    left = {"interactions": 2, "scores": 2, "dead_letters": 4}
    for name, first in left.items():
        topic = setting.topics[name]
        for part in (0, 1) if name == "interactions" else (0,):
            rows = [Record(v, b"k", part, at) for v, at in zip(values, times, strict=True)]
            await produce(setting.bootstrap, topic, rows)
        async with admin_client(setting.bootstrap) as admin:
            await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(first)})
    file, page = tmp_path / "report.json", tmp_path / "report.html"
    span = ("--since", (begin - timedelta(hours=1)).isoformat())
    code, _, err = await asyncio.to_thread(setting.report, *span, "--out", file)
    assert code == 0, err
    found = json.loads(file.read_text("utf-8"))
    kept = begin + timedelta(hours=2)
    assert [one["records"] for one in found["logged"]] == [6]
    assert [
        (one["topic"], one["partition"], one["first_offset"], one["complete_from"])
        for one in found["deleted"]
    ] == [
        (setting.topics["interactions"], 0, 2, f"{kept:%Y-%m-%dT%H:%M:%SZ}"),
        (setting.topics["scores"], 0, 2, f"{kept:%Y-%m-%dT%H:%M:%SZ}"),
        (setting.topics["dead_letters"], 0, 4, None),
    ]
    said = f"{setting.topics['scores']} is complete only from {kept:%Y-%m-%d %H:%M:%S} UTC on"
    assert said in err
    assert setting.report(*span, "--out", page)[0] == 0
    assert said in page.read_text("utf-8")
    assert setting.report("--check", file)[0] == 0

    later = ("--since", (kept + timedelta(minutes=1)).isoformat())
    assert setting.report(*later, "--out", file)[0] == 0
    found = json.loads(file.read_text("utf-8"))
    assert [one["topic"] for one in found["deleted"]] == [setting.topics["dead_letters"]]


async def test_an_alarm_that_opened_again_is_of_both_spans(
    kafka_broker: RunningBroker, tmp_path: Path
) -> None:
    """Each opening that the topic still has; what of it cannot be read stands in the report."""
    setting = Reporting(kafka_broker.bootstrap, tmp_path, f"sqlite:///{tmp_path}/a.db")
    await setting.made()
    begin = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=5)
    hour = timedelta(hours=1)
    over = {"state": "closed", "closed_at": begin + hour, "closed_because": "recovered"}
    records = [alarm(opened_at=begin), alarm(opened_at=begin, **over)]
    records.append(alarm(opened_at=begin + 4 * hour))
    rows = [Record(one.to_json(), one.key.encode(), 0) for one in records]
    await produce(setting.bootstrap, setting.topics["alarms"], [*rows, Record(b"{", b"a", 0)])
    broken = [Record(b"{", f"correction/bot/{n}".encode(), 1) for n in "12"]
    await produce(setting.bootstrap, setting.topics["control"], broken)
    file, page = tmp_path / "report.json", tmp_path / "report.html"
    span = ("--since", (begin - hour).isoformat(), "--until", (begin + 2 * hour).isoformat())
    for each in (file, page):
        code, _, err = await asyncio.to_thread(setting.report, *span, "--out", each)
        assert code == 0, err
    found = json.loads(file.read_text("utf-8"))
    assert [one["closed_because"] for one in found["alarms"]] == ["recovered"]
    assert found["left_out"] == [
        {
            "topic": setting.topics[name],
            "records": records,
            "first_partition": part,
            "first_offset": offset,
            "first_reason": "malformed",
        }
        for name, records, part, offset in (("alarms", 1, 0, 3), ("control", 2, 1, 0))
    ]
    assert found["alarm_records_gone"] == 0
    said = (
        f"{setting.topics['control']}: 2 records are left out, the first at partition 1, offset 0"
    )
    assert said in page.read_text("utf-8")

    # As compaction does it: the records of the earlier opening are no more.
    async with admin_client(setting.bootstrap) as admin:
        place = TopicPartition(setting.topics["alarms"], 0)
        await admin.delete_records({place: RecordsToDelete(2)})
    assert setting.report(*span, "--out", file)[0] == 0
    found = json.loads(file.read_text("utf-8"))
    assert (found["alarms"], found["alarm_records_gone"]) == ([], 2)

    new = ("deleted", "left_out", "alarm_records_gone")
    older = {name: value for name, value in found.items() if name not in new}
    file.write_text(json.dumps(older), "utf-8")
    assert setting.report("--check", file)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--since", "1h", "--until", "2h"], "report: --since 1h is not before --until 2h"),
        (
            ["--since", "2999-01-01T00:00:00Z"],
            "report: --since 2999-01-01T00:00:00Z is not before now",
        ),
        (["--until", "2999-01-01T00:00:00Z"], "--until 2999-01-01T00:00:00Z lies in the future"),
        (["--format", "pdf"], "report: --format: found 'pdf', expected html or json"),
        (["--check", "nowhere.json"], "report: nowhere.json cannot be read: FileNotFoundError"),
    ],
)
def test_what_cannot_be_meant_is_named(arguments: list[str], said: str, tmp_path: Path) -> None:
    """Before anything is read."""
    setting = Reporting("127.0.0.1:1", tmp_path, f"sqlite:///{tmp_path}/a.db")
    code, _, err = setting.report(*arguments)
    assert (code, said in err) == (2, True), err
