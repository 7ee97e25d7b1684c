"""Topics that are missing: waited for, or created when the configuration says so."""

from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path

import pytest
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, KafkaBroker, RunningBroker, missing_kafka
from tests.servers.kafka_topics import admin_client, create_topic
from tests.servers.ports import free_ports
from tests.stages.command import environ_of, rag_monitor
from tests.stages.process import MonitorProcess, outcomes, until
from tests.stages.topics import Topics
from tests.tools import requires_tool


def unmade_topics() -> Topics:
    """Settings that name topics which nobody has created."""
    run = uuid.uuid4().hex[:8]
    keys = ("interactions", "scores", "dead_letters", "control", "alarms")
    return {f"kafka__topics__{key}": f"{key}-{run}" for key in keys} | {
        "kafka__group_id": f"group-{run}"
    }


async def test_a_missing_topic_is_waited_for_and_named(
    kafka_broker: RunningBroker, tmp_path: Path
) -> None:
    """Not ready, alive, the missing topics named; ready as soon as somebody creates them."""
    topics, broker = unmade_topics(), kafka_broker.bootstrap
    monitor = MonitorProcess("run", broker, tmp_path, "monitor", **topics)
    try:
        await monitor.listening()

        async def named() -> bool:
            status, body = await monitor.get("/readyz")
            return status == 503 and topics["kafka__topics__interactions"] in body

        await until(named, "the topic's name in /readyz")
        assert (await monitor.get("/healthz"))[0] == 200
        for name in list(topics.values())[:5]:
            await create_topic(broker, name)
        await monitor.ready()
    finally:
        await monitor.end()


async def test_topics_are_created_on_request_and_traffic_flows(
    kafka_broker: RunningBroker, tmp_path: Path
) -> None:
    """``create_topics`` makes all five as needed; ``traffic`` and ``run`` then agree on counts."""
    topics, broker = unmade_topics(), kafka_broker.bootstrap
    settings = {"kafka__create_topics": "true", **topics}
    monitor = MonitorProcess("run", broker, tmp_path, "monitor", **settings)
    try:
        await monitor.ready()
        scores = await settings_of(broker, topics["kafka__topics__scores"])
        assert scores["cleanup.policy"] == "delete"
        assert int(scores["retention.ms"]) == 57 * 86_400_000
        alarms = await settings_of(broker, topics["kafka__topics__alarms"])
        assert alarms["cleanup.policy"] == "compact"
        sent = await traffic(broker, topics, "--for", "3", "--rate", "30")

        async def all_ended() -> bool:
            return sum(outcomes(await monitor.metrics()).values()) == sent

        await until(all_ended, f"{sent} outcomes")
    finally:
        await monitor.end()


async def settings_of(broker: str, topic: str) -> dict[str, str]:
    """The settings of a topic, as the broker tells them."""
    async with admin_client(broker) as admin:
        answer = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    return {entry[0]: entry[1] for entry in answer[0].resources[0][4]}


async def traffic(broker: str, topics: Topics, *arguments: str) -> int:
    """How many interactions ``rag-monitor traffic`` says were acknowledged."""
    environ = environ_of(broker, topics)
    ended = await asyncio.to_thread(rag_monitor, "traffic", *arguments, environ=environ)
    assert ended.returncode == 0, ended.stderr
    return int(json.loads(ended.stdout.splitlines()[-1])["acknowledged"])


async def test_a_broker_that_goes_away_during_the_start_is_waited_for(tmp_path: Path) -> None:
    """Killed while topics are missing, back again: alive throughout, then ready."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    topics = unmade_topics()
    broker = await asyncio.to_thread(KafkaBroker(tmp_path).__enter__)
    monitor = MonitorProcess("run", broker.bootstrap, tmp_path, "monitor", **topics)
    try:
        await monitor.listening()
        await until(lambda: _met(monitor, "missing_topic"), "waiting for topics")
        broker.kill()
        await until(lambda: _met(monitor, "broker_away"), "a broker that is away")
        await asyncio.to_thread(broker.start)
        for name in list(topics.values())[:5]:
            await create_topic(broker.bootstrap, name)
        await monitor.ready()
        assert monitor.alive()
    finally:
        await monitor.end()
        await asyncio.to_thread(broker.stop)


@pytest.mark.parametrize("command", ["run", "score", "export", "traffic"])
async def test_sigterm_while_waiting_for_a_broker_is_heard(command: str, tmp_path: Path) -> None:
    """Nothing is under way, so nothing is drained: the end comes, and it is an orderly one."""
    (port,) = free_ports(1)
    monitor = MonitorProcess(command, f"127.0.0.1:{port}", tmp_path, "monitor")
    await until(lambda: _met(monitor, "broker_away"), "a broker that is away")
    await monitor.end()
    assert "Traceback" not in monitor.log.read_text("utf-8")
    last = monitor.events()[-1]
    assert last.get("event") == "stopped" or last.get("acknowledged") == 0


def _met(monitor: MonitorProcess, kind: str) -> bool:
    found = [event for event in monitor.events() if event.get("event") == "kafka_problem"]
    return any(event["kind"] == kind for event in found)
