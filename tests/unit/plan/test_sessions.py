"""What a plan says that sessions cost, beside the detector itself over sessions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from random import Random
from statistics import median

import pytest

from monitor.stats.baseline import Baseline, ScoredPick, Tolerance, learned
from monitor.stats.drift import NO_EVIDENCE, after, uniform

MONITORS, LEARNED, MOST = 60, 1_200, 4_000
A, MEAN = 42_000.0, 0.08
#: Answers of a session have one rate of wrong claims, from a Beta distribution, or their own.
SPREAD, SHARED, CLAIMS = 7 / 3, 0.7, 5


def answers(random: Random, mean: float, together: int) -> Iterator[ScoredPick]:
    """In sessions of so many answers."""
    number = 0
    while True:
        number += 1
        rate = random.betavariate(mean * SPREAD, (1 - mean) * SPREAD)
        for _ in range(together):
            is_shared = random.random() < SHARED
            own = rate if is_shared else random.betavariate(mean * SPREAD, (1 - mean) * SPREAD)
            wrong = sum(random.random() < own for _ in range(CLAIMS))
            yield ScoredPick("", 1.0, wrong / CLAIMS, number)


def delay(baseline: Baseline, worse: Iterator[ScoredPick]) -> float:
    """Judged until an alarm."""
    evidence, usual = NO_EVIDENCE, baseline.of("", Tolerance(share=0.1))
    for judged, pick in enumerate(islice(worse, MOST), 1):
        evidence = after(evidence, uniform(pick.value, usual), A, baseline.dependence)
        if evidence.is_open:
            return judged
    return math.inf


def played(together: int) -> tuple[float, float]:
    """The median of V, and of the delays until ×2."""
    found, delays = list[float](), list[float]()
    for number in range(MONITORS):
        random = Random(number)
        baseline = learned(islice(answers(random, MEAN, together), LEARNED))
        assert baseline is not None
        found.append(baseline.dependence)
        delays.append(delay(baseline, answers(random, 2 * MEAN, together)))
    return median(found), median(delays)


@pytest.mark.parametrize("together", [4, 10])
def test_delays_are_v_times_as_long(together: int) -> None:
    """Four answers a session, and ten: within a quarter."""
    (_, alone), (v, found) = played(1), played(together)
    assert v > 1.5
    assert found / alone == pytest.approx(v, rel=0.25)
