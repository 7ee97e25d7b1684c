"""The limits of one process: what is taken, settled and given back, by the clock it is given."""

from __future__ import annotations

import asyncio

import pytest

from monitor.judge.limits.quota import LATEST_S, LocalQuota, PerMinute, Reservation
from monitor.judge.limits.rates import WINDOW_S
from tests.stages.turns import turns

REQUESTS, TOKENS = "requests_per_minute", "tokens_per_minute"


class Stage:
    """A quota with a clock that is set by hand."""

    def __init__(self, limits: PerMinute, share: float = 1.0, *, inherits: bool = False) -> None:
        self.now, self.share = 0.0, share
        self.quota = LocalQuota(
            limits, lambda: self.now, share=lambda: self.share, inherits=inherits
        )

    async def taken(self, number: int, size: int = 0) -> list[Reservation]:
        """So many calls, for which there is room."""
        async with asyncio.timeout(5):
            return [await self.quota.take("verify_claims", size) for _ in range(number)]

    def look_again(self) -> None:
        """Whoever waits does so when a call comes back, here one that took nothing."""
        self.quota.settle(Reservation("verify_claims", 0), 0)

    def used(self, limit: str) -> float:
        """How many requests or tokens of a limit of 60 or 6,000 a minute."""
        return self.quota.used_ratio(limit) * (60 if limit == REQUESTS else 6_000)


@pytest.mark.parametrize(("share", "at_once"), [(1.0, 15), (0.4, 6)])
async def test_a_minute_is_not_spent_in_ten_seconds(share: float, at_once: int) -> None:
    """Of sixty a minute a quarter may go at once; the next one goes when ten seconds are over."""
    stage = Stage(PerMinute(requests=60), share)
    await stage.taken(at_once)
    one_more = asyncio.create_task(stage.taken(1))
    for now in (0.0, 10.0):
        stage.now = now
        stage.look_again()
        await turns()
        assert not one_more.done()
        assert stage.quota.waiting == 1
    stage.now = 10.1
    stage.look_again()
    await one_more
    assert stage.quota.waiting == 0


@pytest.mark.parametrize("share", [1.0, 0.5])
async def test_what_a_killed_process_has_taken_counts(share: float) -> None:
    """One that begins takes no more in a second than a minute has of them, from its first call."""
    stage = Stage(PerMinute(requests=60), share=1.0, inherits=True)
    stage.now, stage.share = 1_000.0, share  # known only when partitions are assigned
    calls = asyncio.create_task(stage.taken(round(60 * share)))
    went = list[float]()
    while not calls.done():
        await turns()
        stage.now += 0.25
        stage.look_again()
        went.append(stage.used(REQUESTS) * share)
    assert stage.now == pytest.approx(1_000.0 + WINDOW_S, abs=1.0)
    assert max(went) <= 60 * share


async def test_a_lone_first_call_shows_the_minute_before_it_as_used() -> None:
    """That is what it waits for; it falls from there, though nobody asks any more."""
    stage = Stage(PerMinute(requests=60), inherits=True)
    assert stage.quota.used_ratio(REQUESTS) == 0
    call = asyncio.create_task(stage.taken(1))
    while not call.done():
        await turns()
        stage.now += 0.25
        stage.look_again()
    assert stage.quota.used_ratio(REQUESTS) == pytest.approx(1, abs=0.02)
    stage.now += WINDOW_S / 2
    assert stage.quota.used_ratio(REQUESTS) == pytest.approx(0.5, abs=0.02)
    stage.now += WINDOW_S / 2 - 1.0
    assert stage.quota.used_ratio(REQUESTS) == pytest.approx(1 / 60, abs=0.02)


@pytest.mark.parametrize("actual", [300, 1_200, 2_500])
async def test_the_replys_own_count_takes_the_place_of_the_estimate(actual: int) -> None:
    """Whether it was too low or too high."""
    stage = Stage(PerMinute(tokens=6_000))
    (share,) = await stage.taken(1, size=3_000)
    assert stage.used(TOKENS) == pytest.approx(1_200)
    stage.quota.settle(share, actual)
    assert stage.used(TOKENS) == pytest.approx(actual)


