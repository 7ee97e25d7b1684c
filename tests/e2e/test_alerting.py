"""Alerts that arrive: real traffic, Prometheus, Alertmanager and webhook, on what is shipped."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from monitor.exporter.messages.headline import details, headline
from tests.servers.alert_stack import HOW_TO_GET_PROMETHEUS, AlertStack, missing_stack
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce
from tests.servers.ports import free_ports
from tests.stages.alarms import INCIDENT, OVER, USUAL, Stage
from tests.stages.alerting import heard, resolved, scraped
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, total, until
from tests.stages.topics import MakeTopics
from tests.tools import requires_tool

#: Evaluation interval, `for` and group wait of a page at the demo's pace, and what is allowed: less
#: than any of them takes by default, and more than a busy machine needs.
EVALUATION_S, FOR_S, GROUP_WAIT_S, ALLOWED_S = 1.0, 3.0, 1.0, 20.0
#: All that is read is judged, at once, and is shown over windows that pass quickly.
MONITOR = {"export__windows": "15s,1m", "ingest__drain_s": "1"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlertStack]:
    """One for all tests of this module; each has a namespace of its own."""
    requires_tool("prometheus", missing_stack(), HOW_TO_GET_PROMETHEUS)
    with AlertStack(tmp_path_factory.mktemp("stack")) as started:
        yield started


async def alarmed(*exporters: MonitorProcess) -> float:
    """When the gauge turned 1 on the first of them (monotonic)."""

    async def is_on() -> bool:
        pages = [await each.metrics() for each in exporters]
        return any(total(page, "rag_drift_alarm") for page in pages)

    await until(is_on, "rag_drift_alarm 1", every_s=0.02)
    return time.monotonic()


async def test_an_incident_is_one_page_with_what_changed_and_then_resolved(
    kafka_broker: RunningBroker,
    make_topics: MakeTopics,
    tmp_path: Path,
    stack: AlertStack,
) -> None:
    """Of two exporters, in time, with the alarm record's own sentence; its end is told, too."""
    planted = Stage(kafka_broker.bootstrap, await make_topics(), tmp_path)
    await planted.judged(USUAL)
    pair = [planted.exporter(), planted.exporter()]
    try:
        for each in pair:
            await each.ready()
        await scraped(stack, "incident", *pair)
        await planted.judged(INCIDENT)
        since = await alarmed(*pair)
        page = await heard(stack, "page", "RagQualityDrift", namespace="incident")
        print(f"from rag_drift_alarm to the page: {page.at - since:.2f} s")
        assert page.at - since <= EVALUATION_S + FOR_S + GROUP_WAIT_S + ALLOWED_S
        # A pair that looks at the same moment may write it twice.
        opened = [one for one in await planted.alarms() if one.state == "open"]
        (alert,) = page.notification.alerts
        assert alert.summary in {headline(one) for one in opened}
        assert alert.description.partition("; judge ")[0] in {details(one) for one in opened}
        assert alert.runbook_url.endswith("/RagQualityDrift.md")
        assert {"instance", "pod"}.isdisjoint(alert.labels)

        await planted.judged(OVER)
        await resolved(stack, "page", "RagQualityDrift", namespace="incident")
        told = [each.notification.status for each in stack.heard("page", namespace="incident")]
        assert told == ["firing", "resolved"]
    finally:
        await asyncio.gather(*(each.end() for each in pair))


@asynccontextmanager
async def traffic(broker: str, topic: str, **fields: Any) -> AsyncIterator[None]:
    """Twenty interactions a second that differ in their ids only."""

    over = asyncio.Event()

    async def send() -> None:
        for batch in itertools.takewhile(lambda _: not over.is_set(), itertools.count()):
            names = [f"{batch}-{number}-{time.time()}" for number in range(10)]
            await produce(broker, topic, [Record(encoded(interaction(n, **fields))) for n in names])
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), 0.5)

    async with asyncio.TaskGroup() as group:
        group.create_task(send())
        try:
            yield
        finally:
            over.set()


async def scored(stack: AlertStack, namespace: str) -> None:
    """Wait until Prometheus has seen a gauge of quality, and scores becoming more.

    A counter that is seen first with its last value has never increased, as far as it can tell.
    """
    query = f'rag_score{{namespace="{namespace}",window="15s"}}'
    await until(lambda: stack.query(query), "a score in Prometheus")
    counter = f'rag_monitor_interactions_total{{namespace="{namespace}",outcome="scored"}}'
    await until(lambda: stack.query(f"increase({counter}[1m]) > 0"), "more scores in Prometheus")


