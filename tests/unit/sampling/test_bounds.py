"""What bounds lengths, shares, costs and expectations, whatever traffic and judge are like."""

from __future__ import annotations

import pytest

from monitor.sampling.blocks import LONGEST
from monitor.sampling.pace import Costs, JudgementCost, Pace, PaceBounds
from monitor.sampling.picks import Signalled, luck, pick, weights


def test_a_replica_has_its_part_of_requests_and_tokens_only() -> None:
    """How many at once is its own affair, and the money is always that of all."""
    assert PaceBounds(8, 60, 10_000, 5.0).part(0.25) == PaceBounds(8, 15.0, 2_500.0, 5.0)
    assert PaceBounds(8).part(0.25) == PaceBounds(8)


def test_one_odd_judgement_hardly_moves_the_mean_cost() -> None:
    """By a twentieth of its distance."""
    costs = Costs()
    costs.judged(JudgementCost(2, 1_000, 0.01, 3.0))
    costs.judged(JudgementCost(22, 1_000, 0.01, 3.0))
    assert costs.mean == pytest.approx(JudgementCost(3, 1_000, 0.01, 3.0))


def test_a_thousandth_is_always_taken() -> None:
    """However late it is, and gets: else nobody would know how the rest fares."""
    pace = Pace(1, sheds=True, behind_s=600.0)
    shares = [pace.look(60.0 * n, None, 1_000.0 * n).share for n in range(20)]
    assert min(shares) == shares[-1] == 1 / 1_024


def test_lengths_come_down_by_steps() -> None:
    """A minute without traffic is no reason to judge everything of the next one."""
    pace = Pace(None, sheds=True, behind_s=600.0)
    now = 0.0
    pace.look(now, 1.0, 0.0)
    while pace.plan.length < LONGEST:
        for _ in range(5_000):
            pace.picked()
        now += 60.0
        pace.look(now, 1.0, 0.0)
    pace.picked()
    for _ in range(3):  # what was spent too much is paid back first
        now += 60.0
        pace.picked()
        before, after = pace.plan.length, pace.look(now, 1_000.0, 0.0).length
        assert after >= before // 16
    assert pace.plan.length < LONGEST


def test_what_is_expected_of_a_slot_is_the_mean_of_its_members() -> None:
    """Each at most a quarter of its own weight."""
    members = [Signalled("a", "s", 1.0, {"m": 0.1}), Signalled("b", "s", 3.0, {"m": 0.9})]
    found = pick(members)
    bounded = [min(0.1, weights([1.0, 3.0])[0] / 4), min(0.9, weights([1.0, 3.0])[1] / 4)]
    assert found.expected["m"] == pytest.approx((sum(bounded) / 2, bounded[found.number]))


def test_an_id_that_is_no_unicode_has_luck_too() -> None:
    """Half of a character, as JSON may carry it."""
    assert 0 < luck("\ud83d") < 1
