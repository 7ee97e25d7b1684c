"""``rag-monitor pause`` and ``resume``, with a running scorer and exporter."""

from __future__ import annotations

import asyncio
import json
import re
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce, read_all
from tests.stages.command import environ_of, rag_monitor
from tests.stages.labelled import as_logged, case
from tests.stages.process import MonitorProcess, total, until
from tests.stages.topics import MakeTopics, Topics

#: For a command to be understood and written, and for others to read it, on a busy machine.
LONG_ENOUGH = "10s"


async def told(broker: str, topics: Topics, *arguments: str, code: int = 0) -> str:
    """What a command prints, or complains of where it ends with another code than 0."""
    environ = environ_of(broker, topics)
    ended = await asyncio.to_thread(rag_monitor, *arguments, environ=environ)
    assert ended.returncode == code, ended.stderr
    return ended.stderr if code else ended.stdout


async def sent(broker: str, topics: Topics, name: str) -> None:
    """Ten more interactions."""
    rng = Random(1)
    cases = [case(f"{name}{i}", rng, time.time() - 10) for i in range(10)]
    await produce(broker, topics["kafka__topics__interactions"], as_logged(cases))


async def test_without_the_topic_a_pause_is_refused_at_once(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """It says what is missing, and does not wait for the topic, however long it might."""
    topics = {**await make_topics(), "kafka__topics__control": "nowhere"}
    complaint = await told(kafka_broker.bootstrap, topics, "pause", "--timeout", "100000", code=3)
    assert "nowhere" in complaint.splitlines()[-1]
    assert "no topic" in complaint


async def test_while_paused_offsets_go_on_and_nothing_is_judged(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """The scorer, also one that starts meanwhile, skips, and the pages say so; resume ends it."""
    broker, topics = kafka_broker.bootstrap, await make_topics()
    said = await told(broker, topics, "pause", "--for", "2h")
    assert said.startswith("all applications: paused until 20")
    monitor = MonitorProcess("run", broker, tmp_path, "run", **topics)
    try:
        await monitor.ready()
        await sent(broker, topics, "a")
        await until(lambda: _count(monitor, "not_sampled", "paused", 10), "ten that are skipped")
        assert total(await monitor.metrics(), "rag_monitor_paused", application="*") == 1
        status, answer = await monitor.get("/readyz")
        assert (status, list(json.loads(answer)["paused"])) == (200, ["*"])
        page = (await monitor.get("/"))[1]
        assert re.search("all applications, until 20[^,]+, since 20[^,]+ by [^,]+@", page)
        told_of = next(event for event in monitor.events() if event["event"] == "paused")
        assert "@" in told_of["set_by"]
        assert told_of["set_at"] < told_of["until"]
        assert "asked nothing, since all applications are paused by hand" in page
        assert await read_all(broker, topics["kafka__topics__scores"]) == []
        assert await told(broker, topics, "resume") == "all applications: resumed\n"
        await until(lambda: _gone(monitor), "no pause")
        assert "paused by hand" not in (await monitor.get("/"))[1]
        await sent(broker, topics, "b")
        await until(lambda: _count(monitor, "scored", "", 5), "scores")
        await told(broker, topics, "resume", code=1)
    finally:
        await monitor.end()


async def test_a_pause_that_ends_by_its_time_is_told_by_all(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Scorer and exporter log its beginning and its end, once each; then the gauge is gone."""
    broker, topics = kafka_broker.bootstrap, await make_topics()
    monitors = [
        MonitorProcess(role, broker, tmp_path, role, **topics) for role in ("score", "export")
    ]
    try:
        for monitor in monitors:
            await monitor.ready()
        await told(broker, topics, "pause", "--application", "bot", "--for", LONG_ENOUGH)
        for monitor in monitors:
            await until(partial(_resumed, monitor), f"resumed on {monitor.url}")
            assert _told(monitor) == ["paused", "resumed"]
            assert await _gone(monitor)
    finally:
        for monitor in monitors:
            await monitor.end()


async def test_a_pause_without_a_length_ends_within_a_day(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """It says so; an older command's, without an end on the topic, holds as long."""
    broker, topics = kafka_broker.bootstrap, await make_topics()
    said = await told(broker, topics, "pause", "--application", "bot")
    end = datetime.fromisoformat(said.removeprefix("bot: paused until ").strip())
    assert timedelta(hours=23) < end - datetime.now(UTC) <= timedelta(hours=24)
    (record,) = await read_all(broker, topics["kafka__topics__control"])
    assert json.loads(record.value or b"")["until"] is not None


def _resumed(monitor: MonitorProcess) -> bool:
    return "resumed" in _told(monitor)


def _told(monitor: MonitorProcess) -> list[str]:
    """What its log says of pauses of the application."""
    found = [event for event in monitor.events() if event.get("application") == "bot"]
    return [event["event"] for event in found if event["event"] in ("paused", "resumed")]


async def _count(monitor: MonitorProcess, outcome: str, reason: str, least: int) -> bool:
    page = await monitor.metrics()
    found = total(page, "rag_monitor_interactions_total", outcome=outcome, reason=reason)
    return found >= least


async def _gone(monitor: MonitorProcess) -> bool:
    return total(await monitor.metrics(), "rag_monitor_paused") == 0
