"""One tiny judgement, asked of judges over real HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest
from aiohttp import web

from monitor.doctor import llm
from monitor.doctor.llm import KNOWN_PAIRS, TINY, JudgeTimeouts
from monitor.doctor.report import CheckStatus, ReportLine
from monitor.judge.llm.judge import LlmJudge, LlmSettings
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.pipeline.identity import VerifierSettings
from monitor.judge.verifier import LocalVerifier, VerifierJudge
from tests.servers.judge_server import Bias, Fault, FaultPlan, FaultRule, JudgeServer, Labels
from tests.servers.stub_judge_server import StubJudgeServer
from tests.stages.refused_forms import Refusing
from tests.stages.skipping_loop import run_skipping, skip
from tests.stages.stub_judges import HABITS, Erring, Stub, known_pairs

KEY = "sk-very-secret"
LABELS = Labels(
    claims={(TINY.user_input, TINY.response): (TINY.response,)},
    supported=frozenset({(TINY.response, TINY.response)}),
)
IN_TIME = r" in (\d+) s \(judge.deadline_s is (\d+) s\)"
TASKS = ["extract_claims", "verify_claims", "verify_claims"]


async def asked(url: str, model: str = "openai/judge", **more: Any) -> list[ReportLine]:
    """The lines for an LLM at this address."""
    settings = LlmSettings(model=model, api_base=url, api_key=KEY, retries=0, **more)
    judge = LlmJudge(settings)
    try:
        return await llm.examine(judge, model, JudgeTimeouts(60.0))
    finally:
        await judge.aclose()


async def test_both_prompts_are_asked_once_and_then_the_known_pairs() -> None:
    """One claim to extract and one to verify; who answered is said, and the lacking price."""
    async with JudgeServer(LABELS | known_pairs()) as server:
        judged, price = await asked(server.url)
        assert [entry.task for entry in server.log] == TASKS
    assert judged.status is CheckStatus.OK
    assert "2 calls" in judged.found
    assert (price.check, price.status) == ("price", CheckStatus.WARN)


async def test_a_known_model_has_a_price() -> None:
    """Per million tokens, from the library's own list."""
    async with JudgeServer(LABELS) as server:
        _, price = await asked(server.url, "openai/gpt-4o-mini")
    assert price.status is CheckStatus.OK
    assert price.found == "0.15 $ in, 0.60 $ out, per million tokens"


@pytest.mark.parametrize(
    ("fault", "mend"), [(Fault.EMPTY, "stronger model"), (Fault.CUT_JSON, "only the question")]
)
async def test_a_model_that_does_not_keep_to_the_format_fails(fault: Fault, mend: str) -> None:
    """A reply that is empty or cut twice is no judgement, and no price is looked up."""
    plan = FaultPlan(rules=(FaultRule(fault=fault, times=None),))
    async with JudgeServer(LABELS, plan) as server:
        (line,) = await asked(server.url)
    assert line.status is CheckStatus.FAIL
    assert mend in line.mend
    assert "2 of 2 calls brought a reply that was refused; most often the reply" in line.found


async def test_what_was_wrong_with_a_reply_is_said_of_a_judge_that_answers() -> None:
    """It was asked once more, which costs: once an interaction is too often."""
    plan = FaultPlan(rules=(FaultRule(fault=Fault.WRONG_NONCE),))
    async with JudgeServer(LABELS | known_pairs(), plan) as server:
        judged, _ = await asked(server.url)
    assert judged.status is CheckStatus.OK
    assert "3 calls" in judged.found
    wrong = "repeats another number than asked (nonce)"
    assert (
        f"1 of 3 calls brought a reply that was refused; most often the reply {wrong}"
        in judged.found
    )


