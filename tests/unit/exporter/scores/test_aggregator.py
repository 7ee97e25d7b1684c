"""The book of score records: a function of the set of records and the clock."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.exporter.scores.aggregator import ScoreAggregator, SeriesEstimate, SeriesKey
from monitor.records import Outcome, ScoreRecord, UnscoredMark
from monitor.stats.estimate import Estimate
from tests.stages import batch
from tests.stages.properties import costly
from tests.stages.records import METRICS, forced
from tests.stages.score_records import FIRST, PERIOD, SECOND, START, WINDOWS, pools, record, slot

UNSCORED = {name: UnscoredMark(unscored="NO_CLAIMS") for name in METRICS}
CLOCKS = st.integers(0, 260).map(float) | st.floats(0, 260)


def aggregator_of(
    records: Iterable[ScoreRecord],
    seconds: float,
    windows: dict[str, int] = WINDOWS,
    period: int = PERIOD,
) -> ScoreAggregator:
    """A book that has read all records and then looked at the clock once."""
    aggregator = ScoreAggregator(windows, period)
    for each in records:
        aggregator.add(each, each.to_json())
    aggregator.advance(START + seconds)
    return aggregator


def found(
    aggregator: ScoreAggregator, metric: str = "faithfulness", window: str = "40s"
) -> Estimate | None:
    """The estimate of one window; None without such a series."""
    for series in aggregator.estimates():
        if (series.key.metric, series.window) == (metric, window):
            return series.estimate
    return None


def must_find(
    aggregator: ScoreAggregator, metric: str = "faithfulness", window: str = "40s"
) -> Estimate:
    """The estimate of a window that has to be there."""
    estimate = found(aggregator, metric, window)
    assert estimate is not None
    return estimate


def agree(estimates: Iterable[SeriesEstimate], expected: dict[batch.Series, batch.Gauges]) -> None:
    """The same series, and each value to 1e-9."""
    seen = {batch.Series(e.key.metric, e.window, *e.key[1:]): e.estimate for e in estimates}
    assert seen.keys() == expected.keys()
    for series, gauges in expected.items():
        estimate = seen[series]
        assert estimate.missing_ratio == pytest.approx(gauges.missing_ratio, abs=1e-9)
        if gauges.weak:
            continue
        assert estimate.value == pytest.approx(gauges.value, abs=1e-9)
        assert estimate.lower == pytest.approx(gauges.lower, abs=1e-9)
        assert estimate.upper == pytest.approx(gauges.upper, abs=1e-9)
        assert estimate.samples == pytest.approx(gauges.samples, rel=1e-9, abs=1e-9)


@costly
@given(st.booleans().flatmap(lambda d: pools(directed=d)), st.lists(CLOCKS, max_size=5), st.data())
def test_order_duplicates_and_the_steps_of_the_clock_leave_the_same_bits(
    pool: list[ScoreRecord], clock: list[float], data: st.DataObject
) -> None:
    """A book that followed the topic says to the bit what one says that replays it at the end."""
    arrivals: list[ScoreRecord | float] = list(data.draw(st.permutations(pool + pool[::3])))
    for now in sorted(clock, reverse=True):
        place = data.draw(st.integers(0, len(arrivals)))
        arrivals = [*arrivals[:place], now, *arrivals[place:]]
    followed, now = ScoreAggregator(WINDOWS, PERIOD), 0.0
    for arrival in arrivals:
        if isinstance(arrival, ScoreRecord):
            followed.add(arrival, arrival.to_json())
        else:
            now = max(now, arrival)
            followed.advance(START + now)
            list(followed.estimates())
    end = max([now, *clock])
    followed.advance(START + end)
    replayed = aggregator_of(pool, end)
    assert list(followed.estimates()) == list(replayed.estimates())
    assert followed.judges() == replayed.judges()
    keys = {series.key for series in replayed.estimates()}
    for key in keys:
        assert isinstance(key, SeriesKey)
        parts = [b.estimate_between(key, START, START + end) for b in (followed, replayed)]
        assert parts[0] == parts[1]


@costly
@given(pools(directed=False), CLOCKS)
def test_the_estimates_equal_a_batch_computation(pool: list[ScoreRecord], now: float) -> None:
    """Plain hash sampling at mixed rates: every gauge to 1e-9, and no series more or less."""
    aggregator = aggregator_of(pool, now)
    agree(aggregator.estimates(), batch.gauges(pool, START + now, WINDOWS, PERIOD))


@costly
@given(pools(directed=True), CLOCKS)
def test_directed_slots_equal_a_batch_computation(pool: list[ScoreRecord], now: float) -> None:
    """Slots of several with picks by weight: the same, where the estimate is worth anything."""
    aggregator = aggregator_of(pool, now)
    agree(aggregator.estimates(), batch.gauges(pool, START + now, WINDOWS, PERIOD))


@pytest.mark.parametrize("rates", [(1.0,), (0.5, 0.1, 0.03)], ids=["uniform", "weighted"])
def test_many_records_equal_a_batch_computation(rates: tuple[float, ...]) -> None:
    """Minutes as buckets and the usual windows; above 500 scored the horizon's spread counts."""
    rng = random.Random(4)
    windows, period = {"5m": 300, "1h": 3_600, "24h": 86_400}, 86_400
    pool = [
        record(
            str(i),
            rng.uniform(0, 4_000),
            rng.choice([0.0, 0.5, 0.75, 1.0, 1.0]),
            sampling=slot(i, q=rng.choice(rates)),
            outcome=rng.choice([Outcome.SCORED] * 20 + [Outcome.JUDGE_FAILED]),
        )
        for i in range(1_200)
    ]
    pool = [
        r.model_copy(update={"scores": {}}) if r.outcome is Outcome.JUDGE_FAILED else r
        for r in pool
    ]
    expected = batch.gauges(pool, START + 4_000, windows, period)
    agree(aggregator_of(pool, 4_000, windows, period).estimates(), expected)
    key = batch.Series("faithfulness", "1h", "bot", FIRST.label)
    assert expected[key].samples > 200
    assert batch.spread([s for r in pool for m, s in batch.slots(r) if m == key.metric]) < 0.9


