"""Every fault of a judge × every pipeline, over HTTP: no wrong verdict, and nearly none lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random

import pytest

from monitor.errors import JudgeFailed
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.manner import Examples, Manner
from monitor.judge.pipeline.identity import LlmSettings
from monitor.judge.pipeline.plans import PLANS, PipelineName
from monitor.records import Judgement
from tests.servers.judge_faults import MALFORMED, VERIFY_ONLY
from tests.servers.judge_labels import Labels
from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer
from tests.stages.truthful import Large, large

#: Interactions per fault, of which each call is hit once, and the faulty replies that this makes.
SIZES: dict[PipelineName, tuple[int, int]] = {
    "joint": (3, 130),
    "single": (1, 170),
    "ragas": (1, 200),
}


#: A fault that never ends, and why the judgement then fails.
ENDLESS: dict[Fault, str] = {
    Fault.RATE_LIMITED: "rate_limited",
    Fault.SERVER_ERROR: "server_error",
    Fault.TIMEOUT: "timeout",
    Fault.TRICKLE: "timeout",
    Fault.BODY_ERROR: "server_error",
    Fault.CHOICE_ERROR: "server_error",
    **dict.fromkeys(sorted(MALFORMED), "malformed_reply"),
    # The wire format is halved down to one claim before it is given up.
    Fault.CUT_JSON: "output_limit",
}
#: What cannot go wrong with a single claim: then its half is answered, and judged.
HEALED = {Fault.OUT_OF_ORDER_IDS: "judged"}
#: Faults of several verdict lines, and of the ``+``: a reply about relevance has one line.
MANY_LINES = {Fault.OUT_OF_ORDER_IDS, Fault.STRAY_PLUS}


def can_strike(fault: Fault, pipeline: PipelineName) -> bool:
    """Whether the pipeline has calls that can go wrong in this way: ragas asks one pair a claim."""
    return not (pipeline == "ragas" and fault is Fault.OUT_OF_ORDER_PAIRS)


def cases(fault: Fault, count: int, sizes: tuple[int, int, int] = (3, 2, 3)) -> list[Large]:
    """Interactions that can carry every fault: passages, a reference, claims true and false."""
    return [large(Random(f"{fault}{i}"), *sizes, name=f"{fault}#{i}") for i in range(count)]


def rule(fault: Fault, times: int | None = 1, **more: object) -> FaultRule:
    """The fault for whatever it was made for, and for verifications only where it needs them."""
    task = "verify_claims" if fault in VERIFY_ONLY else None
    chosen = {
        "fault": fault,
        "times": times,
        "containing": f"Why {fault}#",
        "task": task,
        "seconds": 0.1,
    }
    return FaultRule.model_validate(chosen | more)


def labels(found: Sequence[Large]) -> Labels:
    return Labels(
        {key: claims for one in found for key, claims in one.labels.claims.items()},
        frozenset().union(*(one.labels.supported for one in found)),
        frozenset().union(*(one.labels.together for one in found)),
        frozenset().union(*(one.labels.relevant for one in found)),
    )


async def all_judged(
    server: JudgeServer,
    pipeline: PipelineName,
    found: Sequence[Large],
    retries: int = 4,
    *,
    relevance: bool = False,
    examples: Examples = "fixed",
) -> list[Judgement | JudgeFailed]:
    # ``auto`` asks about one claim a call after so many faults: some cannot strike then.
    settings = LlmSettings(
        model="openai/judge",
        api_base=server.url,
        api_key="none",
        pipeline=pipeline,
        attempt_timeout_s=8.0,
        retries=retries,
        relevant_to_question="judged" if relevance else "labels",
        examples=examples,
        # Every call goes wrong, and a cut one is halved again and again: what a fault may do to
        # verdicts is looked at here, not how many calls it may cost.
        max_calls=1_000,
    )
    judge, places = LlmJudge(settings), asyncio.Semaphore(4)

    async def one(case: Large) -> Judgement | JudgeFailed:
        async with places:
            try:
                return await judge.judge(case.interaction)
            except JudgeFailed as failure:
                return failure

    ended = await asyncio.gather(*map(one, found))
    await judge.aclose()
    return ended


async def test_a_judge_that_is_asked_in_other_manners_gives_no_wrong_verdict_either() -> None:
    """From the fixed example to one claim a call, while every call goes wrong once."""
    found = [case for fault in Fault for case in cases(fault, 2)]
    async with JudgeServer(labels(found), FaultPlan(rules=tuple(map(rule, Fault)))) as server:
        ended = await all_judged(server, "joint", found, examples="auto")
    versions = set()
    for case, end in zip(found, ended, strict=True):
        if isinstance(end, Judgement):
            assert end.verdicts == case.verdicts, case.interaction.interaction_id
            versions.add(end.judge.version)
    assert sum(isinstance(end, Judgement) for end in ended) >= 0.9 * len(found)
    assert len(versions) == len(Manner)


@pytest.mark.parametrize("pipeline", PLANS)
async def test_hundreds_of_faulty_replies_give_no_wrong_verdict(pipeline: PipelineName) -> None:
    """Each call of each interaction goes wrong once: ≥ 99 % are judged, and all of them right.

    The sizes of the pipelines make five hundred.
    """
    count, faulty = SIZES[pipeline]
    assert sum(least for _, least in SIZES.values()) == 500
    found = [case for fault in Fault for case in cases(fault, count)]
    plan = FaultPlan(rules=tuple(map(rule, Fault)))
    async with JudgeServer(labels(found), plan) as server:
        ended = await all_judged(server, pipeline, found)
        struck = [entry.fault for entry in server.log if entry.fault]
    wanted = {fault.value for fault in Fault if can_strike(fault, pipeline)}
    assert set(struck) == wanted - {"latency"}
    assert len(struck) >= faulty
    lost = []
    for case, end in zip(found, ended, strict=True):
        if isinstance(end, JudgeFailed):
            lost.append((case.interaction.interaction_id, end.reason))
        else:
            assert end.verdicts == case.verdicts, case.interaction.interaction_id
    assert len(lost) <= 0.01 * len(found), lost


@pytest.mark.parametrize("pipeline", PLANS)
async def test_a_fault_without_end_is_a_failure_with_its_reason(pipeline: PipelineName) -> None:
    """Whatever goes wrong with every verification: no judgement, and why not.

    What halves can heal is judged, and right.
    """
    reasons = {
        fault: HEALED.get(fault, why)
        for fault, why in ENDLESS.items()
        if can_strike(fault, pipeline)
    }
    # The smallest that can be halved: each part of it fails as the whole does, and is asked.
    found = [case for fault in reasons for case in cases(fault, 1, (2, 1, 2))]
    rules = tuple(rule(fault, times=None, task="verify_claims") for fault in reasons)
    async with JudgeServer(labels(found), FaultPlan(rules=rules)) as server:
        ended = await all_judged(server, pipeline, found, retries=0)
    why = [end.reason if isinstance(end, JudgeFailed) else "judged" for end in ended]
    assert dict(zip(reasons, why, strict=True)) == reasons
    for case, end in zip(found, ended, strict=True):
        assert isinstance(end, JudgeFailed) or end.verdicts == case.verdicts


@pytest.mark.parametrize("pipeline", ["joint", "single"])
async def test_faults_about_relevance_heal_like_any_other(pipeline: PipelineName) -> None:
    """Each call about relevance goes wrong once, in every way: all are judged, and right."""
    faults = [fault for fault in Fault if fault not in MANY_LINES]
    if pipeline == "single":  # one pair a call
        faults.remove(Fault.OUT_OF_ORDER_PAIRS)
    # ``joint`` asks about all passages in one call.
    found = [case for fault in faults for case in cases(fault, 2 if pipeline == "joint" else 1)]
    rules = tuple(rule(fault, task="judge_relevance") for fault in faults)
    async with JudgeServer(labels(found), FaultPlan(rules=rules)) as server:
        ended = await all_judged(server, pipeline, found, relevance=True)
        struck = {entry.fault for entry in server.log if entry.fault}
    assert struck == {fault.value for fault in faults} - {"latency"}
    for case, end in zip(found, ended, strict=True):
        assert isinstance(end, Judgement), (case.interaction.interaction_id, end)
        relevant = end.verdicts.relevant_to_question
        assert relevant == case.relevant, case.interaction.interaction_id
        plain = end.verdicts.model_copy(update={"relevant_to_question": ()})
        assert plain == case.verdicts


async def test_an_endless_fault_about_relevance_is_a_failure_with_its_reason() -> None:
    """Relevance is never guessed: the judgement fails, and is counted."""
    reasons = {fault: why for fault, why in ENDLESS.items() if fault not in MANY_LINES}
    found = [case for fault in reasons for case in cases(fault, 1)]
    rules = tuple(rule(fault, times=None, task="judge_relevance") for fault in reasons)
    async with JudgeServer(labels(found), FaultPlan(rules=rules)) as server:
        ended = await all_judged(server, "joint", found, retries=0, relevance=True)
    why = [end.reason if isinstance(end, JudgeFailed) else "judged" for end in ended]
    assert dict(zip(reasons, why, strict=True)) == reasons
