"""V by sessions: whoever has ten answers of one session has not ten that are new."""

from __future__ import annotations

import random

import pytest

from monitor.exporter.scores.aggregator import ScoreAggregator, SeriesEstimate
from monitor.exporter.scores.cluster_sums import ClusterSums
from monitor.exporter.scores.observation import NO_CLUSTER, Observation
from monitor.records import Outcome, ScoreRecord, UnscoredMark
from tests.stages.candidates import candidate_of
from tests.stages.score_records import START, record

HOUR_S = 3_600.0
DAY_S = 86_400


def sessions(length: int, *, every_s: float = 20.0, n: int = 2_000) -> list[ScoreRecord]:
    """Each with one score for all of its answers; ten of them at a time."""
    rng = random.Random(length)
    open_ones = [(f"s{i}", rng.random() < 0.3, rng.randrange(length)) for i in range(10)]
    found = []
    for number in range(n):
        at = rng.randrange(10)
        name, is_bad, left = open_ones[at]
        found.append(
            record(
                str(number + 1),
                number * every_s,
                float(not is_bad),
                attributes={"session_id": name, "turn": left},
            )
        )
        fresh = (f"s{number + 10}", rng.random() < 0.3, length - 1)
        open_ones[at] = (name, is_bad, left - 1) if left else fresh
    return found


def estimates(records: list[ScoreRecord], cluster_by: str | None) -> list[SeriesEstimate]:
    """What the gauges say after all of them."""
    scores = ScoreAggregator({"1d": DAY_S}, DAY_S, cluster_by=cluster_by)
    for one in records:
        scores.add(one, one.to_json())
    scores.advance(START + DAY_S / 2)
    return list(scores.estimates())


def width(found: SeriesEstimate) -> float:
    """Of an interval."""
    assert found.estimate.lower is not None
    assert found.estimate.upper is not None
    return found.estimate.upper - found.estimate.lower


@pytest.mark.parametrize("length", [4, 10])
def test_an_interval_goes_by_the_number_of_sessions(length: int) -> None:
    """Answers that are alike within a session: its width is that of so many sessions."""
    records = sessions(length)
    (alone,) = estimates([r.model_copy(update={"attributes": {}}) for r in records], "session_id")
    (told,) = estimates(records, "session_id")
    print(f"{length} answers a session: {width(told) / width(alone):.2f} times as wide")
    assert told.estimate.value == alone.estimate.value
    assert width(told) / width(alone) == pytest.approx(length**0.5, rel=0.2)


def test_what_is_no_session_tells_nothing() -> None:
    """An attribute that is another one each time, or missing, leaves the interval as it is."""
    records = sessions(10)
    names = [r.model_copy(update={"attributes": {"session_id": r.interaction_id}}) for r in records]
    (own,), (none,) = estimates(names, "session_id"), estimates(records, "user_id")
    assert width(own) == width(none)


def kept(one: ScoreRecord, cluster: int) -> Observation:
    """A slot of a cluster."""
    slot = candidate_of(one, b"").payload
    assert isinstance(slot, Observation)
    return slot._replace(cluster=cluster)


def test_the_same_in_any_order_and_after_some_have_gone() -> None:
    """To the last bit; what was dropped does not come back when it goes."""
    slots = [
        (r.event_time.timestamp(), kept(r, number // 7 if number % 5 else NO_CLUSTER))
        for number, r in enumerate(sessions(4))
    ]
    ordered, mixed = ClusterSums(86_400), ClusterSums(86_400)
    limit = START + 2 * HOUR_S
    for at, slot in slots:
        if at >= limit:
            ordered.add(at, slot, +1)
    shuffled = [*slots, *slots[:500]]
    random.Random(1).shuffle(shuffled)
    for at, slot in shuffled:
        mixed.add(at, slot, +1)
    for at, slot in slots[250:500]:
        mixed.add(at, slot, -1)
    mixed.drop_before(limit)
    for at, slot in slots[:250]:
        mixed.add(at, slot, -1)
    assert mixed.dependence("faithfulness") == ordered.dependence("faithfulness") > 1.0


@pytest.mark.parametrize("outcome", [Outcome.UNSCORABLE, Outcome.JUDGE_FAILED, Outcome.SCORED])
def test_answers_without_a_value_come_and_go(outcome: Outcome) -> None:
    """Also the first of a session; they belong to no cluster, and are none of their own."""
    given = sessions(4)
    scored = [
        (r.event_time.timestamp(), kept(r, n // 7 or NO_CLUSTER)) for n, r in enumerate(given)
    ]
    nothing = {"scores": {"faithfulness": UnscoredMark(unscored="NO_CLAIMS")}, "outcome": outcome}
    unscored = [
        (r.event_time.timestamp(), kept(r.model_copy(update=nothing), cluster))
        for r in given[::3]
        for cluster in (NO_CLUSTER, 7_000)
    ]
    alone, beside = ClusterSums(86_400), ClusterSums(86_400)
    for at, slot in unscored:
        beside.add(at, slot, +1)
    for at, slot in scored:
        alone.add(at, slot, +1)
        beside.add(at, slot, +1)
    assert beside.dependence("faithfulness") == alone.dependence("faithfulness") > 1.0
    for at, slot in unscored:
        beside.add(at, slot, -1)
    assert beside.dependence("faithfulness") == alone.dependence("faithfulness")
