"""Calls of a metric: names that are wrong, loops that run, who judges, what is left behind."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import rag_monitor
from monitor.api.classes import METRIC_CLASSES, stub
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.protocol import CostMeter
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Claims, Interaction, Judgement
from monitor.runtime.threads import IDLE_S
from rag_monitor import (
    ConfigurationError,
    DependencyRefused,
    Faithfulness,
    InputRejected,
    JudgeFailed,
    NoiseSensitivity,
    SingleTurnSample,
    llm_factory,
)
from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer
from tests.stages.beside import served
from tests.stages.judge_case import LABELS, PASSAGES, QUESTION, REFERENCE, RESPONSE

ROOT = Path(__file__).parents[3]
#: What LiteLLM calls the threads in which it writes its logs.
LITELLMS = "litellm-logging"
FIELDS: dict[str, Any] = {
    "user_input": QUESTION,
    "response": RESPONSE,
    "retrieved_contexts": list(PASSAGES),
    "reference": REFERENCE,
}


class At:
    """As much of a client of OpenAI as says where it asks."""

    def __init__(self, url: str) -> None:
        self.base_url, self.api_key = url, "none"


class Counting(OfflineJudge):
    """A judge of a user's own."""

    judged = 0

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        self.judged += 1
        return await super().judge(interaction, cost_meter, claims)


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    """The same in a thread of its own, so that it answers while the test's own loop is held up."""
    with served(JudgeServer(LABELS)) as found:
        yield found


async def test_many_scores_leave_nothing(server: JudgeServer) -> None:
    """Within a running loop: no thread, no socket and no task is left, and all values agree."""
    scorer = NoiseSensitivity(llm_factory("judge", client=At(server.url)), mode="irrelevant")

    def one(number: int) -> float | None:
        # Another passage each time, so that the model is asked.
        passages = [*PASSAGES, f"Note {number}."]
        return scorer.score(**{**FIELDS, "retrieved_contexts": passages}).value

    values = {one(number) for number in range(3)}
    before, known = await left(), threading.enumerate()
    values |= {one(number) for number in range(3, 33)}
    assert values == {0.5}
    assert len(server.log) >= 33
    after = await left()
    new = set(threading.enumerate()).difference(known)
    assert all(now <= then for now, then in zip(after, before, strict=True)), (before, after, new)


async def left() -> tuple[int, int, int]:
    """Threads, open files and sockets, and tasks, once the server has seen connections close.

    LiteLLM's pool is its own: while one of its threads is busy, on a slow machine, it gets another.
    """
    process = psutil.Process()
    for _ in range(100):
        await asyncio.sleep(0.02)
        if all(each.status == psutil.CONN_LISTEN for each in process.net_connections("tcp")):
            break
    threads = [each for each in threading.enumerate() if not each.name.startswith(LITELLMS)]
    return len(threads), process.num_fds(), len(asyncio.all_tasks())


async def test_score_within_a_running_loop() -> None:
    """As in a notebook: the call is waited for, in the very thread of the loop."""
    scorer = Faithfulness(judge="offline")
    assert scorer.score(**FIELDS).value == (await scorer.ascore(**FIELDS)).value
    assert [t.name for t in threading.enumerate() if t.name == "rag_monitor"] == []


def test_threads_of_the_offline_judge_end() -> None:
    """They are few, and a while later they are gone."""
    Faithfulness(judge="offline").score(**FIELDS)
    until = time.monotonic() + 5 * IDLE_S
    while time.monotonic() < until:
        if not [t for t in threading.enumerate() if t.name == "offline judge"]:
            return
        time.sleep(0.05)
    raise AssertionError([t.name for t in threading.enumerate()])


@pytest.mark.parametrize(
    ("call", "wrong", "said"),
    [
        (Faithfulness, "lmm", r"Faithfulness\(\) has no argument 'lmm': did you mean llm"),
        (NoiseSensitivity, "modus", r"NoiseSensitivity\(\) has no argument 'modus': did you"),
        (Faithfulness(judge="offline").score, "respones", "'respones': did you mean response"),
        (rag_monitor.evaluate, "metrix", "'metrix': did you mean metrics"),
    ],
)
def test_an_unknown_argument_names_the_nearest(
    call: Callable[..., object], wrong: str, said: str
) -> None:
    """It is an error, and never left out in silence."""
    with pytest.raises(TypeError, match=said):
        call(**{wrong: "x"})


def test_a_field_of_a_sample_is_known_or_an_error() -> None:
    """Fields of ragas that are not scored are taken; others are named with the nearest."""
    SingleTurnSample(user_input="a", response="b", reference_contexts=["c"], rubrics={"d": "e"})
    with pytest.raises(ValueError, match="no field 'user_imput': did you mean user_input"):
        SingleTurnSample.model_validate({"user_imput": "a"})
    with pytest.raises(InputRejected, match="the sample has no response"):
        Faithfulness(judge="offline").single_turn_score(SingleTurnSample(user_input="a"))


