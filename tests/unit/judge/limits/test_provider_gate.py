"""A provider that refuses, is away, is overrun or slow: over HTTP, as the scorer judges."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count, pairwise
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from monitor.judge.limits.adaptive_window import FIRST
from monitor.judge.limits.breaker import BreakerSettings
from monitor.judge.limits.limits import Limits, chosen
from monitor.judge.limits.provider_gate import ModelUnanswered, ProviderGate, ProviderState
from monitor.judge.observers import ShownState
from monitor.judge.provider.faults import CallFailed, Fault
from monitor.judge.provider.refusals import Action
from monitor.telemetry import ScorerTelemetry
from tests.servers.judge_server import JudgeServer
from tests.servers.judge_weather import Weather
from tests.stages.judge_case import LABELS
from tests.stages.process import until
from tests.stages.provider import FOREVER, TERMINAL, Stage, refusal, stage
from tests.stages.refusals import CASES, name
from tests.stages.turns import turns

WITHDRAWN = CallFailed(Fault("auth", "status 401", Action.STOP))
AWAY = CallFailed(Fault("connection", "no connection", Action.RETRY))


@pytest.mark.parametrize("case", TERMINAL, ids=name)
async def test_a_terminal_error_costs_at_most_20_requests(case: dict[str, Any]) -> None:
    """All interactions end as failures with the reason; nothing waits, and nobody asks again."""
    async with stage() as (made, weather, _):
        weather.refusal = refusal(case)
        assert await made.many(40) == {case["reason"]: 40}
        assert len(weather.requests) <= 20
        assert made.state() == "stopped"


async def test_a_stopped_judge_is_probed_and_heals_alone() -> None:
    """One request an interval; the first that is answered ends it for all, also who waits."""
    async with stage(probe_s=0.3) as (made, weather, _):
        weather.refusal = 401, {"error": {"code": "invalid_api_key"}}, {}
        await made.many(30)
        before = len(weather.requests)
        await until(lambda: _probed(made, weather, before + 3), "3 probes", every_s=0.01)
        probes = weather.requests[before:]
        assert all(b - a >= 0.3 for a, b in pairwise(probes))
        weather.refusal = None

        async def healed() -> bool:
            return await made.one() == "scored"

        await until(healed, "a key that works again", every_s=0.01)
        assert made.state() == "judging"
        assert await made.many(30) == {"scored": 30}


async def _probed(made: Stage, weather: Weather, requests: int) -> bool:
    assert await made.one() == "auth"
    return len(weather.requests) >= requests


async def test_what_was_under_way_when_a_key_was_withdrawn_heals_nothing() -> None:
    """The provider still answers it; who asks after that is not sent to be refused again."""
    provider_gate = ProviderGate("m", BreakerSettings(stop_probe_s=FOREVER), clock=count().__next__)
    async with provider_gate.call():
        for _ in range(3):
            with pytest.raises(CallFailed):
                async with provider_gate.call():
                    raise WITHDRAWN
        assert provider_gate.state is ProviderState.STOPPED
    assert provider_gate.state is ProviderState.STOPPED
    with pytest.raises(CallFailed):
        async with provider_gate.call():
            raise AssertionError("nobody is asked")


async def test_what_is_turned_away_before_a_next_request_is_no_refusal() -> None:
    """The provider was asked once, and that says nothing of it: nothing stops for the rest."""
    for is_made in (True, False):
        gate = ProviderGate("m", BreakerSettings(stop_probe_s=FOREVER), clock=count().__next__)
        for _ in range(3):
            with suppress(CallFailed):
                async with gate.call() as call:
                    if not is_made:
                        call.end()
                    raise WITHDRAWN
        assert (gate.state is ProviderState.STOPPED) == is_made
        assert gate.requests == 3


async def test_a_wrong_key_costs_no_more_where_many_are_judged_at_once() -> None:
    """Before the first good reply few are asked at once, whatever the concurrency."""
    async with stage(concurrency=256) as (made, weather, _):
        weather.refusal = 401, {"error": {"code": "invalid_api_key"}}, {}
        assert await made.many(300) == {"auth": 300}
        assert len(weather.requests) <= 20


async def asked_by_many(provider_gate: ProviderGate, failure: CallFailed, times: int) -> None:
    """So many judgements at once that the window is wide open; then all is refused."""
    async with AsyncExitStack() as stack:
        for _ in range(20):
            await stack.enter_async_context(provider_gate.judgement())
            async with provider_gate.call():
                pass
        for _ in range(times):
            with pytest.raises(CallFailed):
                async with provider_gate.call():
                    raise failure


@asynccontextmanager
async def coming(provider_gate: ProviderGate, count: int) -> AsyncIterator[list[int]]:
    """Judgements that come at once and stay; the numbers of those that were let in."""
    inside = list[int]()

    async def judge(number: int) -> None:
        async with provider_gate.judgement():
            inside.append(number)
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(judge(number)) for number in range(count)]
    await turns()
    yield inside
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(("failure", "times"), [(WITHDRAWN, 3), (AWAY, 4)])
async def test_whoever_is_back_is_asked_by_few_at_first(failure: CallFailed, times: int) -> None:
    """Twenty were judged at once before; the next few show whether it is so again."""
    settings = BreakerSettings(open_after=4, stop_probe_s=0.0, first_wait_s=0.0)
    provider_gate = ProviderGate("m", settings, clock=count().__next__)
    await asked_by_many(provider_gate, failure, times)
    assert provider_gate.state.value in ("stopped", "circuit_open")
    async with provider_gate.judgement(), provider_gate.call():
        pass
    assert provider_gate.state is ProviderState.JUDGING
    async with coming(provider_gate, 30) as inside:
        assert len(inside) == FIRST


async def test_judgements_wait_for_the_probe_of_a_stopped_judge() -> None:
    """Or all that came meanwhile would ask at once when it is answered."""
    provider_gate = ProviderGate("m", BreakerSettings(stop_probe_s=0.0), clock=count().__next__)
    await asked_by_many(provider_gate, WITHDRAWN, 3)
    probe = provider_gate.call()
    await probe.__aenter__()
    async with coming(provider_gate, 30) as inside:
        assert inside == []
        await probe.__aexit__(None, None, None)
        await turns()
        assert len(inside) == FIRST


async def test_nobody_waits_for_a_probe_of_a_provider_that_is_back_and_refuses() -> None:
    """Older calls find out while the circuit's probe goes on: all fail at once, and so does it."""
    settings = BreakerSettings(open_after=4, stop_probe_s=FOREVER, first_wait_s=0.0)
    provider_gate = ProviderGate("m", settings, clock=count().__next__)
    await asked_by_many(provider_gate, AWAY, 4)

    async def ask() -> None:
        async with provider_gate.call():
            raise AssertionError("nobody is asked")

    async with provider_gate.judgement(), coming(provider_gate, 5) as inside:
        assert inside == []
        for _ in range(3):
            with pytest.raises(CallFailed):
                async with provider_gate.call():
                    raise WITHDRAWN
        assert provider_gate.state is ProviderState.STOPPED
        calls = [asyncio.create_task(ask()) for _ in range(2)]
        await turns()
        found = [call.done() and type(call.exception()) for call in calls]
        for call in calls:
            call.cancel()
        assert found == [CallFailed, CallFailed]
        assert inside == [0, 1, 2, 3, 4]


