"""The day's money: by the clock it is given, whoever spends it, and through restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from random import Random
from zoneinfo import ZoneInfo

import pytest

from monitor.judge.limits.budget import Budget

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, zone: ZoneInfo = BERLIN) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


NOON = at("2026-11-20T12:00")


class Clock:
    """A clock that a test sets; noon at first."""

    now = NOON

    def __call__(self) -> float:
        return self.now


def budget_of(usd_per_day: float, clock: Callable[[], float] = lambda: NOON) -> Budget:
    """A day's money in Berlin; without a clock it is noon there."""
    return Budget(usd_per_day, BERLIN, clock)


def spend(budget: Budget, count: int, usd: float) -> int:
    """How many of so many judgements, one after the other, are affordable."""
    admitted = 0
    for number in range(count):
        if budget.admit():
            admitted += 1
            budget.settle(("t", 0, number), usd)
    return admitted


def test_a_day_ends_at_the_budget_and_the_next_begins_anew() -> None:
    """100 of 1,000 at a hundredth; nothing more until midnight of the zone, then as many."""
    budget = budget_of(1.0, clock := Clock())
    assert spend(budget, 1000, 0.01) == 100
    assert budget.left() == pytest.approx(0.0)
    clock.now = at("2026-11-20T23:59:59")
    assert not budget.admit()
    clock.now = at("2026-11-21T00:00:00")
    assert spend(budget, 1000, 0.01) == 100


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-20", 24)]
)
def test_a_day_is_that_of_the_zone(day: str, hours: int) -> None:
    """From midnight to midnight, also where clocks change."""
    budget = budget_of(1.0, clock := Clock())
    clock.now = start = at(f"{day}T00:00")
    assert budget.day_start() == start
    assert budget.day_end() == start + hours * 3600
    clock.now = start + hours * 3600 - 1
    assert budget.day_start() == start
    clock.now = start + hours * 3600
    assert budget.day_start() == start + hours * 3600


def test_a_restart_resets_nothing() -> None:
    """A new process knows from the records what was spent, and leaves yesterday's out."""
    before, after = budget_of(1.0), budget_of(1.0)
    admitted = spend(before, 60, 0.01)
    for number in range(admitted):
        after.recorded(NOON - 5, ("t", 0, number), 0.01)
    after.recorded(at("2026-11-19T23:59"), ("t", 0, 99), 0.5)
    assert after.spent() == pytest.approx(before.spent()) == pytest.approx(0.6)
    assert spend(after, 1000, 0.01) == 40


def test_a_record_that_comes_back_is_not_spent_twice() -> None:
    """One's own counts at once, others' when they are read; in any order, redelivered or not."""
    budget = budget_of(1.0)
    assert spend(budget, 10, 0.01) == 10
    for number in range(10):
        budget.recorded(NOON, ("t", 0, number), 0.01)
        budget.recorded(NOON, ("t", 1, number), 0.02)  # another replica's
    assert budget.spent() == pytest.approx(0.3)
    budget.recorded(NOON, ("t", 1, 0), 0.02)  # judged once more after a crash: paid again
    assert budget.spent() == pytest.approx(0.32)


def test_what_was_judged_at_midnight_is_todays() -> None:
    """A moment before it was yesterday's."""
    midnight, budget = at("2026-11-20T00:00"), budget_of(1.0)
    budget.recorded(midnight, ("t", 0, 1), 0.2)
    budget.recorded(midnight - 0.001, ("t", 0, 2), 0.4)
    assert budget.spent() == pytest.approx(0.2)


def test_an_interaction_that_was_judged_twice_is_paid_twice() -> None:
    """Its first record does not make up for both judgements; its second one does."""
    budget = budget_of(1.0)
    for _ in range(2):
        assert budget.admit()
        budget.settle(("t", 0, 1), 0.01)
    for _ in range(2):
        assert budget.spent() == pytest.approx(0.02)
        budget.recorded(NOON, ("t", 0, 1), 0.01)
    assert budget.spent() == pytest.approx(0.02)


def test_what_a_judgement_costs_is_known_from_others_and_from_yesterday() -> None:
    """So the first ones of a day, or of a process, do not overspend either."""
    yesterday, others = budget_of(0.1, clock := Clock()), budget_of(0.1)
    clock.now = NOON - 86_400
    assert spend(yesterday, 1, 0.06) == 1
    clock.now = NOON
    assert yesterday.admit()
    assert not yesterday.admit(), "two would cost more than the day may"
    others.recorded(NOON, ("t", 0, 1), 0.06)
    assert not others.admit()


