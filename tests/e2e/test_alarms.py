"""Alarms on a real broker: explained, written once, told once, whatever happens to the exporter."""

from __future__ import annotations

import asyncio
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

from monitor.exporter.messages.headline import details, headline
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_security import PASSWORD, STRANGER, SecuredBroker
from tests.servers.kafka_topics import Record, create_topic, produce
from tests.stages.alarms import INCIDENT, JUDGE, KEY, METRIC, OVER, USUAL, Stage
from tests.stages.process import MonitorProcess, total, until
from tests.stages.topics import MakeTopics


async def changes(exporter: MonitorProcess) -> list[tuple[dict[str, str], float]]:
    """What an exporter shows of open alarms, in the order of the page."""
    names = ("rag_drift_change", "rag_drift_segment_within")
    samples = await exporter.metrics()
    return [(dict(labels), v) for (name, labels), v in samples.items() if name.startswith(names)]


@pytest.fixture
async def stage(kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path) -> Stage:
    """An incident that is not over."""
    made = Stage(kafka_broker.bootstrap, await make_topics(), tmp_path)
    await made.judged([*USUAL, *INCIDENT])
    return made


def told(exporter: MonitorProcess) -> list[dict[str, Any]]:
    """What an exporter's log says of alarms."""
    return [one for one in exporter.events() if one.get("event") == "quality_drift"]


async def test_an_alarm_is_explained_once_and_its_end_too(stage: Stage) -> None:
    """Sentence, start, segments, worst interactions with claims; a restart repeats nothing."""
    first = stage.exporter()
    try:
        (opened,) = await stage.states("open")
        (event,) = await until(lambda: told(first), "the event")
    finally:
        await first.end()
    since = opened.since.timestamp() - stage.start
    assert 170 <= since <= 195
    moved = f"{METRIC} of bot rose 0.1"
    assert opened.answer.startswith(moved)
    assert "judge failures 0.0 % (normal)" in opened.answer
    blamed = "; tenant=acme [01][.].. → [01][.].., the others 0[.].. → 0[.]..$"
    assert re.search(blamed, opened.answer)
    assert [one.segment for one in opened.segments] == ["acme", "zen"]
    assert opened.change.mix == pytest.approx(0.0, abs=0.03)
    assert [one.interaction_id for one in opened.worst] == ["i239", "i237", "i235", "i233", "i231"]
    for one in opened.worst:
        (claim,) = one.claims
        assert (claim.number, claim.text) == (1, f"claim {one.interaction_id[1:]}")
        assert [(p.number, p.id, p.relevant) for p in claim.passages] == [(2, "doc-2", False)]
    assert (event["answer"], event["level"]) == (opened.answer, "warning")
    assert event["since"] == opened.since.isoformat()
    assert event["segments"][0].startswith("acme: 0.")
    assert event["worst"][0]["claims"] == [{"number": 1, "passages": ["doc-2"]}]
    assert "claim 239" not in first.log.read_text("utf-8")

    second = stage.exporter()
    try:
        await second.ready()
        await stage.judged(OVER)
        _, closed = await stage.states("open", "closed")
        (event,) = await until(lambda: told(second), "the event of the end")
    finally:
        await second.end()
    assert (closed.closed_because, closed.since) == ("recovered", opened.since)
    assert closed.worst == opened.worst
    assert (event["state"], event["level"]) == ("closed", "info")
    assert event["answer"].startswith("recovered at ")


async def test_two_exporters_tell_it_once(stage: Stage) -> None:
    """Of a pair that looks at the same moments, one tells that it opened, and one that it ended.

    Both show the sentence, and what the segments add, while it is open.
    """
    pair = [stage.exporter(), stage.exporter()]

    async def both_have_read(state: str) -> bool:
        """Everything on the topic, of which this is the latest."""
        records = await stage.alarms()
        name = "rag_monitor_alarm_records_total"
        reads = [total(await each.metrics(), name, result="read") for each in pair]
        latest = [one.state for one in records[-1:]]
        return latest == [state] and reads == [len(records)] * 2

    try:
        for each in pair:
            await each.ready()
        await until(lambda: both_have_read("open"), "the alarm, read back by both")
        one, other = [await changes(each) for each in pair]
        opened = (await stage.alarms())[-1]  # each of the pair may have written one
        whose = {"metric": METRIC, "application": "bot", "judge": JUDGE.label}
        assert one == other
        said = {"answer": opened.answer, "headline": headline(opened), "details": details(opened)}
        assert one[0] == ({**whose, **said}, 1.0)
        assert [labels.get("segment") for labels, _ in one[2:]] == ["acme", "zen"]
        await stage.judged(OVER)
        await until(lambda: both_have_read("closed"), "the end, read back by both")
        one, other = [await changes(each) for each in pair]
        assert one == other
        assert [labels["headline"] for labels, _ in one] == [headline((await stage.alarms())[-1])]
        assert "back at 0 % (0–" in one[0][0]["headline"]
        events = [one["state"] for each in pair for one in told(each)]
        assert sorted(events) == ["closed", "open"]
    finally:
        for each in pair:
            await each.end()