async def test_a_refusal_of_single_interactions_stops_nothing() -> None:
    """A provider that filters some, between others that it judges, goes on being asked."""
    async with stage(concurrency=1) as (made, weather, _):
        filtered = next(case for case in CASES if case["reason"] == "content_filter")
        for _ in range(6):
            weather.refusal = refusal(filtered)
            assert await made.one() == "content_filter"
        weather.refusal = None
        assert await made.one() == "scored"


async def test_away_then_a_storm_then_slow() -> None:
    """Every interaction ends, judging pauses and goes on by itself, and the state says so."""
    async with stage() as (made, weather, server):
        assert await made.many(10) == {"scored": 10}
        port = server.port
    # The same judge, whose server has gone.
    under_way = [asyncio.ensure_future(made.one()) for _ in range(60)]
    await until(lambda: made.state() == "circuit_open", "an open circuit", every_s=0.01)
    assert made.told == [True]
    assert sum(task.done() for task in under_way) < 40, "judging pauses, and loses no backlog"
    async with JudgeServer(LABELS, port=port, gate=weather):
        weather.refusal = 429, {"error": {"code": "rate_limit_exceeded"}}, {"Retry-After": "0.2"}
        await until(lambda: made.state() == "waiting", "a storm", every_s=0.01)
        assert made.told[-1] is False
        weather.refusal, weather.latency_s = None, 0.5
        ends = Counter(await asyncio.gather(*under_way))
        assert ends["scored"] >= 20
        assert set(ends) <= {"scored", "connection", "rate_limited"}
        await until(lambda: made.state() == "judging", "the end of it")
        assert await made.many(5) == {"scored": 5}
        await made.judge.aclose()