def test_an_error_names_what_was_called() -> None:
    """Not the coroutine behind it; nor is a sample taken by its place."""
    scorer = Faithfulness(judge="offline")
    with pytest.raises(TypeError, match=r"^score\(\) has no argument"):
        scorer.score(**FIELDS, contexts=[])  # type: ignore[call-arg]
    with pytest.raises(
        TypeError, match=r"^score\(\) takes its arguments by name: user_input, resp"
    ):
        scorer.score(SingleTurnSample(**FIELDS))  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError, match=r"^score\(\): missing a required argument: 'response'"):
        scorer.score(user_input="a")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^evaluate\(\) has no argument 'metrix'"):
        rag_monitor.evaluate([FIELDS], metrix=[])


async def test_a_warning_shows_the_line_of_who_called() -> None:
    """From plain code, beside a running loop, and awaited."""
    scorer = NoiseSensitivity(judge="offline", mode="irrelevant")
    fields = {**FIELDS, "retrieved_contexts": PASSAGES[0]}

    async def called() -> None:
        await asyncio.to_thread(lambda: scorer.score(**fields))
        scorer.score(**fields)
        await scorer.ascore(**fields)
        await rag_monitor.aevaluate([fields], [scorer], show_progress=False)

    with pytest.warns(UserWarning, match="one text") as found:
        await called()
    assert [each.filename for each in found] == [__file__] * 4


def test_arguments_of_ragas_are_taken() -> None:
    """Those that change nothing, with one warning that says what there is instead."""
    with pytest.warns(UserWarning, match=r"evaluate\(\) leaves out run_config: set judge") as found:
        rag_monitor.evaluate(
            [FIELDS],
            ["faithfulness"],
            llm="offline",
            run_config=object(),
            batch_size=4,
            callbacks=None,
            show_progress=False,
        )
    (one,) = found
    assert "batch_size: set judge.concurrency" in str(one.message)
    assert "callbacks" not in str(one.message)  # it is empty
    with pytest.warns(UserWarning, match=r"llm_factory\(\) leaves out temperature.*cache"):
        llm_factory("judge", temperature=0.1, cache=object())


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ({"return_executor": True}, "knows no return_executor: it returns scores; to stop it"),
        ({"callbacks": [print]}, "knows no callbacks: single calls are not reported; the"),
    ],
)
async def test_an_argument_of_ragas_that_would_be_waited_for_in_vain_is_refused(
    argument: dict[str, Any], said: str
) -> None:
    """In words, before a row is judged; unless it is empty, as ragas has it by default."""
    judge = Counting()
    options: dict[str, Any] = {"judge": judge, "show_progress": False, **argument}
    with pytest.raises(TypeError, match=rf"^evaluate\(\) {said}"):
        rag_monitor.evaluate([FIELDS], ["faithfulness"], **options)
    with pytest.raises(TypeError, match=rf"^aevaluate\(\) {said}"):
        await rag_monitor.aevaluate([FIELDS], ["faithfulness"], **options)
    with pytest.raises(TypeError, match=r"score\(\) has no argument"):
        Faithfulness(judge=judge).score(**FIELDS, **argument)
    assert judge.judged == 0
    options |= dict.fromkeys(argument)
    assert rag_monitor.evaluate([FIELDS], ["faithfulness"], **options)["faithfulness"]


def test_a_column_that_is_not_there_names_those_that_are() -> None:
    """As of a set its fields."""
    result = rag_monitor.evaluate([FIELDS], ["faithfulness"], llm="offline", show_progress=False)
    with pytest.raises(KeyError, match="no metric 'faithfullness': did you mean faithfulness"):
        result["faithfullness"]
    found = rag_monitor.EvaluationDataset.from_list([FIELDS])
    assert found.features() == ["user_input", "retrieved_contexts", "response", "reference"]


def test_half_a_character_is_named_with_its_field() -> None:
    """Of one score there is no row; of many there is."""
    said = "response: half a character (a lone surrogate) at 1: decode the text anew"
    fields = {**FIELDS, "response": "a\ud800b c."}
    with pytest.raises(InputRejected, match=f"^{re.escape(said)}"):
        Faithfulness(judge="offline").score(**fields)
    with pytest.raises(InputRejected, match=f"^row 2: {re.escape(said)}"):
        Faithfulness(judge="offline").batch_score([FIELDS, fields])


def test_the_mode_is_one_of_two() -> None:
    """A wrong one, or two that differ, is an error at once."""
    with pytest.raises(ValueError, match="mode: found 'both', expected 'relevant' or 'irrelevant'"):
        NoiseSensitivity(mode="both")  # type: ignore[arg-type]
    with (
        pytest.warns(DeprecationWarning, match="focus is called mode"),
        pytest.raises(ValueError, match="mode is 'relevant' and focus is 'irrelevant'"),
    ):
        NoiseSensitivity(mode="relevant", focus="irrelevant")


