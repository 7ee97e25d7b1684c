"""That the day's money is gone is told by the shipped rules, and is over on the next day."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random

import pytest

from monitor.rules.render import rendered
from tests.servers.alert_stack import (
    HOW_TO_GET_PROMETHEUS,
    AlertStack,
    missing_stack,
    paced_settings,
)
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import committed, produce, read_all
from tests.stages.alerting import heard, resolved, scraped
from tests.stages.budget import BUDGET, PRICES, clocked_by, noon_zone
from tests.stages.clocked import set_to
from tests.stages.labelled import Case, all_labels, as_logged, case
from tests.stages.process import MonitorProcess, asking, outcomes, total, until
from tests.stages.topics import MakeTopics
from tests.tools import requires_tool

ALERT = "RagMonitorBudgetExhausted"


@pytest.fixture
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlertStack]:
    """The shipped rules and routes at the demo's pace; what is over is told soon."""
    requires_tool("prometheus", missing_stack(), HOW_TO_GET_PROMETHEUS)
    rules = rendered(paced_settings(alerts__keep_firing={ALERT: "2s"}))
    with AlertStack(tmp_path_factory.mktemp("stack"), rules) as started:
        yield started


@asynccontextmanager
async def dripping(broker: str, topic: str, cases: Iterator[Case]) -> AsyncIterator[None]:
    """Two interactions a second; all that were begun are written at the end."""
    over = asyncio.Event()

    async def drip() -> None:
        while not over.is_set():
            await produce(broker, topic, as_logged([next(cases)]))
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), 0.5)

    async with asyncio.TaskGroup() as group:
        group.create_task(drip())
        try:
            yield
        finally:
            over.set()


async def test_the_money_is_gone_until_tomorrow(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, stack: AlertStack
) -> None:
    """A ticket with the reason, which a restart does not end; with new money it is resolved."""
    rng, broker, topics = Random(8), kafka_broker.bootstrap, await make_topics(partitions=2)
    cases = [case(f"m{i:03d}", rng, time.time() - 60, together=True) for i in range(1_000)]
    today, tomorrow = iter(cases[4:]), cases[:4]
    inputs, clock, now = topics["kafka__topics__interactions"], tmp_path / "clock", time.time()
    set_to(clock, now)

    def scorer(name: str, judge: JudgeServer) -> MonitorProcess:
        day = {"limits__usd_per_day": BUDGET, "budget__timezone": noon_zone(now)}
        settings = asking(judge, **day, **PRICES, **topics)
        return MonitorProcess(
            "score", broker, tmp_path, name, module="tests.stages.clocked", **settings
        )

    with clocked_by(clock):
        async with JudgeServer(all_labels(cases)) as judge:
            first = scorer("first", judge)
            try:
                await first.ready()
                await scraped(stack, "money", first)
                async with dripping(broker, inputs, today):
                    told = await heard(stack, "ticket", ALERT, namespace="money")
            finally:
                await first.end()
            asked = len(judge.log)
            second = scorer("second", judge)
            try:
                await second.ready()
                await scraped(stack, "money", second)
                seen = len(stack.heard("ticket", alertname=ALERT))
                async with dripping(broker, inputs, today):
                    await until(lambda: _over_budget(second, 6), "more of it")
                    fires = f'ALERTS{{alertname="{ALERT}",alertstate="firing"}}'
                    await until(lambda: stack.query(fires), "an alert that fires")
                assert len(judge.log) == asked, "nobody is asked when the money is gone"
                again = stack.heard("ticket", alertname=ALERT)[seen:]
                assert all(each.notification.is_firing for each in again)
                await until(lambda: _all_ended(broker, topics), "what was sent has ended")
                assert set(outcomes(await second.metrics())) == {"over_budget"}
                set_to(clock, now + 86_400)
                await produce(broker, inputs, as_logged(tomorrow))
                await until(lambda: _scored(second, 4), "what came on the next day is judged")
                await resolved(stack, "ticket", ALERT, namespace="money")
            finally:
                await second.end()
    (alert,) = told.notification.alerts
    assert alert.labels["cause"] == "left_out"
    assert "usd_per_day" in alert.description
    pages = {name for each in stack.heard("page") for name in each.notification.names()}
    assert pages <= {"RagMonitorDown"}, "there is no exporter here; nothing else is a page"


async def _all_ended(broker: str, topics: dict[str, str]) -> bool:
    """Whether everything that was written has been read, and its end counted and committed.

    Not by the scorer's own lag, which it does not look up at every moment.
    """
    inputs = topics["kafka__topics__interactions"]
    marks = await committed(broker, topics["kafka__group_id"], inputs)
    return sum(marks.values()) == len(await read_all(broker, inputs))


async def _over_budget(scorer: MonitorProcess, least: int) -> bool:
    samples = await scorer.metrics()
    found = total(samples, "rag_monitor_interactions_total", outcome="over_budget")
    return found >= least


async def _scored(scorer: MonitorProcess, count: int) -> bool:
    return outcomes(await scorer.metrics()).get("scored", 0) == count
