"""What Prometheus itself says of our ``/metrics``."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import aiohttp

from monitor.demo.stack.servers import Prometheus
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce
from tests.stages.plain import encoded, interaction
from tests.stages.process import StartedProcess, until
from tests.stages.topics import MakeTopics
from tests.tools import requires_tool

QUERY = 'rag_score{metric="faithfulness",window="5m"}'


async def test_prometheus_scrapes_and_approves(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """``promtool check metrics`` finds no fault, and a real Prometheus answers with the gauge."""
    missing = [tool for tool in ("prometheus", "promtool") if shutil.which(tool) is None]
    requires_tool("prometheus", " ".join(missing) or None, "apt-get install prometheus")
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    monitor = StartedProcess("run", broker, tmp_path, "monitor", **topics)
    try:
        await monitor.ready()
        records = [Record(encoded(interaction(f"p{i}"))) for i in range(20)]
        await produce(broker, topics["kafka__topics__interactions"], records)
        await until(lambda: _has_score(monitor), "the gauge")
        assert await _said_by_promtool(monitor) == (0, "")
        assert await _asked_of_prometheus(monitor.url, tmp_path) == "1"
    finally:
        await monitor.end()


async def test_promtool_approves_of_each_role(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """The pages of a scorer and of an exporter, with traffic on them, have no fault either."""
    missing = None if shutil.which("promtool") else "not found"
    requires_tool("promtool", missing, "apt-get install prometheus")
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    settings = {
        **topics,
        "export__segment": "tenant",
        "drift__learn_slots": "5",
        "drift__learn_for": "0s",
    }
    roles = [
        StartedProcess(role, broker, tmp_path, role, **settings) for role in ("score", "export")
    ]
    try:
        for each in roles:
            await each.ready()
        records = [Record(encoded(interaction(f"r{i}"))) for i in range(20)]
        await produce(broker, topics["kafka__topics__interactions"], [*records, Record(b"{")])
        await until(lambda: _has_score(roles[1]), "the gauge")
        for each in roles:
            assert await _said_by_promtool(each) == (0, "")
    finally:
        for each in roles:
            await each.end()


async def _said_by_promtool(monitor: StartedProcess) -> tuple[int, str]:
    """Exit code and words of ``promtool check metrics`` on its page."""
    _, page = await monitor.get("/metrics")
    checked = await asyncio.to_thread(
        subprocess.run,
        ["promtool", "check", "metrics"],
        input=page,
        capture_output=True,
        text=True,
        check=False,
    )
    return checked.returncode, checked.stdout + checked.stderr


async def _has_score(monitor: StartedProcess) -> bool:
    return any(line.startswith("rag_score{") for line in await monitor.quality_lines())


async def _asked_of_prometheus(target: str, directory: Path) -> str:
    """The value of ``QUERY`` in a Prometheus that scrapes ``target``."""
    config = directory / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s}\n"
        "scrape_configs: [{job_name: rag, static_configs: "
        f"[{{targets: ['{target.removeprefix('http://')}']}}]}}]\n"
    )
    prometheus = Prometheus(directory, config)
    await asyncio.to_thread(prometheus.start)
    try:
        return str(await until(lambda: _answer(prometheus), "an answer of Prometheus"))
    finally:
        prometheus.stop()


async def _answer(prometheus: Prometheus) -> str | None:
    url = f"{prometheus.url}/api/v1/query"
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, params={"query": QUERY}) as found,
    ):
        results = json.loads(await found.text())["data"]["result"]
    return str(results[0]["value"][1]) if results else None