@pytest.mark.parametrize("name", HABITS)
async def test_a_judge_that_does_not_judge_fails_at_once(name: str) -> None:
    """It answers, and at most four of six pairs with known verdicts are right."""
    async with StubJudgeServer(Stub(HABITS[name])) as server:
        judged, _ = await asked(server.url)
    assert judged.status is CheckStatus.FAIL
    found = re.fullmatch("answers, but does not judge: ([0-4]) of 6 right", judged.found)
    assert found
    if name.startswith("always"):
        assert found[1] == "3"
    assert judged.mend.startswith("ask for less at a time (judge.pipeline: pairs), or")
    assert "judge-check" in judged.mend


async def test_who_answers_pairs_in_more_than_a_word_is_told_of_no_format() -> None:
    """No reply about a pair is JSON, and judge.structured has no meaning there."""

    class Polite(Stub):
        """Answers in a sentence."""

        def answer(self, user: str) -> str:
            """Claims as ever."""
            is_pair = json.loads(user)["task"] == "judge_pair"
            return "Yes." if is_pair else super().answer(user)

    async with StubJudgeServer(Polite(HABITS["always y"])) as server:
        (line,) = await asked(server.url, pipeline="pairs")
    assert line.status is CheckStatus.FAIL
    assert line.found.startswith("the model does not answer in one word, yes or no (judge_pair: ")
    assert line.mend == "take another model; rag-monitor judge-check measures it"


async def test_a_judge_that_judges_is_said_to() -> None:
    """All six, with one more call."""
    model = Erring(0.0, seed=1, also=[KNOWN_PAIRS])
    async with StubJudgeServer(model) as server:
        judged, _ = await asked(server.url)
    assert judged.status is CheckStatus.OK
    assert judged.found.endswith("2 calls, 640 tokens; 6 of 6 known pairs right")
    assert len(model.asked) == 3


async def test_a_judge_whose_reply_about_known_pairs_cannot_be_read_is_looked_at() -> None:
    """It has answered before, so that it is no FAIL; that it cannot keep to the format is said."""
    labels = LABELS | known_pairs()
    plan = FaultPlan(rules=(FaultRule(fault=Fault.EMPTY, containing="battery", times=None),))
    async with JudgeServer(labels, plan) as server:
        judged, _ = await asked(server.url)
    assert judged.status is CheckStatus.WARN
    assert "no reply about 6 pairs with known verdicts (malformed_reply)" in judged.found


async def test_a_judge_that_refuses_the_known_pairs_is_looked_at() -> None:
    """It answers, but nobody knows whether it judges."""
    async with JudgeServer(LABELS) as server:
        judged, _ = await asked(server.url)
    assert judged.status is CheckStatus.WARN
    assert "no reply about 6 pairs with known verdicts (rejected)" in judged.found
    assert "judge.model" in judged.mend


def slowly(
    model: Stub, timeouts: JudgeTimeouts, slow: Callable[[str], float], **more: Any
) -> list[ReportLine]:
    """The lines for a model that takes so many seconds for a user message, without waiting."""

    async def examined() -> list[ReportLine]:
        async with StubJudgeServer(model, before=lambda user: skip(slow(user))) as server:
            settings = LlmSettings(
                "openai/judge",
                api_base=server.url,
                api_key=KEY,
                attempt_timeout_s=timeouts.attempt_timeout_s,
                retries_s=timeouts.deadline_s,
                **more,
            )
            async with aclosing(LlmJudge(settings)) as judge:
                return await llm.examine(judge, "judge", timeouts)

    return run_skipping(examined())


def about_known_pairs(seconds: float) -> Callable[[str], float]:
    """So slow about the known pairs, and quick otherwise."""
    return lambda user: seconds if "battery" in user else 0.0


@pytest.mark.parametrize(
    ("slow", "deadline_s"), [(lambda _: 46.0, 600.0), (about_known_pairs(32.0), 120.0)]
)
def test_a_slow_judge_that_does_not_judge_fails_too(
    slow: Callable[[str], float], deadline_s: float
) -> None:
    """It is waited for as long as the settings let a judgement take, and not for half a minute."""
    judged, _ = slowly(Stub(), JudgeTimeouts(deadline_s, deadline_s), slow)
    assert judged.status is CheckStatus.FAIL
    found = re.fullmatch(f"answers, but does not judge: 3 of 6 right{IN_TIME}", judged.found)
    assert found
    assert (float(found[1]) >= slow("battery"), found[2]) == (True, f"{deadline_s:g}")


