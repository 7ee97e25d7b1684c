"""Models in order of preference, over HTTP: who judges what, and under whose name."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from monitor.app.judges import ConfiguredJudge, build_judges, judges_of
from monitor.config import load
from monitor.errors import ConfigurationError, JudgeFailed
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.manner import Manner
from monitor.telemetry import ScorerTelemetry
from tests.servers.judge_server import JudgeServer
from tests.servers.judge_weather import Weather, spoken
from tests.stages.judge_case import LABELS, interaction
from tests.stages.process import until


class OneRefuses(Weather):
    """Weather for one model alone; ``asked`` counts by model."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self._model, self.asked = model, Counter[str]()

    async def __call__(self, text: str) -> Any:
        model = json.loads(text)["model"]
        self.asked[model] += 1
        return await super().__call__(text) if model == self._model else None


def flags_of(server: JudgeServer, **more: str) -> dict[str, str]:
    """Settings of three models at this server."""
    return {
        "judge.kind": "llm",
        "judge.model": "openai/first",
        "judge.fallback_models": "openai/second,openai/third",
        "judge.api_base": server.url,
        "judge.api_key": "k",
        "judge.cache.kind": "none",
        **more,
    }


def configured(server: JudgeServer, **more: str) -> ConfiguredJudge:
    """A judge of three models."""
    flags = flags_of(server, **more)
    (made,) = build_judges(load({}, flags=flags), ScorerTelemetry(CollectorRegistry()))
    return made


async def judged(by: ConfiguredJudge) -> str:
    """The model that has judged; or why none has."""
    async with by.limits.admitted(), by.limits.deadline():
        try:
            judgement = await by.judge.judge(interaction())
        except JudgeFailed as failure:
            return failure.reason
    assert judgement.usage.calls >= 3
    return judgement.judge.model


SNAPSHOTS = {"first": "first-1", "second": "second-1", "third": "third-1"}


async def test_each_model_is_a_judge_of_its_own() -> None:
    """Three names, three versions; the first is that of the section."""
    async with JudgeServer(LABELS) as server:
        made = configured(server)
        identities = [judge.identity for judge in judges_of(made)]
    assert [i.model for i in identities] == ["openai/first", "openai/second", "openai/third"]
    assert len({i.version for i in identities}) == 3
    assert made.judge.identity == identities[0]


@pytest.mark.parametrize(
    "refusal",
    [
        (401, {"error": {"code": "invalid_api_key"}}, {}),
        (400, {"error": {"code": "content_filter"}}, {}),
        (400, {"error": {"code": "context_length_exceeded"}}, {}),
    ],
)
async def test_the_next_one_judges_what_the_first_does_not(refusal: Any) -> None:
    """Without a failure; and the first again as soon as it judges."""
    weather = OneRefuses("first")
    async with JudgeServer(LABELS, gate=weather, snapshots=SNAPSHOTS) as server:
        made = configured(server)
        assert await judged(made) == "first-1"
        weather.refusal = refusal
        assert await judged(made) == "second-1"
        weather.refusal = None
        assert await judged(made) == "first-1"
        await made.judge.aclose()
    assert weather.asked["third"] == 0


async def test_the_next_one_is_asked_in_its_own_manner() -> None:
    """Whatever the first has come to: under one name it is one judge."""
    weather = OneRefuses("first")
    weather.refusal = 401, {"error": {"code": "invalid_api_key"}}, {}
    async with JudgeServer(LABELS, gate=weather, snapshots=SNAPSHOTS) as server:
        made = configured(server)
        first, second, _ = judges_of(made)
        assert isinstance(first, LlmJudge)
        first.manner.now = Manner.ONE_CLAIM
        async with made.limits.admitted(), made.limits.deadline():
            judgement = await made.judge.judge(interaction())
        assert judgement.judge == second.identity
        assert judgement.judge.model == "second-1"
        await made.judge.aclose()


async def test_judging_goes_on_under_the_name_that_it_paused_under() -> None:
    """Although the first reply changes the judge's version: or nobody would be ready again."""
    weather, told = OneRefuses("first"), dict[str, str | None]()
    async with JudgeServer(LABELS, gate=weather, snapshots=SNAPSHOTS) as server:
        flags = flags_of(server, **{"judge.fallback_models": ""})
        telemetry = ScorerTelemetry(CollectorRegistry())
        (made,) = build_judges(load({}, flags=flags), telemetry, paused=told.__setitem__)
        weather.refusal = 500, {"error": {"code": "server_error"}}, {}
        before = made.judge.identity
        under_way = [asyncio.create_task(judged(made)) for _ in range(12)]
        await until(lambda: made.limits.is_silent, "an open circuit", every_s=0.01)
        assert set(told.values()) == {"the provider does not answer"}
        weather.refusal = None
        assert "first-1" in await asyncio.gather(*under_way)
        assert made.judge.identity != before
        assert set(told.values()) == {None}
        await made.judge.aclose()


async def test_one_that_has_stopped_is_not_asked_before_the_probe() -> None:
    """Judging goes on with the next, and returns by itself when the first is mended."""
    weather = OneRefuses("first")
    async with JudgeServer(LABELS, gate=weather, snapshots=SNAPSHOTS) as server:
        made = configured(server, **{"limits.stop_probe": "1s"})
        weather.refusal = 401, {"error": {"code": "invalid_api_key"}}, {}
        models = await asyncio.gather(*(judged(made) for _ in range(30)))
        assert set(models) == {"second-1"}
        assert weather.asked["first"] <= 20
        weather.refusal = None

        async def is_back() -> bool:
            return await judged(made) == "first-1"

        await until(is_back, "the first model")
        await made.judge.aclose()