async def test_a_storm_is_met_with_patience() -> None:
    """Nobody asks while the provider has asked for a second: of 40 none fails, few are refused."""
    async with stage(concurrency=16) as (made, weather, _):
        assert await made.many(40) == {"scored": 40}
        before = len(weather.requests)
        weather.refusal = 429, {"error": {"message": "slow down"}}, {"Retry-After": "1"}
        judging = asyncio.ensure_future(made.many(40))
        await until(lambda: len(weather.requests) > before, "a refusal", every_s=0.005)
        await until(lambda: made.state() == "waiting", "patience", every_s=0.005)
        weather.refusal = None
        assert await judging == {"scored": 40}
        times = weather.requests[before:]
        refused = [t for t in times if t < times[0] + 0.9]
        assert len(refused) <= 32, "two calls of each judgement under way, and no more"


async def test_a_request_too_long_is_asked_in_halves() -> None:
    """What a model finds too long goes in parts; one claim that still is fails by its name."""

    class Short(Weather):
        async def __call__(self, text: str) -> Any:
            asked = json.loads(json.loads(text)["messages"][-1]["content"])
            long = len(asked.get("claims", ())) > 1
            body = {"error": {"code": "context_length_exceeded"}}
            self.refusal = (400, body, {}) if long else None
            return await super().__call__(text)

    async with JudgeServer(LABELS, gate=Short()) as server:
        made = Stage(server, FOREVER, 1)
        assert await made.one() == "scored"
        await made.judge.aclose()
    async with stage() as (made, weather, _):
        weather.refusal = 413, "too large", {}
        assert await made.one() == "too_long"
        # Of two texts: the second may be given up before it is asked about.
        assert len(weather.requests) <= 2, "an extraction cannot be halved"


async def test_a_model_with_two_keys_shows_the_worst_state() -> None:
    """A key that is refused is seen, also where another one of the same model is not."""
    telemetry, told = ScorerTelemetry(CollectorRegistry()), list[set[str]]()
    shown = ShownState(telemetry, lambda: told.append(states()))
    bad, good = (
        ProviderGate("openai/judge", BreakerSettings(stop_after=1, open_after=1), observe=shown)
        for _ in range(2)
    )

    def states() -> set[str]:
        return {
            sample.labels["state"]
            for family in telemetry.judge_state.collect()
            for sample in family.samples
            if sample.value
        }

    assert states() == {"judging"}
    await _ends(bad, WITHDRAWN)
    await _ends(good, None)
    assert states() == {"stopped"}
    await _ends(good, AWAY)
    assert states() == {"stopped"}
    assert told == [{"stopped"}, {"stopped"}]


