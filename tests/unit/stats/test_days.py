"""Whole days: how far they lie apart, and what hours of the day add."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.baseline import PROVISIONAL, Baseline, dependence
from monitor.stats.days import (
    NEEDED_DAYS,
    HourSums,
    hour_spread,
    is_better,
    rhythm,
    unseen_spread,
)


def hour(n: int, mean: float, rng: random.Random) -> HourSums:
    """Sums of 0/1 values with u = 1."""
    hits = float(sum(rng.random() < mean for _ in range(n)))
    return HourSums(n, float(n), hits, float(n), hits, hits)


def beside_hours(days: list[list[HourSums]]) -> float | None:
    """V beside what hours and days add; there are days enough to tell."""
    found = rhythm(days)
    assert found is not None
    return found.dependence


def days(swing: float, drift: float, n: int = 400) -> list[list[HourSums]]:
    """The second half of each day is worse by ``swing``, each second day by ``drift``."""
    rng = random.Random(1)
    return [
        [hour(n, 0.3 + swing * (h >= 12) + drift * (day % 2), rng) for h in range(24)]
        for day in range(NEEDED_DAYS)
    ]


def test_six_days_say_nothing_yet() -> None:
    """A week is needed; a day without a value is none."""
    week = days(0.0, 0.0)
    assert rhythm(week[1:]) is None
    assert rhythm([*week[1:], [HourSums()] * 24]) is None
    assert rhythm(week) is not None


def test_steady_days_have_next_to_no_rhythm() -> None:
    """Noise is neither a rhythm nor a spread of days."""
    found = rhythm(days(0.0, 0.0))
    assert found is not None
    assert max(map(abs, found.hours)) < 0.005
    assert found.day_spread < 0.005


def test_hours_that_differ_are_learned_and_days_that_differ_spread() -> None:
    """Halves of the day 0.2 apart lie 0.1 from the mean; days 0.1 apart have τ of about 0.05."""
    by_hour, by_day = rhythm(days(0.2, 0.0)), rhythm(days(0.0, 0.1))
    assert by_hour is not None
    assert by_day is not None
    assert by_hour.hours[3] == pytest.approx(-0.1, abs=0.03)
    assert by_hour.hours[20] == pytest.approx(0.1, abs=0.03)
    assert by_day.day_spread == pytest.approx(0.0535, abs=0.01)


def test_hours_of_one_day_that_differ_have_a_spread() -> None:
    """Of 400 values each, ±0.1 is told; chance 1 time in 20, and few values say nothing."""
    rng = random.Random(1)
    first_days = [[hour(400, 0.3, rng) for _ in range(24)] for _ in range(200)]
    by_chance = sum(hour_spread(day, 1.0) > 0.0 for day in first_days)
    print(f"{by_chance} of 200 steady days have a spread")
    assert by_chance <= 20
    assert hour_spread(days(0.2, 0.0)[0], 1.0) == pytest.approx(0.1, abs=0.02)
    assert hour_spread(days(0.2, 0.0, n=99)[0], 1.0) == 0.0
    assert hour_spread(days(0.2, 0.0)[0][7:18], 1.0) == 0.0, "eleven hours are no day"
    assert hour_spread(days(0.2, 0.0)[0], 100.0) == 0.0, "scores that repeat each other"


@given(st.floats(0.0, 24.0), st.floats(1e-3, 48.0))
def test_what_was_seen_of_a_swing_of_a_quarter_covers_its_worst_hour(
    began_h: float, seen_h: float
) -> None:
    """Whatever part of a day a provisional baseline was learned from, and wherever that lies."""
    angle, until = (hours * math.pi / 12 for hours in (began_h, began_h + min(seen_h, 24.0)))
    seen = 0.08 * (1.0 + PROVISIONAL * (math.cos(angle) - math.cos(until)) / (until - angle))
    spread = unseen_spread(seen, seen_h * 3_600.0)
    margin = Baseline(seen, 0.0, {}, hour_spread=spread, provisional=True).margin()
    assert seen + margin >= 0.08 * (1.0 + PROVISIONAL) * (1.0 - 1e-9)


def test_after_a_whole_day_no_hour_is_unseen() -> None:
    """And before that the worst part of a day decides: an hour in its best one is the least."""
    assert unseen_spread(0.08, 86_400.0) == pytest.approx(0.0, abs=1e-12)
    assert unseen_spread(0.08, 1.0) == pytest.approx(0.08 * (1.25 / 0.75 - 1.25))


def test_the_order_of_the_days_changes_no_bit() -> None:
    """Two exporters may have read them in another order."""
    week = days(0.1, 0.05)
    assert rhythm(week) == rhythm(week[::-1])


def test_a_week_that_is_better_by_three_errors_is_said() -> None:
    """Much better is said; equal, worse, and nothing at all are not."""
    rng = random.Random(2)
    assert is_better(hour(1_000, 0.08, rng), 0.16, 0.01)
    assert not is_better(hour(1_000, 0.16, rng), 0.16, 0.01)
    assert not is_better(hour(1_000, 0.3, rng), 0.16, 0.01)
    assert not is_better(HourSums(), 0.16, 0.01)


def test_a_swing_and_days_that_differ_are_no_dependence() -> None:
    """V is what is left beside them: 1 of independent scores, however far hours lie apart."""
    for swing, drift in ((0.0, 0.0), (0.2, 0.0), (0.0, 0.1), (0.3, 0.2)):
        assert beside_hours(days(swing, drift)) == 1.0


@pytest.mark.parametrize("alike", [4, 10])
def test_scores_that_repeat_each_other_within_an_hour_are_dependence(alike: int) -> None:
    """So many at a time are the same; the swing beside them adds nothing."""
    rng = random.Random(2)
    of_hours = [
        [_times(hour(400 // alike, 0.3 + 0.2 * (h >= 12), rng), alike) for h in range(24)]
        for _ in range(NEEDED_DAYS)
    ]
    assert beside_hours(of_hours) == pytest.approx(alike, rel=0.3)


def test_independent_scores_are_no_dependence_however_few_come_an_hour() -> None:
    """Chance gives as much one time in twenty: also of a day of twelve."""
    rng = random.Random(4)
    for a_day in (12, 24, 240):
        seen = [
            beside_hours([_day_of(a_day, rng) for _ in range(2 * NEEDED_DAYS)]) for _ in range(200)
        ]
        assert sum((one or 1.0) > 1.0 for one in seen) < 0.12 * len(seen)


def _day_of(values: int, rng: random.Random) -> list[HourSums]:
    at = [rng.randrange(24) for _ in range(values)]
    return [hour(at.count(h), 0.4, rng) for h in range(24)]


def test_what_the_hours_add_is_what_batches_see_of_them() -> None:
    """V of batches of 40, by the swing alone: of 40 and of 160 scores an hour."""
    for n in (40, 160):
        week = days(0.2, 0.0, n)
        found = rhythm(week)
        assert found is not None
        rng, off = random.Random(5), list[float]()
        for h in [*range(24)] * 20:
            off += [(rng.random() < 0.3 + 0.2 * (h >= 12)) - 0.4 for _ in range(n)]
        assert found.swing == pytest.approx(dependence(off) - 1.0, rel=0.3)


def _times(one: HourSums, times: int) -> HourSums:
    return HourSums(one.n * times, *(times * x for x in one[1:]))


def test_few_scores_an_hour_tell_of_it_too() -> None:
    """Sixty a day in twelve sessions of five. Two sessions a day are too few to tell of any."""
    rng = random.Random(3)

    def day(sessions: int, alike: int) -> list[HourSums]:
        at = rng.sample(range(24), sessions)
        return [_times(hour(int(h in at), 0.4, rng), alike) for h in range(24)]

    assert (beside_hours([day(12, 5) for _ in range(NEEDED_DAYS)]) or 0.0) > 2.5
    assert (beside_hours([day(20, 1) for _ in range(NEEDED_DAYS)]) or 9.0) < 1.5
    assert beside_hours([day(2, 10) for _ in range(NEEDED_DAYS)]) is None
