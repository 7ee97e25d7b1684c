"""Single-flight: one making for many, and nobody pays for who was first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.judge.cache.flights import ATTEMPTS, Flight, Flights
from tests.stages.turns import settled


class Work:
    """Makes "made N", once it is let go; ``started`` counts how often it was begun."""

    def __init__(self) -> None:
        self.started = 0
        self.go = asyncio.Event()
        self.fails = 0

    async def __call__(self) -> str:
        self.started += 1
        number = self.started
        await self.go.wait()
        if number <= self.fails:
            raise ValueError(f"number {number}")
        return f"made {number}"


Joining = asyncio.Task[tuple[str, Flight[str] | None]]


async def joined(
    flights: Flights[str], work: Callable[[], Awaitable[str]], n: int
) -> list[Joining]:
    """So many who have come, in this order, and wait."""
    tasks = [asyncio.create_task(flights.join("k", work)) for _ in range(n)]
    await settled()
    return tasks


async def test_many_share_one_making() -> None:
    """All get the value; only who made it holds the flight."""
    flights, work = Flights[str](), Work()
    tasks = await joined(flights, work, 5)
    work.go.set()
    found = await asyncio.gather(*tasks)
    assert work.started == 1
    assert [value for value, _ in found] == ["made 1"] * 5
    assert [flight is not None for _, flight in found] == [True, False, False, False, False]


async def test_newcomers_share_it_until_it_is_left() -> None:
    """Then the value is made anew: keeping it is somebody else's business."""
    flights, work = Flights[str](), Work()
    work.go.set()
    _, flight = await flights.join("k", work)
    assert flight is not None
    assert await flights.join("k", work) == ("made 1", None)
    flights.leave("k", flight)
    assert (await flights.join("k", work))[0] == "made 2"


async def test_other_keys_are_other_flights() -> None:
    """They do not wait for each other."""
    flights, work, other = Flights[str](), Work(), Work()
    tasks = await joined(flights, work, 1)
    other.go.set()
    assert (await flights.join("other", other))[0] == "made 1"
    work.go.set()
    await tasks[0]


async def test_a_cancelled_leader_takes_nobody_along() -> None:
    """The next one makes the value, and the others go on waiting for that."""
    flights, work = Flights[str](), Work()
    first, *others = await joined(flights, work, 4)
    first.cancel()
    await settled()
    assert first.cancelled()
    assert work.started == 2
    work.go.set()
    assert [value for value, _ in await asyncio.gather(*others)] == ["made 2"] * 3


async def test_a_cancelled_follower_takes_nobody_along() -> None:
    """Nor does it stop the making."""
    flights, work = Flights[str](), Work()
    first, second, third = await joined(flights, work, 3)
    second.cancel()
    await settled()
    work.go.set()
    assert [(await task)[0] for task in (first, third)] == ["made 1"] * 2
    assert second.cancelled()


async def test_a_failure_is_the_makers_own() -> None:
    """The second one succeeds, for all who waited."""
    flights, work = Flights[str](), Work()
    work.fails = 1
    first, *others = await joined(flights, work, 4)
    work.go.set()
    with pytest.raises(ValueError, match="number 1"):
        await first
    assert [value for value, _ in await asyncio.gather(*others)] == ["made 2"] * 3
    assert work.started == 2


async def test_who_has_waited_for_two_failures_goes_alone() -> None:
    """All fail in the time of three makings, and not one after the other."""
    flights, work = Flights[str](), Work()
    work.fails = 99
    tasks = await joined(flights, work, 10)
    work.go.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(each, ValueError) for each in found)
    assert work.started == 10
    assert ATTEMPTS == 2
    assert len(flights) == 0


async def test_who_has_waited_long_enough_goes_alone() -> None:
    """A maker that hangs until its deadline takes none of those along who came with it."""
    flights, hanging, work = Flights[str](timeout_s=0.01), Work(), Work()
    first = asyncio.create_task(flights.join("k", hanging))
    await settled()
    work.go.set()
    async with asyncio.timeout(5):
        value, own = await flights.join("k", work)
    assert (value, own is not None) == ("made 1", True)
    hanging.go.set()
    assert (await first)[0] == "made 1"
    assert (hanging.started, work.started) == (1, 1)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["ok", "fail", "cancel", "cancel later"]), min_size=1, max_size=12))
async def test_everybody_gets_an_ending_of_their_own(fates: list[str]) -> None:
    """Whoever is cancelled ends cancelled, who is to fail and makes it fails, all else succeed."""
    flights = Flights[str]()
    gate = asyncio.Event()

    async def one(fate: str) -> str:
        async def make() -> str:
            await gate.wait()
            if fate == "fail":
                raise ValueError(fate)
            return "made"

        value, flight = await flights.join("k", make)
        if flight is not None:
            flights.leave("k", flight)
        return value

    tasks = [asyncio.create_task(one(fate)) for fate in fates]
    await settled()
    for task, fate in zip(tasks, fates, strict=True):
        if fate == "cancel":
            task.cancel()
    await settled()
    gate.set()
    await asyncio.sleep(0)
    for task, fate in zip(tasks, fates, strict=True):
        if fate == "cancel later":
            task.cancel()
    async with asyncio.timeout(5):
        found = await asyncio.gather(*tasks, return_exceptions=True)
    for ending, fate in zip(found, fates, strict=True):
        if fate == "cancel":
            assert isinstance(ending, asyncio.CancelledError)
        elif fate == "ok":
            assert ending == "made"
        elif fate == "fail":
            assert ending == "made" or isinstance(ending, ValueError)
        else:
            assert ending == "made" or isinstance(ending, asyncio.CancelledError)
    assert len(flights) == 0
