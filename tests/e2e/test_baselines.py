"""Baselines and drift on a real broker: learned, published once, the same everywhere."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from monitor.app.process import Monitor
from monitor.config import load
from monitor.records.control import BaselineRecord, DayRecord, MetricBaseline, baseline_key
from monitor.stats.period import DAY_S
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, create_topic, produce, read_all
from tests.stages.baselines import PAIR, QUICK, scored
from tests.stages.command import environ_of, rag_monitor
from tests.stages.process import parsed, total, until
from tests.stages.topics import MakeTopics, Topics

#: Shares of bad answers by the hour: in the morning they are few.
LAW = [0.05] * 12 + [0.15] * 12


@dataclass
class Seen:
    """A running exporter."""

    url: str
    monitor: Monitor

    async def lines(self) -> list[str]:
        """The lines of its page that follow from records, control records and clock."""
        async with aiohttp.ClientSession() as session, session.get(self.url) as answer:
            text = await answer.text()
        return [line for line in text.splitlines() if line.startswith(("rag_score", "rag_drift"))]

    async def value(self, name: str, **labels: str) -> float:
        """The sum of the samples of a name."""
        async with aiohttp.ClientSession() as session, session.get(self.url) as answer:
            return total(parsed(await answer.text()), name, **labels)


@asynccontextmanager
async def exporter(
    broker: str, topics: Topics, clock: Callable[[], float] = time.time
) -> AsyncIterator[Seen]:
    """An exporter that is ready, and whose clock is ``clock``."""
    flags = {key.replace("__", "."): value for key, value in {**topics, **QUICK}.items()}
    settings = load({}, flags={"kafka.bootstrap_servers": broker, "http.port": 0, **flags})
    monitor, stop = Monitor(settings, clock), asyncio.Event()
    running = asyncio.create_task(monitor.run(["export"], stop))
    try:
        await until(lambda: monitor.port and not monitor.shared.health.waiting, "readiness")
        yield Seen(f"http://127.0.0.1:{monitor.port}/metrics", monitor)
    finally:
        stop.set()
        await running


async def baselines(broker: str, topics: Topics) -> list[BaselineRecord]:
    """All that were ever written to the control topic."""
    control = await read_all(broker, topics["kafka__topics__control"])
    records = [each for each in control if (each.key or b"").startswith(b"baseline/")]
    found = [BaselineRecord.model_validate_json(each.value or b"") for each in records]
    assert [each.key for each in records] == [each.key.encode() for each in found]
    return found


async def test_seven_days_on_the_topic_refine_a_baseline(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Whoever comes first writes it once; the day before is written by who has seen it."""
    broker, topics = kafka_broker.bootstrap, await make_topics()
    midnight = int(time.time()) // DAY_S * DAY_S
    at_first = MetricBaseline(mean=0.9, se=0.01, values=1_000)
    learned = BaselineRecord(
        application=PAIR[0],
        judge=PAIR[1],
        origin="learned",
        effective_from=datetime.fromtimestamp(midnight - 8 * DAY_S, UTC),
        slots=1_000,
        metrics={"faithfulness": at_first},
    )
    hours = tuple((40, 40.0, 40 * x, 40.0, 40 * x, 40 * x) for x in LAW)
    days = [
        DayRecord(
            application=PAIR[0],
            judge=PAIR[1],
            day=datetime.fromtimestamp(midnight - number * DAY_S, UTC).date(),
            metrics={"faithfulness": hours},
        )
        for number in range(2, 9)
    ]
    control = [Record(one.to_json(), one.key.encode()) for one in (learned, *days)]
    await produce(broker, topics["kafka__topics__control"], control)
    for _ in range(2):
        async with exporter(broker, topics):

            async def refined() -> bool:
                return len(await baselines(broker, topics)) > 1

            await until(refined, "a refined baseline")
    _, found = await baselines(broker, topics)
    metric = found.metrics["faithfulness"]
    assert (metric.days, metric.first_mean) == (7, None)
    assert metric.mean == pytest.approx(0.9, abs=0.01)
    assert metric.hours[3] == pytest.approx(0.05, abs=0.01)
    assert metric.hours[20] == pytest.approx(-0.05, abs=0.01)
    environ = environ_of(broker, topics)
    end = await asyncio.to_thread(rag_monitor, "baseline", "show", environ=environ)
    assert "hours add -0.04" in end.stdout, end.stderr


