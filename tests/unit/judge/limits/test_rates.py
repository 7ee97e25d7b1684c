"""Sliding windows of requests and tokens, and waiting for them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.judge.limits.deadline import Deadline, held
from monitor.judge.limits.limits import Limits
from monitor.judge.limits.provider_gates import ProviderGates
from monitor.judge.limits.quota import LocalQuota, PerMinute
from monitor.judge.limits.rates import Rate, TokenEstimate
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.pipeline.identity import LlmSettings
from tests.servers.judge_limits import SlidingLimits
from tests.servers.judge_server import JudgeServer
from tests.stages.judge_case import LABELS, interaction


@given(st.lists(st.tuples(st.floats(0, 20), st.integers(1, 9)), max_size=60))
def test_no_window_holds_more_than_the_limit(wishes: list[tuple[float, int]]) -> None:
    """Whoever waits as long as they are told never finds more than the limit in any window."""
    rate, now, taken = Rate(10, window_s=10.0), 0.0, list[tuple[float, int]]()
    for pause_s, amount in wishes:
        now += pause_s
        while (wait_s := rate.wait_s(now, amount)) > 0:
            now += wait_s + 1e-6
        rate.take(now, amount)
        taken.append((now, amount))
        inside = sum(a for at, a in taken if at + 10.0 > now)
        assert inside <= 10


@given(st.lists(st.integers(1, 9), min_size=20, max_size=60))
def test_nobody_waits_longer_than_needed(amounts: list[int]) -> None:
    """With more to do than allowed, each window is full but for less than the next needs."""
    rate, now = Rate(10, window_s=10.0), 0.0
    for amount in amounts:
        wait_s = rate.wait_s(now, amount)
        if wait_s > 0:
            just_before = now + wait_s - 1e-6
            assert rate.used(just_before) + amount > 10
        now += wait_s
        rate.take(now, amount)


def test_a_request_above_the_limit_goes_alone() -> None:
    """It waits for an empty window, and not for ever."""
    rate = Rate(10, window_s=60.0)
    assert rate.wait_s(0.0, 50) == 0.0
    rate.take(0.0, 4)
    assert rate.wait_s(1.0, 50) == 59.0


def test_the_estimate_is_seldom_too_low() -> None:
    """It learns tokens per byte, and reserves a spread more."""
    rng, estimate = Random(2), TokenEstimate()
    assert estimate.of(3_000) == 1_200
    low = 0
    for number in range(400):
        size = rng.randrange(2_000, 6_000)
        tokens = int(size * rng.gauss(0.25, 0.02))
        low += number > 50 and estimate.of(size) < tokens
        estimate.learn(size, tokens)
    assert low < 0.3 * 350
    assert estimate.of(4_000) == pytest.approx(4_000 * 0.27, rel=0.03)


async def test_a_deadline_stands_still_while_it_is_held() -> None:
    """By any of its tasks; what was left before is left afterwards."""
    async with Deadline(0.2):
        with held(), held():
            await asyncio.sleep(0.3)
    async with Deadline(0.2):

        async def waits() -> None:
            with held():
                await asyncio.sleep(0.3)

        await asyncio.gather(waits(), waits())

    async def hangs_after_a_wait() -> None:
        async with Deadline(0.05):
            with held():
                await asyncio.sleep(0.1)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await hangs_after_a_wait()


@pytest.mark.parametrize(("requests", "tokens"), [(24, None), (None, 13_000), (30, 16_000)])
async def test_limits_wait_and_do_not_fail(requests: int | None, tokens: int | None) -> None:
    """Judged are more than the limit allows, in a deadline below the wait; few are refused.

    None would be, were this process never held up between reckoning and sending.
    """
    window_s = 6.0
    gate = SlidingLimits(requests or 9_999, tokens or 9_999_999, window_s=window_s)
    async with JudgeServer(LABELS, gate=gate) as server:
        settings = LlmSettings(model="openai/judge", api_base=server.url, api_key="k")
        limits_ = PerMinute(requests, tokens)
        quota = LocalQuota(limits_, time.monotonic, window_s=window_s + 1.0)
        provider_gates = ProviderGates(quota=lambda _: quota)
        judge, limits = (
            LlmJudge(settings, provider_gates=provider_gates),
            provider_gates.all_of(settings),
        )
        await judge.prepare()
        admitting = Limits(8, 6.5, limits)

        async def one() -> str:
            async with admitting.admitted(), admitting.deadline():
                await judge.judge(interaction())
            return "scored"

        ended = Counter(await asyncio.gather(*(one() for _ in range(14))))
        await judge.aclose()
    assert ended == {"scored": 14}
    assert len(gate.refused) <= 3
    most_requests, most_tokens = gate.busiest()
    assert most_requests <= (requests or 9_999)
    assert most_tokens <= (tokens or 9_999_999)
    assert gate.admitted[-1][0] - gate.admitted[0][0] > window_s, "it did have to wait"
