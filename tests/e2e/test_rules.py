"""The rules in a real Prometheus that scrapes real exporters and scorers."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from monitor.config import load
from monitor.exporter.messages.headline import details, headline
from monitor.rules.render import rendered
from tests.servers.guarded import GuardedProcess
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce
from tests.servers.ports import free_ports
from tests.stages.alarms import INCIDENT, OVER, USUAL, Stage
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, until
from tests.stages.topics import MakeTopics
from tests.tools import requires_tool

#: Everything that takes minutes takes seconds.
QUICK = {
    "alerts.window": "20s",
    "alerts.long_window": "60s",
    "alerts.lag": "5s",
    "alerts.pending": json.dumps({"RagQualityDrift": "2s", "RagMonitorLagging": "1s"}),
    "alerts.keep_firing": json.dumps({"RagQualityDrift": "0s"}),
}


class Prometheus:
    """One that scrapes these processes every second, each role as a job."""

    def __init__(self, directory: Path) -> None:
        (self._port,) = free_ports(1)
        self._directory = directory
        self._files: list[str] = []
        for name, text in rendered(load({}, flags=QUICK)).items():
            (directory / name).write_text(text, encoding="utf-8")
            self._files.append(str(directory / name))

    @asynccontextmanager
    async def scraping(self, **jobs: Sequence[MonitorProcess]) -> AsyncIterator[None]:
        """While it runs; the processes are ready."""
        scrapes = [
            {
                "job_name": f"rag-monitor-{job}",
                "static_configs": [{"targets": [p.url.removeprefix("http://") for p in found]}],
            }
            for job, found in jobs.items()
        ]
        config = self._directory / "prometheus.yml"
        tree = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": self._files,
            "scrape_configs": scrapes,
        }
        config.write_text(yaml.safe_dump(tree), encoding="utf-8")
        process = GuardedProcess(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={self._directory / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{self._port}",
            ],
            self._directory / "prometheus.log",
        )
        try:
            yield
        finally:
            process.end()

    async def firing(self, name: str) -> list[dict[str, Any]]:
        """The alerts of a name that fire; none while it does not answer yet."""
        url = f"http://127.0.0.1:{self._port}/api/v1/alerts"
        try:
            async with aiohttp.ClientSession() as session, session.get(url) as answer:
                alerts = json.loads(await answer.text())["data"]["alerts"]
        except (aiohttp.ClientError, KeyError, ValueError):
            return []
        return [
            one for one in alerts if one["labels"]["alertname"] == name and one["state"] == "firing"
        ]


@pytest.fixture
def prometheus(tmp_path: Path) -> Prometheus:
    """One with the rules, not started yet."""
    missing = None if shutil.which("prometheus") else "not found"
    requires_tool("prometheus", missing, "apt-get install prometheus")
    (tmp_path / "prometheus").mkdir()
    return Prometheus(tmp_path / "prometheus")


async def test_two_exporters_make_one_alert_with_what_changed(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, prometheus: Prometheus
) -> None:
    """It carries the sentence of the record, and ends when the quality has recovered."""
    stage = Stage(kafka_broker.bootstrap, await make_topics(), tmp_path)
    await stage.judged([*USUAL, *INCIDENT])
    pair = [stage.exporter(), stage.exporter()]

    async def told() -> dict[str, Any] | None:
        """The alert, once it says what changed: the record may come a moment later."""
        found = await prometheus.firing("RagQualityDrift")
        assert len(found) <= 1
        return next((one for one in found if " → " in one["annotations"]["summary"]), None)

    async def is_over() -> bool:
        return not await prometheus.firing("RagQualityDrift")

    try:
        for each in pair:
            await each.ready()
        async with prometheus.scraping(export=pair):
            alert = await until(told, "the alert")
            opened = (await stage.alarms())[-1]  # each of the pair may write one
            judge = alert["labels"]["judge"]
            assert alert["annotations"]["summary"] == headline(opened)
            assert alert["annotations"]["description"] == f"{details(opened)}; judge {judge}."
            assert alert["labels"]["severity"] == "page"
            assert "answer" not in alert["labels"]
            await stage.judged(OVER)
            await until(is_over, "its end")
    finally:
        for each in pair:
            await each.end()


async def test_a_killed_scorer_lags(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, prometheus: Prometheus
) -> None:
    """Its own gauges are gone; the exporter still sees that the group does not come on."""
    topics, broker = await make_topics(), kafka_broker.bootstrap
    scorer, exporter = (
        MonitorProcess(role, broker, tmp_path, role, **topics) for role in ("score", "export")
    )

    async def lags() -> list[dict[str, Any]]:
        await send()
        return await prometheus.firing("RagMonitorLagging")

    async def send() -> None:
        records = [Record(encoded(interaction(f"k{i}"))) for i in range(5)]
        await produce(broker, topics["kafka__topics__interactions"], records)

    async def has_score() -> bool:
        return any(line.startswith("rag_score{") for line in await exporter.quality_lines())

    try:
        for each in (scorer, exporter):
            await each.ready()
        async with prometheus.scraping(score=[scorer], export=[exporter]):
            await send()
            await until(has_score, "a score")
            assert await prometheus.firing("RagMonitorLagging") == []
            scorer.kill()
            (alert,) = await until(lags, "the alert")
            assert alert["labels"]["topic"] == topics["kafka__topics__interactions"]
            assert alert["labels"]["seen_by"] == "exporter"
    finally:
        for each in (scorer, exporter):
            await each.end()
