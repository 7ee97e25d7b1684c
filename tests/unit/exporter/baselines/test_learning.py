"""Learning what is normal: from which slots, in which order, and what is written down."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Collection, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import RecordSkipped
from monitor.exporter.baselines.learning import Learner, LearningSettings, Progress, normal_of
from monitor.exporter.scores.observation import NOWHERE, Observation, Reader
from monitor.exporter.scores.steps import at_once
from monitor.exporter.scores.training_slots import TrainingSlots
from monitor.records import Outcome, ScoreRecord
from monitor.records.control import BaselineRecord, Removed, baseline_key, read_control_record
from monitor.stats.days import HourSums, hour_spread, hour_sums, unseen_spread
from monitor.stats.selection import Selection
from tests.stages.candidates import candidate_of
from tests.stages.properties import costly
from tests.stages.score_records import FIRST, SECOND, START, at, pools, record

PAIR = ("bot", FIRST.label)


def results(
    records: Iterable[ScoreRecord],
    now: float,
    learner: Learner,
    known: set[tuple[str, str]],
    cluster_by: str | None = None,
    watched: Collection[str] = (),
) -> list[tuple[Progress, BaselineRecord | None]]:
    """Progress of every pair over the records that count."""
    selection, reader = Selection(), Reader(cluster_by=cluster_by)
    for each in records:
        selection.add(reader.candidate(each, each.to_json(), NOWHERE))
    training_slots = TrainingSlots(lambda *pair: pair in known, selection.counted, watched=watched)
    for candidate in selection.counted():
        if isinstance(candidate.payload, Observation):
            training_slots.apply(candidate, candidate.payload, +1)
    return [
        (learning_settings.progress, taught and taught.baseline)
        for learning_settings in at_once(learner.results(training_slots, START + now))
        for taught in [at_once(learning_settings.taught())]
    ]


def made(count: int, faithfulness: float = 0.75) -> list[ScoreRecord]:
    """Records one second apart, the later half in a segment of its own."""
    return [
        record(str(i), float(i), faithfulness, segment="acme" if 2 * i >= count else "zen")
        for i in range(count)
    ]


@costly
@given(pools(directed=True), st.randoms(use_true_random=False), st.integers(0, 220))
def test_any_order_learns_the_same_record(
    pool: list[ScoreRecord], rng: random.Random, now: int
) -> None:
    """The bytes to publish are a function of the set of records and the clock."""
    other = pool + pool[: len(pool) // 2]
    rng.shuffle(other)
    learner = Learner(LearningSettings(3, 2))
    plain = [(p, r and r.to_json()) for p, r in results(pool, now, learner, set())]
    assert [(p, r and r.to_json()) for p, r in results(other, now, learner, set())] == plain


def test_a_rare_metric_that_alone_is_watched_is_waited_for() -> None:
    """A lesson without it would end the wait: a baseline of what nobody watches."""
    rare = "noise_sensitivity_relevant"
    records = [
        one.model_copy(update={"scores": {**one.scores, rare: 0.25}}) if number % 10 == 0 else one
        for number, one in enumerate(made(300))
    ]
    learner = Learner(LearningSettings(20, 5, (rare,)))
    ((early, none),) = results(records[:150], 150.0, learner, set(), watched=(rare,))
    assert (early.slots, none) == (15, None)
    ((progress, found),) = results(records, 300.0, learner, set(), watched=(rare,))
    assert (progress.slots, progress.done) == (30, True)
    assert found is not None
    assert found.metrics[rare].mean == pytest.approx(0.25)
    assert found.slots == 20


def test_the_first_scored_slots_that_are_old_enough() -> None:
    """Of 10 needed: those younger than the wait do not count yet, later ones not at all."""
    learner = Learner(LearningSettings(10, 5))
    ((progress, none),) = results(made(20), 13.0, learner, set())
    assert progress._replace(first=0.0) == Progress(PAIR, 9, 10, done=False, first=0.0)
    assert none is None
    ((progress, found),) = results(made(20), 14.0, learner, set())
    ((_, later),) = results(made(20), 200.0, learner, set())
    assert progress.done
    assert found is not None
    assert found == later
    assert (found.slots, found.effective_from) == (10, at(9.0))


def minutes(first: int, count: int) -> list[ScoreRecord]:
    """One record a minute from that minute on."""
    return [record(str(i), 60.0 * i, 0.75) for i in range(first, first + count)]


HOURS_3 = LearningSettings(100, 0, for_s=3 * 3_600)
DAY = LearningSettings(1_000, 0, for_s=86_397)


def test_a_count_of_slots_is_not_a_time() -> None:
    """Before the time is full a provisional baseline, once; then one from all of the time."""
    learner = Learner(HOURS_3)
    ((few, none),) = results(minutes(0, 99), 60.0 * 99, learner, set())
    ((progress, early),) = results(minutes(0, 120), 60.0 * 120, learner, set())
    assert (few.done, none, progress.done) == (False, None, True)
    assert early is not None
    assert (early.provisional, early.slots, early.effective_from) == (True, 100, at(60.0 * 99))
    learner.learn_after(PAIR, None, provisional=True)
    ((waits, none),) = results(minutes(0, 150), 60.0 * 150, learner, set())
    assert (waits.done, none) == (False, None)
    ((_, found),) = results(minutes(0, 300), 60.0 * 300, learner, set())
    assert found is not None
    assert (found.provisional, found.slots, found.effective_from) == (False, 181, at(60.0 * 180))
    assert normal_of(early).provisional
    provisional = normal_of(early).metrics["faithfulness"]
    assert provisional.provisional
    assert provisional.hour_spread == unseen_spread(provisional.mean, 60.0 * 99) > 0.0
    assert found.metrics["faithfulness"].hour_spread == 0.0


def test_a_provisional_baseline_remembers_from_when_on_is_learned() -> None:
    """After a reset the slots before it teach nothing, neither now nor later."""
    learner = Learner(HOURS_3)
    learner.learn_after(PAIR, START + 60.0 * 49)
    ((_, early),) = results(minutes(0, 200), 60.0 * 200, learner, set())
    assert early is not None
    assert (early.provisional, early.learned_after) == (True, at(60.0 * 49))
    assert early.effective_from == at(60.0 * 149)


def test_little_traffic_is_learned_from_what_a_week_gives() -> None:
    """At least sixty; with less the sixtieth is waited for."""
    learner, day = Learner(LearningSettings(1_000, 0, for_s=86_400)), 86_400.0

    def daily(number: int, a_day: int) -> list[ScoreRecord]:
        return [record(str(i), i * day / a_day) for i in range(number)]

    ((_, none),) = results(daily(140, 20), 6.9 * day, learner, set())
    ((_, found),) = results(daily(140, 20), 7.1 * day, learner, set())
    assert none is None
    assert found is not None
    assert (found.slots, found.provisional) == (140, False)
    ((_, none),) = results(daily(59, 5), 20 * day, learner, set())
    ((_, later),) = results(daily(61, 5), 20 * day, learner, set())
    assert none is None
    assert later is not None
    assert later.slots == 60


def test_a_metric_with_few_values_has_no_baseline() -> None:
    """Of a few values anything could be normal; the others have theirs."""
    records = [
        record(str(i), float(i), scores={"faithfulness": 1.0, "hallucination": 0.0})
        if i < 59
        else record(str(i), float(i))
        for i in range(100)
    ]
    ((_, found),) = results(records, 200.0, Learner(LearningSettings(100, 0)), set())
    assert found is not None
    assert list(found.metrics) == ["faithfulness"]
    assert found.metrics["faithfulness"].values == 100


def test_baselines_stand_in_the_direction_of_their_metric() -> None:
    """A faithfulness of 0.75 is written as 0.75, and held against as 0.25 + 2·SE."""
    ((_, found),) = results(made(10), 100.0, Learner(LearningSettings(10, 0)), set())
    assert found is not None
    assert found.metrics["faithfulness"].mean == 0.75
    assert found.metrics["faithfulness"].segments == {"acme": 0.75, "zen": 0.75}
    normal = normal_of(found).metrics["faithfulness"]
    assert normal.of("acme") == pytest.approx(0.25 + 2 * normal.se)
    assert list(found.metrics) == ["faithfulness"]


def test_hours_of_the_first_day_that_differ_widen_the_margin() -> None:
    """Until a week is full: 120 an hour, half of them with a loss that is 0.5 higher."""
    rng = random.Random(3)
    records = [
        record(str(i), i * 30.0, float(rng.random() < (0.8 if i * 30 // 43_200 else 0.3)))
        for i in range(2_880)
    ]
    wanted = LearningSettings(1_000, 0, for_s=86_370)
    ((_, found),) = results(records, 86_370.0, Learner(wanted), set())
    assert found is not None
    (metric,) = found.metrics.values()
    print(f"τ_h {metric.hour_spread:.3f}, V {metric.dependence:.1f}")
    without_noise = 0.25**2 * 24 / 23 - metric.dependence * 0.25 / 120
    assert metric.hour_spread == pytest.approx(math.sqrt(without_noise), rel=0.1)
    read = read_control_record(found.key.encode(), found.to_json())
    assert isinstance(read, BaselineRecord)
    normal = normal_of(read).metrics["faithfulness"]
    assert normal.margin() == pytest.approx(2 * normal.se + metric.hour_spread)


def test_hours_are_learned_from_all_that_a_mean_is_thinned_from() -> None:
    """A day with a swing that 10,000 of 24,000 scores do not tell from chance."""
    rng = random.Random(4)
    records = [
        record(str(i), i * 3.6, float(rng.random() < (0.32 if i * 3.6 // 43_200 else 0.28)))
        for i in range(24_000)
    ]
    ((_, found),) = results(records, 86_400.0, Learner(DAY), set())
    assert found is not None
    (metric,) = found.metrics.values()
    by_hour = [of_hour(records[1_000 * hour : 1_000 * (hour + 1)]) for hour in range(24)]
    thinned = [of_hour(records[1_000 * hour : 1_000 * hour + 416]) for hour in range(24)]
    assert metric.values == 10_000
    assert metric.hour_spread == hour_spread(by_hour, metric.dependence) > 0.01
    assert hour_spread(thinned, metric.dependence) == 0.0


def of_hour(records: list[ScoreRecord]) -> HourSums:
    """The sums of faithfulness, turned round."""
    scores = (each.scores["faithfulness"] for each in records)
    return hour_sums((1.0, 1.0 - score) for score in scores if isinstance(score, float))


def test_hours_and_days_of_a_record_are_held_against() -> None:
    """A faithfulness that is lower by 0.125 at three has more loss then; days widen the margin."""
    ((_, found),) = results(made(10), 100.0, Learner(LearningSettings(10, 0)), set())
    assert found is not None
    hours = [0.0] * 24
    hours[3] = -0.125
    metric = found.metrics["faithfulness"].model_copy(
        update={"hours": tuple(hours), "day_spread": 0.0625, "se": 0.0}
    )
    written = found.model_copy(update={"metrics": {"faithfulness": metric}})
    read = read_control_record(written.key.encode(), written.to_json())
    assert read == written
    assert isinstance(read, BaselineRecord)
    normal = normal_of(read).metrics["faithfulness"]
    assert normal.of("acme", event_time=2 * 3_600.0) == 0.25 + 1.5 * 0.0625
    assert normal.of("acme", event_time=3 * 3_600.0) == 0.375 + 1.5 * 0.0625


def test_hours_of_half_a_day_are_malformed() -> None:
    """The hours that are not there would be looked up, and stop the exporter."""
    ((_, found),) = results(made(10), 100.0, Learner(LearningSettings(10, 0)), set())
    assert found is not None
    metrics = {name: {"mean": 0.5, "hours": [0.0] * 12} for name in found.metrics}
    line = json.dumps({**json.loads(found.to_json()), "metrics": metrics}).encode()
    with pytest.raises(RecordSkipped, match="hours needs 24 numbers") as skipped:
        read_control_record(found.key.encode(), line)
    assert skipped.value.cause == "malformed"


def test_failed_and_unscored_slots_teach_nothing() -> None:
    """Neither counts towards the slots that are needed."""
    records = [*made(9), record("9", 9.0, scores={}, outcome=Outcome.JUDGE_FAILED)]
    ((progress, found),) = results(records, 100.0, Learner(LearningSettings(10, 0)), set())
    assert (progress.slots, found) == (9, None)


def test_a_known_pair_is_not_learned_again_and_a_new_judge_learns_its_own() -> None:
    """Only what has no baseline yet makes progress."""
    records = [*made(4), record("4", 4.0, judge=SECOND)]
    found = results(records, 100.0, Learner(LearningSettings(10, 0)), {PAIR})
    assert [progress.pair for progress, _ in found] == [("bot", SECOND.label)]


def test_after_a_reset_only_later_slots_teach() -> None:
    """A reset baseline is learned from the slots after the reset."""
    learner = Learner(LearningSettings(5, 0))
    learner.learn_after(PAIR, START + 9.0)
    ((progress, found),) = results(made(20), 100.0, learner, set())
    assert progress.done
    assert found is not None
    assert found.effective_from == at(14.0)


def test_a_record_is_read_back_as_it_was_written() -> None:
    """Key and value go round; a tombstone takes the baseline away."""
    ((_, found),) = results(made(10), 100.0, Learner(LearningSettings(10, 0)), set())
    assert found is not None
    key = baseline_key(*PAIR)
    assert found.key == key
    assert read_control_record(key.encode(), found.to_json()) == found
    assert read_control_record(key.encode(), None) == Removed(key)


@pytest.mark.parametrize(
    ("key", "value", "cause"),
    [
        (b"request/bot", b"{}", "other_kind"),
        (None, b"{}", "other_kind"),
        (b"baseline/bot/x@1", b"{}", "malformed"),
        (b"baseline/bot/x@1", b"not JSON", "malformed"),
    ],
)
def test_what_is_not_a_baseline_is_skipped_and_named(
    key: bytes | None, value: bytes, cause: str
) -> None:
    """Records of other kinds, and unreadable ones, are counted under their cause."""
    with pytest.raises(RecordSkipped) as skipped:
        read_control_record(key, value)
    assert skipped.value.cause == cause


def test_a_baseline_without_bounds_is_malformed() -> None:
    """An infinite standard error would hold nothing against anything, for ever, without a word."""
    ((_, found),) = results(made(10), 100.0, Learner(LearningSettings(10, 0)), set())
    assert found is not None
    metrics = {name: {"mean": 0.5, "se": math.inf, "segments": {}} for name in found.metrics}
    line = json.dumps({**json.loads(found.to_json()), "metrics": metrics}).encode()
    with pytest.raises(RecordSkipped, match=r"metrics\..*\.se") as skipped:
        read_control_record(found.key.encode(), line)
    assert skipped.value.cause == "malformed"


def test_a_record_under_a_foreign_key_is_malformed() -> None:
    """Compaction works on keys: a record must stand under its own."""
    ((_, found),) = results(made(10), 100.0, Learner(LearningSettings(10, 0)), set())
    assert found is not None
    with pytest.raises(RecordSkipped, match="speaks of"):
        read_control_record(b"baseline/other/offline@1", found.to_json())


KNOWN = st.lists(st.tuples(st.integers(0, 39), st.booleans()), max_size=6)


@costly
@given(
    pools(directed=False),
    KNOWN,
    st.integers(-10, 250),
    st.integers(1, 60),
    st.integers(1, 3),
    st.randoms(),
)
def test_what_was_passed_over_is_learned_from_all_the_same(
    pool: list[ScoreRecord],
    known: list[tuple[int, bool]],
    since: int,
    kept: int,
    at_a_time: int,
    rng: random.Random,
) -> None:
    """Baselines come and go, and the latest slots are kept or not: the same lesson as from all."""
    rng.shuffle(pool)
    selection, held, changes = Selection(), set[tuple[str, str]](), dict(known)
    training_slots = TrainingSlots(
        lambda *pair: pair in held, selection.counted, float(kept), at_a_time
    )
    learner = Learner(LearningSettings(2, 0))
    for number, each in enumerate(pool):
        for change in selection.add(candidate_of(each, each.to_json())):
            if isinstance(change.candidate.payload, Observation):
                training_slots.apply(change.candidate, change.candidate.payload, change.sign)
        if number in changes:
            pair = each.application, each.judge.label
            (held.add if changes[number] else held.discard)(pair)
            learner.learn_after(pair, None if changes[number] else START + float(since))
            at_once(learner.results(training_slots, START + 300.0))
    fresh = TrainingSlots(lambda *pair: pair in held, selection.counted)
    for candidate in selection.counted():
        if isinstance(candidate.payload, Observation):
            fresh.apply(candidate, candidate.payload, +1)
    now = START + 300.0
    assert at_once(learner.results(training_slots, now)) == at_once(learner.results(fresh, now))


def test_sessions_that_records_name_widen_the_error() -> None:
    """As export.cluster says: evidence and error go by the V that it gives."""
    rng = random.Random(4)
    rates = [rng.betavariate(0.2, 1.8) for _ in range(60)]
    records = [
        record(str(number), float(number), float(rng.random() > rate), attributes={"session": name})
        for number, (name, rate) in enumerate(
            (f"s{name}", rate) for _ in range(10) for name, rate in enumerate(rates)
        )
    ]
    learner = Learner(LearningSettings(600, 0))
    found = []
    for cluster_by in (None, "session"):
        ((_, learned),) = results(records, 700.0, learner, set(), cluster_by)
        assert learned is not None
        found.append(learned.metrics["faithfulness"])
    plain, by_session = found
    assert plain.dependence == 1.0
    assert by_session.dependence > 2.0
    assert by_session.se > 1.4 * plain.se