async def test_traffic_that_stops_is_no_page(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, stack: AlertStack
) -> None:
    """The gauges disappear, and that nothing comes in is told for information; nothing else is."""
    topics, broker = await make_topics(), kafka_broker.bootstrap
    monitor = MonitorProcess("run", broker, tmp_path, "monitor", **topics, **MONITOR)
    gauge = 'rag_score{namespace="quiet",window="15s"}'
    samples = 'rag_score_samples{namespace="quiet",window="15s"}'
    trouble = 'ALERTS{namespace="quiet",severity!="info"}'
    try:
        await monitor.ready()
        await scraped(stack, "quiet", monitor)
        async with traffic(broker, topics["kafka__topics__interactions"]):
            await scored(stack, "quiet")
            await until(lambda: not stack.query(trouble), "no trouble of a slow start any more")
        stopped = time.monotonic()
        await until(lambda: not stack.query(gauge), "the gauges are gone")
        assert {each["value"][1] for each in stack.query(samples)} == {"0"}
        told = await heard(stack, "info", "RagMonitorNoTraffic", namespace="quiet")
        assert told.notification.alerts[0].labels["topic"] == topics["kafka__topics__interactions"]
        names = {
            name
            for each in stack.heard(namespace="quiet")
            if each.at > stopped and each.notification.is_firing
            for name in each.notification.names()
        }
        assert names == {"RagMonitorNoTraffic"}
        assert stack.query(trouble) == []
    finally:
        await monitor.end()


async def test_traffic_without_scores_is_blind(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, stack: AlertStack
) -> None:
    """An application that begins to redact its answers pages; with scores again it is over."""
    topics, broker = await make_topics(), kafka_broker.bootstrap
    monitor = MonitorProcess("run", broker, tmp_path, "monitor", **topics, **MONITOR)
    topic = topics["kafka__topics__interactions"]
    try:
        await monitor.ready()
        await scraped(stack, "blind", monitor)
        async with traffic(broker, topic):
            await scored(stack, "blind")
        async with traffic(broker, topic, response="__REDACTED__"):
            page = await heard(stack, "page", "RagMonitorBlind", namespace="blind")
            assert "there is none" in page.notification.alerts[0].description
            await heard(stack, "ticket", "RagMonitorUnscorable", namespace="blind")
        async with traffic(broker, topic):
            await resolved(stack, "page", "RagMonitorBlind", namespace="blind")
        pages = stack.heard("page", namespace="blind")
        assert {name for each in pages for name in each.notification.names()} == {"RagMonitorBlind"}
    finally:
        await monitor.end()


async def test_a_killed_scorer_is_seen_by_its_lag(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, stack: AlertStack
) -> None:
    """Its backlog pages; that scores stop, too, is the same incident, and silent from then on."""
    topics, broker = await make_topics(), kafka_broker.bootstrap
    scorer, exporter = (
        MonitorProcess(role, broker, tmp_path, role, **topics, **MONITOR)
        for role in ("score", "export")
    )
    try:
        await asyncio.gather(scorer.ready(), exporter.ready())
        await scraped(stack, "killed", scorer, exporter)
        async with traffic(broker, topics["kafka__topics__interactions"]):
            await scored(stack, "killed")
            scorer.kill()
            page = await heard(stack, "page", "RagMonitorLagging", namespace="killed")
            assert page.notification.alerts[0].labels["seen_by"] == "exporter"
            await heard(stack, "ticket", "RagMonitorDown", namespace="killed")
            blind = {"alertname": "RagMonitorBlind", "namespace": "killed"}
            await until(lambda: stack.inhibited(**blind), "no scores, which is not told")
        pages = stack.heard("page", namespace="killed")
        # At this pace two seconds lie between the two: a busy machine may see the other one first.
        told = {name for each in pages for name in each.notification.names()}
        assert told <= {"RagMonitorLagging", "RagMonitorBlind"}
    finally:
        await asyncio.gather(scorer.end(), exporter.end())


async def test_a_judge_that_is_away_does_not_also_page_as_not_ready(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, stack: AlertStack
) -> None:
    """That no process is ready meanwhile follows from it, and is the same incident."""
    topics, broker = await make_topics(), kafka_broker.bootstrap
    (nobody,) = free_ports(1)
    judge = {
        "judge__kind": "llm",
        "judge__model": "openai/judge",
        "judge__api_base": f"http://127.0.0.1:{nobody}",
        "judge__api_key": "none",
    }
    monitor = MonitorProcess("run", broker, tmp_path, "monitor", **topics, **MONITOR, **judge)
    try:
        await monitor.ready()
        await scraped(stack, "away", monitor)
        async with traffic(broker, topics["kafka__topics__interactions"]):
            page = await heard(stack, "page", "RagMonitorJudgeStopped", namespace="away")
            assert page.notification.alerts[0].labels["state"] == "circuit_open"
            down = {"alertname": "RagMonitorDown", "namespace": "away"}
            await until(lambda: stack.inhibited(**down), "not ready, which is not told")
        pages = stack.heard("page", namespace="away")
        assert not [each for each in pages if "RagMonitorDown" in each.notification.names()]
    finally:
        await monitor.end()
