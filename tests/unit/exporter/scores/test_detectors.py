"""The detectors of all series: a function of the records, the baselines and the clock."""

from __future__ import annotations

import random
from collections.abc import Iterable
from math import log10

from hypothesis import given
from hypothesis import strategies as st

from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import (
    DriftDetectors,
    DriftKey,
    DriftSettings,
    DriftState,
    Normal,
)
from monitor.records import Outcome, ScoreRecord
from monitor.stats.baseline import NOTHING, Baseline
from monitor.stats.drift import (
    NO_EVIDENCE,
    Deviation,
    DriftEvidence,
    after,
    directed,
    uniform,
    weighted,
)
from monitor.stats.threshold import WEEK_S
from tests.stages import batch
from tests.stages.detectors import METRICS, NORMAL, SETTINGS, drift_aggregator
from tests.stages.properties import costly
from tests.stages.score_records import FIRST, PERIOD, START, WINDOWS, pools, record

#: Evidence, threshold and alarm.
Said = tuple[float | None, float, bool]
CLOCKS = st.integers(0, 260).map(float) | st.floats(0, 260)


def states(
    records: Iterable[ScoreRecord], *clocks: float, drift: DriftDetectors | None = None
) -> list[DriftState]:
    """What the detectors say after the last look at the clock."""
    found = drift or drift_aggregator()
    aggregator = ScoreAggregator(WINDOWS, PERIOD, drift=found)
    for each in records:
        aggregator.add(each, each.to_json())
    last: list[DriftState] = []
    for clock in clocks:
        aggregator.advance(START + clock)
        last = list(found.states(START + clock))
    return last