@costly
@given(pools(directed=False), st.lists(CLOCKS, min_size=2, max_size=2).map(sorted))
def test_a_part_of_the_horizon_equals_its_records_alone(
    pool: list[ScoreRecord], bounds: list[float]
) -> None:
    """An estimate over [start, end) is the mean of the scored whose second begins in it."""
    start, end = int(bounds[0]), int(bounds[1])
    aggregator = aggregator_of(pool, 260, {"10s": 10, "300s": 300}, 3_600)
    key = SeriesKey("faithfulness", "bot", FIRST.label)
    inside = [
        (s.w, s.g)
        for r in batch.counted(pool)
        for metric, s in batch.slots(r)
        if s.scored
        and (metric, r.application, r.judge) == ("faithfulness", "bot", FIRST)
        and start <= int(s.time - START) < end
    ]
    part = aggregator.estimate_between(key, START + start, START + end)
    value = part.value if part else None
    if inside:
        mean = 1 - sum(w * x for w, x in inside) / sum(w for w, _ in inside)
        assert value == pytest.approx(mean, abs=1e-9)
    else:
        assert value is None


def test_a_series_that_is_not_there_has_no_part() -> None:
    """None, and no empty series is left behind."""
    aggregator = aggregator_of([], 10)
    key = SeriesKey("faithfulness", "bot", FIRST.label)
    assert aggregator.estimate_between(key, START, START + 10) is None
    assert list(aggregator.estimates()) == []


def test_a_record_ahead_of_the_clock_waits_for_its_time() -> None:
    """Not counted a moment before; counted at its event time, also without another record."""
    pool = [record("1", 10.0, 1.0), record("2", 20.5, 0.0)]
    aggregator = aggregator_of(pool, 20.0)
    assert must_find(aggregator).value == 1.0
    aggregator.advance(START + 20.49)
    assert must_find(aggregator).samples == 1
    aggregator.advance(START + 20.5)
    assert (must_find(aggregator).value, must_find(aggregator).samples) == (0.5, 2)


@pytest.mark.parametrize("order", [(1, 2, 3, 4), (4, 3, 2, 1), (2, 4, 1, 3)])
def test_what_is_ahead_of_the_clock_is_bounded(order: tuple[int, ...]) -> None:
    """The nearest are kept, in whatever order they come; each one that goes is told."""
    aggregator = ScoreAggregator(WINDOWS, PERIOD, most_ahead=2)
    aggregator.advance(START)
    pool = {1: 10.0, 2: 20.0, 3: 1e8, 4: 2e8}
    made = [record(str(number), pool[number]) for number in order]
    taken = [aggregator.add(each, each.to_json()) for each in made]
    assert taken == [True, True, False, False]
    assert aggregator.held == 2
    late = record("5", -1.0)
    assert aggregator.add(late, late.to_json())  # it counts at once
    aggregator.advance(START + 20.0)
    assert must_find(aggregator).samples == 3


