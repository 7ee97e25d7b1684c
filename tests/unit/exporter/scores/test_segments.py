"""The gauges of the segments: a function of the set of records and the clock."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from monitor.exporter.scores.aggregator import (
    ScoreAggregator,
    SegmentKey,
    SegmentLabels,
    SeriesEstimate,
)
from monitor.exporter.scores.series_count import series_count
from monitor.exporter.serve.collector import SEGMENT_FAMILIES, QualityCollector
from monitor.exporter.serve.release_gauges import RELEASE_FAMILIES
from monitor.records import SamplingRecord, ScoreRecord
from tests.stages import batch
from tests.stages.properties import costly
from tests.stages.records import METRICS
from tests.stages.score_records import FIRST, PERIOD, START, WINDOWS, pools, record

CLOCKS = st.integers(0, 260).map(float) | st.floats(0, 260)
LABELS = st.sampled_from(
    [
        SegmentLabels(most=20),
        SegmentLabels(most=2),
        SegmentLabels(most=1),
        SegmentLabels(frozenset({"bolt", "dune", "nobody", "other"})),
    ]
)


def aggregator_of(
    records: Iterable[ScoreRecord], seconds: float, labels: SegmentLabels, top_k: int = 20
) -> ScoreAggregator:
    """A book that has read all records and then looked at the clock once."""
    aggregator = ScoreAggregator(WINDOWS, PERIOD, top_k, segments=labels)
    for each in records:
        aggregator.add(each, each.to_json())
    aggregator.advance(START + seconds)
    return aggregator


def segment_estimates(aggregator: ScoreAggregator) -> Iterator[SeriesEstimate]:
    """Every window of every segment of every series."""
    return chain.from_iterable(aggregator.segment_blocks())


def agree(
    estimates: Iterable[SeriesEstimate], expected: dict[batch.SegmentSeries, batch.Gauges]
) -> None:
    """The same series, and each value to 1e-9."""
    seen = {}
    for found in estimates:
        assert isinstance(found.key, SegmentKey)
        seen[batch.SegmentSeries(found.key.metric, found.window, *found.key[1:])] = found.estimate
    assert seen.keys() == expected.keys()
    for series, gauges in expected.items():
        estimate = seen[series]
        assert estimate.samples == pytest.approx(gauges.samples, rel=1e-9, abs=1e-9)
        for name in ("value", "lower", "upper", "missing_ratio"):
            want = pytest.approx(getattr(gauges, name), abs=1e-9)
            assert getattr(estimate, name) == want, (series, name)


def segments(aggregator: ScoreAggregator, window: str = "10s") -> dict[str, float]:
    """Segment → samples of faithfulness."""
    return {
        found.key.segment: found.estimate.samples
        for found in segment_estimates(aggregator)
        if isinstance(found.key, SegmentKey)
        and (found.key.metric, found.window) == ("faithfulness", window)
    }


@costly
@given(st.booleans().flatmap(lambda d: pools(directed=d)), CLOCKS, LABELS)
def test_the_estimates_equal_a_batch_computation(
    pool: list[ScoreRecord], now: float, labels: SegmentLabels
) -> None:
    """Uniform and directed slots; named segments and the rest: every gauge, no series more."""
    expected = batch.segment_gauges(
        pool, START + now, WINDOWS, PERIOD, fixed=labels.fixed, most=labels.most
    )
    agree(segment_estimates(aggregator_of(pool, now, labels)), expected)


@costly
@given(
    st.booleans().flatmap(lambda d: pools(directed=d)),
    st.lists(CLOCKS, max_size=5),
    LABELS,
    st.randoms(use_true_random=False),
)
def test_order_duplicates_and_the_steps_of_the_clock_leave_the_same_bits(
    pool: list[ScoreRecord], clock: list[float], labels: SegmentLabels, rng: random.Random
) -> None:
    """A book that followed the topic, looked at or not, says what one says that starts now."""
    followed = ScoreAggregator(WINDOWS, PERIOD, segments=labels)
    arrivals = pool + pool[::3]
    rng.shuffle(arrivals)
    cut = sorted(rng.randrange(len(arrivals) + 1) for _ in clock)
    done = 0
    for until, now in zip(cut, sorted(clock), strict=True):
        for each in arrivals[done:until]:
            followed.add(each, each.to_json())
        done = until
        followed.advance(START + now)
        if rng.random() < 0.5:
            list(segment_estimates(followed))
    for each in arrivals[done:]:
        followed.add(each, each.to_json())
    end = max(clock, default=0.0)
    followed.advance(START + end)
    replayed = aggregator_of(pool, end, labels)
    assert list(segment_estimates(followed)) == list(segment_estimates(replayed))
    assert list(followed.estimates()) == list(replayed.estimates())


@costly
@given(pools(directed=True), CLOCKS, st.sets(st.sampled_from(METRICS)))
def test_choosing_metrics_changes_no_number(
    pool: list[ScoreRecord], now: float, chosen: set[str]
) -> None:
    """The estimates of the chosen metrics are those of a book that has all of them."""
    part = ScoreAggregator(WINDOWS, PERIOD, metrics=chosen, segments=SegmentLabels(most=2))
    for each in pool:
        part.add(each, each.to_json())
    part.advance(START + now)
    everything = aggregator_of(pool, now, SegmentLabels(most=2))
    for some, all_of_them in (
        (part.estimates(), everything.estimates()),
        (segment_estimates(part), segment_estimates(everything)),
    ):
        assert list(some) == [found for found in all_of_them if found.key.metric in chosen]
    assert part.judges() == everything.judges()


def named(names: str, seconds: float, first: int = 0) -> list[ScoreRecord]:
    """One record for each letter: its segment."""
    return [record(str(first + i), seconds, segment=name) for i, name in enumerate(names)]


def test_the_most_frequent_keep_their_names_ties_by_name() -> None:
    """Of a segment with three records and three with two, the first two by name are left."""
    aggregator = aggregator_of(named("dddbbaacce", 1.0), 2.0, SegmentLabels(most=3))
    assert segments(aggregator) == {"d": 3, "a": 2, "b": 2, "other": 3}


def test_the_previous_period_decides_once_there_is_one() -> None:
    """Whatever this period brings, the names stay until it ends; then they are its own."""
    pool = named("aab", 1.0) + named("bbbbc", 61.0, first=10)
    aggregator = aggregator_of(pool, 59.0, SegmentLabels(most=1))
    assert segments(aggregator, "40s") == {"a": 0, "other": 0}
    aggregator.advance(START + 62)
    assert segments(aggregator, "10s") == {"a": 0, "other": 5}
    aggregator.advance(START + 119.9)
    assert segments(aggregator, "10s").keys() == {"a", "other"}
    aggregator.advance(START + 120.0)
    assert segments(aggregator, "40s").keys() == {"b", "other"}


def test_a_configured_list_holds_whatever_the_traffic() -> None:
    """A listed segment without records has no series; what is called other is the rest."""
    labels = SegmentLabels(frozenset({"b", "z", "other"}))
    pool = [*named("aaab", 1.0), record("9", 1.0, segment="other")]
    assert segments(aggregator_of(pool, 2.0, labels)) == {"b": 1, "other": 4}


def test_without_a_rest_there_is_no_rest() -> None:
    """No series called other, and the absence of a segment is a segment without a name."""
    aggregator = aggregator_of([*named("aa", 1.0), record("9", 1.0)], 2.0, SegmentLabels())
    assert segments(aggregator) == {"a": 2, "": 1}


def test_the_rest_of_small_applications_is_added_up() -> None:
    """Applications without a name of their own share their named segments, too."""
    pool = [
        record(str(i), 1.0, segment=segment, application=application)
        for i, (application, segment) in enumerate(
            [("large", "a"), ("large", "a"), ("small", "a"), ("tiny", "a"), ("tiny", "b")]
        )
    ]
    aggregator = aggregator_of(pool, 2.0, SegmentLabels(most=1), top_k=1)
    found = {
        found.key[1:]: found.estimate.samples
        for found in segment_estimates(aggregator)
        if found.window == "10s"
    }
    assert found == {
        ("large", FIRST.label, "a"): 2,
        ("other", FIRST.label, "a"): 2,
        ("other", FIRST.label, "other"): 1,
    }


def test_what_a_screen_expects_of_a_slot_says_nothing_of_a_segment() -> None:
    """A pick at u = 0.5 with an expectation: the segment's mean is the value of its pick."""
    sampling = SamplingRecord(
        first_offset=0,
        last_offset=3,
        kind="with_reference",
        m=4,
        u=0.5,
        expected={"faithfulness": (0.2, 0.1)},
    )
    pool = [record("0", 1.0, 0.25, sampling=sampling, segment="a"), *named("bb", 1.0, first=4)]
    aggregator = aggregator_of(pool, 2.0, SegmentLabels(most=1))
    values = {
        found.key[3]: found.estimate.value
        for found in segment_estimates(aggregator)
        if isinstance(found.key, SegmentKey) and found.window == "10s"
    }
    assert values == {"b": 1.0, "other": pytest.approx(0.25)}


