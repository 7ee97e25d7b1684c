"""Learned baselines: the formula, the order that does not matter, and what rare segments get."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.baseline import (
    MOST_SEGMENTS,
    Baseline,
    ScoredPick,
    Tolerance,
    common_dependence,
    learned,
)

PICKS = st.lists(
    st.builds(
        ScoredPick, st.sampled_from(["", "acme", "zen"]), st.floats(0.2, 5.0), st.floats(0.0, 1.0)
    ),
    min_size=1,
    max_size=50,
)


def must_learn(picks: list[ScoredPick]) -> Baseline:
    """The baseline, which must be there."""
    found = learned(picks)
    assert found is not None
    return found


@given(PICKS, st.randoms(use_true_random=False))
def test_any_order_learns_the_same_bits(picks: list[ScoredPick], rng: random.Random) -> None:
    """What is normal is a function of the set of picks; only the halves go by their order."""
    other = list(picks)
    rng.shuffle(other)
    assert replace(must_learn(other), halves_z=None) == replace(must_learn(picks), halves_z=None)


@given(PICKS)
def test_the_formula_in_exact_arithmetic(picks: list[ScoredPick]) -> None:
    """Mean, SE and the mean of a segment agree with fractions; V as it was learned."""
    exact = [(pick.segment, Fraction(pick.u), Fraction(pick.value)) for pick in picks]
    total = sum(u for _, u, _ in exact)
    mean = sum(u * x for _, u, x in exact) / total
    square = (sum((u * (x - mean)) ** 2 for _, u, x in exact) + 1) / total**2
    found = must_learn(picks)
    assert found.mean == pytest.approx(float(mean), abs=1e-12)
    # Clusters that hypothesis draws may repeat each other: what V is has tests of its own.
    assert found.se**2 == pytest.approx(found.dependence * float(square), rel=1e-9)
    for name in {pick.segment for pick in picks} - {""}:
        weight = sum(u for segment, u, _ in exact if segment == name)
        drawn = sum(u * x for segment, u, x in exact if segment == name)
        assert found.segments[name] == pytest.approx(float((drawn + 5 * mean) / (weight + 5)))


def test_rare_and_empty_segments_have_the_mean() -> None:
    """Beyond the twenty most frequent (ties by name) a segment has no mean of its own."""
    names = [f"s{i:02}" for i in range(MOST_SEGMENTS + 2)]
    picks = [ScoredPick(name, 1.0, 1.0) for name in names] + [
        ScoredPick("s21", 1.0, 0.0),
        ScoredPick("", 1.0, 0.0),
    ]
    found = must_learn(picks)
    assert sorted(found.segments) == [*names[:19], "s21"]
    assert found.of("s20") == found.of("") == found.of("new") == found.overall()


def test_nothing_learned_from_nothing() -> None:
    """Without a scored pick there is no baseline, rather than one of 0."""
    assert learned([]) is None


def test_a_baseline_is_at_most_one() -> None:
    """Mean, SE and tolerance together never ask for more than the worst score."""
    assert Baseline(0.9, 0.08, {"a": 0.99}).of("a", Tolerance(0.1)) == 1.0
    assert Baseline(0.9, 0.08, {}).overall(Tolerance(0.1)) == 1.0


def test_halves_that_differ_are_unsteady() -> None:
    """Quality that falls while a baseline is learned: the later half lies far above the earlier."""
    rng = random.Random(1)

    def half(rate: float) -> list[ScoredPick]:
        return [ScoredPick("", 1.0, float(rng.random() < rate)) for _ in range(500)]

    steady, falling = must_learn(half(0.08) + half(0.08)), must_learn(half(0.08) + half(0.16))
    assert abs(steady.halves_z or 0.0) < 2.6 < (falling.halves_z or 0.0)
    assert must_learn([ScoredPick("", 1.0, 0.5)]).halves_z is None


def test_repeated_scores_widen_the_error() -> None:
    """Runs of five alike: V near five, and the SE of a fifth of them; independent ones: V = 1."""
    rng = random.Random(3)
    alone = [ScoredPick("", 1.0, float(rng.random() < 0.2)) for _ in range(4_000)]
    runs = [pick for pick in alone[:800] for _ in range(5)]
    assert must_learn(alone).dependence == 1.0
    found = must_learn(runs)
    assert 4.0 < found.dependence < 6.5
    plain = must_learn(alone[:800])
    assert found.se == pytest.approx(plain.se, rel=0.25)


def test_what_is_known_of_a_segment_is_its_share_and_its_error() -> None:
    """The formula; "" stands for all that are not known, of which nothing is known."""
    picks = [ScoredPick("a", 1.0, float(i % 4 == 0)) for i in range(80)]
    picks += [ScoredPick("b", 1.0, float(i % 2)) for i in range(20)]
    found = must_learn(picks).spreads
    assert sorted(found) == ["", "a", "b"]
    assert [found[name].share for name in ("a", "b", "")] == [0.8, 0.2, 0.0]
    for name, variance, n in (("a", 3 / 16, 85), ("b", 1 / 4, 25)):
        assert found[name].se ** 2 == pytest.approx((variance + 1 / n) / n)
    assert found[""].se ** 2 == pytest.approx(0.3 * 0.7 / 5)
    assert must_learn([ScoredPick("", 1.0, 0.5)]).spreads == {}


def test_a_margin_has_all_that_may_be_off() -> None:
    """max(2·SE, SE + tolerated) + 1.5·τ + τ_h; 2·SE + a quarter of it before a day is full."""
    found = Baseline(0.2, 0.01, {}, day_spread=0.02)
    assert found.margin() == pytest.approx(0.02 + 0.03)
    assert found.margin(Tolerance(0.005)) == pytest.approx(0.02 + 0.03)
    assert found.margin(Tolerance(share=0.1)) == pytest.approx(0.01 + 0.02 + 0.03)
    assert found.margin(Tolerance(0.01, 0.1)) == pytest.approx(0.01 + 0.02 + 0.03)
    assert replace(found, hour_spread=0.04).margin() == pytest.approx(0.02 + 0.03 + 0.04)
    provisional = replace(found, provisional=True)
    assert provisional.margin(Tolerance(share=0.1)) == pytest.approx(0.02 + 0.03 + 0.05)
    assert provisional.margin(Tolerance(0.06)) == pytest.approx(0.02 + 0.03 + 0.06)


def test_hours_of_the_day_move_what_is_usual() -> None:
    """Each hour has its own part, and none makes less than nothing usual."""
    hours = tuple(-0.3 if hour == 3 else hour / 100 for hour in range(24))
    found = Baseline(0.2, 0.01, {"a": 0.1}, hours=hours)
    assert found.of("a", event_time=86_400.0 * 7 + 5 * 3_600) == pytest.approx(0.1 + 0.05 + 0.02)
    assert found.of("a", event_time=3 * 3_600.0) == pytest.approx(0.02)


def sessions(rng: random.Random, count: int) -> list[list[ScoredPick]]:
    """Of three metrics: answers of three sessions at a time, ten a session, with an ICC of 0.2."""
    found: list[list[ScoredPick]] = [[], [], []]

    def opened(name: int) -> tuple[int, list[float]]:
        return name, [rng.betavariate(0.08 * 4, 0.92 * 4) for _ in found]

    running = [opened(name) for name in (1, 2, 3)]
    for number in range(count):
        place = rng.randrange(3)
        name, rates = running[place]
        for picks, rate in zip(found, rates, strict=True):
            picks.append(ScoredPick("", 1.0, float(rng.random() < rate), name))
        if rng.random() < 0.1:
            running[place] = opened(number + 4)
    return found


def test_a_day_of_sessions_is_seen_in_all_metrics_together() -> None:
    """One metric alone takes a day of them for independent now and then: V = 1, and alarms."""
    days = [sessions(random.Random(seed), 1_200) for seed in range(30)]
    by_neighbours = [[pick._replace(cluster=0) for pick in picks] for day in days for picks in day]
    alone = [must_learn(picks).dependence for picks in by_neighbours]
    together = [common_dependence(day) for day in days]
    rng = random.Random(2)
    independent = [
        common_dependence(
            [[ScoredPick("", 1.0, float(rng.random() < 0.08)) for _ in range(1_200)]] * 3
        )
        for _ in range(30)
    ]
    print(f"alone {min(alone):.2f}, together {min(together):.2f}; none {independent.count(1.0)}")
    assert min(alone) == 1.0
    assert min(together) > 1.4
    assert independent.count(1.0) >= 26


def test_clusters_that_are_known_say_more_than_neighbours() -> None:
    """Sessions that lie apart: neighbours are of others, and repeat nothing."""
    rng = random.Random(4)
    rates = [rng.betavariate(0.2, 1.8) for _ in range(120)]
    picks = [
        ScoredPick("", 1.0, float(rng.random() < rate), name)
        for _ in range(10)
        for name, rate in enumerate(rates, 1)
    ]
    assert must_learn([pick._replace(cluster=0) for pick in picks]).dependence == 1.0
    found = must_learn(picks)
    assert 2.5 < found.dependence < 6.0
    assert found.se > 1.5 * must_learn([pick._replace(cluster=0) for pick in picks]).se


def test_a_metric_takes_what_all_of_them_say() -> None:
    """The error grows with the root of V, and nothing is taken away."""
    found = must_learn(sessions(random.Random(5), 1_200)[0])
    more = found.as_dependent(4.0 * found.dependence)
    assert more.se == pytest.approx(2.0 * found.se)
    assert found.as_dependent(1.0) == found