def test_a_slow_judge_that_judges_is_said_to_be_slow() -> None:
    """With what it may take."""
    model = Erring(0.0, seed=1, also=[KNOWN_PAIRS])
    judged, _ = slowly(model, JudgeTimeouts(600.0, 600.0), lambda _: 46.0)
    assert judged.status is CheckStatus.OK
    found = re.search(f"; 6 of 6 known pairs right{IN_TIME}$", judged.found)
    assert found
    assert float(found[1]) >= 46.0
    twice = re.search("judged in ([0-9.]+) s: 2 calls", judged.found)
    assert twice
    assert float(twice[1]) >= 92.0


def test_a_judge_without_an_answer_to_the_known_pairs_in_time_is_never_ok() -> None:
    """Nobody knows whether it judges; the setting that ends the waiting is named."""
    model = Erring(0.0, seed=1, also=[KNOWN_PAIRS])
    judged, _ = slowly(model, JudgeTimeouts(120.0, 300.0), about_known_pairs(200.0))
    assert judged.status is CheckStatus.WARN
    assert judged.found.endswith("no reply about 6 pairs with known verdicts within 120 s")
    assert judged.mend == "raise judge.deadline_s (120 s); or take a faster model"

    timeouts = JudgeTimeouts(120.0, 30.0)
    judged, _ = slowly(model, timeouts, about_known_pairs(40.0), retries=0)
    assert judged.status is CheckStatus.WARN
    assert judged.found.endswith("no reply about 6 pairs with known verdicts (timeout)")
    assert "judge.attempt_timeout_s" in judged.mend


@pytest.mark.parametrize(
    ("timeouts", "mend"),
    [
        (JudgeTimeouts(60.0, 150.0), "raise judge.deadline_s (60 s); or take a faster model"),
        (
            JudgeTimeouts(60.0, 30.0),
            "raise judge.deadline_s (60 s), and judge.attempt_timeout_s (30 s) where one call takes"
            " longer, or check judge.api_base; or take a faster model",
        ),
    ],
)
def test_a_judge_that_is_slower_than_the_settings_allow_fails(
    timeouts: JudgeTimeouts, mend: str
) -> None:
    """As its judgements of traffic would; raising what is named heals it."""
    (line,) = slowly(Stub(), timeouts, lambda _: 46.0)
    assert (line.status, line.found) == (CheckStatus.FAIL, "no judgement within 60 s")
    assert line.mend == mend


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pattern",), "it refuses a JSON schema or patterns in it, and is asked without; 6 of 6"),
        (
            ("json_schema",),
            "it refuses a JSON schema or patterns in it, and is asked without; 6 of 6",
        ),
        (
            ("json_schema", "json_object"),
            "it refuses a JSON schema and JSON mode, and is asked without any format; 6 of 6",
        ),
    ],
)
async def test_formats_that_a_server_refuses_are_said(words: tuple[str, ...], said: str) -> None:
    """It judges all the same."""
    async with JudgeServer(LABELS | known_pairs(), gate=Refusing(*words)) as server:
        judged, _ = await asked(server.url)
    assert judged.status is CheckStatus.OK
    assert said in judged.found


async def test_they_are_said_of_a_judge_that_guesses_too() -> None:
    """It may guess for that."""
    known, gate = known_pairs(), Refusing("pattern")
    async with JudgeServer(LABELS | known, gate=gate, bias=Bias(flipped=known.supported)) as server:
        judged, _ = await asked(server.url)
    assert judged.status is CheckStatus.FAIL
    said = "right; it refuses a JSON schema or patterns in it, and is asked without"
    assert said in judged.found


