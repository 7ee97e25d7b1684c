"""A file of score records with and without control records: learned, or as decided."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from monitor.app.scores import Aggregators, aggregators, promises
from monitor.config import load
from monitor.exporter.baselines.baselines import control_state
from monitor.exporter.from_file import gauges
from monitor.exporter.serve.collector import QualityCollector
from monitor.records import ScoreRecord, UnscoredMark
from monitor.records.control import BaselineRecord, MetricBaseline
from tests.stages.corrections import audits_of, correction, of_metric
from tests.stages.properties import costly
from tests.stages.score_records import FIRST, START, at, pools, record

FLAGS = {
    "export.windows": "10s,40s",
    "drift.period": "1m",
    "drift.settle": "2s",
    "drift.learn_slots": "10",
    "drift.learn_for": "0s",
    "drift.learn_wait": "2s",
    "drift.judged_per_week": "100",
    "drift.metrics": "faithfulness",
}


def made(**flags: str) -> Aggregators:
    """Empty books with short times; a few slots make a baseline, and an alarm."""
    return aggregators(load({}, flags=FLAGS | flags))


def good_then_bad() -> list[ScoreRecord]:
    """20 seconds of 0.75, then 20 of 0."""
    return [record(str(i), float(i), 0.75 if i < 20 else 0.0) for i in range(40)]


def page_of(
    records: Iterable[ScoreRecord], now: float, control: Iterable[bytes] | None = None
) -> dict[str, float]:
    """Series → value, of the families that a baseline has a say in."""
    page = gauges(*made()[::2], [each.to_json() for each in records], START + now, control)
    return samples(page)


def samples(page: str) -> dict[str, float]:
    """Name without labels → value; there is one application and judge."""
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    return {re.split("[{ ]", line)[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_a_baseline_is_learned_from_the_file_as_of_the_time() -> None:
    """Before there are enough old slots: progress and no evidence; then evidence, then an alarm."""
    early = page_of(good_then_bad(), 10.5)
    assert early["rag_monitor_baseline_learning"] == 1
    assert early["rag_monitor_baseline_slots"] == 9
    assert early["rag_monitor_baseline_needed"] == 10
    assert not [name for name in early if name.startswith("rag_drift")]
    calm = page_of(good_then_bad(), 21.0)
    assert calm["rag_monitor_baseline_learning"] == 0
    assert calm["rag_drift_alarm"] == 0
    assert calm["rag_score_baseline"] < 0.75
    assert page_of(good_then_bad(), 41.0)["rag_drift_alarm"] == 1


def test_control_records_take_the_place_of_learning() -> None:
    """What was decided holds; what is no baseline is counted; nothing is learned beside them."""
    decided = BaselineRecord(
        application="bot",
        judge=FIRST.label,
        origin="set",
        effective_from=at(0.0),
        metrics={"faithfulness": MetricBaseline(mean=0.5)},
    )
    found = page_of(good_then_bad(), 21.0, [b"", decided.to_json(), b"{}", b'{"kind": "pause"}'])
    assert found["rag_score_baseline"] == pytest.approx(0.5 - 0.05)
    page = gauges(*made()[::2], [], START, [decided.to_json(), b"{}", b'{"kind": "pause"}'])
    for result, count in (("read", 1), ("malformed", 1), ("other_kind", 1)):
        assert f'rag_monitor_control_records_total{{result="{result}"}} {count}.0' in page
    without = page_of(good_then_bad(), 41.0, [])
    assert without["rag_monitor_baseline_learning"] == 1
    assert "rag_drift_alarm" not in without


def test_corrections_are_read_from_control_records() -> None:
    """In any order of their lines; the latest of a key holds, and without a baseline none does."""
    first, later = (
        correction(metrics={"faithfulness": of_metric(audits_of(200, false_alarms=share))})
        for share in (0.2, 0.05)
    )
    other = correction(application="shop")
    lines = [each.to_json() for each in good_then_bad()]
    orders = ([first, later, other], [other, first, later], [first, other, later])
    pages = {
        gauges(*made()[::2], lines, START + 21.0, [each.to_json() for each in order])
        for order in orders
    }
    (page,) = pages
    found = samples(page)
    assert found["rag_score_corrected_lower"] < found["rag_score_corrected"]
    assert found["rag_score_corrected"] < found["rag_score_corrected_upper"]
    assert found["rag_monitor_audits"] == 200
    assert 'rag_monitor_control_records_total{result="read"} 3.0' in page
    assert page == gauges(
        *made()[::2], lines, START + 21.0, [each.to_json() for each in (other, later, later)]
    )
    plain = page_of(good_then_bad(), 21.0)
    assert not [name for name in plain if "corrected" in name or "audit" in name]


def test_a_fixed_baseline_wins_over_the_control_topic() -> None:
    """And where it fixes all that is watched, nothing is learned."""
    entry = {"application": "b*", "metrics": {"faithfulness": 0.6}}
    found = made(**{"drift.baselines": json.dumps([entry])})
    lines = [each.to_json() for each in good_then_bad()]
    page = samples(gauges(*found[::2], lines, START + 41.0))
    assert page["rag_score_baseline"] == pytest.approx(0.6 - 0.04)
    assert page["rag_monitor_baseline_learning"] == 0
    assert "rag_monitor_baseline_slots" not in page


DECIDED = st.builds(
    BaselineRecord,
    application=st.sampled_from(["bot", "other"]),
    judge=st.sampled_from(["offline@1", "offline@2"]),
    origin=st.sampled_from(["learned", "set", "frozen"]),
    effective_from=st.integers(0, 200).map(at),
    metrics=st.dictionaries(
        st.just("faithfulness"),
        st.builds(
            MetricBaseline,
            mean=st.floats(0, 1),
            se=st.floats(0, 0.2),
            segments=st.dictionaries(st.sampled_from(["acme", "bolt"]), st.floats(0, 1)),
        ),
    ),
)


@costly
@given(
    pools(directed=True),
    st.lists(DECIDED, max_size=6),
    st.integers(0, 220),
    st.randoms(use_true_random=False),
)
def test_order_duplicates_and_restarts_change_no_bit_of_a_page(
    pool: list[ScoreRecord], decided: list[BaselineRecord], now: int, rng: random.Random
) -> None:
    """The page follows from scores, control records and clock: not from how they came.

    The second exporter has read part of both topics, twice over, with scrapes and learning in
    between, was killed, and began again; control records keep their order, as of one partition.
    """
    plain = exported(made(), [*map(_scored, pool), *map(_decided, decided)], now)
    for _ in range(2):
        found, events = made(), _shuffled(pool, decided, rng)
        moments = sorted(rng.uniform(0, now) for _ in events)
        for event, moment in zip(events, moments, strict=True):
            event(found)
            if rng.random() < 0.3:
                exported(found, [], moment)
                found.baselines.learn(found.scores.training_slots, START + moment)
        assert exported(found, [], now) == plain


Event = Callable[[Aggregators], object]


def _shuffled(
    pool: list[ScoreRecord], decided: list[BaselineRecord], rng: random.Random
) -> list[Event]:
    """All records, some of the scores twice; what a compacted topic holds in its order."""
    events = [_scored(each) for each in pool + rng.sample(pool, len(pool) // 2)]
    rng.shuffle(events)
    places = sorted(rng.randint(0, len(events)) for _ in decided)
    for place, each in reversed(list(zip(places, decided, strict=True))):
        events.insert(place, _decided(each))
    return events


def _scored(each: ScoreRecord) -> Event:
    return lambda found: found.scores.add(each, each.to_json())


def _decided(each: BaselineRecord) -> Event:
    return lambda found: control_state(found.baselines).apply(each.key.encode(), each.to_json())


def exported(found: Aggregators, events: list[Event], now: float) -> bytes:
    """The page at a time, after these events."""
    for event in events:
        event(found)
    registry = CollectorRegistry()
    registry.register(QualityCollector(found.scores, lambda: START + now, lambda: True))
    return generate_latest(registry)


def test_objectives_are_held_against_the_windows_of_the_file() -> None:
    """Bound and standing for every judge; while too few are scored, neither kept nor breached."""
    settings_of = {**FLAGS, "objectives": [
        {"metric": "faithfulness", "window": "10s", "bound": 0.5, "minimum_samples": 10},
    ]}  # fmt: skip
    chosen = load({}, flags=settings_of)
    lines = [each.to_json() for each in good_then_bad()]

    def page(now: float) -> dict[str, float]:
        found = aggregators(chosen)
        text = gauges(*found[::2], lines, START + now, promised=promises(chosen))
        found_lines = [line for line in text.splitlines() if line.startswith("rag_objective")]
        labels = f'application="bot",judge="{FIRST.label}",metric="faithfulness",window="10s"'
        assert {frozenset(re.split("[{}]", line)[1].split(",")) for line in found_lines} == {
            frozenset(labels.split(","))
        }
        return {name: v for name, v in samples(text).items() if name.startswith("rag_objective")}

    bound, known, breached = (f"rag_objective_{name}" for name in ("bound", "known", "breached"))
    assert page(15.0) == {bound: 0.5, known: 1, breached: 0}
    assert page(39.5) == {bound: 0.5, known: 1, breached: 1}
    assert page(45.0) == {bound: 0.5, known: 0}


def test_a_metric_without_a_baseline_is_named() -> None:
    """Learned while it had no value: not learning any more, but watched by nobody."""
    mark = UnscoredMark(unscored="NO_CLAIMS")
    records = [
        record(str(i), float(i), scores={"faithfulness": 0.75, "hallucination": mark})
        for i in range(30)
    ]
    found = made(**{"drift.metrics": "faithfulness,hallucination"})
    lines = [each.to_json() for each in records]
    page = gauges(*found[::2], lines, START + 30.0)
    assert samples(page)["rag_monitor_baseline_learning"] == 0
    missing = [line for line in page.splitlines() if line.startswith("rag_monitor_baseline_miss")]
    assert [(line.split('metric="')[1].split('"')[0], line[-3:]) for line in missing] == [
        ("faithfulness", "0.0"), ("hallucination", "1.0"),
    ]  # fmt: skip


def test_a_period_by_itself_counts_each_interaction_once() -> None:
    """800 on a day ask for two days, however often their records stand in the file; it is shown.

    And however many are refused beside them.
    """
    lines = [record(str(i), 50_000.0 + 60.0 * i).to_json() for i in range(800)]
    refused = {"outcome": "over_budget", "reason": "usd_per_day", "scores": {}}
    for i in range(1_000):
        one = record(str(10_000 + i), 50_000.0 + 60.0 * i).model_copy(update=refused)
        lines.append(one.to_json())
    for times in (1, 2):
        found = made(**{"drift.period": "auto"})
        page = samples(gauges(*found[::2], lines * times, START + 140_000.0))
        assert page["rag_monitor_drift_period_seconds"] == 2 * 86_400


def test_few_beside_many_are_learned_from_what_a_week_gives() -> None:
    """Though the many ask for a period of two days, in which too few of them come."""
    eight = 8 * 86_400.0
    many = [record(str(i), 108.0 * i, 0.75, application="many") for i in range(6_400)]
    few = [record(str(9_000 + i), 7_000.0 * i, 0.75, application="few") for i in range(98)]
    auto = {"drift.period": "auto", "drift.learn_slots": "1000", "export.windows": "1h"}
    found = made(**auto)
    page = gauges(*found[::2], [each.to_json() for each in many + few], START + eight)
    assert samples(page)["rag_monitor_drift_period_seconds"] == 2 * 86_400
    for application in ("many", "few"):
        labels = f'application="{application}",judge="{FIRST.label}",metric="faithfulness"'
        assert f"rag_score_baseline{{{labels}}}" in page
