"""The quality families on the page: values where there are any, and families always."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import choose_encoder
from prometheus_client.parser import text_string_to_metric_families

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.learning import Learner, LearningSettings
from monitor.exporter.from_file import gauges
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings
from monitor.exporter.serve.collector import FAMILIES, QualityCollector
from monitor.exporter.serve.pages import Pages
from monitor.records import Outcome, ScoreRecord, UnscoredMark
from monitor.stats.baseline import NOTHING
from tests.stages import batch
from tests.stages.properties import costly
from tests.stages.score_records import (
    FIRST,
    PERIOD,
    SECOND,
    START,
    WINDOWS,
    any_records,
    pools,
    record,
)

Samples = dict[tuple[str, str, str, str, str], float]
ALL = {*FAMILIES, "rag_judge_info"}


class Scene:
    """A book behind a collector, with a clock that is moved by hand."""

    def __init__(self, records: list[ScoreRecord], seconds: float, *, ready: bool = True) -> None:
        self.seconds, self.ready = seconds, ready
        self.registry = CollectorRegistry()
        self.aggregator = ScoreAggregator(WINDOWS, PERIOD)
        for each in records:
            self.aggregator.add(each, each.to_json())
        self.registry.register(
            QualityCollector(self.aggregator, lambda: START + self.seconds, lambda: self.ready)
        )

    def page(self) -> str:
        """One scrape."""
        return generate_latest(self.registry).decode()

    def samples(self) -> Samples:
        """(Family, metric, window, application, judge) → value."""
        return read(self.page())


def read(page: str) -> Samples:
    """The quality gauges of a page; a sample that is there twice is an error."""
    samples: Samples = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if sample.name not in FAMILIES:
                continue
            labels = [sample.labels[k] for k in ("metric", "window", "application", "judge")]
            key = (sample.name, labels[0], labels[1], labels[2], labels[3])
            assert key not in samples
            assert len(sample.labels) == 4
            samples[key] = sample.value
    return samples


def types(page: str) -> set[str]:
    """The families that are declared."""
    return {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE")}


def of_window(samples: Samples, window: str) -> dict[str, float]:
    """Family → value of a window, for a page with one series."""
    return {key[0]: value for key, value in samples.items() if key[2] == window}


@costly
@given(pools(directed=False), st.floats(0, 260))
def test_the_page_is_the_batch_computation(pool: list[ScoreRecord], now: float) -> None:
    """Exactly the values that exist, under their labels, and 0 samples for every other window."""
    expected: dict[tuple[str, ...], float] = {}
    for series, found in batch.gauges(pool, START + now, WINDOWS, PERIOD).items():
        for name, value in zip(FAMILIES, found[:5], strict=True):
            if value is not None:
                expected[name, *series] = value
    samples = Scene(pool, now).samples()
    assert samples.keys() == expected.keys()
    assert all(abs(samples[key] - value) < 1e-9 for key, value in samples.items())


@costly
@given(pools(directed=True), st.floats(0, 100), st.text(max_size=5))
def test_what_is_served_is_what_the_client_library_writes(
    pool: list[ScoreRecord], now: float, name: str
) -> None:
    """In both formats, line by line, whatever names hold; and again when all of it is known."""
    scene = Scene([*pool, record("99", 0.0, application=f'"{name}\\n')], now)
    registry = CollectorRegistry()
    served = QualityCollector(scene.aggregator, lambda: START + scene.seconds, lambda: True)
    # No page is dear: one that is would be given again after the ten seconds below.
    pages = Pages(registry, cpu=lambda: 0.0)
    pages.with_part(served, asyncio.Lock())

    async def page(accept: str) -> bytes:
        return (await pages.page(accept, zipped=False)).body

    for _ in range(2):
        for accept in ("text/plain", "application/openmetrics-text;version=1.0.0"):
            encode, _ = choose_encoder(accept)
            body = asyncio.run(page(accept))
            assert sorted(body.splitlines()) == sorted(encode(scene.registry).splitlines())
            assert body.endswith(b"# EOF\n") == accept.startswith("application")
        scene.seconds += 10
    pages.close()


def test_a_window_without_scores_has_no_mean_and_no_samples() -> None:
    """Time alone drains it, with no record and no call in between: no NaN, no last value."""
    scene = Scene([record("1", 0.0, 0.5)], 0.0)
    assert of_window(scene.samples(), "10s")["rag_score"] == 0.5
    scene.seconds = 10.0
    samples = scene.samples()
    assert of_window(samples, "10s") == {"rag_score_samples": 0.0}
    assert of_window(samples, "40s")["rag_score"] == 0.5
    assert "nan" not in scene.page().lower()


def test_a_window_of_failures_has_a_missing_ratio_and_no_mean() -> None:
    """All failed is 1, none failed is 0, and no picks is neither."""
    failed = record("1", 0.0, scores={}, outcome=Outcome.JUDGE_FAILED)
    samples = Scene([failed], 15.0).samples()
    assert of_window(samples, "40s").keys() == {"rag_score_samples", "rag_score_missing_ratio"}
    assert {v for k, v in samples.items() if k[0] == "rag_score_missing_ratio"} == {1.0}
    assert of_window(samples, "10s") == {"rag_score_samples": 0.0}


def test_before_it_is_ready_there_are_families_and_no_values() -> None:
    """Half a replay would give half a mean; a rule that looks for the family must still find it."""
    scene = Scene([record("1", 0.0)], 0.0, ready=False)
    page = scene.page()
    assert types(page) >= ALL
    assert read(page) == {}
    assert not [line for line in page.splitlines() if line.startswith("rag_judge_info")]
    assert "rag_monitor_series 0.0" in page
    scene.ready = True
    assert scene.samples()


def test_the_families_are_declared_without_any_record() -> None:
    """All are gauges."""
    page = Scene([], 0.0).page()
    for name in ALL:
        assert f"# TYPE {name} gauge" in page
        assert f"# HELP {name} " in page


def test_the_judges_of_the_horizon_are_named() -> None:
    """One series each, with model, prompts and pipeline, as long as their records count."""
    scene = Scene([record("1", 0.0), record("2", 61.0, judge=SECOND)], 61.0)
    line = 'rag_judge_info{{judge="{0}",model="lexical",pipeline="screen",prompts="p"}} 1.0'
    assert line.format(FIRST.label) in scene.page()
    assert line.format(SECOND.label) in scene.page()
    scene.seconds = 120.0
    assert line.format(FIRST.label) not in scene.page()
    assert line.format(SECOND.label) in scene.page()


def test_the_series_are_counted() -> None:
    """``rag_monitor_series`` is the number of quality samples of the very page it stands on."""
    scene = Scene([record("1", 0.0)], 0.0)
    page = scene.page()
    assert len(read(page)) == 10
    assert "rag_monitor_series 10.0" in page
    scene.seconds = 10.0
    assert "rag_monitor_series 6.0" in scene.page()


@costly
@given(st.lists(any_records(directed=True), max_size=10), st.floats(0, 260))
def test_a_file_gives_the_page_of_the_running_exporter(pool: list[ScoreRecord], now: float) -> None:
    """The same lines in another order, with blank ones between, as of the same time."""
    lines = [b"", *[b"  " + each.to_json() + b"\r\n" for each in reversed(pool)], b"\n"]
    nothing = DriftSettings((), 1.0, None, NOTHING, PERIOD, 2)
    baselines = Baselines(DriftDetectors(nothing), Learner(LearningSettings(10, 2)))
    page = gauges(ScoreAggregator(WINDOWS, PERIOD), baselines, lines, START + now)
    assert read(page) == Scene(pool, now).samples()


def test_labels_from_the_traffic_are_escaped() -> None:
    """An application may be called anything."""
    name = 'a"b\\c\nd中'
    (application,) = {key[3] for key in Scene([record("1", 0.0, application=name)], 0.0).samples()}
    assert application == name


def test_unscored_marks_are_no_values() -> None:
    """A reason is never exported as a number."""
    mark = {"faithfulness": UnscoredMark(unscored="NO_CLAIMS")}
    samples = Scene([record("1", 0.0, scores=mark, outcome=Outcome.UNSCORABLE)], 0.0).samples()
    assert of_window(samples, "10s") == {"rag_score_samples": 0.0, "rag_score_missing_ratio": 0.0}
