"""The published examples through the API, as a ragas user writes it, against a real HTTP server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from openai import AsyncOpenAI

from rag_monitor import (
    EvaluationDataset,
    Faithfulness,
    IncorrectClaims,
    NoiseSensitivity,
    NothingToScore,
    SingleTurnSample,
    aevaluate,
    llm_factory,
)
from tests.servers.judge_server import JudgeServer
from tests.stages.known_examples import (
    EINSTEIN_14,
    EINSTEIN_20,
    EXAMPLES,
    FRANCE,
    LIC,
    LIC_CHINESE,
    PYTHON,
    SUPER_BOWL,
    KnownExample,
    all_example_labels,
)


@pytest.fixture
async def server() -> AsyncIterator[JudgeServer]:
    """A model that knows the labels of every example."""
    async with JudgeServer(all_example_labels()) as found:
        yield found


@pytest.fixture
async def client(server: JudgeServer) -> AsyncIterator[AsyncOpenAI]:
    """As a ragas user has one."""
    async with AsyncOpenAI(base_url=server.url, api_key="none") as found:
        yield found


@pytest.mark.parametrize("example", [LIC, LIC_CHINESE], ids=["English", "Chinese"])
async def test_noise_sensitivity_as_in_the_documents_of_ragas(
    client: AsyncOpenAI, example: KnownExample
) -> None:
    """The insurer: 1/3 relevant, 0 irrelevant; only the imports of the code are ours."""
    llm = llm_factory("gpt-4o-mini", client=client)
    scorer = NoiseSensitivity(llm=llm)
    result = await scorer.ascore(
        user_input=example.user_input,
        response=example.response,
        reference=example.reference,
        retrieved_contexts=list(example.retrieved_contexts),
    )
    assert result.value == 1 / 3

    scorer = NoiseSensitivity(llm=llm, mode="irrelevant")
    assert (await scorer.ascore(**example.fields)).value == 0.0


async def test_faithfulness_as_in_the_documents_of_ragas(client: AsyncOpenAI) -> None:
    """The super bowl: 1; Einstein on the right day: 1, on the wrong one: 1/2."""
    llm = llm_factory("gpt-4o-mini", client=client)
    scorer = Faithfulness(llm=llm)
    result = await scorer.ascore(
        user_input="When was the first super bowl?",
        response="The first superbowl was held on Jan 15, 1967",
        retrieved_contexts=list(SUPER_BOWL.retrieved_contexts),
    )
    assert result.value == 1.0
    assert (await scorer.ascore(**EINSTEIN_14.fields)).value == 1.0
    low = await scorer.ascore(**EINSTEIN_20.fields)
    assert low.value == 0.5
    (wrong,) = low.wrong_claims
    assert wrong.text == "Einstein was born on 20 March 1879."


async def test_the_legacy_calls(client: AsyncOpenAI) -> None:
    """A sample gives a float; ``focus`` is honoured with a warning."""
    sample = SingleTurnSample(**LIC.fields)
    evaluator_llm = llm_factory("gpt-4o-mini", client=client)
    scorer = NoiseSensitivity(llm=evaluator_llm)
    assert await scorer.single_turn_ascore(sample) == 1 / 3
    with pytest.warns(DeprecationWarning, match="focus is called mode now"):
        scorer = NoiseSensitivity(llm=evaluator_llm, focus="irrelevant")
    assert await scorer.single_turn_ascore(sample) == 0.0
    assert await Faithfulness(evaluator_llm).single_turn_ascore(
        SingleTurnSample(**SUPER_BOWL.fields)
    ) == pytest.approx(1.0)


async def test_evaluate_as_ragas_users_call_it(client: AsyncOpenAI) -> None:
    """A set of samples, metrics without a judge of their own, and columns by their names."""
    llm = llm_factory("gpt-4o-mini", client=client)
    dataset = EvaluationDataset.from_list([LIC.fields, PYTHON.fields])
    result = await aevaluate(
        dataset=dataset,
        metrics=[Faithfulness(), NoiseSensitivity(), NoiseSensitivity(mode="irrelevant")],
        llm=llm,
    )
    assert result["noise_sensitivity_relevant"] == [1 / 3, 0.0]
    assert result["noise_sensitivity_irrelevant"] == [0.0, 0.5]
    assert result.scores[1]["faithfulness"] == 1.0


@pytest.mark.parametrize("name", EXAMPLES)
async def test_every_published_value(client: AsyncOpenAI, name: str) -> None:
    """Each example has the values that its source and metrics.md give."""
    example = EXAMPLES[name]
    result = await aevaluate(
        [example.fields],
        metrics=list(example.values),
        llm=llm_factory("judge", client=client),
        noise_context=example.noise,
        show_progress=False,
    )
    assert {metric: values for metric, (values,) in result.items()} == example.values


async def test_labels_of_passages_decide_where_that_is_wanted(client: AsyncOpenAI) -> None:
    """promptfoo's labelled chunks: the label of a passage outdoes what follows from the reference.

    By the reference the second chunk is irrelevant; labelled relevant, its wrong claim counts so.
    """
    llm = llm_factory("judge", client=client)
    first, second = PYTHON.retrieved_contexts
    chunks = [{"text": first, "relevant": True}, {"text": second, "relevant": True}]
    fields = {**PYTHON.fields, "retrieved_contexts": chunks}
    by_labels = NoiseSensitivity(llm, relevance="labels")
    by_reference = NoiseSensitivity(llm)
    assert (await by_labels.ascore(**fields)).value == 0.5
    assert (await by_reference.ascore(**fields)).value == 0.0


async def test_one_text_is_one_relevant_passage(client: AsyncOpenAI) -> None:
    """A context that is a plain text; noise beside it is irrelevant."""
    llm = llm_factory("judge", client=client)
    fields = {**FRANCE.fields, "retrieved_contexts": FRANCE.retrieved_contexts[0]}
    with pytest.warns(UserWarning, match="1 of 1 contexts are one text, which counts as one"):
        result = await NoiseSensitivity(llm, mode="irrelevant").ascore(**fields)
    assert (result.value, result.relevance) == (0.0, (True,))
    noisy = await aevaluate(
        [fields], ["noise_sensitivity_irrelevant"], llm, noise_context=FRANCE.noise
    )
    assert noisy["noise_sensitivity_irrelevant"] == [0.5]


async def test_a_row_is_judged_once_for_all_metrics(
    client: AsyncOpenAI, server: JudgeServer
) -> None:
    """The whole catalogue costs what one metric costs; asked again, it costs nothing."""
    llm = llm_factory("once", client=client)
    await NoiseSensitivity(llm).ascore(**LIC.fields)
    calls = len(server.log)
    assert calls == 3  # two texts are split into claims, and all claims verified at once
    result = await aevaluate([LIC.fields], None, llm)
    assert len(server.log) == calls
    assert result.usage.calls == 0
    assert result["claim_precision"] == [2 / 3]


async def test_nothing_to_score_is_no_number(client: AsyncOpenAI) -> None:
    """Without a reference there is a reason in place of a value, and no float."""
    llm = llm_factory("judge", client=client)
    scorer = IncorrectClaims(llm)
    result = await scorer.ascore(**SUPER_BOWL.fields)
    assert (result.value, result.reason) == (None, "NO_REFERENCE")
    sample = SingleTurnSample(**SUPER_BOWL.fields)
    with pytest.raises(NothingToScore, match=r"incorrect_claims has no value: there is no refer"):
        await scorer.single_turn_ascore(sample)
