"""What is computed of the aggregates is what stands on the page that is served of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from monitor.app.scores import Aggregators
from monitor.exporter.baselines.baselines import control_state
from monitor.exporter.baselines.schedule import show
from monitor.exporter.computed import pages_of
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.scrape import read_process
from monitor.exporter.serve.scraped import PageOwner, ScrapedPage
from monitor.records import ScoreRecord
from monitor.telemetry import ExporterTelemetry
from tests.stages.folding import APPLICATIONS, read, records
from tests.stages.properties import costly
from tests.stages.score_records import FIRST, START, record


def served(found: Aggregators, now: float) -> dict[PageOwner, ScrapedPage]:
    """By way of the text of a page."""
    registry = CollectorRegistry()
    show(found.baselines, found.scores, ExporterTelemetry(registry))
    registry.register(QualityCollector(found.scores, lambda: now, lambda: True))
    return dict(read_process(generate_latest(registry).decode()).pairs)


def learn(found: Aggregators, now: float) -> None:
    """Baselines that are due are learned, and hold."""
    state = control_state(found.baselines)
    for each in found.baselines.learn(found.scores.training_slots, now):
        state.apply(each.key.encode(), each.to_json())


@costly
@given(records(), st.integers(0, 260))
def test_it_is_what_the_page_says(pool: list[ScoreRecord], moment: int) -> None:
    """Values, intervals, evidence and learning; also of those without a name of their own."""
    found = read(pool, moment)
    learn(found, START + moment)
    computed = pages_of(found.scores, found.baselines, START + moment)
    assert computed == served(found, START + moment)


def test_names_evidence_and_learning_are_there() -> None:
    """What the above compares is not nothing."""
    pool = [
        record(str(number), number, application=APPLICATIONS[number % 8], judge=FIRST)
        for number in range(40)
    ]
    found = read(pool, 60)
    learn(found, START + 60)
    pages = pages_of(found.scores, found.baselines, START + 60)
    owners = {owner.application for owner in pages}
    assert "other" in owners
    assert len(owners) > 1
    assert any(page.watched for page in pages.values())
    assert {page.learning.is_over for page in pages.values() if page.learning} == {True, False}
    assert any(gauge.value for page in pages.values() for gauge in page.gauges.values())
