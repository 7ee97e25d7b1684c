"""What each pipeline asks: the calls of one interaction, by claims and documents."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from monitor.judge.pipeline.material import Caps
from monitor.judge.pipeline.plans import PLANS, PipelineName
from monitor.records import Interaction, Passage
from tests.servers.judge_labels import Labels
from tests.stages.truthful import Large, Truthful, judged, large

Pair = tuple[tuple[str, ...], str]


def pairs(model: Truthful) -> Counter[Pair]:
    """(texts of the claims, text of the document) of every verify call with one document."""
    return Counter(
        (tuple(request.content["claims"].values()), document)
        for request in model.requests
        if request.task == "verify_claims"
        for document in request.content["documents"].values()
    )


def ragas_pairs(
    response: list[str], truths: list[str], contexts: list[str], reference: str
) -> set[Pair]:
    """What ragas 0.4.3 asks, read from its source: noise sensitivity twice, and faithfulness."""
    asked = []
    for _mode in ("relevant", "irrelevant"):
        for context in contexts:
            asked += [(truths, context), (response, context)]
        asked.append((response, reference))
    asked.append((response, "\n".join(contexts)))
    return {(tuple(claims), context) for claims, context in asked}


def as_asked(case: Large) -> tuple[list[str], list[str], list[str], str]:
    item = case.interaction
    claims = case.labels.claims
    return (
        list(claims["Why x?", item.response]),
        list(claims["Why x?", item.reference or ""]),
        [passage.text for passage in item.retrieved_contexts],
        item.reference or "",
    )


@pytest.mark.parametrize("shape", [(5, 3, 4), (1, 1, 2), (8, 8, 5), (2, 3, 1)])
async def test_ragas_asks_what_ragas_asks_and_each_of_it_once(shape: tuple[int, int, int]) -> None:
    """Its pairs without duplicates; beyond them the texts' own claims and the response's truth."""
    case = large(Random(f"{shape}"), *shape)
    model = Truthful(case.labels)
    found = await judged(model, case.interaction, "ragas")
    assert found.verdicts == case.verdicts
    response, truths, contexts, reference = as_asked(case)
    own = {
        (tuple(response), case.interaction.response),
        (tuple(truths), case.interaction.response),
        (tuple(truths), reference),
    }
    expected = ragas_pairs(response, truths, contexts, reference) | own
    assert pairs(model) == Counter(dict.fromkeys(expected, 1))
    assert all(len(names) == 1 for _, names in model.verifications)


async def test_ragas_asks_equal_contexts_and_claims_once() -> None:
    """A passage that stands twice, or equals the reference, and one list of claims for two."""
    case = large(Random(2), 3, 2, 2)
    first, second = case.interaction.retrieved_contexts
    texts = (first, second, first, Passage(text=case.interaction.reference or ""))
    item = case.interaction.model_copy(update={"retrieved_contexts": texts})
    model = Truthful(case.labels)
    found = (await judged(model, item, "ragas")).verdicts
    assert max(pairs(model).values()) == 1
    assert [row[0] for row in found.response_by_passage] == [
        row[2] for row in found.response_by_passage
    ]
    assert tuple(row[3] for row in found.response_by_passage) == found.response_by_reference
    claims = case.labels.claims["Why x?", item.response]
    same = Labels(
        {**case.labels.claims, ("Why x?", item.reference or ""): claims}, case.labels.supported
    )
    model = Truthful(same)
    found = (await judged(model, case.interaction, "ragas")).verdicts
    assert max(pairs(model).values()) == 1
    assert found.reference_by_passage == found.response_by_passage


async def test_ragas_keeps_the_order_of_the_log_in_the_joined_text() -> None:
    """Passages are joined by newlines in the order of their ranks, as ragas joins them."""
    case = large(Random(2), 3, 2, 5)
    model = Truthful(case.labels)
    await judged(model, case.interaction, "ragas")
    joined = "\n".join(passage.text for passage in case.interaction.retrieved_contexts)
    documents = [r.content["documents"] for r in model.requests if r.task == "verify_claims"]
    assert {"6": joined} in documents


async def test_single_shows_one_document_a_call() -> None:
    """Every batch meets each document alone, then the unsupported claims meet all passages."""
    case = large(Random(1), 9, 2, 3)
    model = Truthful(case.labels)
    found = await judged(model, case.interaction, "single", Caps(4))
    assert found.verdicts == case.verdicts
    *alone, whole = model.verifications
    batches = [("c1", "c2", "c3", "c4"), ("c5", "c6", "c7", "c8"), ("c9", "r1", "r2")]
    assert Counter(alone) == Counter((b, (name,)) for b in batches for name in "123AR")
    assert set(whole[1]) == {"1", "2", "3"}


@pytest.mark.parametrize("pipeline", PLANS)
async def test_every_pipeline_gives_the_full_judgement(pipeline: PipelineName) -> None:
    """With and without a reference, passages, or anything the response says: the same matrices."""
    case = large(Random(5), 4, 3, 3)
    item, v = case.interaction, case.verdicts
    assert (await judged(Truthful(case.labels), item, pipeline)).verdicts == v
    bare = item.model_copy(update={"reference": None})
    without = v.model_copy(
        update=dict.fromkeys(
            ("response_by_reference", "reference_by_passage", "reference_by_response"), ()
        )
    )
    assert (await judged(Truthful(case.labels), bare, pipeline)).verdicts == without
    model = Truthful(case.labels)
    no_passages: Interaction = item.model_copy(update={"retrieved_contexts": ()})
    found = (await judged(model, no_passages, pipeline)).verdicts
    assert found.response_by_context == (False,) * 4
    assert found.response_by_reference == v.response_by_reference
    assert found.reference_by_response == v.reference_by_response
    assert all(set(names) <= {"A", "R"} for _, names in model.verifications)


@pytest.mark.parametrize("pipeline", PLANS)
@pytest.mark.parametrize("response", ["", " \n", "...!", "？！"])
async def test_no_pipeline_asks_about_a_wordless_response(
    pipeline: PipelineName, response: str
) -> None:
    """No call at all, whatever else was logged; nor without anything to check against."""
    case = large(Random(5), 4, 3, 3)
    model = Truthful(case.labels)
    await judged(model, case.interaction.model_copy(update={"response": response}), pipeline)
    nothing = {"retrieved_contexts": (), "reference": None}
    await judged(model, case.interaction.model_copy(update=nothing), pipeline)
    assert model.requests == []
