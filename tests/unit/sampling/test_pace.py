"""The length of blocks follows the budget, and the share follows the lag."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import pytest

from monitor.sampling.blocks import LONGEST, BlockPlan
from monitor.sampling.pace import (
    HEADROOM,
    Costs,
    JudgementCost,
    Pace,
    PaceBounds,
    Spent,
    affordable,
    hastened,
    room,
)


class Minute(NamedTuple):
    """What a minute was like."""

    plan: BlockPlan
    picks: int


def minutes(pace: Pace, traffic: list[int], budget: float | None) -> list[Minute]:
    """Traffic by the minute; every block in it has a pick."""
    found, now = [], 0.0
    pace.look(now, budget, 0.0)
    for interactions in traffic:
        plan, now = pace.plan, now + 60
        picks = -(-interactions // plan.length)
        for _ in range(picks):
            pace.picked()
        pace.look(now, budget, 0.0)
        found.append(Minute(plan, picks))
    return found


@pytest.mark.parametrize("traffic", [90, 400, 2_300, 60_000])
@pytest.mark.parametrize("budget", [30.0, 47.0])
def test_the_budget_is_spent_and_not_more(traffic: int, budget: float) -> None:
    """Whatever lies between two lengths: over half an hour within five percent of it."""
    found = minutes(Pace(None, sheds=True, behind_s=600.0), [traffic] * 45, budget)
    mean = sum(minute.picks for minute in found[15:]) / 30
    assert 0.93 * budget <= mean <= 1.05 * budget
    assert all(LONGEST % minute.plan.length == 0 for minute in found)


@pytest.mark.parametrize("traffic", range(230, 360, 15))
def test_less_than_a_minutes_budget_is_unspent(traffic: int) -> None:
    """From the first minute on: the shorter length comes as soon as it is the nearer one."""
    budget = 11.4
    found = minutes(Pace(None, sheds=True, behind_s=600.0, first=32), [traffic] * 30, budget)
    spent = itertools.accumulate(minute.picks - budget for minute in found)
    assert min(spent) > -budget


def test_where_the_budget_allows_all_of_it_every_interaction_is_judged() -> None:
    """Also after there was much more of it."""
    traffic = [5_000] * 10 + [20] * 10
    found = minutes(Pace(None, sheds=True, behind_s=600.0), traffic, 40.0)
    assert found[8].plan.length >= 64
    assert found[-1] == Minute(BlockPlan(1), 20)


def test_there_is_one_look_a_minute() -> None:
    """What changed in between counts then."""
    pace = Pace(None, sheds=True, behind_s=600.0)
    pace.look(0.0, 10.0, 0.0)
    assert [pace.is_due(now) for now in (0.0, 59.9, 60.0)] == [False, False, True]


def test_a_fixed_length_stays() -> None:
    """Whatever it costs."""
    found = minutes(Pace(32, sheds=True, behind_s=600.0), [50_000] * 10, 5.0)
    assert {minute.plan for minute in found} == {BlockPlan(32)}


def test_a_fixed_length_is_looked_at_once_a_minute() -> None:
    """Also when costs are known: what is shed doubles with each look."""
    pace = Pace(1, sheds=True, behind_s=600.0)
    pace.look(0.0, None, 0.0)
    for start in (0.0, 60.0):
        times = (start + 10.0, start + 59.9, start + 60.0)
        assert [pace.is_due(now, costs_known=True) for now in times] == [False, False, True]
        pace.look(start + 60.0, 30.0, 700.0)


def test_who_is_behind_and_falls_back_takes_less_until_it_has_caught_up() -> None:
    """Half of it each minute; and twice as much when the lag is gone."""
    pace = Pace(1, sheds=True, behind_s=600.0)
    lags = [0, 500, 700, 800, 900, 850, 400, 200, 100, 0, 0]
    shares = [pace.look(60.0 * n, None, lag).share for n, lag in enumerate(lags)]
    assert shares == [1, 1, 0.5, 0.25, 0.125, 0.125, 0.125, 0.25, 0.5, 1, 1]


def test_completeness_never_takes_less() -> None:
    """However late it is."""
    pace = Pace(1, sheds=False, behind_s=600.0)
    assert {pace.look(60.0 * n, None, 1_000.0 * n).share for n in range(20)} == {1.0}


def test_longer_blocks_come_before_smaller_shares() -> None:
    """Where the length may change: judging is what takes the time."""
    pace = Pace(None, sheds=True, behind_s=600.0)
    plans = [pace.look(60.0 * n, None, 1_000.0 * n) for n in range(20)]
    assert plans[5] == BlockPlan(2**5)
    assert plans[-1].length == LONGEST
    assert plans[-1].share < 1
    assert all(a.length <= b.length for a, b in itertools.pairwise(plans))


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (PaceBounds(2), 2 * 60 / 4.0),
        (PaceBounds(8, requests_per_minute=60), 30.0),
        (PaceBounds(8, requests_per_minute=60, tokens_per_minute=10_000), 5.0),
        (PaceBounds(8, usd_per_minute=0.05), 10.0),
    ],
)
def test_the_tightest_limit_counts(allowed: PaceBounds, expected: float) -> None:
    """Two calls, 2,000 tokens and four seconds a judgement; all replicas spend ten cents."""
    costs = Costs()
    costs.judged(JudgementCost(2, 2_000, 0.005, 4.0))
    found = affordable(allowed, costs.mean, Spent(picks=20.0, usd=0.1))
    assert found == pytest.approx(HEADROOM * expected)


def test_without_a_judgement_nobody_knows() -> None:
    """Neither before the first one, nor where a judgement takes nothing."""
    assert affordable(PaceBounds(8, 60), None, Spent(0, 0)) is None
    assert affordable(PaceBounds(8, 60), JudgementCost(0, 0, 0, 0.0), Spent(0, 0)) is None


def test_blocks_that_close_early_are_not_made_longer() -> None:
    """A pick for every 70 offsets, whatever the length: longer blocks would save none of them."""
    pace = Pace(None, sheds=True, behind_s=600.0, first=256)
    lengths = [pace.look(0.0, 3.0, 0.0).length]
    for minute in range(1, 6):
        for _ in range(20):
            pace.picked(offsets=70)
        lengths.append(pace.look(60.0 * minute, 3.0, 0.0).length)
    assert lengths == [256] * 6
    for _ in range(20):
        pace.picked(offsets=70)
    # With room for 200 a minute those of eight offsets fit.
    assert pace.look(360.0, 200.0, 0.0).length == 16


def test_what_waits_is_worked_off_although_no_more_is_taken() -> None:
    """While 200 wait, nothing is taken but what has ended: as much as the budget, so it seems."""
    pace, waiting, now = Pace(None, sheds=True, behind_s=600.0), 200.0, 0.0
    pace.look(now, None, 0.0)
    for _ in range(20):
        now += 60.0
        # The traffic is of 400 a minute, and 20 are judged; more than 200 are never taken.
        picks = min(400 / pace.plan.length, 200 - waiting + 20)
        for _ in range(int(picks)):
            pace.picked()
        waiting = max(0.0, waiting + picks - 20)
        pace.look(now, 20.0, 0.0, int(waiting))
    # About as many as are judged in a minute: the length goes to and fro between 16 and 32.
    assert waiting < 1.5 * 20
    assert pace.plan.length >= 16


def test_the_first_look_with_costs_comes_early() -> None:
    """But not at once, and only one; before it, blocks are as long as they were told to be."""
    pace = Pace(None, sheds=True, behind_s=600.0, first=64)
    assert pace.look(0.0, None, 0.0) == BlockPlan(64)
    assert [pace.is_due(now, costs_known=True) for now in (9.9, 10.0)] == [False, True]
    assert not pace.is_due(10.0)
    for _ in range(9):
        pace.picked()
    assert pace.look(10.0, 30.0, 0.0) == BlockPlan(128)
    assert [pace.is_due(now, costs_known=True) for now in (20.0, 69.9, 70.0)] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("times", [1.0, 2.0, 3.0, 4.0, 64.0])
@pytest.mark.parametrize("length", [1, 2, 8, 32])
@pytest.mark.parametrize("share", [1.0, 0.25])
def test_a_burst_takes_at_most_so_many_times_as_many(
    length: int, share: float, times: float
) -> None:
    """By shorter blocks first; and nothing more of somebody who is behind."""
    plan = BlockPlan(length, share)
    found = hastened(plan, times)
    assert LONGEST % found.length == 0
    assert length / found.length * found.share / share <= times
    assert found == plan if share < 1 or times == 1 else found != plan
    assert found.share <= 1 or found.length == 1


def test_a_burst_holds_at_once_and_ends_at_once() -> None:
    """And with the next look it goes on, on top of what the budget allows."""
    pace = Pace(32, sheds=True, behind_s=600.0)
    pace.look(0.0, None, 0.0)
    assert pace.burst(4.0) == pace.plan == BlockPlan(8)
    assert pace.look(60.0, None, 0.0) == BlockPlan(8)
    assert pace.look(120.0, None, 700.0) == BlockPlan(32, 0.5)
    assert pace.burst(1.0) == BlockPlan(32, 0.5)


def test_what_a_burst_takes_is_not_paid_back() -> None:
    """After half an hour of it everything goes on as if there had been none."""
    pace, taken, now = Pace(None, sheds=True, behind_s=600.0), list[int](), 0.0
    pace.look(now, 30.0, 0.0)
    for minute in range(120):
        pace.burst(4.0 if 40 <= minute < 70 else 1.0)
        picks = -(-2_300 // pace.plan.length)
        for _ in range(picks):
            pace.picked()
        now += 60
        pace.look(now, 30.0, 0.0)
        taken.append(picks)
    before, burst, after = (
        sum(part) / len(part) for part in (taken[20:40], taken[40:70], taken[70:90])
    )
    assert before == pytest.approx(30, rel=0.1)
    assert burst == pytest.approx(4 * before, rel=0.1)
    assert after == pytest.approx(before, rel=0.1)


def test_a_larger_share_of_everything_is_no_more_than_everything() -> None:
    """So with blocks of one it counts how much likelier the picks were taken."""
    pace = Pace(1, sheds=True, behind_s=600.0)
    pace.look(0.0, None, 0.0)
    assert pace.burst(4.0) == BlockPlan(1, 4.0)
    for _ in range(30):
        pace.picked(1.5)
    pace.look(60.0, None, 0.0)
    assert pace.expected == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (PaceBounds(8, requests_per_minute=80), HEADROOM * 4),
        (PaceBounds(8, requests_per_minute=10), HEADROOM / 2),
        (PaceBounds(8, tokens_per_minute=60_000), HEADROOM * 3),
        (PaceBounds(1), HEADROOM * 1.5),
        (PaceBounds(64, usd_per_minute=0.1), 6.5),
        (PaceBounds(64, usd_per_minute=0.0), 1.0),
    ],
)
def test_a_burst_takes_no_more_than_limits_and_money_leave(
    allowed: PaceBounds, expected: float
) -> None:
    """Ten a minute, with two calls, 2,000 tokens and four seconds each; an hour of the day left."""
    assert room(allowed, JudgementCost(2, 2_000, 0.005, 4.0), 10.0, 3_600.0) == pytest.approx(
        expected
    )
