"""Reading a page back: what was exported is what is read."""

from __future__ import annotations

import aiohttp
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.scrape import read, scrape
from monitor.exporter.serve.scraped import DriftReading, Gauge, Learning, ScrapedPage
from monitor.records import Outcome, Reason, ScoreRecord
from monitor.scorer.ledger import Ledger
from monitor.telemetry import ExporterTelemetry, ScorerTelemetry
from tests.stages.properties import costly
from tests.stages.score_records import FIRST, PERIOD, START, WINDOWS, pools, record

PAGE = """\
rag_score{metric="faithfulness",window="10s",application="bot",judge="j"} 0.5
rag_score_lower{metric="faithfulness",window="10s",application="bot",judge="j"} 0.25
rag_score_upper{metric="faithfulness",window="10s",application="bot",judge="j"} 0.75
rag_score_samples{metric="faithfulness",window="10s",application="bot",judge="j"} 4.0
rag_score_samples{metric="faithfulness",window="40s",application="bot",judge="j"} 0.0
"""


def test_a_window_without_a_mean_is_read_as_none() -> None:
    """Absent stays absent; the number of samples is there."""
    assert read(PAGE).gauges == {
        ("faithfulness", "10s"): Gauge(0.5, 0.25, 0.75, 4.0),
        ("faithfulness", "40s"): Gauge(None, None, None, 0.0),
    }


def test_an_empty_page_is_all_zero() -> None:
    """Before anything was counted."""
    assert read("") == ScrapedPage({}, {}, 0, 0, 0)


@costly
@given(pools(directed=False), st.floats(0, 100))
def test_estimates_survive_the_page(pool: list[ScoreRecord], now: float) -> None:
    """To the bit, for one application and one judge."""
    aggregator, registry = ScoreAggregator(WINDOWS, PERIOD), CollectorRegistry()
    for each in pool:
        alone = each.model_copy(update={"application": "bot", "judge": FIRST})
        aggregator.add(alone, alone.to_json())
    registry.register(QualityCollector(aggregator, lambda: START + now, lambda: True))
    found = read(generate_latest(registry).decode()).gauges
    assert found == {
        (s.key.metric, s.window): Gauge(
            s.estimate.value, s.estimate.lower, s.estimate.upper, s.estimate.samples
        )
        for s in aggregator.estimates()
    }


def test_evidence_is_read_with_its_threshold() -> None:
    """Of a detector without a slot there is a threshold and no evidence."""
    page = """\
rag_score_baseline{metric="faithfulness",application="bot",judge="j"} 0.93
rag_drift_evidence{metric="faithfulness",application="bot",judge="j"} 8.1
rag_drift_threshold{metric="faithfulness",application="bot",judge="j"} 7.56
rag_drift_alarm{metric="faithfulness",application="bot",judge="j",direction="worse"} 1.0
rag_score_baseline{metric="hallucination",application="bot",judge="j"} 0.05
rag_drift_threshold{metric="hallucination",application="bot",judge="j"} 7.56
rag_drift_alarm{metric="hallucination",application="bot",judge="j",direction="worse"} 0.0
"""
    assert read(page).watched == {
        "faithfulness": DriftReading(8.1, 7.56, 0.93, True),
        "hallucination": DriftReading(None, 7.56, 0.05, False),
    }
    assert read(page).gauges == {}


def test_learning_is_read_with_what_it_takes() -> None:
    """Unknown at first; over when no application and judge learns any more."""
    registry = CollectorRegistry()
    telemetry = ExporterTelemetry(registry)

    def learning() -> Learning | None:
        return read(generate_latest(registry).decode()).learning

    assert learning() is None
    telemetry.baseline_needed.set(200)
    assert learning() == Learning(0, 200, False)
    telemetry.baseline_learning.labels("bot", "j").set(1)
    telemetry.baseline_slots.labels("bot", "j").set(120)
    assert learning() == Learning(120, 200, False)
    telemetry.baseline_learning.labels("bot", "j").set(0)
    telemetry.baseline_slots.labels("bot", "j").set(200)
    assert learning() == Learning(200, 200, True)


def test_the_counts_of_a_page() -> None:
    """Consumed, in flight, outcomes with their reasons, and score records of every result."""
    registry = CollectorRegistry()
    ledger = Ledger(ScorerTelemetry(registry))
    for _ in range(5):
        ledger.consume()
    ledger.settle(Outcome.SCORED, None)
    ledger.settle(Outcome.NOT_SAMPLED, Reason.HASH)
    ledger.settle(Outcome.NOT_SAMPLED, Reason.HASH)
    exporter = ExporterTelemetry(registry)
    exporter.records.labels("read").inc(3)
    exporter.records.labels("malformed").inc()
    page = read(generate_latest(registry).decode())
    assert (page.consumed, page.in_flight, page.records_read) == (5, 2, 4)
    assert page.outcomes == {("scored", ""): 1, ("not_sampled", "hash"): 2}


async def serve(status: int) -> tuple[web.AppRunner, str]:
    """A server that answers with the page above and a status."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=PAGE, status=status)

    app = web.Application()
    app.router.add_get("/metrics", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}/metrics"


async def test_a_page_is_fetched() -> None:
    """As Prometheus would do it."""
    runner, url = await serve(200)
    try:
        assert await scrape(url) == read(PAGE)
    finally:
        await runner.cleanup()


async def test_an_error_is_no_page() -> None:
    """Neither a status that says no, nor a server that is not there."""
    runner, url = await serve(503)
    try:
        with pytest.raises(aiohttp.ClientResponseError):
            await scrape(url)
    finally:
        await runner.cleanup()
    with pytest.raises(aiohttp.ClientConnectorError):
        await scrape(url)


def test_a_record_makes_the_page_of_one_interaction() -> None:
    """The smallest case, by hand: one faithful answer, Wilson's interval for 1 of 1."""
    aggregator, registry = ScoreAggregator(WINDOWS, PERIOD), CollectorRegistry()
    aggregator.add(record("1", 0.0), record("1", 0.0).to_json())
    registry.register(QualityCollector(aggregator, lambda: float(START), lambda: True))
    gauge = read(generate_latest(registry).decode()).gauges["faithfulness", "10s"]
    assert (gauge.value, gauge.upper, gauge.samples) == (1.0, 1.0, 1.0)
    assert gauge.lower == pytest.approx(1 / (1 + 1.959963984540054**2))
