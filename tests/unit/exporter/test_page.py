"""The whole page is a function of the records, the control records, the settings and the clock.

Score records come in any order, twice, judged again, late, from the time ahead; exporters are
killed anywhere and begin again; they are looked at, and learn, at any time. What they say at the
end is said bit for bit by one that reads everything once. Small numbers everywhere: periods of a
minute, so that midnights pass; one application and two segments with a name; a threshold that
follows the traffic, and that few scores reach.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.app.scores import Aggregators
from monitor.exporter.baselines.baselines import Baselines, control_state
from monitor.exporter.baselines.learning import Learner, LearningSettings
from monitor.exporter.scores.aggregator import ScoreAggregator, SegmentLabels
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings, Normal
from monitor.records import Outcome, ScoreRecord
from monitor.records.control import BaselineRecord, MetricBaseline
from monitor.stats.baseline import NOTHING, Baseline
from tests.stages.page import Event, live, page, score
from tests.stages.properties import costly
from tests.stages.score_records import (
    FIRST,
    PERIOD,
    SECOND,
    START,
    WINDOWS,
    any_records,
    at,
    record,
)

WATCHED = ("faithfulness", "noise_sensitivity_irrelevant")
#: The configuration knows what is normal for one judge of one application.
FIXED = ("bot", SECOND.label)
NORMAL = Normal({name: Baseline(0.1, 0.01, {"acme": 0.2}) for name in WATCHED})
CLOCKS = st.integers(0, 260) | st.floats(0, 260)
RANDOM = st.randoms(use_true_random=False)


def made(judged_per_week: float | None = None, period: int = PERIOD) -> Aggregators:
    """An exporter that has read nothing yet."""
    watched = DriftSettings(WATCHED, 1_000.0, judged_per_week, NOTHING, period, 2)
    drift = DriftDetectors(watched, lambda *pair: NORMAL if pair == FIXED else None)
    scores = ScoreAggregator(WINDOWS, period, 1, drift, segments=SegmentLabels(most=2))
    return Aggregators(scores, drift, Baselines(drift, Learner(LearningSettings(4, 2))))


class Decision(NamedTuple):
    """A control record: a baseline, or what removes it."""

    record: BaselineRecord
    removes: bool


def decision(each: Decision) -> Event:
    """A control record is read."""
    key, value = each.record.key.encode(), None if each.removes else each.record.to_json()
    return lambda found: control_state(found.baselines).apply(key, value)


@st.composite
def records(draw: st.DrawFn) -> list[ScoreRecord]:
    """Records of two applications and judges; some are judged again, later or at once."""
    one = any_records(directed=draw(st.booleans()))
    pool = draw(st.integers(0, 40).flatmap(lambda n: st.lists(one, min_size=n, max_size=n)))
    for each in draw(st.lists(st.sampled_from(pool), max_size=6)) if pool else ():
        later = each.judged_at + timedelta(seconds=draw(st.integers(0, 2)))
        changed = {"judged_at": later, "judge": draw(st.sampled_from([FIRST, SECOND]))}
        if each.outcome is Outcome.SCORED:
            changed["scores"] = {"faithfulness": draw(st.sampled_from([0.0, 0.5, 1.0]))}
        pool.append(each.model_copy(update=changed))
    return pool


DECISIONS = st.lists(
    st.builds(
        Decision,
        st.builds(
            BaselineRecord,
            application=st.sampled_from(["bot", "shop", "other"]),
            judge=st.sampled_from([FIRST.label, SECOND.label]),
            origin=st.sampled_from(["learned", "set", "frozen"]),
            effective_from=st.integers(0, 200).map(at),
            metrics=st.dictionaries(
                st.sampled_from(WATCHED),
                st.builds(
                    MetricBaseline,
                    mean=st.floats(0, 1),
                    se=st.floats(0, 0.2),
                    segments=st.dictionaries(st.sampled_from(["acme", "bolt"]), st.floats(0, 1)),
                ),
            ),
        ),
        st.sampled_from([False, False, False, True]),
    ),
    max_size=6,
)


def in_disorder(
    pool: Sequence[ScoreRecord], decided: Sequence[Decision], rng: random.Random
) -> list[Event]:
    """All records in any order, some twice; control records anywhere between, in their order."""
    twice = [*pool, *rng.sample(pool, len(pool) // 2)]
    events = [score(each) for each in rng.sample(twice, len(twice))]
    places = sorted(rng.randint(0, len(events)) for _ in decided)
    for place, each in reversed(list(zip(places, decided, strict=True))):
        events.insert(place, decision(each))
    return events


def at_once(
    pool: Iterable[ScoreRecord], decided: Iterable[Decision], judged_per_week: float | None = None
) -> Aggregators:
    """An exporter that has read everything in its order, and was not looked at."""
    found = made(judged_per_week)
    for event in [*map(score, pool), *map(decision, decided)]:
        event(found)
    return found


@costly
@given(records(), DECISIONS, CLOCKS, RANDOM, st.sampled_from([None, 200.0]))
def test_order_duplicates_and_crashes_change_no_bit_of_a_page(
    pool: list[ScoreRecord],
    decided: list[Decision],
    now: float,
    rng: random.Random,
    judged_per_week: float | None,
) -> None:
    """Killed after any part of the topics, thrice; the one that lives on says the same."""
    expected = page(at_once(pool, decided, judged_per_week), now)
    for _ in range(3):
        events = in_disorder(pool, decided, rng)
        killed = events[: rng.randint(0, len(events))]
        live(made(judged_per_week), killed, rng.uniform(0, now), rng)
        assert page(live(made(judged_per_week), events, now, rng), now) == expected


@costly
@given(records(), DECISIONS, CLOCKS, RANDOM)
def test_learning_in_any_order_gives_the_same_records(
    pool: list[ScoreRecord], decided: list[Decision], now: float, rng: random.Random
) -> None:
    """What is published, and what is shown of the progress; also after a baseline was removed."""
    plain = at_once(pool, decided)
    plain.scores.advance(START + now)
    expected = [
        each.to_json() for each in plain.baselines.learn(plain.scores.training_slots, START + now)
    ]
    found = live(made(), in_disorder(pool, decided, rng), now, rng)
    found.scores.advance(START + now)
    learned = found.baselines.learn(found.scores.training_slots, START + now)
    assert [each.to_json() for each in learned] == expected
    assert list(found.baselines.status()) == list(plain.baselines.status())


@costly
@given(records(), DECISIONS, CLOCKS, RANDOM)
def test_late_records_end_in_the_same_bits(
    pool: list[ScoreRecord], decided: list[Decision], now: float, rng: random.Random
) -> None:
    """Some records come after a page without them: the next page is as if they had been there."""
    rng.shuffle(pool)
    cut = rng.randint(0, len(pool))
    found = at_once(pool[:cut], decided)
    for each in pool[cut:]:
        page(found, now)
        score(each)(found)
    assert page(found, now) == page(at_once(pool, decided), now)


def test_a_late_record_changes_the_evidence_from_its_minute_on() -> None:
    """One bad score of the first minute comes after twenty minutes: no other bits than in time."""
    pool = [record(str(i), i * 6.0, 0.5 if i % 7 == 0 else 1.0, judge=SECOND) for i in range(200)]
    late = record("999", 33.0, 0.0, judge=SECOND)
    found, whole = made(200.0, 3_600), made(200.0, 3_600)
    for each in pool:
        score(each)(found)
        score(each)(whole)
    score(late)(whole)
    before = page(found, 1_300.0)
    score(late)(found)
    after = page(found, 1_300.0)
    assert after == page(whole, 1_300.0)
    evidence = [
        next(line for line in each[0].splitlines() if line.startswith(b"rag_drift_evidence{"))
        for each in (before, after)
    ]
    assert evidence[0] != evidence[1]


def test_a_threshold_that_follows_the_traffic_changes_no_bit() -> None:
    """Looked at after every score, at the ceiling and back again, while A grows and falls."""
    scores = [0.5 * (i % 9 == 0) if i % 40 < 25 else 1.0 - (i % 5) / 10 for i in range(120)]
    pool = [record(str(i), i * 1.5, each, judge=SECOND) for i, each in enumerate(scores)]
    found = made()
    for i, each in enumerate(pool):
        score(each)(found)
        seen = page(found, i * 1.5 + 2.0)
        assert i % 10 or seen == page(at_once(pool[: i + 1], []), i * 1.5 + 2.0)
    for now in (185.0, 239.0, 241.0):
        assert page(found, now) == page(at_once(pool, []), now)


@pytest.mark.parametrize("looked", [True, False])
def test_what_was_known_is_learned_again_from_all_slots(looked: bool) -> None:
    """A baseline held before, while and after slots came, and is removed: they all teach."""
    pool = [record(str(i), float(i), i / 20) for i in range(20)]
    held = BaselineRecord(
        application="bot",
        judge=FIRST.label,
        origin="set",
        effective_from=at(0),
        metrics={"faithfulness": MetricBaseline(mean=0.5)},
    )
    found, fresh = made(), at_once(pool, [])
    found.scores.advance(START + 25.0)
    for event in (*map(score, pool[:2]), decision(Decision(held, removes=False))):
        event(found)
    for each in pool[2:]:
        score(each)(found)
        if looked:
            assert found.baselines.learn(found.scores.training_slots, START + 30.0) == []
    decision(Decision(held, removes=True))(found)
    for aggregators in (found, fresh):
        aggregators.scores.advance(START + 30.0)
    (learned,) = found.baselines.learn(found.scores.training_slots, START + 30.0)
    assert [learned] == fresh.baselines.learn(fresh.scores.training_slots, START + 30.0)
    assert isinstance(learned, BaselineRecord)
    assert learned.effective_from == at(3)


def test_the_made_traffic_reaches_what_is_tested() -> None:
    """A page of these settings shows an alarm, a rest of applications and one of segments."""
    pool = [
        record(str(i), i / 2, 0.0, judge=SECOND, segment="acbd"[min(i // 8, 3)]) for i in range(40)
    ]
    pool.append(record("99", 1.0, application="zoo", judge=SECOND))
    found = made()
    for each in pool:
        score(each)(found)
    gauges, *others = page(found, 40.0)
    text = gauges.decode()
    assert 'rag_drift_alarm{application="bot",direction="worse"' in text
    assert 'application="other"' in text
    assert 'segment="other"' in text
    assert [b"breached" in one for one in others[:-1]] == [True]  # the rest has promised nothing
    assert b'"state":"open"' in others[-1]
