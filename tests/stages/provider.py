"""A judge and a provider that refuses, is away, is overrun or slow."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import CollectorRegistry

from monitor.errors import JudgeFailed
from monitor.judge.limits.breaker import BreakerSettings
from monitor.judge.limits.limits import Limits
from monitor.judge.limits.provider_gates import ProviderGates
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.observers import ShownState
from monitor.judge.pipeline.identity import LlmSettings
from monitor.telemetry import ScorerTelemetry
from tests.servers.judge_server import JudgeServer
from tests.servers.judge_weather import Weather
from tests.stages.judge_case import LABELS, interaction
from tests.stages.refusals import CASES

TERMINAL = [case for case in CASES if case["action"] == "stop"]
FOREVER = 3_600.0


class Stage:
    """A judge at a server with weather, its limits, and what was told of its state."""

    def __init__(self, server: JudgeServer, probe_s: float, concurrency: int) -> None:
        self.telemetry, self.told = ScorerTelemetry(CollectorRegistry()), list[bool]()
        shown = ShownState(self.telemetry, lambda: self.told.append(self.limits.is_silent))
        breaker = BreakerSettings(stop_probe_s=probe_s, open_after=4, first_wait_s=0.05)
        self.provider_gates = ProviderGates(shown, breaker)
        settings = LlmSettings(
            model="openai/judge", api_base=server.url, api_key="k", retries=2, attempt_timeout_s=5.0
        )
        self.judge = LlmJudge(settings, provider_gates=self.provider_gates)
        self.limits = Limits(concurrency, 20.0, self.provider_gates.all_of(settings))

    async def one(self) -> str:
        """How one interaction ends."""
        async with self.limits.admitted():
            try:
                async with self.limits.deadline():
                    await self.judge.judge(interaction())
            except TimeoutError:
                return "deadline"
            except JudgeFailed as failure:
                return failure.reason
        return "scored"

    async def many(self, count: int) -> Counter[str]:
        """How so many end that come at once."""
        return Counter(await asyncio.gather(*(self.one() for _ in range(count))))

    def state(self) -> str:
        """The one state whose gauge is 1."""
        found = {
            sample.labels["state"]: sample.value
            for family in self.telemetry.judge_state.collect()
            for sample in family.samples
        }
        assert set(found) == {"judging", "waiting", "circuit_open", "stopped"}
        (state,) = (state for state, value in found.items() if value == 1.0)
        return state


@asynccontextmanager
async def stage(
    probe_s: float = FOREVER, concurrency: int = 8, port: int = 0
) -> AsyncIterator[tuple[Stage, Weather, JudgeServer]]:
    weather = Weather()
    async with JudgeServer(LABELS, port=port, gate=weather) as server:
        made = Stage(server, probe_s, concurrency)
        await made.judge.prepare()  # takes seconds, which no deadline is to meet
        yield made, weather, server
        await made.judge.aclose()


def refusal(case: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
    return case["status"], case["body"], case["headers"]