def test_the_lexical_judge_is_named_where_nobody_chose_it() -> None:
    """The settings' judge is offline: a warning says so. Chosen by name, it is silent."""
    with pytest.warns(UserWarning, match="no model judges: .* a lexical check"):
        Faithfulness().score(**FIELDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Faithfulness(judge="offline").score(**FIELDS)


def test_what_is_no_judge_is_refused() -> None:
    """Also a wrapper of another library, and two judges for one metric."""
    with pytest.raises(ConfigurationError, match=r"llm: found a builtins.object, which has no ju"):
        Faithfulness(llm=object())  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="two names of one thing"):
        Faithfulness("openai/a", judge="offline")


def test_a_judge_of_the_users_own() -> None:
    """Anything that does what the protocol asks."""
    judge = Counting()
    result = Faithfulness(judge=judge).score(**FIELDS)
    assert judge.judged == 1
    assert result.record.judge == judge.identity
    assert result.value == Faithfulness(judge="offline").score(**FIELDS).value


async def test_a_judge_that_fails_is_an_error() -> None:
    """It is no score of 0, and says who failed and why."""
    plan = FaultPlan(rules=(FaultRule(fault=Fault.EMPTY, times=None),))
    async with JudgeServer(LABELS, plan) as server:
        scorer = Faithfulness(llm_factory("judge", client=At(server.url)))
        with pytest.raises(
            JudgeFailed, match=r"llm@.* \(judge-sim-1\) gave no judgement: malformed"
        ):
            await scorer.ascore(**FIELDS)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("openai/gpt-4o-mini", "auth: no API key is set: set OPENAI_API_KEY or judge.api_key"),
        ("gpt-4o-mni", "rejected: no provider is known for 'gpt-4o-mni': expected a litellm name"),
    ],
)
def test_a_failure_says_what_to_do(model: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is missing, and a model that is misspelt: from a score and from many rows."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(JudgeFailed, match=re.escape(f"gave no judgement: {said}")):
        Faithfulness(llm=model).score(**FIELDS)
    times = "the judge answers nothing: 1 of 1 times "
    with pytest.raises(DependencyRefused, match=re.escape(times + said)):
        rag_monitor.evaluate([FIELDS], ["faithfulness"], llm=model, show_progress=False)


def test_the_explanation_has_the_words_of_show() -> None:
    """Passages with their relevance, claims with verdicts, what counts, the counts, the formula."""
    result = NoiseSensitivity(judge="offline", mode="irrelevant").score(
        user_input="How long is the warranty, and what does returning cost?",
        response="The warranty lasts 24 months. Returning an item costs 5 euros.",
        reference="The warranty lasts 24 months. Returning an item is free.",
        retrieved_contexts=[
            "The warranty lasts 24 months from the day of delivery.",
            {"text": "Price list of 2019: returning an item costs 5 euros.", "id": "prices"},
        ],
    )
    said = result.explain()
    assert said.startswith(
        "noise_sensitivity_irrelevant 0.500: 1 of 2 claims: wrong claims from ir"
    )
    assert "   2  [prices] [irrelevant] Price list of 2019" in said
    assert "←  wrong" not in said
    assert "Returning an item costs 5 euros.  ← wrong, from irrelevant passage 2 (prices)" in said
    assert "counts against it: claim 2, wrong, from irrelevant passage 2 (prices): Return" in said
    assert "formula: mean_i(IF_i ∧ ¬T_i) = 1 / 2" in said
    assert "<b>noise_sensitivity_irrelevant 0.500" in result._repr_html_()
    assert repr(result).startswith("<MetricResult value=0.5: noise_sensitivity_irrelevant 0.500")
    assert result.judgement is not None
    assert CATALOGUE[result.metric].function(result.judgement) == result.value


def test_a_class_for_each_metric() -> None:
    """Each is public, is made of the catalogue, and stands in the stub that editors read."""
    assert [made.metric for made in METRIC_CLASSES.values()] == list(CATALOGUE)
    assert METRIC_CLASSES.keys() <= set(rag_monitor.__all__)
    assert (ROOT / "monitor/api/classes.pyi").read_text(encoding="utf-8") == stub()
    for name in rag_monitor.__all__:
        assert getattr(rag_monitor, name) is not None
    assert dir(rag_monitor) == sorted(rag_monitor.__all__)


def test_importing_is_quick_and_loads_no_model_library() -> None:
    """Neither the library nor the rooms behind a name are loaded before one is asked for."""
    code = """
import sys, rag_monitor
print(sorted(m for m in sys.modules if m in %r))
from rag_monitor import evaluate
print("litellm" in sys.modules)
"""
    heavy = {"litellm", "pydantic", "monitor.api", "monitor.config", "pandas", "openai"}
    found = subprocess.run(
        [sys.executable, "-c", code % heavy], capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines() == ["[]", "False"]