async def test_a_format_at_which_a_server_breaks_is_said() -> None:
    """It judges all the same, and the setting that spares the error is named."""
    gate = Refusing("json_schema", status=500)
    async with JudgeServer(LABELS | known_pairs(), gate=gate) as server:
        judged, _ = await asked(server.url)
    assert judged.status is CheckStatus.OK
    said = "; it has an error at a JSON schema or JSON mode, and is asked again without"
    assert f"{said}: judge.structured can say so at once; 6 of 6" in judged.found


@pytest.mark.parametrize("status", [400, 500])
async def test_a_format_that_nobody_else_may_leave_out_is_named(status: int) -> None:
    """Where the same is answered without it, it is no outage of the provider's."""
    for form in ("json_schema", "json_object"):
        gate = Refusing(form, status=status)
        async with JudgeServer(LABELS | known_pairs(), gate=gate) as server:
            (line,) = await asked(server.url, structured=form)
        assert line.status is CheckStatus.FAIL
        assert "it judges where no reply is held to JSON" in line.found
        assert "judge.structured: prompt" in line.mend
    async with JudgeServer(LABELS | known_pairs(), gate=Refusing("", status=status)) as server:
        (line,) = await asked(server.url, structured="json_schema")
    assert "structured" not in f"{line.found}{line.mend}"


@pytest.fixture
async def refusing() -> AsyncIterator[str]:
    """A provider that knows no key, and quotes it, as some do."""

    async def refuse(_: web.Request) -> web.Response:
        said = {"code": "invalid_api_key", "message": f"Incorrect API key provided: {KEY}"}
        return web.json_response({"error": said}, status=401)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", refuse)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    await runner.cleanup()


async def test_a_refused_key_is_said_with_status_and_mend(refusing: str) -> None:
    """FAIL with the provider's status and code and the setting to mend; never the key."""
    (line,) = await asked(refusing)
    assert line.status is CheckStatus.FAIL
    assert "status 401 invalid_api_key" in line.found
    assert "judge.api_key" in line.mend
    assert KEY not in json.dumps(line)


async def test_a_model_that_is_away_fails() -> None:
    """Nobody listens: the address is to be checked."""
    (line,) = await asked("http://127.0.0.1:9/v1")
    assert line.status is CheckStatus.FAIL
    assert "judge.api_base" in line.mend


async def test_the_offline_judge_answers() -> None:
    """It needs no price."""
    (line,) = await llm.examine(OfflineJudge("offline"), "offline", JudgeTimeouts(60.0))
    assert (line.check, line.status) == ("judge", CheckStatus.OK)


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("knowing", CheckStatus.OK, "the verifier tests.stages.verifiers:knowing, answers; 6 of 6"),
        ("constant", CheckStatus.FAIL, "answers, but does not judge: 3 of 6 right"),
        ("logits", CheckStatus.FAIL, "judge.verifier does not give a probability for each pair"),
    ],
)
async def test_a_verifier_is_asked_too(name: str, status: CheckStatus, said: str) -> None:
    """It is named; one that says the same always, or gives no probabilities, fails."""
    settings = VerifierSettings(f"tests.stages.verifiers:{name}")
    made = LlmSettings(model="", pipeline="pairs", verifier=settings)
    judge = VerifierJudge(made, LocalVerifier(settings))
    (line,) = await llm.examine(judge, "verifier", JudgeTimeouts(60.0))
    assert line.status is status
    assert said in line.found


async def test_pairs_that_are_all_no_are_no_judgement() -> None:
    """A model that answers every pair alike is found out, in this pipeline as in any other."""

    class No(Stub):
        def answer(self, user: str) -> str:
            return "no" if json.loads(user)["task"] == "judge_pair" else super().answer(user)

    async with StubJudgeServer(No()) as server:
        settings = LlmSettings("openai/judge", api_base=server.url, api_key=KEY, pipeline="pairs")
        judge = LlmJudge(settings)
        judged, _ = await llm.examine(judge, "judge", JudgeTimeouts(60.0))
        await judge.aclose()
    assert judged.status is CheckStatus.FAIL
    assert judged.found == "answers, but does not judge: 3 of 6 right"
