"""Places of judgements: who comes first gets the next one, and none is lost."""

from __future__ import annotations

import asyncio

from monitor.judge.limits.limits import Limits


class Places:
    """A number of places, and who has had one, in order."""

    def __init__(self, number: int) -> None:
        self.limits, self.order = Limits(number, 60.0), list[str]()
        self.held = self.most = 0

    async def take(self, name: str, *, first: bool = False) -> None:
        """Hold a place for a moment."""
        async with self.limits.admitted(first=first):
            self.order.append(name)
            self.held += 1
            self.most = max(self.most, self.held)
            try:
                for _ in range(3):
                    await asyncio.sleep(0)
            finally:
                self.held -= 1

    def start(self, name: str, *, first: bool = False) -> asyncio.Task[None]:
        """The same beside."""
        return asyncio.create_task(self.take(name, first=first))


async def test_who_comes_first_gets_the_next_place() -> None:
    """Before all that wait; those keep their order, and no more are inside than there are."""
    places = Places(2)
    tasks = [places.start(str(i)) for i in range(6)]
    await asyncio.sleep(0)
    tasks.append(places.start("canary", first=True))
    await asyncio.gather(*tasks)
    assert places.order == ["0", "1", "canary", "2", "3", "4", "5"]
    assert places.most == 2


async def test_a_free_place_is_taken_at_once() -> None:
    """And given back."""
    places = Places(1)
    for _ in range(3):
        await places.take("canary", first=True)
        await places.take("other")
    assert places.order == ["canary", "other"] * 3


async def test_who_gives_up_loses_no_place() -> None:
    """While it waits, and just when it is given one."""
    places = Places(1)
    for steps in range(12):
        holder = places.start("holder")
        await asyncio.sleep(0)
        canary = places.start("canary", first=True)
        for _ in range(steps):
            await asyncio.sleep(0)
        canary.cancel()
        await asyncio.gather(holder, canary, return_exceptions=True)
        async with asyncio.timeout(1):
            await places.take("next")
    assert places.order.count("next") == 12
    assert places.most == 1


async def test_some_are_held_back_until_all_are_admitted() -> None:
    """Who is to come first gets one of those, then those that wait; and none is lost."""
    places = Places(5)
    places.limits.begin_with(2)
    tasks = [places.start(str(i)) for i in range(6)]
    await asyncio.sleep(0)
    tasks.append(places.start("canary", first=True))
    await asyncio.sleep(0)
    assert (places.limits.places, places.held) == (2, 2)
    places.limits.admit_all()
    places.limits.admit_all()
    for _ in range(3):
        await asyncio.sleep(0)
    assert places.limits.places == 5
    await asyncio.gather(*tasks)
    assert places.order[:3] == ["0", "1", "canary"]
    assert places.most == 5
    places.limits.begin_with(9)
    assert places.limits.places == 5