def test_a_clock_that_is_set_back_is_another_day() -> None:
    """Also one that is over."""
    budget = budget_of(1.0, clock := Clock())
    assert budget.day_start() == at("2026-11-20T00:00")
    clock.now = NOON - 86_400
    assert budget.day_start() == at("2026-11-19T00:00")


def test_those_under_way_are_reckoned_with() -> None:
    """Eight at a time, of uneven cost: the day ends within one judgement's cost of the budget."""
    rng, budget, under_way = Random(1), budget_of(1.0), list[float]()
    refused = 0
    for number in range(2_000):
        if len(under_way) == 8 or (under_way and refused):
            budget.settle(("t", 0, number), under_way.pop(0))
            refused = 0
        elif budget.admit():
            under_way.append(rng.uniform(0.005, 0.015))
        else:
            refused += 1
    assert 0.98 <= budget.spent() <= 1.015


def test_what_stands_on_no_record_is_spent_too() -> None:
    """Second judgements, for one."""
    budget = budget_of(1.0)
    budget.spend(0.4)
    assert spend(budget, 100, 0.01) == 60


def test_a_restart_does_not_forget_second_judgements() -> None:
    """The next record of the scorer says them; it counts once here, and everywhere else."""
    before, after = budget_of(1.0), budget_of(1.0)
    before.spend(0.3)
    before.spend(0.1)
    assert before.admit()
    before.settle(("t", 0, 1), 0.01)
    assert before.put_on_record(("t", 0, 1)) == pytest.approx(0.4)
    assert before.put_on_record(("t", 0, 2)) == 0.0
    for budget in (before, after):
        budget.recorded(NOON, ("t", 0, 1), 0.01, 0.4)
        assert budget.spent() == pytest.approx(0.41)
    assert spend(after, 1_000, 0.01) == 59, "what others cost is no cost of a judgement"


async def _eight_at_once(budget: Budget, costs: list[float], *, answered: bool = False) -> int:
    """Judgements with these costs, eight at a time; how many were under way at most.

    ``answered``: also those that cost nothing.
    """
    places, under_way, most = asyncio.Semaphore(8), 0, 0

    async def judge(number: int, usd: float) -> None:
        nonlocal under_way, most
        async with budget.turn(), places:
            if not budget.admit():
                return
            under_way += 1
            most = max(most, under_way)
            for _ in range(20):  # as long as all that wait need to begin
                await asyncio.sleep(0)
            under_way -= 1
            budget.settle(("t", 0, number), usd, answered=answered or usd > 0)

    await asyncio.gather(*(judge(number, usd) for number, usd in enumerate(costs)))
    return most


@pytest.mark.parametrize("usd", [0.4, 0.9, 3.0])
async def test_the_first_price_is_found_by_one(usd: float) -> None:
    """Nobody knows what a judgement costs: eight at once would cost up to 24 times the budget."""
    budget = budget_of(1.0)
    await _eight_at_once(budget, [usd] * 50)
    assert budget.spent() <= max(1.0, usd)
    assert budget.spent() >= min(1.0, usd) - 0.2


@pytest.mark.parametrize("seed", range(20))
async def test_a_day_is_overspent_by_what_those_under_way_cost_beyond_the_mean(seed: int) -> None:
    """At most, whatever the costs; one that has cost nothing tells no price."""
    rng, budget = Random(seed), budget_of(1.0)
    costs = [0.0, 0.0, *(rng.uniform(0.01, 0.1) for _ in range(200))]
    assert await _eight_at_once(budget, costs) == 8
    assert 0.8 <= budget.spent() <= 1.0 + 8 * (0.1 - 0.01)


async def test_a_model_that_costs_nothing_holds_nobody_up() -> None:
    """An answer at a price of 0 is a price; a failure is none."""
    budget = budget_of(1.0)
    assert await _eight_at_once(budget, [0.0] * 50, answered=True) == 8
    silent = budget_of(1.0)
    async with silent.turn():
        assert silent.admit()
        silent.settle(("t", 0, 1), 0.0, answered=False)
        others = [asyncio.create_task(_eight_at_once(silent, [0.1])) for _ in range(3)]
        for _ in range(50):
            await asyncio.sleep(0)
        assert not any(task.done() for task in others)
    assert await asyncio.gather(*others) == [1, 1, 1]
