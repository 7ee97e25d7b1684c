"""What may be left to somebody else: a judgement that waits for limits, and when."""

from __future__ import annotations

import asyncio
from math import inf

import pytest

from monitor.errors import JudgeFailed
from monitor.judge.limits.deadline import Deadline, asking, held, seconds_left
from monitor.judge.limits.provider_gate import ProviderGate
from monitor.judge.limits.quota import LocalQuota, PerMinute
from monitor.judge.limits.shared_quota import SharedQuota
from monitor.judge.provider.faults import CallFailed, Fault
from monitor.judge.provider.refusals import Action
from tests.stages.turns import turns


async def test_what_waits_before_its_first_call_may_be_left() -> None:
    """However soon it could go on; while it does not wait it may not."""
    async with Deadline(60.0) as deadline:
        assert not deadline.may_be_left(0.0)
        with held(lambda: 1.0):
            assert deadline.may_be_left(inf)
        assert not deadline.may_be_left(0.0)


async def test_what_has_cost_something_may_be_left_when_it_cannot_go_on_in_time() -> None:
    """All of its calls have to; none while one is under way, whose cost nobody would know."""
    async with Deadline(60.0) as deadline:
        with asking(lambda: True), held(lambda: 50.0):
            assert not deadline.may_be_left(0.0)
        with held(lambda: 10.0), held(lambda: 20.0):
            assert deadline.may_be_left(19.0)
            assert not deadline.may_be_left(20.0)
        with held(lambda: 10.0):
            assert not deadline.may_be_left(19.0)


async def test_what_is_left_of_it_stands_still_with_it() -> None:
    """Who decides whether to ask once more goes by that; without a deadline there is no end."""
    assert seconds_left() == inf
    async with Deadline(60.0):
        await asyncio.sleep(0.05)
        assert 50.0 < seconds_left() <= 59.951
        with held(lambda: 1.0):
            before = seconds_left()
            await asyncio.sleep(0.05)
            assert seconds_left() == before
        await asyncio.sleep(0.05)
        assert seconds_left() < before
    assert seconds_left() == inf


async def test_a_call_that_was_turned_away_has_cost_nothing() -> None:
    """A provider that asks for patience has computed nothing; one that broke off may have."""
    for action, is_left in ((Action.WAIT, True), (Action.RETRY, False)):
        provider_gate = ProviderGate("m")
        async with Deadline(60.0) as deadline:
            with pytest.raises(JudgeFailed):
                async with provider_gate.call():
                    raise CallFailed(Fault("r", "n", action))
            with held(lambda: 1.0):
                assert deadline.may_be_left(inf) is is_left


async def test_limits_say_how_long_they_hold() -> None:
    """Four requests a minute, one in ten seconds: the second waits so long, a third no less."""
    now = [0.0]
    provider_gate = ProviderGate("m", quota=LocalQuota(PerMinute(requests=4), lambda: now[0]))
    async with provider_gate.call():
        pass
    found: list[Deadline] = []

    async def judge() -> None:
        async with Deadline(60.0) as deadline:
            found.append(deadline)
            deadline.has_cost()
            async with provider_gate.call():
                raise AssertionError("there is no room")

    tasks = [asyncio.create_task(judge()) for _ in range(2)]
    await turns()
    for deadline in found:
        assert deadline.may_be_left(10.0)
        assert not deadline.may_be_left(10.2)
    now[0] = 5.0
    assert not found[0].may_be_left(5.2)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Full:
    """A limit of all replicas that has no room for half a minute."""

    step = 1

    async def take(self, cost: int) -> float:
        return 30.0


class Unheard:
    """Nobody listens."""

    def shared(self, model: str, yes: bool) -> None:
        return

    def failed(self, reason: str) -> None:
        raise AssertionError("the store does answer")


async def test_shared_limits_say_how_long_they_hold_too() -> None:
    """As the store has said when it was asked; what has cost nothing is left at once."""
    quota = SharedQuota(
        "m", PerMinute(4), (Full(), None), Unheard(), lambda: 0.0, share=lambda: 1.0
    )
    deadline = Deadline(60.0)

    async def judge() -> None:
        async with deadline, ProviderGate("m", quota=quota).call():
            raise AssertionError("there is no room")

    task = asyncio.create_task(judge())
    await turns()
    assert deadline.may_be_left(inf)
    deadline.has_cost()
    assert deadline.may_be_left(29.0)
    assert not deadline.may_be_left(30.0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_provider_that_asks_for_patience_says_how_long() -> None:
    """The pause is a limit like others."""
    provider_gate = ProviderGate("m", clock=lambda: 0.0)
    with pytest.raises(CallFailed):
        async with provider_gate.call():
            raise CallFailed(Fault("rate_limited", "n", Action.WAIT, 30.0))

    async def judge(deadline: Deadline) -> None:
        async with deadline, provider_gate.call():
            raise AssertionError("nobody is asked")

    deadline = Deadline(60.0)
    deadline.has_cost()
    task = asyncio.create_task(judge(deadline))
    await turns()
    assert deadline.may_be_left(29.0)
    assert not deadline.may_be_left(30.0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