async def test_a_kill_before_it_is_read_back_opens_no_second_alarm(stage: Stage) -> None:
    """Killed with the acknowledgement of the alarm; the next exporter finds it on the topic."""
    dying = stage.exporter(module="tests.e2e.dying_exporter")
    await until(lambda: not dying.alive(), "its death")
    assert dying.exit_code() == -9
    (opened,) = await stage.states("open")
    after = stage.exporter()
    try:
        await after.ready()
        await stage.judged(OVER)
        _, closed = await stage.states("open", "closed")
        assert closed.opened_at == opened.opened_at
    finally:
        await after.end()


async def test_at_another_threshold_gauge_and_record_agree(stage: Stage) -> None:
    """Evidence that is enough for a lower one opens again: gauge, record and log."""
    first = stage.exporter()
    try:
        await stage.states("open")
        await stage.judged(OVER)
        await stage.states("open", "closed")
    finally:
        await first.end()
    lax = stage.exporter(drift__judged_per_week="0.000001")
    try:
        await lax.ready()
        metrics = await lax.metrics()
        assert total(metrics, "rag_drift_alarm", application="bot") == 1
        await stage.judged(USUAL, application="shop")
        await stage.judged(INCIDENT, application="shop")
        await stage.states("open", key=KEY.replace("bot", "shop"))
        await stage.states("open", "closed", "open")
        # What was written is told once it has been read again.
        events = await until(lambda: told(lax)[1:] and told(lax), "both events")
        assert sorted(one["key"] for one in events) == [KEY, KEY.replace("bot", "shop")]
    finally:
        await lax.end()


async def test_what_stands_on_the_topic_is_read_as_far_as_it_can_be(stage: Stage) -> None:
    """A tombstone forgets an alarm, which is then opened again; garbage is counted and named."""
    topic = stage.topics["kafka__topics__alarms"]
    await produce(stage.broker, topic, [Record(b"{}", b"nobody/knows/this")])
    exporter = stage.exporter()
    try:
        await stage.states("open")
        await exporter.ready()
        metrics = await exporter.metrics()
        assert total(metrics, "rag_monitor_alarm_records_total", result="malformed") == 1
        (skipped,) = [e for e in exporter.events() if e.get("event") == "alarms_record_skipped"]
        assert skipped["offset"] == 0
        await produce(stage.broker, topic, [Record(None, KEY.encode())])
        await stage.states("open", "open")
    finally:
        await exporter.end()


async def test_without_the_right_to_read_them_the_exporter_ends(
    secured_broker: SecuredBroker, tmp_path: Path
) -> None:
    """Code 3, and a last line that names topic and right; everything is closed on the way."""
    topics = await granted(secured_broker, scores=["READ"], control=["READ"], alarms=["WRITE"])
    exporter = stranger(secured_broker, topics, tmp_path)
    await until(lambda: not exporter.alive(), "its end")
    log = exporter.log.read_text("utf-8")
    right = f"grant Read on topic {topics['kafka__topics__alarms']}"
    assert exporter.exit_code() == 3, log
    assert log.splitlines()[-1].startswith("rag-monitor: Kafka ")
    assert log.splitlines()[-1].endswith(right)
    assert "Unclosed" not in log


async def granted(broker: SecuredBroker, **rights: list[str]) -> dict[str, str]:
    """Topics that the stranger has these rights to, as settings."""
    run = uuid.uuid4().hex[:8]
    for key, given in rights.items():
        await create_topic(broker.broker.bootstrap, f"{key}-{run}")
        await asyncio.to_thread(broker.grant, STRANGER, given, name=f"{key}-{run}")
    return {f"kafka__topics__{key}": f"{key}-{run}" for key in rights}


def stranger(broker: SecuredBroker, topics: dict[str, str], directory: Path) -> MonitorProcess:
    """An exporter who has the rights that were granted, and no others."""
    return Stage(broker.address("SASL_TLS"), topics, directory).exporter(
        kafka__security_protocol="SASL_SSL",
        kafka__sasl_mechanism="SCRAM-SHA-512",
        kafka__sasl_username=STRANGER,
        kafka__sasl_password=PASSWORD,
        kafka__ssl_cafile=str(broker.authority.cafile),
    )


async def test_without_the_right_to_write_there_are_gauges(
    secured_broker: SecuredBroker, tmp_path: Path
) -> None:
    """The alarm has its gauge, the log says why it has no record, and the exporter stays ready."""
    read = ["READ"]
    topics = await granted(
        secured_broker, interactions=read, scores=read, control=[*read, "WRITE"], alarms=read
    )
    stage = Stage(secured_broker.broker.bootstrap, topics, tmp_path)
    await stage.judged([*USUAL, *INCIDENT])
    exporter = stranger(secured_broker, topics, tmp_path)
    try:
        await exporter.ready()

        def refused() -> list[dict[str, Any]]:
            events = exporter.events()
            return [one for one in events if one.get("event") == "alarm_not_published"]

        (event,) = await until(refused, "the refusal")
        assert (event["key"], topics["kafka__topics__alarms"] in event["error"]) == (KEY, True)
        assert total(await exporter.metrics(), "rag_drift_alarm") == 1
        await exporter.ready()
        assert told(exporter) == []
        assert await stage.alarms() == []
    finally:
        await exporter.end()
