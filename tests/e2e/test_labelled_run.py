"""1,000 labelled interactions over Kafka and HTTP: the gauges against a batch computation."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce
from tests.stages.labelled import METRICS, Case, all_labels, as_logged, batch, case
from tests.stages.process import MonitorProcess, Samples, asking, outcomes, total, until
from tests.stages.topics import MakeTopics

COUNT, TOGETHER = 1_000, 125
HOUR = 3_600
#: Window → (youngest, oldest) age of the event times put into it, far from its edges.
AGES = {"1h": (600, 2_400), "6h": (2 * HOUR, 5 * HOUR), "24h": (7 * HOUR, 22 * HOUR)}


def labelled_cases(now: float) -> dict[str, list[Case]]:
    """Cases by the narrowest window that holds them."""
    rng = Random(20261121)
    cases: dict[str, list[Case]] = {window: [] for window in AGES}
    for i in range(COUNT):
        window = list(AGES)[i % len(AGES)]
        event_time = now - rng.uniform(*AGES[window])
        cases[window].append(case(f"i{i:05d}", rng, event_time, together=i < TOGETHER))
    return cases


async def test_every_gauge_equals_the_batch_computation(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """All five families over three windows equal the labels' own numbers to 1e-9."""
    cases = labelled_cases(time.time())
    everything = [one for group in cases.values() for one in group]
    topics = await make_topics()
    async with JudgeServer(all_labels(everything)) as judge:
        monitor = MonitorProcess(
            "run",
            kafka_broker.bootstrap,
            tmp_path,
            "monitor",
            **asking(
                judge,
                judge__model="judge",
                judge__concurrency=32,
                export__windows=",".join(AGES),
                **topics,
            ),
        )
        try:
            await monitor.ready()
            inputs = topics["kafka__topics__interactions"]
            await produce(kafka_broker.bootstrap, inputs, as_logged(everything))
            samples = await until(lambda: _finished(monitor), f"{COUNT} read")
        finally:
            await monitor.end()
    unscorable = sum(not any(v is not None for v in one.scores().values()) for one in everything)
    assert outcomes(samples) == {"scored": COUNT - unscorable} | (
        {"unscorable": unscorable} if unscorable else {}
    )
    _compare(samples, cases)


async def _finished(monitor: MonitorProcess) -> Samples | None:
    samples = await monitor.metrics()
    done = total(samples, "rag_monitor_score_records_total", result="read") == COUNT
    return samples if done and not total(samples, "rag_monitor_interactions_in_flight") else None


def _compare(samples: Samples, cases: dict[str, list[Case]]) -> None:
    compared = 0
    picks = {
        metric: [[x for one in group for x in one.picks(metric)] for group in cases.values()]
        for metric in METRICS
    }
    for metric in METRICS:
        horizon = [x for group in picks[metric] for x in group]
        for i, window in enumerate(cases):
            inside = [x for group in picks[metric][: i + 1] for x in group]
            expected = batch(inside, horizon)
            labels = {"metric": metric, "window": window, "application": "labelled"}
            found = {
                name: total(samples, name, **labels)
                for name in ("rag_score", "rag_score_lower", "rag_score_upper", "rag_score_samples")
            }
            assert found == pytest.approx(
                {
                    "rag_score": expected.value,
                    "rag_score_lower": expected.lower,
                    "rag_score_upper": expected.upper,
                    "rag_score_samples": expected.samples,
                },
                abs=1e-9,
            ), (metric, window)
            assert total(samples, "rag_score_missing_ratio", **labels) == 0
            compared += len(found)
    assert compared == 60
