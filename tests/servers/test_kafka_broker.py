"""The broker for tests is a real one, keeps what it acknowledged, and never outlives the tests."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

from tests.servers.guarded import GuardedProcess
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, KafkaBroker, RunningBroker, missing_kafka
from tests.servers.kafka_classes import is_usable
from tests.servers.kafka_topics import Record, create_topic, produce, read_all
from tests.servers.ports import free_ports
from tests.tools import requires_tool

ROOT = Path(__file__).parents[2]
STARTER = """
import pathlib, sys, time
from tests.servers.guarded import GuardedProcess
print(GuardedProcess(["sleep", "600"], pathlib.Path(sys.argv[1])).pid, flush=True)
time.sleep(600)
"""


async def test_what_is_produced_is_read(kafka_broker: RunningBroker) -> None:
    """Key, value, headers, partition, time and offset come back; a tombstone stays one."""
    await create_topic(kafka_broker.bootstrap, "read-back", partitions=2)
    written = [
        Record("值".encode(), b"k", 0, 1_000, (("h", b"1"),)),
        Record(b"second", None, 0, 2_000),
        Record(None, b"gone", 1, 3_000),
    ]
    placed = await produce(kafka_broker.bootstrap, "read-back", written)
    assert [(r.partition, r.offset) for r in placed] == [(0, 0), (0, 1), (1, 0)]
    assert await read_all(kafka_broker.bootstrap, "read-back") == placed


async def test_offsets_are_found_by_time(kafka_broker: RunningBroker) -> None:
    """The first record at or after a time; None after the last."""
    await create_topic(kafka_broker.bootstrap, "by-time")
    records = [Record(b"x", None, 0, 1_000 * n) for n in range(1, 6)]
    await produce(kafka_broker.bootstrap, "by-time", records)
    partition = TopicPartition("by-time", 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka_broker.bootstrap)
    await consumer.start()
    try:
        between = (await consumer.offsets_for_times({partition: 2_500}))[partition]
        after = (await consumer.offsets_for_times({partition: 9_000}))[partition]
    finally:
        await consumer.stop()
    assert (between.offset, after) == (2, None)


async def test_topics_are_created_once_and_only_on_purpose(kafka_broker: RunningBroker) -> None:
    """Creating a topic again raises; using one that is not there does not create it."""
    await create_topic(kafka_broker.bootstrap, "once", config={"cleanup.policy": "compact"})
    with pytest.raises(TopicAlreadyExistsError):
        await create_topic(kafka_broker.bootstrap, "once")
    with pytest.raises(UnknownTopicOrPartitionError):
        await read_all(kafka_broker.bootstrap, "never-created")


async def test_data_and_port_survive_stop_kill_and_freeze(tmp_path: Path) -> None:
    """Acknowledged records are there after a restart, after a SIGKILL and after a freeze."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    with KafkaBroker(tmp_path, {"log.index.interval.bytes": "1024"}) as broker:
        address = broker.bootstrap
        await create_topic(address, "kept")
        await produce(address, "kept", [Record(b"before the restart")])
        await asyncio.to_thread(broker.restart)
        await produce(address, "kept", [Record(b"before the kill")])
        broker.kill()
        await asyncio.to_thread(broker.start)
        await produce(address, "kept", [Record(b"before the freeze")])
        broker.freeze()
        frozen = psutil.Process(broker.pid).status()
        broker.thaw()
        values = [record.value for record in await read_all(address, "kept")]
    assert values == [b"before the restart", b"before the kill", b"before the freeze"]
    assert (frozen, broker.bootstrap) == (psutil.STATUS_STOPPED, address)
    assert "log.index.interval.bytes = 1024" in broker.log.read_text()
    assert not psutil.pid_exists(broker.pid)


def test_a_broker_that_cannot_start_shows_its_log(tmp_path: Path) -> None:
    """A setting that Kafka refuses is named in the error, and nothing is left running."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    broker = KafkaBroker(tmp_path, {"num.network.threads": "none"})
    with pytest.raises(RuntimeError, match=r"num\.network\.threads"):
        broker.start()


def test_a_guarded_process_dies_with_its_starter(tmp_path: Path) -> None:
    """SIGKILL to the starter, which can do nothing about it, ends the process it started."""
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    with starter:
        assert starter.stdout is not None
        orphan = psutil.Process(int(starter.stdout.readline()))
        assert orphan.is_running()
        starter.kill()
    gone, alive = psutil.wait_procs([orphan], timeout=30)
    assert (gone, alive) == ([orphan], [])


@pytest.mark.parametrize("frozen", [False, True])
def test_a_guarded_process_ends_on_request(tmp_path: Path, frozen: bool) -> None:
    """Also when it is frozen; ending it again does nothing, and its guard goes too."""
    os.mkfifo(tmp_path / "ready")
    script = 'echo ready >"$0"; exec sleep 600'
    process = GuardedProcess(["sh", "-c", script, str(tmp_path / "ready")], tmp_path / "log")
    assert (tmp_path / "ready").read_text() == "ready\n"
    (guard,) = psutil.Process(process.pid).children()
    if frozen:
        process.freeze()
    process.end()
    process.end()
    assert not process.alive()
    assert psutil.wait_procs([guard], timeout=30)[1] == []


def test_free_ports_are_different() -> None:
    """Ports that are taken at one time cannot be the same."""
    assert len(set(free_ports(20))) == 20


def test_missing_jars_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing, where it was looked for, and what brings it."""
    monkeypatch.setenv("KAFKA_TEST_LIBS", str(tmp_path))
    monkeypatch.setenv("PATH", str(_fake_java(tmp_path)))
    assert missing_kafka() == f"no Kafka jars in {tmp_path}: .ci/fetch-kafka"
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert missing_kafka() == "no java: apt-get install default-jre-headless"
    assert ".ci/fetch-kafka" in HOW_TO_GET_KAFKA


def _fake_java(directory: Path) -> Path:
    (directory / "bin").mkdir()
    (directory / "bin" / "java").touch(mode=0o755)
    return directory / "bin"


def test_an_archive_that_java_cannot_use_is_made_anew(tmp_path: Path) -> None:
    """One that is not there, or is none, is not taken for an archive."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    archive = tmp_path / "classes.jsa"
    assert not is_usable(archive)
    archive.write_bytes(b"no archive")
    assert not is_usable(archive)
