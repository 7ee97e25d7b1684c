"""A function verifies: what it is given, what is made of it, and what becomes of its errors."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from monitor.app.judge_settings import local_judge
from monitor.app.judges import build_judges
from monitor.config import load
from monitor.errors import ConfigurationError, JudgeFailed
from monitor.judge.llm.dry_run import DryRunJudge
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.pipeline.identity import LlmSettings, VerifierSettings
from monitor.judge.pipeline.pairing import PairRequest
from monitor.judge.protocol import CostMeter, Judge
from monitor.judge.verifier import LocalVerifier, VerifierJudge
from monitor.records import Claims, Passage
from monitor.telemetry import ScorerTelemetry
from tests.servers.judge_server import JudgeServer
from tests.stages import verifiers
from tests.stages.captured_log import captured_log
from tests.stages.judge_case import LABELS, PASSAGES, SHIPPING, WARRANTY, WRONG, interaction

HERE = "tests.stages.verifiers"


def made(name: str, **settings: Any) -> LocalVerifier:
    return LocalVerifier(VerifierSettings(f"{HERE}:{name}", **settings))


def configured(**settings: str) -> Judge:
    """The judge that these settings of the section ``judge`` make."""
    flags = {f"judge.{name}": value for name, value in settings.items()}
    telemetry = ScorerTelemetry(CollectorRegistry())
    return build_judges(load({}, flags=flags), telemetry)[0].judge


def requests(n: int) -> list[PairRequest]:
    return [PairRequest("q", f"text {i} {WRONG}" if i % 2 else "text", WRONG) for i in range(n)]


async def test_without_any_model_of_a_server() -> None:
    """Sentences are the claims, and a function verifies them: all matrices, and no call."""
    judge = configured(verifier=f"{HERE}:tiny")
    await judge.prepare()
    found = await judge.judge(interaction())
    assert found.claims.response == (WRONG, SHIPPING)
    assert found.claims.reference == (WARRANTY, SHIPPING)
    verdicts = found.verdicts
    assert verdicts.response_by_passage == ((False, True, False), (False, False, False))
    assert verdicts.response_by_context == (True, False)
    assert verdicts.response_by_reference == (False, True)
    assert verdicts.reference_by_passage == ((True, False, False), (False, False, False))
    assert verdicts.reference_by_response == (False, True)
    assert found.probabilities["c1"] == {"1": 0.2, "2": 0.9, "3": 0.2, "A": 0.9, "R": 0.2}
    assert found.probabilities["c2"]["+"] == 0.2
    assert (found.usage.calls, found.judge.pipeline) == (0, "pairs")
    assert found.judge == judge.identity
    assert found.judge.label.startswith("verifier@")
    assert found.judge.model == f"{HERE}:tiny"


async def test_beside_a_verifier_the_manner_counts_where_a_model_is_asked_with_examples() -> None:
    """Which passages are relevant, and the quotes; else no request has one."""

    def versions(**more: str) -> set[str]:
        model = {"kind": "llm", "model": "openai/m", "api_base": "http://127.0.0.1:9/v1", **more}
        ways = [{**model, "examples": examples} for examples in ("fixed", "shaped")]
        return {configured(verifier=f"{HERE}:tiny", **way).identity.version for way in ways}

    assert len(versions()) == 1
    assert len(versions(relevant_to_question="judged")) == 2


async def test_given_claims_and_the_threshold() -> None:
    """As ``judge-check`` asks; a probability below the threshold supports nothing."""
    claims = Claims(response=(WRONG,))
    for threshold, held in (("0.9", True), ("0.91", False)):
        judge = configured(verifier=f"{HERE}:tiny", threshold=threshold)
        assert isinstance(judge, VerifierJudge)
        found = await judge.judge(interaction(reference=None), claims=claims)
        assert found.verdicts.response_by_passage == ((False, held, False),)


async def test_with_a_model_for_the_claims() -> None:
    """It is asked for claims only; both names are in the identity."""
    async with JudgeServer(LABELS, snapshots={"big": "big-2026"}) as server:
        judge = configured(
            kind="llm",
            model="openai/judge",
            extract_model="openai/big",
            api_base=server.url,
            api_key="sk-unit",
            verifier=f"{HERE}:versioned",
        )
        assert isinstance(judge, LlmJudge)
        await judge.prepare()
        cost_meter = CostMeter()
        found = await judge.judge(interaction(), cost_meter)
        await judge.aclose()
        asked = [(entry.task, entry.parameters["model"]) for entry in server.log]
    assert asked == [("extract_claims", "big")] * 2
    assert found.judge.model == f"{HERE}:versioned@2.1+big-2026"
    assert found.judge.pipeline == "pairs"
    assert found.verdicts.response_by_passage == ((False, True, False), (False, False, False))
    assert (found.usage.calls, cost_meter.allowance.made.calls) == (2, 2)


async def test_a_rehearsal_does_not_call_the_function() -> None:
    """Nor load it; what a model is asked is counted, and pairs are no calls."""
    settings = LlmSettings(
        model="openai/judge", pipeline="pairs", verifier=VerifierSettings("no_such:function")
    )
    found = await DryRunJudge(settings).judge(interaction())
    assert found.usage.calls == 2
    assert found.judge.model == "no_such:function+openai/judge"


@pytest.mark.parametrize(("batch", "sizes"), [(32, [7]), (3, [3, 3, 1]), (7, [7])])
async def test_pairs_come_in_batches_and_with_the_device(batch: int, sizes: list[int]) -> None:
    """In order, at most so many at a time; the device is handed on."""
    verifiers.CALLS.clear()
    verifier = made("tiny", batch=batch, device="cuda:1")
    found = await verifier.probabilities(requests(7), CostMeter())
    assert found == [0.2, 0.9, 0.2, 0.9, 0.2, 0.9, 0.2]
    assert [(size, "cuda:1") for size in sizes] == verifiers.CALLS


async def test_one_call_at_a_time_also_where_one_is_given_up() -> None:
    """Four that ran into their deadlines, and one that waits: the function is called once."""
    verifiers.CALLS.clear()
    verifiers.GO_ON.clear()
    verifier = made("waiting")
    try:
        for _ in range(4):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await verifier.probabilities(requests(1), CostMeter())
        last = asyncio.create_task(verifier.probabilities(requests(2), CostMeter()))
        await asyncio.wait({last}, timeout=0.2)
        assert verifiers.CALLS == [(1, None)]
    finally:
        verifiers.GO_ON.set()
    assert await last == [0.5, 0.5]


async def test_numbers_of_a_library_are_numbers() -> None:
    """As those of torch and numpy."""
    assert await made("scalars").probabilities(requests(2), CostMeter()) == [0.2, 0.9]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("short", "gave 1 numbers for 2 pairs"),
        ("logits", "gave 1.25, expected 0 to 1"),
        ("negative", "gave -0.1, expected 0 to 1"),
        ("undefined", "gave nan, expected 0 to 1"),
        ("words", "gave nan, expected 0 to 1"),
        ("text", "raised TypeError"),
        ("nothing", "raised TypeError"),
        ("raising", "raised ValueError"),
        ("leaving", "raised SystemExit"),
        ("ending", "raised StopIteration"),
        ("panicking", "raised Panic"),
    ],
)
async def test_an_error_is_a_failed_judgement_and_never_a_verdict(name: str, wrong: str) -> None:
    """With its own reason; what is logged and said holds no text of the traffic."""
    with captured_log("info", "json") as logged, pytest.raises(JudgeFailed) as caught:
        await made(name).probabilities(requests(2), CostMeter())
    assert (caught.value.reason, str(caught.value)) == ("verifier", f"judge.verifier {wrong}")
    assert caught.value.__cause__ is None
    (event,) = [json.loads(line) for line in logged().splitlines()]
    assert (event["event"], event["what"]) == ("verifier_failed", wrong)
    assert WRONG not in logged()
    with pytest.raises(JudgeFailed) as whole:
        await configured(verifier=f"{HERE}:{name}").judge(interaction())
    assert whole.value.reason == "verifier"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("no_such_module:f", "judge.verifier: no_such_module cannot be imported (ModuleNotFoundEr"),
        (f"{HERE}:absent", f"judge.verifier: {HERE} has no absent"),
        (f"{HERE}:NO_FUNCTION", f"judge.verifier: {HERE}:NO_FUNCTION is no function"),
        ("tests.stages", "judge.verifier: found 'tests.stages', expected module:function"),
        ("a b:c", "judge.verifier: found 'a b:c', expected module:function"),
        (":f", "judge.verifier: found ':f', expected module:function"),
    ],
)
def test_a_wrong_path_is_an_error_of_configuration(path: str, expected: str) -> None:
    """At the start, and in words."""
    with pytest.raises(ConfigurationError) as caught:
        configured(verifier=path)
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(
    ("name", "raised"), [("without_model", "OSError"), ("without_label", "StopIteration")]
)
async def test_what_cannot_be_loaded_is_said_at_the_start(name: str, raised: str) -> None:
    """Before anything is judged; the first call has no pairs."""
    with pytest.raises(ConfigurationError, match=f"raised {raised} when called with no pairs"):
        await configured(verifier=f"{HERE}:{name}").prepare()


def test_the_version_holds_function_version_and_threshold() -> None:
    """Device and batch change no verdict."""
    versions = [
        configured(verifier=f"{HERE}:{name}", name="n", **more).identity.version
        for name, more in (
            ("tiny", {}),
            ("scalars", {}),
            ("versioned", {}),
            ("tiny", {"threshold": "0.3"}),
            ("tiny", {"verifier_batch": "5", "verifier_device": "cpu"}),
        )
    ]
    assert len(set(versions)) == 4
    assert versions[0] == versions[4]


async def test_too_many_pairs_are_refused_before() -> None:
    """A judgement holds only so many verdicts; calls there are none to count."""
    judge = configured(verifier=f"{HERE}:tiny", max_calls="4")
    assert isinstance(judge, VerifierJudge)
    many = interaction(passages=tuple(f"Fact {n}." for n in range(40)))
    assert (await judge.judge(many)).passages == 40
    judge.foresee(many)
    most = many.model_copy(update={"retrieved_contexts": (Passage(text=PASSAGES[0]),) * 60_000})
    with pytest.raises(JudgeFailed) as caught:
        judge.foresee(most)
    assert caught.value.reason == "too_large"


def test_without_a_verifier_the_offline_judge_judges() -> None:
    """As always."""
    assert local_judge(load({}).judge).identity.pipeline == "offline"
