"""How soon a change is seen, by simulation: beside the benchmarks' own figures."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pytest

from monitor.plan.delay import NEVER, Simulation, WatchSettings
from monitor.plan.simulated import Quality
from tests.benchmarks.drift import CONTROL, A, Known, survive, until_alarm
from tests.benchmarks.drifting.directed import DirectedWorld
from tests.benchmarks.drifting.segmented import MIX, NORMAL, RATES, Phase, World
from tests.benchmarks.drifting.streams import STANDARD

#: Where picks are directed a run takes twenty times as long, and its length varies less. Evidence
#: has forgotten after a hundred slots how it began (medians at 100, 250, 500 and 2,000 are alike).
RUNS, DIRECTED_RUNS, DIRECTED_CONTROL = 400, 200, 500


@cache
def simulation(normal: Quality, watch: WatchSettings) -> Simulation:
    """One for all changes that are asked of it: what each gives is the same beside others."""
    return Simulation(normal, watch)


@cache
def known_world() -> Known:
    """The benchmark's, after normal traffic; nobody lets this one go on."""
    world = Known(np.random.default_rng(1), RUNS, STANDARD)
    survive(world, 0.08, CONTROL)
    return world


@cache
def learned_world() -> World:
    """The same with a learned baseline."""
    world = World(np.random.default_rng(1), RUNS, 1_000, A)
    survive(world, NORMAL, CONTROL)
    return world


def median(world: Any, worse: Any) -> float:
    """Judged from a change to the alarm in the benchmark's world, half of the runs sooner."""
    return float(np.median(until_alarm(deepcopy(world), worse)))


@pytest.mark.parametrize("factor", [1.5, 2.0, 3.0])
def test_with_a_known_baseline(factor: float) -> None:
    """0.08 → 0.12, 0.16, 0.24: within 15 % of the benchmark's recursion over arrays."""
    (found,) = simulation(Quality((0.08,)), WatchSettings(A, learn_slots=0)).delays([factor])
    assert found.median == pytest.approx(median(known_world(), 0.08 * factor), rel=0.15)


@pytest.mark.parametrize("factor", [1.5, 2.0])
def test_with_a_learned_baseline_and_segments(factor: float) -> None:
    """Worse inside three segments, picks uniform: within 15 % of the benchmark."""
    watch = WatchSettings(A, learn_slots=1_000)
    (found,) = simulation(Quality(RATES), watch).delays([factor])
    assert found.median == pytest.approx(median(learned_world(), Phase(MIX, factor)), rel=0.15)


def test_with_directed_picks() -> None:
    """×2 at a correlation of 0.6, one of twenty: within 15 % of the benchmark."""
    world = DirectedWorld(np.random.default_rng(1), DIRECTED_RUNS, 1_000, A, 0.6)
    survive(world, NORMAL, DIRECTED_CONTROL)
    watch = WatchSettings(A, learn_slots=1_000, members=20)
    (found,) = Simulation(Quality(RATES, 0.6), watch).delays([2.0])
    assert found.median == pytest.approx(median(world, Phase(MIX, 2.0)), rel=0.15)


def test_a_directed_pick_is_worth_two() -> None:
    """At a correlation of 0.6 the variance of a judgement is at most half of a uniform pick's."""
    watch = WatchSettings(A, learn_slots=1_000, members=20)
    uniform, directed = (
        Simulation(Quality((0.08,), signal), watch).relative_variance() for signal in (0.0, 0.6)
    )
    assert directed < 0.55 * uniform


def test_what_is_no_change_is_hardly_ever_seen() -> None:
    """Nobody waits for ever: there is no delay then."""
    watch = WatchSettings(1e9, learn_slots=0, most_waited=1_000)
    assert Simulation(Quality((0.08,)), watch).delays([1.0]) == [NEVER]


def test_a_change_is_seen_when_it_is_whatever_others_are_asked_for() -> None:
    """Half of the monitors see it sooner than nine of ten do."""
    simulated = simulation(Quality((0.08,)), WatchSettings(A, learn_slots=0))
    (alone,), (_, beside) = simulated.delays([2.0]), simulated.delays([3.0, 2.0])
    assert alone == beside
    assert _known(alone.median) < _known(alone.most)


def test_false_alarms_all_the_time_tell_nothing() -> None:
    """At an A of 10 nearly all monitors are in an alarm."""
    often = Simulation(Quality((0.08,)), WatchSettings(10.0, learn_slots=0))
    seldom = simulation(Quality((0.08,)), WatchSettings(A, learn_slots=0))
    assert (often.alarms_too_often, seldom.alarms_too_often) == (True, False)
    assert often.delays([3.0]) == [NEVER]


def test_evidence_of_more_than_two_periods_is_forgotten() -> None:
    """So a small change is seen later the shorter they are, and is seen in the end."""
    long, short = (
        Simulation(Quality((0.08,)), WatchSettings(A, 0, in_period=n)).delays([1.5])[0]
        for n in (10_000, 100)
    )
    assert _known(short.median) > 1.3 * _known(long.median)


def test_a_provisional_baseline_sees_a_change_later() -> None:
    """It tolerates a quarter of the mean, and more where it has seen an hour of the day."""
    whole, of_a_day, of_an_hour = (
        Simulation(Quality((0.08,)), WatchSettings(A, 200, provisional_s=one)).delays([3.0])[0]
        for one in (None, 86_400.0, 3_600.0)
    )
    assert _known(whole.median) < _known(of_a_day.median) < _known(of_an_hour.median)


def _known(judged: float | None) -> float:
    assert judged is not None
    return judged
