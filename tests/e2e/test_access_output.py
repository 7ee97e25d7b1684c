"""Two clusters: interactions come from one, everything that is written goes to the other."""

from __future__ import annotations

from pathlib import Path

from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_security import SecuredBroker
from tests.servers.kafka_topics import Record, admin_client, produce, read_all
from tests.stages.process import MonitorProcess, total, until
from tests.stages.secured import login, own_topics, scores


async def test_outputs_lie_on_a_cluster_of_their_own(
    kafka_broker: RunningBroker, secured_broker: SecuredBroker, tmp_path: Path
) -> None:
    """Topics are created, written, read and checked each where it belongs, and nowhere else."""
    topics = own_topics()
    inputs, outputs = kafka_broker.bootstrap, secured_broker.broker.bootstrap
    settings = login(secured_broker, "SCRAM-SHA-512", tmp_path, "kafka_output") | topics
    settings["kafka_output__bootstrap_servers"] = secured_broker.address("SASL_TLS")
    monitor = MonitorProcess("run", inputs, tmp_path, "monitor", **settings)
    try:
        await monitor.ready()
        await scores(topics, "over the border", inputs, outputs)
        broken = [Record(b"not json", b"broken")]
        await produce(inputs, topics["kafka__topics__interactions"], broken)
        await until(lambda: _letters(outputs, topics), "the dead letter")

        async def served() -> bool:
            samples = await monitor.metrics()
            return total(samples, "rag_score_samples", metric="faithfulness", window="5m") == 1

        await until(served, "the score in the exporter's gauges")
    finally:
        await monitor.end()
    ours = {name for key, name in topics.items() if "__topics__" in key}
    read = {topics["kafka__topics__interactions"]}
    assert await _topics(inputs) & ours == read
    assert await _topics(outputs) & ours == ours - read


async def _letters(address: str, topics: dict[str, str]) -> list[Record]:
    return await read_all(address, topics["kafka__topics__dead_letters"])


async def _topics(address: str) -> set[str]:
    async with admin_client(address) as admin:
        return set(await admin.list_topics())
