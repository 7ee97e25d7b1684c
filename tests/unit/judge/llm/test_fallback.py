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
from tests.servers.judge_weather import Weather
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
