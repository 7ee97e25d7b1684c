"""What the mean changed to: its definition, and how far off it is where changes are small."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.changed_mean import ChangedMean, changed_mean
from monitor.stats.drift import NO_EVIDENCE, after, uniform
from monitor.stats.onset import onset

SCORES = st.lists(st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0]), min_size=1, max_size=60)
USUAL = st.floats(0.0, 1.0)
TRIALS = st.floats(0.1, 20.0)
THRESHOLDS = st.floats(1.0, 1e7)
A = 25_200.0


def _by_its_definition(
    scores: Sequence[float], usual: float, trials: float, power: float
) -> list[float]:
    """Quantiles of a fine grid: likelihood of each start and mean, times δ^-power dδ."""
    cells = 4_000
    least, most = math.log(0.05 * usual * (1 - usual)), math.log(1 - usual)
    edges = [math.exp(least + (most - least) * i / cells) for i in range(cells + 1)]
    weights = []
    for low, high in pairwise(edges):
        change = math.sqrt(low * high)
        mean, ratio, likely = usual + change, 1.0, 0.0
        for score in reversed(scores):
            factor = (mean / usual) ** score * ((1 - mean) / (1 - usual)) ** (1 - score)
            ratio *= factor**trials
            likely += ratio
        weights.append(likely * change**-power * (high - low))
    total, sums = sum(weights), list(accumulate(weights))
    return [
        usual + edges[next(i for i, one in enumerate(sums) if one >= share * total)]
        for share in (0.5, 0.025, 0.975)
    ]


@pytest.mark.parametrize(("threshold", "power"), [(A, 1.6), (5_000.0, 1.5), (100.0, 1.0)])
def test_it_is_the_median_of_what_is_likely(threshold: float, power: float) -> None:
    """And its interval holds 95 %, as of the definition on a much finer grid."""
    scores = [0.0, 0.0, 0.25, 0.0] * 10 + [0.5, 0.25, 0.0, 0.75] * 5
    found = _by_its_definition(scores, 0.08, 1.8, power)
    told = changed_mean(scores, 0.08, 1.8, threshold)
    assert told == pytest.approx(found, rel=0.01)


@pytest.mark.parametrize("heavy", [2.0, 3.0, 4.8])
def test_one_pick_that_stands_for_others_does_not_decide(heavy: float) -> None:
    """Directed picks count for several; what raises an alarm is often one of them."""
    scores = [0.0, 0.25] * 60
    told = changed_mean([*scores, heavy], 0.085, 2.0, A)
    mean = sum([*scores, heavy]) / (len(scores) + 1)
    assert told.value <= mean + 0.03
    assert told.upper < 0.6


def test_heavy_and_light_picks_tell_the_mean_that_they_stand_for() -> None:
    """Half of the traffic by one pick in five: of weights 2.5 and 0.625 about the same mean."""
    light = [0.625 * value for value in (0.0, 0.25, 0.25, 0.5)]
    scores = [*light, 2.5 * 0.5] * 60
    told = changed_mean(scores, 0.085, 1.0, A)
    assert told.value == pytest.approx(sum(scores) / len(scores), rel=0.1)


@given(SCORES, USUAL, TRIALS, THRESHOLDS)
def test_it_is_worse_than_usual_and_within_its_interval(
    scores: list[float], usual: float, trials: float, threshold: float
) -> None:
    """Whatever the scores are; a usual mean of 0 or 1 counts as next to it."""
    value, lower, upper = changed_mean(scores, usual, trials, threshold)
    assert min(usual, 0.999) < lower < value < upper <= 1.0


@given(SCORES, USUAL, TRIALS)
def test_the_same_scores_give_the_same_bits(
    scores: list[float], usual: float, trials: float
) -> None:
    """Two exporters tell the same."""
    assert changed_mean(scores, usual, trials, A) == changed_mean(list(scores), usual, trials, A)


@given(SCORES, st.floats(0.02, 0.5), st.floats(0.5, 4.0))
def test_worse_scores_at_the_end_tell_of_a_worse_mean(
    scores: list[float], usual: float, trials: float
) -> None:
    """One that is wholly wrong makes none of it better."""
    before, then = (changed_mean(all_of, usual, trials, A) for all_of in (scores, [*scores, 1.0]))
    assert then.value >= before.value * (1 - 1e-9)


@given(SCORES, st.floats(0.02, 0.5), st.floats(0.5, 4.0), THRESHOLDS, THRESHOLDS)
def test_of_the_same_scores_a_low_threshold_tells_no_less(
    scores: list[float], usual: float, trials: float, one: float, other: float
) -> None:
    """The scores have to say it: the prior has less to say."""
    low, high = (changed_mean(scores, usual, trials, a) for a in sorted((one, other)))
    assert low.value >= high.value * (1 - 1e-9)


def test_many_scores_before_a_change_are_thinned_out() -> None:
    """What is told hardly depends on how many were as usual."""
    rng = random.Random(1)
    quiet = [float(rng.random() < 0.08) for _ in range(20_000)]
    worse = [float(rng.random() < 0.4) for _ in range(60)]
    few, many = (changed_mean([*quiet[-number:], *worse], 0.09, 1.0, A) for number in (500, 20_000))
    assert many == pytest.approx(few, rel=0.05)


def test_a_large_change_is_told_by_little_evidence_too() -> None:
    """×3 at a threshold of 1,300: at least three quarters of it, and in most intervals."""
    told = [_at_the_alarm(seed, 0.24, 1_300.0)[0] for seed in range(80)]
    ratio = (statistics.fmean(one.value for one in told) - 0.08) / 0.16
    holds = sum(one.lower <= 0.24 <= one.upper for one in told)
    print(f"told {ratio:.2f} of it; {holds} hold")
    assert 0.75 < ratio < 1.15
    assert holds >= 72


@pytest.mark.parametrize("mean", [0.12, 0.24])
def test_it_exaggerates_less_than_the_scores_since_the_start(mean: float) -> None:
    """Answers wholly right or wrong, from 0.08, at the alarm: by half as much."""
    told, since = zip(*(_at_the_alarm(seed, mean) for seed in range(80)), strict=True)
    values = [one.value for one in told]
    ratio, plain = ((statistics.fmean(all_of) - 0.08) / (mean - 0.08) for all_of in (values, since))
    holds = sum(one.lower <= mean <= one.upper for one in told)
    print(f"0.08 → {mean}: told {ratio:.2f} of it, since the start {plain:.2f}; {holds} hold")
    assert 0.0 < ratio - 1.0 < 0.6 * (plain - 1.0)
    assert holds >= 72


def _at_the_alarm(seed: int, mean: float, a: float = 10_000.0) -> tuple[ChangedMean, float]:
    """What is told, and the mean since the estimated start."""
    rng, b = random.Random(seed), 0.096
    scores = [float(rng.random() < 0.08) for _ in range(300)]
    evidence = NO_EVIDENCE
    for score in scores:
        evidence = after(evidence, uniform(score, b), a)
    while not evidence.is_open:
        scores.append(float(rng.random() < mean))
        evidence = after(evidence, uniform(scores[-1], b), a)
    found = onset((uniform(score, b) for score in scores), a)
    assert found is not None
    told = changed_mean(scores[found.possible :], 0.088, 1.0, a)
    return told, statistics.fmean(scores[found.first :])