async def test_a_baseline_is_learned_published_once_and_the_same_everywhere(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Two exporters and a restarted one serve the same lines; bad scores open the alarm."""
    broker, topics = kafka_broker.bootstrap, await make_topics()
    scores, start = topics["kafka__topics__scores"], time.time() - 1_000
    now = start + 900
    await produce(broker, scores, [scored(i, start + i) for i in range(50)])
    async with exporter(broker, topics, lambda: now) as first:

        async def learning() -> bool:
            return await first.value("rag_monitor_baseline_slots", application="bot") == 50

        await until(learning, "progress")
        assert await first.value("rag_monitor_baseline_learning", judge=PAIR[1]) == 1
        assert await first.value("rag_monitor_baseline_needed") == 60
        assert not [line for line in await first.lines() if line.startswith("rag_drift")]
        await produce(broker, scores, [scored(i, start + i) for i in range(50, 120)])
        await until(lambda: _alarm_is(first, 0), "a baseline")
        async with exporter(broker, topics, lambda: now) as second:
            assert await second.lines() == await first.lines()
            bad = [scored(i, start + i, faithfulness=0.0) for i in range(120, 150)]
            await produce(broker, scores, bad)
            await until(lambda: _alarm_is(first, 1), "an alarm")
            await until(lambda: _read(second, 150), "the second has read it, too")
            # What is told of the alarm goes by its topic, which both have to read.
            await until(lambda: _tells(first, second), "the alarm on both")
            assert await second.lines() == await first.lines()
        lines = await first.lines()
    async with exporter(broker, topics, lambda: now) as again:
        assert await again.lines() == lines
        assert await again.value("rag_monitor_baseline_learning") == 0
        await produce(broker, scores, [scored(150, start + 150)])
        await until(lambda: _read(again, 151), "rounds of its loop in which it could learn")
    (record,) = await baselines(broker, topics)
    assert (record.key, record.origin, record.slots) == (baseline_key(*PAIR), "learned", 60)
    assert record.effective_from.timestamp() == pytest.approx(start + 59, abs=1e-3)
    assert record.metrics["faithfulness"].mean == pytest.approx(0.875)
    assert set(record.metrics["faithfulness"].segments) == {"acme", "zen"}


async def _alarm_is(seen: Seen, value: int) -> bool:
    samples = parsed("\n".join(await seen.lines()) + "\n")
    labels = {
        "metric": "faithfulness",
        "application": PAIR[0],
        "judge": PAIR[1],
        "direction": "worse",
    }
    return samples.get(("rag_drift_alarm", frozenset(labels.items()))) == value


async def _tells(*all_of: Seen) -> bool:
    found = [await one.lines() for one in all_of]
    return all(any(line.startswith("rag_drift_change_info") for line in each) for each in found)


async def _read(seen: Seen, count: int) -> bool:
    return await seen.value("rag_monitor_score_records_total", result="read") == count


async def test_the_control_topic_is_waited_for_and_garbage_on_it_is_counted(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Not ready, and named, until it is there; what is no baseline stops nobody."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=1)
    topics["kafka__topics__control"] += "-later"
    name = topics["kafka__topics__control"]

    async def arrives() -> None:
        await create_topic(broker, name, config={"cleanup.policy": "compact"})
        await produce(
            broker, name, [Record(b"{}", baseline_key(*PAIR).encode()), Record(b"{}", b"other/x")]
        )

    flags = {key.replace("__", "."): value for key, value in {**topics, **QUICK}.items()}
    settings = load({}, flags={"kafka.bootstrap_servers": broker, "http.port": 0, **flags})
    monitor, stop = Monitor(settings), asyncio.Event()
    running = asyncio.create_task(monitor.run(["export"], stop))
    try:
        await until(lambda: name in str(monitor.shared.health.waiting), "the topic's name")
        await until(lambda: "exporter" not in monitor.shared.health.waiting, "scores")
        assert monitor.shared.health.waiting
        await arrives()
        await until(lambda: not monitor.shared.health.waiting, "readiness")
        seen = Seen(f"http://127.0.0.1:{monitor.port}/metrics", monitor)

        async def counted() -> bool:
            found = [
                await seen.value("rag_monitor_control_records_total", result=result)
                for result in ("malformed", "other_kind")
            ]
            return found == [1, 1]

        await until(counted, "both were counted")
    finally:
        stop.set()
        await running


async def command(broker: str, topics: Topics, *arguments: str, code: int = 0) -> tuple[str, str]:
    """What ``rag-monitor baseline …`` prints on stdout and stderr."""
    environ = environ_of(broker, {**topics, **QUICK})
    ended = await asyncio.to_thread(rag_monitor, "baseline", *arguments, environ=environ)
    assert ended.returncode == code, ended.stderr
    return ended.stdout, ended.stderr


async def shown(broker: str, topics: Topics) -> Any:
    """The only row of ``baseline show``."""
    (row,) = json.loads((await command(broker, topics, "show", "--json"))[0])
    return row


async def test_baselines_are_shown_set_frozen_and_reset(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Each command writes one record, which holds on every exporter; show tells them all."""
    broker, topics = kafka_broker.bootstrap, await make_topics()
    out, errors = await command(broker, topics, "show")
    assert (out, errors) == ("", "nothing is known yet: no scores, no baselines\n")
    await command(broker, topics, "freeze", code=1)
    await command(broker, topics, "reset", code=1)
    start = time.time() - 500
    sent = [scored(i, start + i, faithfulness=0.25 if i < 40 else 0.75) for i in range(100)]
    await produce(broker, topics["kafka__topics__scores"], sent[:30])
    row = await shown(broker, topics)
    assert (row["application"], row["judge"], row["learning"]) == (*PAIR, True)
    assert (row["slots"], row["needed"], row["origin"]) == (30, 60, None)
    assert row["without"]["faithfulness"]["values"] == 30
    out, errors = await command(broker, topics, "freeze", code=1)
    assert "not frozen: 30 scored slots, and no metric with 60 values yet" in errors
    assert (out, await baselines(broker, topics)) == ("", [])

    await produce(broker, topics["kafka__topics__scores"], sent[30:])
    await command(broker, topics, "freeze", "--application", "shop", code=1)
    out, errors = await command(broker, topics, "freeze")
    assert "frozen from 60 slots" in out
    assert "other hours" not in errors  # drift.learn_for is 0: nobody asks for a day
    assert "UNSTEADY" not in errors
    row = await shown(broker, topics)
    assert (row["origin"], row["slots"], row["learning"]) == ("frozen", 60, False)
    assert row["metrics"]["faithfulness"]["mean"] == pytest.approx(0.75)

    out, errors = await command(broker, topics, "set", *PAIR, "faithfulness=0.9", "hallucination=0")
    assert "noise_sensitivity_relevant" in errors  # it has none: no interaction had a value
    row = await shown(broker, topics)
    found = row["metrics"]["faithfulness"]
    assert (found["origin"], found["mean"], found["se"], found["segments"]) == ("set", 0.9, 0, {})
    assert row["metrics"]["noise_sensitivity_irrelevant"]["mean"] == 0
    async with exporter(broker, topics) as seen:
        assert await seen.value("rag_score_baseline", metric="faithfulness") == pytest.approx(0.89)
        await command(broker, topics, "reset", "--application", "bot")

        async def learning() -> bool:
            return await seen.value("rag_monitor_baseline_learning") == 1

        await until(learning, "learning anew")
    row = await shown(broker, topics)
    assert (row["origin"], row["learning"], row["slots"], row["metrics"]) == ("reset", True, 0, {})
    _, changed, anew = written = await baselines(broker, topics)
    assert [each.origin for each in written] == ["frozen", "frozen", "learned"]
    origins = {name: metric.origin for name, metric in changed.metrics.items()}
    assert origins == {
        "faithfulness": "set",
        "hallucination": "set",
        "noise_sensitivity_irrelevant": "frozen",
    }
    assert anew.metrics == {}
    assert "learning: 0 of 60" in (await command(broker, topics, "show"))[0]


async def test_what_cannot_be_done_is_said_in_one_line(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Usage ends in 2; a missing topic, and a broker that does not answer in time, in 3."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=1)
    for arguments, message in (
        (["set", "bot", "offline", "faithfulness=1"], "expected name@version"),
        (["set", *PAIR, "faith=1"], "expected METRIC=MEAN of faithfulness"),
        (["set", *PAIR, "faithfulness=2"], "faithfulness: found '2', expected a number"),
    ):
        _, errors = await command(broker, topics, *arguments, code=2)
        assert message in errors
        assert errors.count("\n") == 1
    nowhere = {**topics, "kafka__topics__control": "nowhere"}
    for arguments in (["show"], ["set", *PAIR, "faithfulness=1"]):
        _, errors = await command(broker, nowhere, *arguments, code=3)
        assert "there is no topic nowhere" in errors
    _, errors = await command("127.0.0.1:1", topics, "show", "--timeout", "2", code=3)
    assert "reading was not done within 2 s" in errors
