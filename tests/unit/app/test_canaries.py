"""From settings to canaries: which judges have them, and who is asked."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry

from monitor.app.canaries import Tell, asked_models, with_canaries
from monitor.app.judges import ConfiguredJudge, build_judges
from monitor.app.policies import build_policies
from monitor.config import load
from monitor.doctor.llm import TINY
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.observers import CountedAside
from monitor.records import Outcome
from monitor.scorer.score_records import JudgingResult
from monitor.telemetry import CanaryTelemetry, ScorerTelemetry
from tests.servers.stub_judge_server import StubJudgeServer
from tests.stages.process import until
from tests.stages.records import attributed
from tests.stages.stub_judges import HABITS, Erring, Stub

LLM = {"kind": "llm", "model": "openai/m"}


def watched(
    *entries: dict[str, Any], tell: Tell = lambda _judge, _why: None
) -> tuple[list[ConfiguredJudge], CollectorRegistry]:
    """The judges of these applications, and what is shown of them."""
    registry = CollectorRegistry()
    telemetry = ScorerTelemetry(registry)
    settings = load({"RAG_MONITOR_APPLICATIONS": json.dumps(entries)})
    found = with_canaries(
        build_judges(settings, telemetry),
        telemetry.canary,
        tell=tell,
        clock=lambda: 0.0,
        rng=Random(1),
    )
    chosen = build_policies(settings, found)
    for configured, name in zip(
        found, ("other", *(e["application"] for e in entries)), strict=True
    ):
        assert chosen.policy(attributed(name)).canaries is configured.canaries
    return found, registry


def test_only_models_are_asked_about_canaries() -> None:
    """Not the offline judge, and none where they are switched off."""
    found, _ = watched(
        {"application": "a", "judge": LLM},
        {"application": "b", "judge": {**LLM, "canaries": 0}},
    )
    assert [configured.canaries is not None for configured in found] == [False, True, False]


def test_each_model_is_known_for_itself() -> None:
    """Fallbacks, too: each has its gauge, and none guesses yet."""
    _, registry = watched(
        {"application": "a", "judge": {**LLM, "fallback_models": ["other/small"]}}
    )
    for model in ("openai/m", "other/small"):
        value = registry.get_sample_value("rag_monitor_judge_not_judging", {"model": model})
        assert value == 0


def test_what_canaries_ask_for_the_traffic_gets() -> None:
    """Examples of the shape, and with them another version; not with ``fixed``, nor for pairs."""
    found, _ = watched(
        {"application": "a", "judge": LLM},
        {"application": "b", "judge": {**LLM, "examples": "fixed"}},
        {"application": "c", "judge": {**LLM, "pipeline": "pairs"}},
    )
    changed, observe = [], CountedAside(CanaryTelemetry(CollectorRegistry()))
    for configured in found[1:]:
        judge = configured.judge
        assert isinstance(judge, LlmJudge)
        before = judge.identity.version
        (asked,) = asked_models(configured, observe)
        changed.append((asked.ask_for_shaped(), judge.identity.version != before))
    assert changed == [(True, True), (False, False), (False, False)]


async def test_canaries_are_shown_for_the_version_of_the_traffic() -> None:
    """Though nothing is asked of them but verdicts: no evidence, which is of the version, too."""
    async with StubJudgeServer(Erring(0.0, seed=1)) as server:
        section = {**LLM, "api_base": server.url, "canaries": 1.0, "evidence": "quote"}
        found, registry = watched({"application": "a", "judge": section})
        judge, canaries = found[1].judge, found[1].canaries
        assert canaries is not None
        judgement = await judge.judge(TINY)
        usage = judgement.usage
        ending = JudgingResult(Outcome.SCORED, None, judgement.judge, usage, judgement, {}, {})
        canaries.judged(ending)
        labels = {"kind": "passage", "judge": judgement.judge.label}
        name = "rag_monitor_judge_canary_accuracy"

        async def shown() -> bool:
            return registry.get_sample_value(name, labels) == 1

        await until(shown, "it is shown")
        await canaries.aclose()


async def test_two_sections_with_one_model_are_told_apart() -> None:
    """Readiness goes by these names: one that judges again must not stand for the other."""
    told = dict[str, str | None]()
    async with StubJudgeServer(Stub(HABITS["always n"])) as server:
        section = {**LLM, "api_base": server.url, "canaries": 1.0, "examples": "fixed"}
        found, _ = watched(
            {"application": "a", "judge": section},
            {"application": "b", "judge": {**section, "claims_per_call": 3}},
            tell=told.__setitem__,
        )
        for configured in found[1:]:
            judge, canaries = configured.judge, configured.canaries
            assert canaries is not None
            judgement = await judge.judge(TINY)
            ending = JudgingResult(
                Outcome.SCORED, None, judgement.judge, judgement.usage, judgement, {}, {}
            )
            for _ in range(100):
                canaries.judged(ending)
                await asyncio.sleep(0.005)
            await canaries.aclose()
    assert {*told} == {"llm openai/m", "llm openai/m (2)"}
