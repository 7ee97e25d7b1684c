"""Agreement with labels, held against formulas written another way and against scipy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from random import Random

import pytest
from scipy import stats

from monitor.stats import clustered
from monitor.stats.agreement import Agreement, Confusion, agreement, pooled
from monitor.stats.clustered import Estimated
from monitor.stats.paired import compare, mcnemar, sign_flips
from monitor.stats.ranking import area


def made(clusters: int, seed: int, wrong: float = 0.15) -> list[Confusion]:
    """Tables of one to seven verdicts each."""
    rng = Random(seed)
    tables = []
    for _ in range(clusters):
        table = Confusion()
        for _ in range(rng.randrange(1, 8)):
            label = rng.random() < 0.6
            table += Confusion.of(label, label != (rng.random() < wrong))
        tables.append(table)
    return tables


def jackknife(tables: Sequence[Confusion], value: Callable[[Confusion], float]) -> float:
    """The variance by leaving out one cluster at a time."""
    whole, m = pooled(tables), len(tables)
    less = [
        Confusion(whole.tp - t.tp, whole.fp - t.fp, whole.fn - t.fn, whole.tn - t.tn)
        for t in tables
    ]
    values = [value(table) for table in less]
    middle = sum(values) / m
    return (m - 1) / m * sum((v - middle) ** 2 for v in values)


def kappa_by_cells(t: Confusion) -> float:
    """Cohen's formula from the shares of the four cells."""
    tp, fp, fn, tn = (x / t.n for x in (t.tp, t.fp, t.fn, t.tn))
    chance = (tp + fn) * (tp + fp) + (fp + tn) * (fn + tn)
    return (tp + tn - chance) / (1 - chance)


MEASURES: dict[str, Callable[[Confusion], float]] = {
    "accuracy": lambda t: (t.tp + t.tn) / t.n,
    "precision": lambda t: t.tp / (t.tp + t.fp),
    "recall": lambda t: t.tp / (t.tp + t.fn),
    "specificity": lambda t: t.tn / (t.tn + t.fp),
    "balanced_accuracy": lambda t: (t.tp / (t.tp + t.fn) + t.tn / (t.tn + t.fp)) / 2,
    "kappa": kappa_by_cells,
}


def measured(found: Agreement, name: str) -> Estimated:
    """A measure by its name."""
    estimated = getattr(found, name)
    assert isinstance(estimated, Estimated)
    return estimated


@pytest.mark.parametrize("name", MEASURES)
def test_point_estimate(name: str) -> None:
    """Every measure is that of the pooled table, to 1e-12."""
    for seed in range(20):
        tables = made(30, seed)
        value = measured(agreement(tables), name).value
        assert value == pytest.approx(MEASURES[name](pooled(tables)), abs=1e-12)


@pytest.mark.parametrize("name", MEASURES)
def test_interval_width_is_that_of_the_jackknife(name: str) -> None:
    """With many clusters an interval is as wide as the jackknife over clusters says, within 5 %."""
    tables = made(800, seed=5)
    found = measured(agreement(tables), name)
    assert found.lower is not None
    assert found.upper is not None
    wide = 2 * 1.963 * math.sqrt(jackknife(tables, MEASURES[name]))
    assert found.upper - found.lower == pytest.approx(wide, rel=0.05)


@pytest.mark.parametrize("name", MEASURES)
def test_clusters_widen(name: str) -> None:
    """The same verdicts in clusters of ten that err together give a wider interval."""
    tables = [Confusion(tp=5, tn=5)] * 40 + [Confusion(fp=5, fn=5)] * 10
    apart = [Confusion.of(label, label == right) for right, n in ((True, 40), (False, 10))
             for label in (True, False) for _ in range(5 * n)]  # fmt: skip
    assert pooled(tables) == pooled(apart)
    together, alone = (measured(agreement(found), name) for found in (tables, apart))
    assert together.value == pytest.approx(alone.value)
    assert None not in (*together, *alone)
    assert (together.upper or 0) - (together.lower or 0) > 2 * (
        (alone.upper or 0) - (alone.lower or 0)
    )


@pytest.mark.parametrize("name", MEASURES)
def test_faultless_judge_has_an_interval(name: str) -> None:
    """Without an error the upper bound is 1, and the lower one below it rises with the clusters."""
    few, many = (
        measured(agreement([Confusion(tp=1, tn=1)] * clusters), name) for clusters in (10, 100)
    )
    assert few.value == many.value == few.upper == many.upper == 1.0
    assert 0.0 < (few.lower or 0) < (many.lower or 0) < 1.0


def test_undefined() -> None:
    """What has nothing to divide by is None, and one cluster has no bounds."""
    found = agreement([Confusion(tp=3), Confusion(tp=1)])
    assert found.specificity == found.balanced_accuracy == found.kappa == Estimated(None)
    assert found.recall.value == 1.0
    alone = agreement([Confusion(tp=3, fp=1, tn=2)])
    assert alone.kappa.value is not None
    assert alone.kappa[1:] == alone.balanced_accuracy[1:] == alone.accuracy[1:] == (None, None)
    assert agreement([]).accuracy == Estimated(None)


