"""``rag-monitor status`` for a running monitor, and for topics alone."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path
from signal import SIGTERM
from typing import Any

from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce
from tests.stages.baselines import QUICK, scored
from tests.stages.command import environ_of, rag_monitor, running
from tests.stages.process import MonitorProcess, until
from tests.stages.topics import MakeTopics, Topics


def environment(broker: str, topics: Topics, **settings: str) -> dict[str, str]:
    """Settings of one monitor as variables."""
    return environ_of(broker, {"http__port": 0, **topics, **settings})


def interaction(name: str) -> Record:
    """As it is logged."""
    body = {
        "interaction_id": name,
        "application": "bot",
        "user_input": "How long is the warranty?",
        "response": "The warranty lasts 24 months.",
        "retrieved_contexts": ["The warranty lasts 24 months from delivery."],
    }
    return Record(json.dumps(body).encode(), name.encode())


async def test_without_a_monitor_scores_are_computed_from_the_topics(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Mean, number and how far the baseline is; and that no exporter answered."""
    broker, topics = kafka_broker.bootstrap, await make_topics()
    environ = environment(
        broker, topics, drift__learn_slots="60", drift__learn_for="0s", drift__learn_wait="1s"
    )
    empty = await asyncio.to_thread(rag_monitor, "status", environ=environ)
    assert empty.returncode == 0, empty.stderr
    said = " ".join(empty.stdout.replace("│", " ").split())
    assert "no scores: no score record is within the horizon" in said
    assert "nothing unread" in said
    assert "paused" not in said

    start = time.time() - 60
    await produce(
        broker, topics["kafka__topics__scores"], [scored(i, start + i) for i in range(40)]
    )
    result = await asyncio.to_thread(rag_monitor, "status", environ=environ)
    assert "computed from the topics: no exporter answered" in result.stdout
    assert "learning baseline 40/60" in result.stdout
    assert "0.875 n=40" in result.stdout
    assert "scored 40" in result.stdout
    found = json.loads(
        (await asyncio.to_thread(rag_monitor, "status", "--json", environ=environ)).stdout
    )
    (pair,) = found["applications"]
    assert (found["source"], pair["learning"]["slots"]) == ("topics", 40)
    (metric,) = [each for each in pair["metrics"] if each["metric"] == "faithfulness"]
    assert metric["windows"]["5m"]["mean"] == 0.875
    pause = ("pause", "--application", "bot", "--for", "1h")
    paused = await asyncio.to_thread(rag_monitor, *pause, environ=environ)
    assert paused.returncode == 0, paused.stderr
    told = await asyncio.to_thread(rag_monitor, "status", "--json", environ=environ)
    (why,) = json.loads(told.stdout)["why"]
    assert re.match(
        r"judging is paused \(bot, until 20.* by .+\): rag-monitor resume ends that", why
    )


async def test_a_running_monitor_is_asked(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """What was read and what became of it; the same numbers as on its page."""
    broker, topics = kafka_broker.bootstrap, await make_topics()
    settings: dict[str, Any] = {**topics, **QUICK}
    monitor = MonitorProcess("run", broker, tmp_path, "run", **settings)
    try:
        await monitor.ready()
        environ = environment(broker, topics)

        async def found() -> dict[str, Any]:
            result = await asyncio.to_thread(
                rag_monitor, "status", "--json", "--url", monitor.url, environ=environ
            )
            assert result.returncode == 0, result.stderr
            seen: dict[str, Any] = json.loads(result.stdout)
            return seen

        (before,) = (await found())["why"]
        assert before.startswith("no scores: nothing was read yet")
        sent = [interaction(f"i{n}") for n in range(20)]
        await produce(broker, topics["kafka__topics__interactions"], sent)

        async def has_scores() -> bool:
            return bool((await found())["applications"])

        await until(has_scores, "scores on the page")
        seen = await found()
        assert seen["monitors"][0]["roles"] == ["score", "export"]
        assert seen["interactions"]["consumed"] == 20
        (pair,) = seen["applications"]
        assert pair["application"] == "bot"
        assert pair["learning"]["needed"] == 60
        shown = await asyncio.to_thread(
            rag_monitor, "status", "--url", monitor.url, environ=environ
        )
        assert "score and export, ready" in shown.stdout
        pause = ("pause", "--application", "shop")
        assert (await asyncio.to_thread(rag_monitor, *pause, environ=environ)).returncode == 0

        async def is_told() -> bool:
            return any("(shop, until 20" in why for why in (await found())["why"])

        await until(is_told, "the pause with its end")
        asking = ("status", "--json", "--url", monitor.url)
        for cut_off in ({"kafka__ssl_cafile": "nowhere", "kafka__security_protocol": "SSL"}, {}):
            alone = environment("127.0.0.1:9", topics, **cut_off)
            told = await asyncio.to_thread(rag_monitor, *asking, environ=alone)
            assert told.returncode == 0, told.stderr
            assert any("is paused (shop): " in why for why in json.loads(told.stdout)["why"])
        assert "1.000 n=20" in shown.stdout
        watch = ("status", "--watch", "--json", "--url", monitor.url)
        with running(*watch, environ=environ) as watching:
            await until(lambda: watching.out.count("\n") >= 2, "two looks")
            watching.signal(SIGTERM)
            ended = await watching.ended()
        assert ended.returncode == 0
        looks = [json.loads(line) for line in ended.stdout.splitlines()]
        assert {each["interactions"]["consumed"] for each in looks} == {20}
        status, page = await monitor.get("/")
        assert status == 200
        assert "20 scored" in page
        assert "the last 5m" in page
    finally:
        await monitor.end()


async def test_when_nobody_answers_it_ends_with_three(kafka_broker: RunningBroker) -> None:
    """One line with both; and an address that is none is the user's."""
    environ = environment(kafka_broker.bootstrap, {"kafka__topics__scores": "rag.nowhere"})
    urls = ("--url", "http://127.0.0.1:9")
    result = await asyncio.to_thread(
        rag_monitor, "status", *urls, "--timeout", "5", environ=environ
    )
    assert (result.returncode, result.stdout) == (3, "")
    line = result.stderr.splitlines()[-1]
    assert "http://127.0.0.1:9: nothing answers there; nor the topics: " in line
    assert "rag.nowhere" in line
    wrong = await asyncio.to_thread(rag_monitor, "status", "--url", "9750", environ=environ)
    assert wrong.returncode == 2
    assert "--url: found '9750', expected an address like http://127.0.0.1:9750" in wrong.stderr


async def test_something_else_at_the_address_is_told(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """A page without our version is nobody's of ours; the topics answer in its place."""
    broker, topics = kafka_broker.bootstrap, await make_topics()
    body = b"up 1\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        result = await asyncio.to_thread(
            rag_monitor, "status", "--json", "--url", url, environ=environment(broker, topics)
        )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["source"] == "topics"
    assert set(found["unreachable"]) == {url}