class SomeHang(Weather):
    """Weather for some models, which do not answer in time; ``asked`` counts by model.

    ``times``: requests of each that are held up, None: all. ``first_status`` is what a model's
    first request gets at once.
    """

    def __init__(self, times: int | None = None, first_status: int | None = None) -> None:
        super().__init__()
        self.models, self.asked = set[str](), Counter[str]()
        self._times, self._first_status = times, first_status

    async def __call__(self, text: str) -> Any:
        model = json.loads(text)["model"]
        if model not in self.models:
            return await super().__call__(text)
        self.asked[model] += 1
        if self._first_status is not None:
            return spoken(self._first_status, "", {}) if self.asked[model] == 1 else None
        if self._times is None or self.asked[model] <= self._times:
            await asyncio.sleep(60)
        return None


async def judged_with(weather: SomeHang, *hang: str, **timeouts: str) -> str:
    """Who judges while these models hang, after a judgement in which none did."""
    async with JudgeServer(LABELS, gate=weather, snapshots=SNAPSHOTS) as server:
        made = configured(server, **timeouts)
        await made.judge.prepare()
        assert await judged(made) == "first-1"
        weather.models |= set(hang)
        try:
            return await judged(made)
        finally:
            await made.judge.aclose()


def timeouts_of(deadline_s: float, attempt_timeout_s: float) -> dict[str, str]:
    return {
        "judge.deadline_s": str(deadline_s),
        "judge.attempt_timeout_s": str(attempt_timeout_s),
    }


async def test_the_next_one_judges_what_the_first_hangs_over() -> None:
    """As the settings are by default: the deadline holds two attempts. So each call has one."""
    weather = SomeHang()
    assert await judged_with(weather, "first", **timeouts_of(6, 3)) == "second-1"
    assert weather.asked == {"first": 2}


async def test_the_third_one_judges_what_both_others_hang_over() -> None:
    """Time is kept for each of those that follow: here the deadline holds an attempt of each."""
    weather = SomeHang()
    assert await judged_with(weather, "first", "second", **timeouts_of(8, 2)) == "third-1"
    assert weather.asked == {"first": 2, "second": 2}


async def test_a_timeout_is_tried_again_while_there_is_time_for_the_others() -> None:
    """One that is late is no reason to ask another model."""
    weather = SomeHang(times=2)
    assert await judged_with(weather, "first", **timeouts_of(30, 2)) == "first-1"


@pytest.mark.parametrize("status", [500, 504])
async def test_an_error_that_comes_at_once_is_tried_again(status: int) -> None:
    """By the default settings, although these hold no attempt in vain of all three models."""
    weather = SomeHang(first_status=status)
    assert await judged_with(weather, "first") == "first-1"


async def test_without_another_model_a_timeout_is_tried_again_until_the_deadline() -> None:
    """There is nobody to keep time for."""
    weather, nobody = SomeHang(), {"judge.fallback_models": ""}
    with pytest.raises(TimeoutError):
        await judged_with(weather, "first", **nobody, **timeouts_of(4, 2))
    assert weather.asked["first"] > 2


async def test_one_that_asks_for_long_patience_is_not_waited_for() -> None:
    """The next one judges what comes meanwhile; a short patience is waited for."""
    weather = OneRefuses("first")
    async with JudgeServer(LABELS, gate=weather, snapshots=SNAPSHOTS) as server:
        made = configured(server)
        weather.refusal = 429, {"error": {"code": "rate_limit_exceeded"}}, {"Retry-After": "3600"}
        async with asyncio.timeout(30):
            models = await asyncio.gather(*(judged(made) for _ in range(30)))
        await made.judge.aclose()
    assert set(models) == {"second-1"}
    assert weather.asked["first"] <= 20


async def test_who_waits_for_one_that_falls_silent_goes_to_the_next() -> None:
    """Its circuit would let through one of them for each probe, and they hold all the places."""
    weather = OneRefuses("first")
    async with JudgeServer(LABELS, gate=weather, snapshots=SNAPSHOTS) as server:
        made = configured(server, **{"judge.concurrency": "64"})
        await made.judge.prepare()
        weather.refusal = 500, {"error": {"code": "server_error"}}, {}
        async with asyncio.timeout(90):
            models = await asyncio.gather(*(judged(made) for _ in range(64)))
        await made.judge.aclose()
    assert set(models) == {"second-1"}


async def test_the_last_ones_failure_is_the_failure() -> None:
    """When none of them judges, the reason is that of the last."""
    weather = Weather()
    async with JudgeServer(LABELS, gate=weather) as server:
        weather.refusal = 400, {"error": {"code": "content_filter"}}, {}
        made = configured(server)
        assert await judged(made) == "content_filter"
        assert len(weather.requests) >= 3
        await made.judge.aclose()


@pytest.mark.parametrize("models", ["openai/a", "openai/b,openai/b"])
def test_the_same_model_twice_is_a_configuration_error(models: str) -> None:
    """It would be asked twice for the same."""
    flags = {"judge.kind": "llm", "judge.model": "openai/a", "judge.fallback_models": models}
    with pytest.raises(ConfigurationError, match="fallback_models"):
        load({}, flags=flags)