def test_without_segments_there_are_no_such_families() -> None:
    """They are declared when segments are on, also before there is a record."""
    for labels in (None, SegmentLabels()):
        registry = CollectorRegistry()
        aggregator = ScoreAggregator(WINDOWS, PERIOD, segments=labels)
        registry.register(QualityCollector(aggregator, lambda: float(START), lambda: True))
        page = generate_latest(registry).decode()
        for name in SEGMENT_FAMILIES:
            assert (f"# TYPE {name} gauge" in page) == (labels is not None)


@costly
@given(pools(directed=False), st.lists(st.integers(0, 200), min_size=1, max_size=4))
def test_a_page_is_that_of_a_new_exporter(pool: list[ScoreRecord], clock: list[int]) -> None:
    """What is remembered from the last scrape changes nothing; series are counted."""
    followed, clocks = (
        ScoreAggregator(WINDOWS, PERIOD, segments=SegmentLabels(most=2)),
        sorted(clock),
    )
    now, registry = [0.0], CollectorRegistry()
    registry.register(QualityCollector(followed, lambda: START + now[0], lambda: True))
    for i, seconds in enumerate(clocks):
        for each in pool[i :: len(clocks)]:
            followed.add(each, each.to_json())
        now[0] = float(seconds)
        page = generate_latest(registry)
    fresh = CollectorRegistry()
    aggregator = aggregator_of(pool, now[0], SegmentLabels(most=2))
    fresh.register(QualityCollector(aggregator, lambda: START + now[0], lambda: True))
    assert generate_latest(fresh) == page
    read = [s for f in text_string_to_metric_families(page.decode()) for s in f.samples]
    (series,) = [s.value for s in read if s.name == "rag_monitor_series"]
    of_quality = {s.name for s in read if not s.name.endswith("_info")} - {"rag_monitor_series"}
    of_quality -= RELEASE_FAMILIES.keys()
    assert series == sum(s.name in of_quality for s in read)


def test_the_series_of_a_full_aggregator_are_those_that_were_foretold() -> None:
    """Every label value that can occur does: the count is that of the page."""
    aggregator = ScoreAggregator(WINDOWS, PERIOD, 2, segments=SegmentLabels(most=2))
    number = 0
    for application in "abc":
        for segment in "xyz":
            scores = dict.fromkeys(METRICS, 0.5)
            each = record(str(number), 1.0, scores=scores, application=application, segment=segment)
            aggregator.add(each, each.to_json())
            number += 1
    registry = CollectorRegistry()
    registry.register(QualityCollector(aggregator, lambda: START + 2.0, lambda: True))
    foretold = series_count(len(METRICS), len(WINDOWS), applications=3, segments=3)
    assert f"rag_monitor_series {float(foretold.total)}\n" in generate_latest(registry).decode()