def test_nothing_counts_before_the_clock_was_looked_at() -> None:
    """A replay without a time has no windows yet."""
    aggregator = ScoreAggregator(WINDOWS, PERIOD)
    aggregator.add(record("1", 0.0), record("1", 0.0).to_json())
    assert list(aggregator.estimates()) == []


def test_a_window_drains_without_new_records() -> None:
    """First the short window is without a mean, then the long one; 0 samples stay on show until
    the horizon has passed, and then nothing does."""
    aggregator = aggregator_of([record("1", 0.0, 0.5)], 0.0)
    assert (
        must_find(aggregator, window="10s").samples
        == must_find(aggregator, window="40s").samples
        == 1
    )
    aggregator.advance(START + 10)
    assert must_find(aggregator, window="10s") == Estimate(None, None, None, 0.0, None)
    assert must_find(aggregator, window="40s").value == 0.5
    aggregator.advance(START + 40)
    assert must_find(aggregator, window="40s") == Estimate(None, None, None, 0.0, None)
    aggregator.advance(START + 119)
    assert must_find(aggregator).samples == 0
    assert [judge.label for judge in aggregator.judges()] == [FIRST.label]
    aggregator.advance(START + 120)
    assert found(aggregator) is None
    assert aggregator.judges() == []


def test_failed_picks_are_missing_in_every_metric() -> None:
    """No value and no sample, but a missing ratio, by weight; the bounds widen by it."""
    failed = record("2", 1, scores={}, outcome=Outcome.JUDGE_FAILED, sampling=slot(2, q=0.25))
    whole = record("1", 1, scores=dict.fromkeys(METRICS, 0.5))
    aggregator = aggregator_of([whole, failed], 2)
    alone = aggregator_of([whole], 2)
    for metric in METRICS:
        estimate, without = must_find(aggregator, metric), must_find(alone, metric)
        assert estimate.missing_ratio == 0.8
        assert estimate.value == 0.5
        assert estimate.upper is not None
        assert without.upper is not None
        assert estimate.upper > without.upper


def test_only_failed_picks_have_no_mean() -> None:
    """The series is there: nothing but failures is worth an alert."""
    failed = record("1", 1, scores={}, outcome=Outcome.JUDGE_FAILED)
    aggregator = aggregator_of([failed], 2)
    for metric in METRICS:
        assert must_find(aggregator, metric) == Estimate(None, None, None, 0.0, 1.0)


def test_a_failed_pick_without_a_reference_is_missing_where_it_could_have_counted() -> None:
    """The other metrics were never defined for it."""
    sampling = slot(1, "without_reference")
    failed = record("1", 1, scores={}, outcome=Outcome.JUDGE_FAILED, sampling=sampling)
    metrics = {series.key.metric for series in aggregator_of([failed], 2).estimates()}
    without = {"faithfulness", "faithfulness_by_passage", "irrelevant_context_reliance"}
    without |= {"answered", "retrieved", "answer_relevance"}
    assert metrics == without


def test_unscorable_picks_are_not_missing() -> None:
    """The metric is not defined there: no sample, and no failure either."""
    unscorable = record("1", 1, scores=UNSCORED, outcome=Outcome.UNSCORABLE)
    assert must_find(aggregator_of([unscorable], 2)) == Estimate(None, None, None, 0.0, 0.0)
    aggregator = aggregator_of([unscorable, record("2", 1, 0.25)], 2)
    assert (must_find(aggregator).value, must_find(aggregator).samples) == (0.25, 1)


@pytest.mark.parametrize(
    "other",
    [
        record("2", 1, scores={}, outcome=Outcome.OVER_BUDGET, reason="usd"),
        record("2", 1, 0.0, sampling=forced("with_reference")),
    ],
    ids=["over budget", "forced"],
)
def test_what_has_no_weight_changes_nothing(other: ScoreRecord) -> None:
    """Over budget and forced picks stand on the topic, but in no window."""
    plain = aggregator_of([record("1", 1, 0.25)], 2)
    assert list(aggregator_of([record("1", 1, 0.25), other], 2).estimates()) == list(
        plain.estimates()
    )
    assert list(aggregator_of([other], 2).estimates()) == []


