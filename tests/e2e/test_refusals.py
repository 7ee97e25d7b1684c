"""On a broker: what refuses or retrieves nothing is an alarm after at most sixty interactions."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from monitor.demo.mix import NORMAL
from monitor.demo.traffic import DemoTraffic
from monitor.records.alarm import read_alarm_record
from tests.benchmarks.quiet_weeks import INCIDENTS, Altered, as_usual
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.process import MonitorProcess, Samples, outcomes, total, until
from tests.stages.topics import MakeTopics

LEARN, SENT = 200, 60
QUICK = {
    "drift__learn_slots": str(LEARN),
    "drift__learn_for": "0s",
    "drift__learn_wait": "1s",
    "drift__settle": "1s",
    "export__segment": "tenant",
}


def logged(numbers: range, start: float, altered: Altered) -> list[Record]:
    """The demo's traffic, an interaction a second, as the application logs it."""
    traffic, draw = DemoTraffic(1, lambda _: NORMAL), Random(f"refusals/{numbers.start}")
    return [
        Record(json.dumps(altered(one.json, draw.random())).encode())
        for one in (
            traffic.interaction(number, datetime.fromtimestamp(start + number, UTC))
            for number in numbers
        )
    ]


@pytest.mark.parametrize("name", INCIDENTS)
async def test_it_is_told_after_sixty_at_most(
    name: str, kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """With the shipped metrics and promise; the page and the record name the metric."""
    metric, altered = INCIDENTS[name]
    broker, topics, start = kafka_broker.bootstrap, await make_topics(1), time.time() - 600
    source = topics["kafka__topics__interactions"]
    monitor = MonitorProcess("run", broker, tmp_path, "run", **topics, **QUICK)
    try:
        await monitor.ready()
        await produce(broker, source, logged(range(LEARN + 20), start, as_usual))

        async def shows(series: str, value: float, **labels: str) -> bool:
            return total(await monitor.metrics(), series, **labels) == value

        await until(lambda: shows("rag_monitor_baseline_slots", LEARN), "a baseline")
        beyond = range(LEARN + 20, LEARN + 20 + SENT)
        await produce(broker, source, logged(beyond, start, altered))
        await until(lambda: shows("rag_drift_alarm", 1.0, metric=metric), "the alarm")
        read = await until(lambda: read_all(broker, topics["kafka__topics__alarms"]), "its record")
        alarm = read_alarm_record(read[0].key, read[0].value)
        assert (getattr(alarm, "metric", None), getattr(alarm, "state", None)) == (metric, "open")

        async def all_ended() -> Samples | None:
            values = await monitor.metrics()  # the alarm may well open before the last of the sixty
            counts = outcomes(values)
            ended = counts["scored"] + counts["unscorable"] == LEARN + 20 + SENT
            return values if ended else None

        values = await until(all_ended, "an outcome of all")
        counts = outcomes(values)
        picked = {
            outcome: total(values, "rag_monitor_picks_total", outcome=outcome)
            for outcome in ("scored", "unscorable")
        }
        assert picked == {outcome: counts[outcome] for outcome in picked}
    finally:
        await monitor.end()
