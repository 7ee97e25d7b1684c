"""Weeks by arrays are those that are played: to the look, whatever the traffic is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from monitor.stats.baseline import Baseline, SegmentSpread, Tolerance
from monitor.stats.drift import BETS
from tests.benchmarks.promising.installation import settings
from tests.benchmarks.promising.looks import Slots
from tests.benchmarks.promising.quiet import Against, quietly
from tests.benchmarks.promising.recursion import combined, recent_shares
from tests.benchmarks.promising.weeks import Change, Plan, played
from tests.benchmarks.promising.worlds import DAY, Cell

PLAN = Plan(1.5, (Change(2.0),))
#: Whose period is that of much traffic.
DAILY = settings(**{"drift.period": "1d", "drift.learn_slots": 100})
SHIPPED = settings()


@pytest.mark.parametrize(
    ("world", "law", "number", "openings"),
    [
        ("day ±25 %", "claims 0.6", 0, 2),
        ("days ±5 %", "claims 0.08", 1, 2),
        ("mix shift", "claims 0.08", 0, 0),
        ("17 % by 5", "whole 0/1", 1, 0),
        ("judge fails", "95 % zeros", 0, 0),
    ],
)
def test_arrays_see_what_is_played(world: str, law: str, number: int, openings: int) -> None:
    """Baselines, hours of the day, openings, how long an alarm is open, and the delay."""
    cell = Cell("100/day", world, law)
    by_arrays, by_exporter = (way(cell, 1, number, DAILY, PLAN) for way in (quietly, played))
    by_arrays.judged = by_exporter.judged
    assert by_arrays == by_exporter
    assert by_arrays.openings == openings


@pytest.mark.parametrize(
    ("rate", "world", "law"),
    [("20/day", "weekends", "claims 0.08"), ("100/day", "1/3 by 50", "heavy tails")],
)
def test_arrays_see_what_is_played_of_little_traffic(rate: str, world: str, law: str) -> None:
    """Periods of weeks, that change with the pace."""
    by_arrays, by_exporter = (
        way(Cell(rate, world, law), 1, 2, SHIPPED, PLAN) for way in (quietly, played)
    )
    by_arrays.judged = by_exporter.judged
    assert by_arrays == by_exporter


def slots(number: int) -> Slots:
    """A day of them, of three tenants."""
    rng = np.random.default_rng(5)
    times = np.sort(rng.random(number)) * DAY
    return Slots(times, rng.random((number, 1)) ** 3, rng.integers(0, 3, number))


@pytest.mark.parametrize("dependence", [1.0, 2.5])
def test_evidence_of_many_slots_is_that_of_one_after_another(dependence: float) -> None:
    """With the mix of tenants, where the last one was rare while all was learned."""
    spreads = {"": SegmentSpread(0.0, 0.1), "tenant-00": SegmentSpread(0.6, 0.004)}
    spreads |= {"tenant-01": SegmentSpread(0.4, 0.004)}
    known = Baseline(0.25, 0.01, {"tenant-00": 0.3}, spreads=spreads, dependence=dependence)
    against, some = Against(known, Tolerance(share=0.1), 3), slots(1_000)
    sequence, (known_shares, numbers) = against.sequence(some, 0), against.mix
    shares = recent_shares(np.array(known_shares), np.array(numbers)[some.tenants])
    evidence = against.evidence(some, shares, 0)
    for number in (0, 1, 31, 500, 999):
        found = sequence.evidence(0.0, float(some.times[number]), math.inf)
        assert found is not None
        assert evidence[number] == pytest.approx(found.combined)


def test_evidence_may_outgrow_floats() -> None:
    """It is not below any threshold, then."""
    found = combined(np.full(5_000, 1.0), np.full(5_000, 0.1), 1.0)
    assert found[0] == pytest.approx(np.mean([1.0 + 0.9 * bet for bet in BETS]))
    assert not (found[1_000:] < 1e9).any()