@pytest.mark.parametrize(
    ("first", "second", "is_silent"),
    [
        (None, None, False),
        (AWAY, None, False),
        (AWAY, AWAY, True),
        (AWAY, WITHDRAWN, True),
        (WITHDRAWN, AWAY, True),
        (WITHDRAWN, WITHDRAWN, False),
    ],
)
async def test_judging_pauses_where_no_other_model_is_there(
    first: CallFailed | None, second: CallFailed | None, is_silent: bool
) -> None:
    """And only for an open circuit: where all models refuse, interactions end as failures."""
    models = [
        ProviderGate(m, BreakerSettings(stop_after=1, open_after=1)) for m in ("first", "second")
    ]
    limits = Limits(8, 60.0, models[:1], [models[1:]])
    for model, failure in zip(models, (first, second), strict=True):
        await _ends(model, failure)
    assert limits.is_silent is is_silent
    begun, tasks = _admissions(limits, 4)
    await turns()
    assert bool(begun) is not is_silent, "who says that judging pauses lets nobody in"
    await _cancelled(tasks)
    assert not Limits(8, 60.0).is_silent, "the offline judge always answers"


async def test_who_waits_does_not_all_go_to_one_that_refuses() -> None:
    """When its probe is due: one call is enough to find out, and all others would fail."""
    now = [0.0]
    away = ProviderGate(
        "away", BreakerSettings(open_after=1, first_wait_s=30.0), clock=lambda: now[0]
    )
    stopped = ProviderGate("stopped", BreakerSettings(stop_after=1), clock=lambda: now[0])
    limits = Limits(64, 60.0, [away], [[stopped]])
    await _ends(away, AWAY)
    await _ends(stopped, WITHDRAWN)
    begun, tasks = _admissions(limits, 64)
    await turns()
    assert begun == []
    now[0] = 301.0
    async with away.judgement():  # its probe has ended, which wakes the others
        pass
    await turns()
    assert begun.count(1) == 0
    await _cancelled(tasks)


@pytest.mark.parametrize(
    ("first", "second", "chosen_number"),
    [(None, None, 1), (None, AWAY, None), (None, WITHDRAWN, 0), (AWAY, None, 1)],
)
async def test_a_model_that_is_set_aside_is_chosen_only_where_the_others_refuse(
    first: CallFailed | None, second: CallFailed | None, chosen_number: int | None
) -> None:
    """One that is away is waited for, as an outage is; and all is as before once it is over."""
    models = [
        ProviderGate(m, BreakerSettings(stop_after=1, open_after=1)) for m in ("first", "second")
    ]
    limits = Limits(8, 60.0, models[:1], [models[1:]])
    for model, failure in zip(models, (first, second), strict=True):
        await _ends(model, failure)
    limits.set_aside(0, aside=True)
    begun, tasks = _admissions(limits, 1)
    await turns()
    assert begun == ([] if chosen_number is None else [chosen_number])
    assert limits.is_silent is (chosen_number is None)
    await _cancelled(tasks)
    limits.set_aside(0, aside=False)
    begun, tasks = _admissions(limits, 1)
    await turns()
    assert begun == [0 if first is None else 1]
    await _cancelled(tasks)


async def test_a_certain_model_may_be_asked_for() -> None:
    """Whatever is preferred; where it does not answer nobody waits, and the place is free again."""
    models = [ProviderGate(m, BreakerSettings(open_after=1)) for m in ("first", "second")]
    limits = Limits(1, 60.0, models[:1], [models[1:]])
    limits.set_aside(1, aside=True)
    async with limits.admitted(model=1):
        assert chosen() == 1
    await _ends(models[1], AWAY)
    with pytest.raises(ModelUnanswered):
        async with limits.admitted(first=True, model=1):
            raise AssertionError("nobody is let in")
    async with limits.admitted():
        assert chosen() == 0


def _admissions(limits: Limits, count: int) -> tuple[list[int], list[asyncio.Task[None]]]:
    """The number of the model that each who is let in was let in for; and those that ask."""
    begun: list[int] = []

    async def ask() -> None:
        async with limits.admitted():
            begun.append(chosen())
            await asyncio.Event().wait()

    return begun, [asyncio.create_task(ask()) for _ in range(count)]


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _ends(provider_gate: ProviderGate, how: CallFailed | None) -> None:
    """A call that ends like this."""
    with suppress(CallFailed):
        async with provider_gate.judgement(), provider_gate.call():
            if how is not None:
                raise how
