"""What every judge must do: the offline one, the LLM's and a verifier's are held against it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from monitor.judge.cache.judgements import CachedJudge
from monitor.judge.cache.memory import MemoryStore
from monitor.judge.llm.judge import LlmJudge, LlmSettings
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.pipeline.identity import VerifierSettings
from monitor.judge.protocol import Judge
from monitor.judge.verifier import LocalVerifier, VerifierJudge
from tests.servers.judge_server import JudgeServer
from tests.stages.judge_case import LABELS, SHIPPING, WARRANTY, WRONG, interaction
from tests.stages.unobserved import Unobserved


@pytest.fixture(params=["offline", "verifier", "llm", "pairs", "kept"])
async def judge(request: pytest.FixtureRequest) -> AsyncIterator[Judge]:
    """Any judge, prepared; the LLM's asks a server that knows the labels, or keeps its answers."""
    if request.param == "offline":
        yield OfflineJudge()
        return
    if request.param == "verifier":
        verifier = VerifierSettings("tests.stages.verifiers:tiny")
        settings = LlmSettings(model="", pipeline="pairs", verifier=verifier)
        yield VerifierJudge(settings, LocalVerifier(verifier))
        return
    async with JudgeServer(LABELS) as server:
        asked = LlmSettings(model="openai/judge", api_base=server.url, api_key="none")
        llm = LlmJudge(replace(asked, pipeline="pairs") if request.param == "pairs" else asked)
        await llm.prepare()
        store = MemoryStore(max_entries=9, max_bytes=99_999, ttl_s=60, clock=time.monotonic)
        yield llm if request.param in ("llm", "pairs") else CachedJudge(llm, store, Unobserved())
        await llm.aclose()


async def test_verdicts_of_a_plain_interaction(judge: Judge) -> None:
    """Both find the wrong claim in the old note only, and the unstated one nowhere."""
    judgement = await judge.judge(interaction())
    assert judgement.claims.response == (WRONG, SHIPPING)
    assert judgement.claims.reference == (WARRANTY, SHIPPING)
    verdicts = judgement.verdicts
    assert verdicts.response_by_passage == ((False, True, False), (False, False, False))
    assert verdicts.response_by_context == (True, False)
    assert verdicts.response_by_reference == (False, True)
    assert verdicts.reference_by_passage == ((True, False, False), (False, False, False))
    assert verdicts.reference_by_response == (False, True)


async def test_without_a_reference_its_matrices_are_empty(judge: Judge) -> None:
    """No reference: passages are judged all the same."""
    judgement = await judge.judge(interaction(reference=None))
    assert not judgement.has_reference
    assert judgement.claims.reference == ()
    assert judgement.verdicts.response_by_reference == ()
    assert judgement.verdicts.response_by_context == (True, False)


@pytest.mark.parametrize("response", ["", " \n", "…!", "？。"])
async def test_an_empty_response_has_no_claims_and_costs_nothing(
    judge: Judge, response: str
) -> None:
    """Nothing to extract, nothing to ask."""
    judgement = await judge.judge(interaction(response=response))
    assert judgement.claims.response == ()
    assert judgement.usage.calls == 0


async def test_nothing_to_check_against_costs_nothing(judge: Judge) -> None:
    """Neither passages nor a reference: a judgement without passages, and no call."""
    judgement = await judge.judge(interaction(passages=(), reference=None))
    assert (judgement.passages, judgement.usage.calls) == (0, 0)


async def test_the_judgement_names_its_judge(judge: Judge) -> None:
    """The label is name@version; after a judgement it is the judge's own identity."""
    judgement = await judge.judge(interaction())
    assert judgement.judge == judge.identity
    name, _, version = judgement.judge.label.partition("@")
    assert name == judgement.judge.name
    assert len(version) == 6


async def test_the_same_interaction_gives_the_same_verdicts(judge: Judge) -> None:
    """Judged twice: equal claims and verdicts."""
    first, second = await judge.judge(interaction()), await judge.judge(interaction())
    assert (first.claims, first.verdicts) == (second.claims, second.verdicts)
