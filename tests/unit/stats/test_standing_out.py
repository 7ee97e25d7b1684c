"""Who is to blame: nobody where all change alike, and the one who does, however small."""

from __future__ import annotations

import functools
from collections import Counter
from random import Random

import pytest

from monitor.stats.attribution import split, standing_out
from monitor.stats.sums import ZERO, Sums, added_up, segment_terms

#: As the demo's tenants share the traffic.
SHARES = {"acme": 0.5, "globex": 0.3, "initech": 0.2}
INCIDENTS = 200
#: What an answer adds, by how many of its two claims are wrong.
ANSWERS = [segment_terms(1, 1.0, 1.0, wrong / 2, failed=False) for wrong in range(3)]


def answer(rng: Random, rate: float) -> Sums:
    """What one adds with two claims that are wrong at this rate."""
    return ANSWERS[(rng.random() < rate) + (rng.random() < rate)]


def sums(rng: Random, means: dict[str, float], n: int) -> dict[str, Sums]:
    """Of so many judged interactions, whose claims are wrong at the rates of their segments."""
    found: dict[str, list[Sums]] = {name: [] for name in means}
    for name in rng.choices(list(SHARES), list(SHARES.values()), k=n):
        found[name].append(answer(rng, means[name]))
    return {name: added_up(answers) for name, answers in found.items()}


def named(means: dict[str, float], n: int, seed: int) -> Counter[str | None]:
    """How often which segment is named, from 0.10 everywhere to these means."""
    rng, usual = Random(seed), dict.fromkeys(SHARES, 0.10)
    found = Counter[str | None]()
    for _ in range(INCIDENTS):
        parts = split(sums(rng, usual, 200), sums(rng, means, n), None)
        assert parts is not None
        one = standing_out(parts.segments)
        found[None if one is None else one.segment] += 1
    return found


@pytest.mark.parametrize("n", [60, 100, 300])
@pytest.mark.parametrize("mean", [0.20, 0.42])
def test_nobody_is_named_where_all_change_alike(n: int, mean: float) -> None:
    """The one that contributes most is the largest: it was named in 78 to 97 of 100."""
    found = named(dict.fromkeys(SHARES, mean), n, seed=n)
    assert found[None] >= 0.93 * INCIDENTS


def of_sessions(rng: Random, tenants: int, mean: float, n: int, length: int) -> dict[str, Sums]:
    """Sessions of so many answers, each of one tenant and with a rate of its own around a mean."""
    found: dict[str, list[Sums]] = {str(i): [] for i in range(tenants)}
    for _ in range(n // length):
        name, rate = str(rng.randrange(tenants)), rng.betavariate(2 * mean, 2 - 2 * mean)
        found[name] += [answer(rng, rate) for _ in range(length)]
    return {name: added_up(answers) for name, answers in found.items()}


@pytest.mark.parametrize(
    ("tenants", "length", "dependence", "n"),
    [(20, 1, 1.0, 60), (20, 1, 1.0, 100), (3, 10, 5.5, 100), (3, 10, 5.5, 300), (20, 10, 5.5, 300)],
)
def test_nobody_is_named_by_chance(tenants: int, length: int, dependence: float, n: int) -> None:
    """Of many small tenants one in five alarms named somebody, of sessions of ten nine in ten.

    Of 0.33 = 1/(2 + 1) the variance of an answer is that of its session; with two claims of an
    answer that is half of it, so sessions of ten are worth 1 + 9/2 times less.
    """
    rng, blamed = Random(n), 0
    for _ in range(INCIDENTS):
        before = of_sessions(rng, tenants, 0.10, 400, length)
        parts = split(before, of_sessions(rng, tenants, 0.30, n, length), None)
        assert parts is not None
        blamed += standing_out(parts.segments, dependence) is not None
    assert blamed <= 0.08 * INCIDENTS


def test_a_few_answers_blame_nobody() -> None:
    """Four of the worst from a tenant of its own are no evidence against it."""
    rng = Random(3)
    since = sums(rng, dict.fromkeys(SHARES, 0.30), 100)
    bad = segment_terms(1, 1.0, 1.0, 1.0, failed=False)
    for count, name in ((4, None), (12, "tiny")):
        tiny = functools.reduce(Sums.plus, [bad] * count, ZERO)
        parts = split(sums(rng, dict.fromkeys(SHARES, 0.10), 200), {**since, "tiny": tiny}, None)
        assert parts is not None
        found = standing_out(parts.segments)
        assert (None if found is None else found.segment) == name


@pytest.mark.parametrize(("guilty", "n", "least"), [("acme", 100, 0.9), ("initech", 100, 0.9)])
def test_the_one_that_differs_is_named(guilty: str, n: int, least: float) -> None:
    """A large one and the smallest; the others are never named in its place."""
    means = {**dict.fromkeys(SHARES, 0.10), guilty: 0.60}
    found = named(means, n, seed=7)
    assert found[guilty] >= least * INCIDENTS
    assert found[guilty] + found[None] == INCIDENTS