def expected(
    records: Iterable[ScoreRecord], now: float, drift: DriftSettings, normal: Normal
) -> dict[DriftKey, Said]:
    """Evidence, threshold and alarm by key, from scratch: sort, and go through the formula once."""
    start = (int(now) // PERIOD - 1) * PERIOD
    oldest = min(start, int(now) - max(WINDOWS.values()) + 1)
    counted = [
        each
        for each in batch.counted(r for r in records if oldest <= r.event_time.timestamp() <= now)
        if each.outcome != Outcome.OVER_BUDGET
    ]
    counted.sort(key=lambda each: (each.event_time.timestamp(), each.interaction_id))
    counted = [
        each
        for number, each in enumerate(counted)
        if each.event_time.timestamp() >= start and not given_before(each, counted[:number])
    ]
    threshold = (drift.judged_per_week or 0) * len(METRICS) / drift.false_alarms_per_week
    found: dict[DriftKey, Said] = {}
    running: dict[DriftKey, DriftEvidence] = {}
    for each in counted:
        for metric, _ in batch.slots(each):
            key = DriftKey(metric, each.application, each.judge.label)
            if metric not in drift.metrics or each.application == "other":
                continue  # what is called like the rest is of the rest, which has no evidence
            found.setdefault(key, (None, log10(threshold), False))
            time = each.event_time.timestamp()
            if normal.effective_from < time <= now - drift.settle_s:
                step = deviation(each, metric, normal.metrics[metric])
                running[key] = after(running.get(key, NO_EVIDENCE), step, threshold)
                r = running[key].combined
                evidence = log10(r) if r else None
                found[key] = (evidence, log10(threshold), running[key].is_open)
    return found


def given_before(each: ScoreRecord, earlier: list[ScoreRecord]) -> bool:
    """Whether its answer was given already; all of these tests lie within an hour."""
    return is_scored(each) and any(
        one.application == each.application
        and one.judge == each.judge
        and one.interaction == each.interaction
        for one in earlier
        if is_scored(one)
    )


def is_scored(each: ScoreRecord) -> bool:
    """Whether it says something of a question and its answer."""
    values = [x for _, slot in batch.slots(each) for x in [slot.scored] if x]
    return bool(each.interaction and values)


def deviation(each: ScoreRecord, metric: str, baseline: Baseline) -> Deviation:
    """d and its reach for one record."""
    score = each.scores.get(metric)
    value = score if isinstance(score, float) else None
    if value is not None and metric == "faithfulness":
        value = 1.0 - value
    own = baseline.of(each.segment)
    if metric not in each.sampling.expected:
        u = each.sampling.u or 0.0
        return uniform(value, own) if u == 1.0 else weighted(value, u, own)
    f_mean, f = each.sampling.expected[metric]
    return directed(value, each.sampling.u or 0.0, f_mean, f, own, own)


def said(found: list[DriftState]) -> dict[DriftKey, Said]:
    """Evidence, threshold and alarm by key."""
    return {state.key: (state.evidence, state.threshold, state.alarm) for state in found}


@costly
@given(pools(directed=True) | pools(directed=False), st.lists(CLOCKS, min_size=1, max_size=4))
def test_evidence_is_that_of_one_pass_over_the_counted_slots(
    pool: list[ScoreRecord], clocks: list[float]
) -> None:
    """Whatever was looked at before, forwards in time, the last look gives the same bits."""
    clocks.sort()
    want = expected(pool, START + clocks[-1], SETTINGS, NORMAL)
    assert said(states(pool, *clocks)) == want


@costly
@given(pools(directed=False), CLOCKS, st.randoms(use_true_random=False))
def test_order_duplicates_and_restarts_change_nothing(
    pool: list[ScoreRecord], clock: float, rng: random.Random
) -> None:
    """Shuffled, with repetitions, looked at in between or not: the same states, bit for bit."""
    plain = states(pool, clock)
    other = pool + [each for each in pool if rng.random() < 0.4]
    rng.shuffle(other)
    drift = drift_aggregator()
    aggregator = ScoreAggregator(WINDOWS, PERIOD, drift=drift)
    for each in other:
        aggregator.add(each, each.to_json())
        if rng.random() < 0.3:
            seen = START + rng.uniform(0, clock)
            aggregator.advance(max(seen, START))
            list(drift.states(seen))
    aggregator.advance(START + clock)
    assert list(drift.states(START + clock)) == plain


@costly
@given(pools(directed=False), CLOCKS, st.integers(0, 200))
def test_a_baseline_that_comes_late_counts_from_its_time(
    pool: list[ScoreRecord], clock: float, since: int
) -> None:
    """Set before or after the records, only slots after ``effective_from`` are held against it."""
    normal = Normal(NORMAL.metrics, float(START + since))
    drift = DriftDetectors(SETTINGS)
    assert states(pool, clock, drift=drift) == []
    for key in ("bot", "shop", "other"):
        for version in ("1", "2"):
            drift.set_normal(key, f"offline@{version}", normal)
    now = START + clock
    assert said(list(drift.states(now))) == expected(pool, now, SETTINGS, normal)


def test_an_alarm_opens_and_names_the_direction_of_the_metric() -> None:
    """Faithfulness falls to 0: the alarm opens; the baseline is shown as faithfulness."""
    records = [record(str(i), float(i), faithfulness=0.0) for i in range(20)]
    (state,) = states(records, 30.0)
    assert state.key == DriftKey("faithfulness", "bot", FIRST.label)
    assert state.alarm
    assert state.baseline == 1.0 - 0.12
    (quiet,) = states([record(str(i), float(i)) for i in range(20)], 30.0)
    assert not quiet.alarm


def test_without_a_baseline_nothing_is_said() -> None:
    """No baseline: no evidence and no alarm, however bad the scores are."""
    records = [record(str(i), float(i), faithfulness=0.0) for i in range(20)]
    assert states(records, 30.0, drift=DriftDetectors(SETTINGS)) == []


def test_the_threshold_follows_the_traffic_unless_it_is_given() -> None:
    """The larger count of two periods, by metric; at least 60 a day of each."""
    drift = DriftDetectors(DriftSettings(METRICS, 2.0, None, NOTHING, 7_200, 2))
    aggregator = ScoreAggregator(WINDOWS, 7_200, drift=drift)
    least = 60 * 7
    assert drift.threshold(START) == 2 * least / 2.0
    for i in range(36):
        each = record(str(i), i * 200.0)
        if i % 3 == 0:
            each = each.model_copy(update={"scores": {**each.scores, METRICS[1]: 0.0}})
        aggregator.add(each, each.to_json())
    aggregator.advance(START + 7_300)
    per_week = WEEK_S / 7_200
    assert drift.threshold(START + 7_300) == (36 + 12) * per_week / 2.0


def test_a_night_without_traffic_changes_no_threshold() -> None:
    """Hours without traffic are traffic as usual: slots of a period are counted, not looked for."""
    drift = DriftDetectors(DriftSettings(METRICS, 1.0, None, NOTHING, 86_400, 2))
    aggregator = ScoreAggregator({"24h": 86_400}, 86_400, drift=drift)
    midnight = START - START % 86_400
    for i in range(50 * 14):  # from 6 to 20 o'clock, every day
        each = record(str(i), midnight - START + 86_400.0 + 6 * 3_600 + i * 72)
        aggregator.add(each, each.to_json())
    seen = []
    for hour in (24 + 20, 48, 48 + 5, 72):
        aggregator.advance(midnight + hour * 3_600.0)
        seen.append(drift.threshold(midnight + hour * 3_600.0))
    assert seen == [(50 * 14 + 60) * 7.0] * 3 + [60 * 7 * 2.0]


def test_failures_alone_are_no_evidence() -> None:
    """While the judge is away no alarm opens, and none is there to close."""
    gone = [record(str(i), i / 10, scores={}, outcome=Outcome.JUDGE_FAILED) for i in range(1_000)]
    (state,) = [one for one in states(gone, 110.0) if one.key.metric == "faithfulness"]
    assert (state.evidence, state.alarm, state.is_fed) == (None, False, True)


def test_periods_of_several_hours_are_dropped_at_their_end() -> None:
    """Followed over three periods of two hours, the states are those of a book that starts now."""
    chosen = DriftSettings(METRICS, 1.0, 50.0, NOTHING, 7_200, 2)
    records = [record(str(i), i * 400.0, faithfulness=0.5 + (i % 5 > 0) / 2) for i in range(60)]
    followed, drift = drift_aggregator(chosen), drift_aggregator(chosen)
    for found, clocks in ((followed, range(0, 24_001, 1_000)), (drift, range(24_000, 24_001))):
        aggregator = ScoreAggregator(WINDOWS, 7_200, drift=found)
        for each in records:
            aggregator.add(each, each.to_json())
        for clock in clocks:
            aggregator.advance(float(START + clock))
    assert list(followed.states(START + 24_000.0)) == list(drift.states(START + 24_000.0)) != []
    drift.set_normal("bot", FIRST.label, None)
    assert list(drift.states(START + 24_000.0)) == []
    drift.set_normal("bot", FIRST.label, NORMAL)
    assert list(followed.states(START + 24_000.0)) == list(drift.states(START + 24_000.0))


def test_what_was_always_the_worst_opens_nothing() -> None:
    """No score can be worse than such a baseline: as many of them as there are, nothing is said."""
    always = Normal({name: Baseline(1.0, 0.0, {"acme": 0.95}) for name in METRICS})
    scores = {"faithfulness": 0.0, "noise_sensitivity_irrelevant": 1.0}
    worst = [record(str(n + 1), n / 4, scores=scores) for n in range(800)]
    drift = drift_aggregator(SETTINGS, always)
    found = states(worst, 200.0 + SETTINGS.settle_s, drift=drift)
    assert [state.alarm for state in found] == [False] * len(found) != []
    fallen = [record(str(n + 1), n / 4, segment="acme", scores=scores) for n in range(800)]
    drift = drift_aggregator(SETTINGS, always)
    assert all(state.alarm for state in states(fallen, 202.0, drift=drift))