def test_t_quantile() -> None:
    """Student's quantile agrees with scipy to 0.13 %."""
    for df in (1, 2, 3, 4, 7, 20, 500):
        expected = stats.t.ppf(0.975, df)
        assert clustered.t_quantile(0.975, df) == pytest.approx(expected, rel=1.3e-3)


def test_mean() -> None:
    """The mean's interval is scipy's."""
    values = [Random(3).gauss(0.1, 0.3) for _ in range(30)] + [0.5, -0.25]
    interval = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    found = clustered.mean([[value] for value in values])
    assert found.value == pytest.approx(sum(values) / len(values))
    assert (found.lower, found.upper) == pytest.approx((interval.low, interval.high), rel=1e-5)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 6), (3, 9), (12, 12), (24, 0)])
def test_mcnemar_exact(first: int, second: int) -> None:
    """Below 25 differing verdicts the p value is that of the binomial test."""
    expected = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    p, exact = mcnemar(first, second)
    assert exact
    assert p == pytest.approx(expected)


@pytest.mark.parametrize(("first", "second"), [(25, 0), (20, 20), (60, 31)])
def test_mcnemar_by_chi_square(first: int, second: int) -> None:
    """From 25 on it is χ² with the continuity correction."""
    square = max(0, abs(first - second) - 1) ** 2 / (first + second)
    p, exact = mcnemar(first, second)
    assert not exact
    assert p == pytest.approx(stats.chi2.sf(square, 1))


def test_clustered_mcnemar() -> None:
    """Verdicts that differ in clumps say less; clusters of one give the test of the signs."""
    alone = [[(True, False)]] * 20 + [[(False, True)]] * 8 + [[(True, True)]] * 50
    found = compare(alone)
    assert (found.both, found.only_first, found.only_second, found.neither) == (50, 20, 8, 0)
    assert found.p_clustered == pytest.approx(stats.binomtest(20, 28).pvalue)
    clumps = compare([[(True, False)] * 10] * 2 + [[(False, True)] * 8] + [[(True, True)]] * 50)
    assert clumps.p == found.p
    assert (clumps.p_clustered or 0) > (found.p_clustered or 0) * 5


def test_area_is_the_rank_sum() -> None:
    """The area is Mann and Whitney's U over the number of pairs, with ties."""
    rng = Random(1)
    cases = [(rng.random() < 0.4, round(rng.random(), 1)) for _ in range(300)]
    high, low = ([s for label, s in cases if label is wanted] for wanted in (True, False))
    expected = stats.mannwhitneyu(high, low).statistic / len(high) / len(low)
    assert area([[case] for case in cases]).value == pytest.approx(expected)


def test_area_interval_is_that_of_the_jackknife() -> None:
    """With many clusters the area's interval is as wide as the jackknife over clusters says."""
    rng = Random(2)
    clusters = []
    for _ in range(300):
        shift = rng.gauss(0, 0.5)
        labels = [rng.random() < 0.5 for _ in range(rng.randrange(1, 4))]
        clusters.append([(label, rng.gauss(1.0 if label else 0.0, 1) + shift) for label in labels])
    values = [area(clusters[:i] + clusters[i + 1 :]).value or 0 for i in range(300)]
    middle = sum(values) / 300
    spread = 299 / 300 * sum((v - middle) ** 2 for v in values)
    found = area(clusters)
    wide = (found.upper or 0) - (found.lower or 0)
    assert wide == pytest.approx(2 * 1.968 * math.sqrt(spread), rel=0.05)


def test_area_without_one_label() -> None:
    """Nothing to rank against: undefined."""
    assert area([[(True, 0.3)], [(True, 0.4)]]) == Estimated(None)


@pytest.mark.parametrize("interactions", [4, 5, 11, 20])
def test_few_interactions_reject_as_seldom_as_they_say(interactions: int) -> None:
    """Neither judge is better: at 5 % at most 5 %, where χ² rejects up to 12.5 %."""
    rng, runs, rejected = Random(interactions), 2_000, 0
    for _ in range(runs):
        clusters = []
        for _ in range(interactions):
            differs = (True, False) if rng.random() < 0.5 else (False, True)
            clusters.append([differs] * rng.randrange(1, 4))
        p = compare(clusters).p_clustered
        assert p is not None
        rejected += p <= 0.05
    assert rejected / runs <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.parametrize("interactions", [21, 22, 26, 65, 301, 320])
def test_more_of_them_do_so_too(interactions: int) -> None:
    """Each by one verdict: χ² rejects up to 7.8 % of some dozens, and of hundreds as it says."""
    level = 0.0
    for first in range(interactions + 1):
        told = [[(True, False)]] * first + [[(False, True)]] * (interactions - first)
        p = compare(told).p_clustered
        assert p is not None
        level += (p <= 0.05) * math.comb(interactions, first) / 2**interactions
    assert level <= 0.0505


def test_signs_that_could_have_been_others() -> None:
    """Each of the 2^m assignments, one by one; and χ² from 301 interactions on."""
    differences = [3, -1, 2, 2, 1]
    flips = [
        sum(sign * d for sign, d in zip(signs, differences, strict=True))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    seen = abs(sum(differences))
    assert sign_flips(differences) == sum(abs(one) >= seen for one in flips) / len(flips)
    many = compare([[(True, False)]] * 170 + [[(False, True)]] * 131)
    assert many.p_clustered == pytest.approx(stats.chi2.sf(39**2 / 301, 1))