async def test_what_was_not_sent_takes_nothing() -> None:
    """Neither a request nor tokens; who waits for them is told."""
    stage = Stage(PerMinute(requests=60, tokens=6_000))
    shares = await stage.taken(1, size=3_000)
    waits = asyncio.create_task(stage.taken(1, size=3_000))
    await turns()
    assert not waits.done()
    assert stage.used(REQUESTS) == pytest.approx(1)
    stage.quota.give_back(shares[0])
    await waits
    assert (stage.used(REQUESTS), stage.used(TOKENS)) == pytest.approx((1, 1_200))


async def test_a_slow_request_is_counted_from_when_it_may_have_come_in() -> None:
    """As much later than the quickest, but by two seconds at most."""
    stage = Stage(PerMinute(requests=60))
    quick, slow, slowest = await stage.taken(3)
    for stage.now, share in ((1.0, quick), (2.5, slow), (30.0, slowest)):
        stage.quota.settle(share, 10)
    left = []
    for late_s in (0.0, 1.5, LATEST_S):
        stage.now = WINDOW_S + late_s - 0.01
        before = stage.used(REQUESTS)
        stage.now += 0.02
        left.append((before, stage.used(REQUESTS)))
    assert left == [
        pytest.approx((3, 2)),
        pytest.approx((2, 1)),
        pytest.approx((1, 0)),
    ]


async def test_who_knows_nothing_behaves_as_if_all_had_been_used() -> None:
    """Its part of the window, evenly: half of that is free again half a window later."""
    stage = Stage(PerMinute(requests=60, tokens=6_000), share=0.5)
    stage.quota.fill()
    assert (stage.quota.used_ratio(REQUESTS), stage.quota.used_ratio(TOKENS)) == pytest.approx(
        (1, 1)
    )
    stage.now = WINDOW_S / 2
    assert stage.quota.used_ratio(REQUESTS) == pytest.approx(0.5, abs=0.02)
    assert stage.quota.used_ratio(TOKENS) == pytest.approx(0.5, abs=0.02)


async def test_without_limits_nothing_is_counted() -> None:
    """And nobody waits."""
    stage = Stage(PerMinute())
    assert await stage.taken(1_000) == [Reservation("verify_claims", 0)] * 1_000
    assert (stage.quota.used_ratio(REQUESTS), stage.quota.used_ratio(TOKENS)) == (0, 0)


async def test_what_a_leaving_replica_took_is_counted_for_a_window() -> None:
    """Its part is taken over a minute later, and given up at once: the provider still counts it."""
    stage = Stage(PerMinute(requests=60), share=0.5)
    await stage.taken(1)
    stage.now, stage.share = 100.0, 1.0
    await stage.taken(7)  # seven and a half of any ten seconds, as before
    one_more = asyncio.create_task(stage.taken(1))
    await turns()
    assert not one_more.done()
    stage.now = 110.1
    stage.look_again()
    await one_more
    stage.now = 100.0 + WINDOW_S
    await stage.taken(15)
    stage.now, stage.share = 300.0, 0.5
    await stage.taken(7)
    one_more = asyncio.create_task(stage.taken(1))
    await turns()
    assert not one_more.done()
    one_more.cancel()


@pytest.mark.parametrize("between", range(4))
async def test_a_cancellation_that_comes_with_the_news_is_heeded(between: int) -> None:
    """However close behind: nobody waits on for a share that nobody wants any more."""
    stage = Stage(PerMinute(requests=1))
    await stage.taken(1)
    waiting = asyncio.create_task(stage.taken(1))
    await turns()
    stage.look_again()
    for _ in range(between):
        await asyncio.sleep(0)
    waiting.cancel()
    await turns()
    assert waiting.cancelled()
    assert stage.quota.waiting == 0
