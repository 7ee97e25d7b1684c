"""How soon a change is seen, by simulation: beside the benchmark's own figures."""

from __future__ import annotations

import pytest

from monitor.plan.delay import Simulation, WatchSettings
from monitor.plan.world import Quality

SEGMENTS = (0.04, 0.08, 0.16)
A = 10_000.0


@pytest.mark.parametrize(("factor", "judged"), [(1.5, 208.0), (2.0, 78.0), (3.0, 30.0)])
def test_with_a_known_baseline(factor: float, judged: float) -> None:
    """0.08 → 0.12, 0.16, 0.24: within 15 % of what ``tests/benchmarks/drift.py`` prints."""
    (found,) = Simulation(Quality((0.08,)), WatchSettings(A, learn_slots=0)).delays([factor])
    assert found == pytest.approx(judged, rel=0.15)


def test_with_a_learned_baseline_and_segments() -> None:
    """×2 and ×1.5 inside three segments, picks uniform: within 15 % of the benchmark."""
    found = Simulation(Quality(SEGMENTS), WatchSettings(A, learn_slots=1_000)).delays([2.0, 1.5])
    assert found == [pytest.approx(102, rel=0.15), pytest.approx(386, rel=0.15)]


def test_with_directed_picks() -> None:
    """×2 at a correlation of 0.6, one of twenty: within 15 % of the benchmark."""
    watch = WatchSettings(A, learn_slots=1_000, members=20)
    (found,) = Simulation(Quality(SEGMENTS, 0.6), watch).delays([2.0])
    assert found == pytest.approx(64, rel=0.15)


def test_a_directed_pick_is_worth_two() -> None:
    """At a correlation of 0.6 the variance of a judgement is at most half of a uniform pick's."""
    watch = WatchSettings(A, learn_slots=1_000, members=20)
    uniform, directed = (
        Simulation(Quality((0.08,), signal), watch).relative_variance() for signal in (0.0, 0.6)
    )
    assert directed < 0.55 * uniform


def test_what_is_no_change_is_hardly_ever_seen() -> None:
    """Nobody waits for ever: there is no delay then."""
    watch = WatchSettings(1e9, learn_slots=0, counted=1_000)
    assert Simulation(Quality((0.08,)), watch).delays([1.0]) == [None]