def test_metrics_that_need_a_reference_leave_out_what_has_none() -> None:
    """Such picks are not even unscored ones: they would dilute the weights."""
    without = record(
        "2",
        1,
        scores={**UNSCORED, "faithfulness": 0.0},
        sampling=slot(2, "without_reference", q=0.01),
    )
    aggregator = aggregator_of([record("1", 1, scores=dict.fromkeys(METRICS, 0.5)), without], 2)
    assert must_find(aggregator, "hallucination").samples == 1
    assert must_find(aggregator, "hallucination").value == 0.5
    assert must_find(aggregator, "faithfulness").value == pytest.approx(0.5 / 101)


def test_judges_and_applications_never_mix() -> None:
    """Each pair has its own series with its own mean."""
    pool = [
        record("1", 1, 1.0),
        record("2", 1, 0.0, judge=SECOND),
        record("3", 1, 0.5, application="other"),
    ]
    aggregator = aggregator_of(pool, 2)
    values = {(s.key.application, s.key.judge): s.estimate.value for s in aggregator.estimates()}
    assert values == {
        ("bot", FIRST.label): 1.0,
        ("bot", SECOND.label): 0.0,
        ("other", FIRST.label): 0.5,
    }
    assert aggregator.judges() == [FIRST, SECOND]


def test_a_judgement_made_again_replaces_the_first() -> None:
    """One record per interaction: values before failed, then the later one."""
    early = record("1", 1, 1.0, judge=FIRST)
    late = record("1", 1, 0.0, judge=SECOND, judged_at=early.judged_at.replace(second=59))
    failed = record("1", 1, scores={}, outcome=Outcome.JUDGE_FAILED, judged_at=late.judged_at)
    aggregator = aggregator_of([failed, late, early], 2)
    assert [s.key.judge for s in aggregator.estimates()] == [SECOND.label] * len(WINDOWS)
    assert must_find(aggregator) == must_find(aggregator_of([late], 2))


def test_series_come_in_the_order_of_their_labels() -> None:
    """So that two exporters serve the same page."""
    pool = [
        record(str(i), 1, scores=dict.fromkeys(METRICS, 0.5), application=name)
        for i, name in enumerate("cab")
    ]
    keys = [s.key for s in aggregator_of(pool, 2).estimates()][:: len(WINDOWS)]
    assert keys == sorted(keys)
    assert len(keys) == 3 * len(METRICS)


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, -60), (59.9, -60), (60.0, 0), (150.0, 60)])
def test_the_horizon_begins_with_the_previous_period(seconds: float, expected: int) -> None:
    """Windows of 40 s are shorter than a period of 60 s."""
    assert ScoreAggregator(WINDOWS, PERIOD).horizon_start(START + seconds) == START + expected


def test_the_horizon_holds_the_longest_window() -> None:
    """A window longer than two periods decides."""
    aggregator = ScoreAggregator({"5m": 300, "1h": 3_600}, PERIOD)
    assert aggregator.horizon_start(START + 59.0) == START - 3_600 + 60


def test_only_the_largest_applications_keep_their_names() -> None:
    """With ``top_k`` 2 the third and fourth become ``other``, their records summed up."""
    names = ["small", "large", "large", "large", "tiny", "middle", "middle"]
    aggregator = ScoreAggregator(WINDOWS, PERIOD, top_k=2)
    for i, application in enumerate(names):
        each = record(str(i), 1.0, i / 10, application=application)
        aggregator.add(each, each.to_json())
    aggregator.advance(START + 5)
    shown = {e.key.application: e.estimate for e in aggregator.estimates() if e.window == "10s"}
    assert list(shown) == ["large", "middle", "other"]
    assert shown["other"].samples == 2
    assert shown["other"].value == pytest.approx((0 + 4 / 10) / 2)


def test_a_clock_that_was_set_back_and_right_again_forgets_nothing() -> None:
    """While it is back, the records lie ahead and show nothing; afterwards all count again."""
    each = record("1", 100.0)
    aggregator = aggregator_of([each], 110.0)
    aggregator.advance(START + 50.0)
    assert list(aggregator.estimates()) == []
    aggregator.advance(START + 110.0)
    assert must_find(aggregator).samples == 1
