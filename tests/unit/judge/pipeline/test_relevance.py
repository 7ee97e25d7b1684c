"""Which passages are relevant to the question: by the judge, where no label says it."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from monitor.errors import JudgeFailed, ReplyRejected
from monitor.judge.pipeline.identity import LlmSettings
from monitor.judge.pipeline.material import Caps
from monitor.judge.pipeline.parsing import passage_order
from monitor.judge.pipeline.plans import PLANS, PipelineName
from monitor.judge.pipeline.relating import RelevanceRequest
from monitor.judge.ports import Reply, Task, Terms
from monitor.judge.protocol import CostMeter
from monitor.metrics.noise import irrelevant_context_reliance
from monitor.metrics.relevance import labelled
from monitor.records import Interaction, Judgement, Labels, Unscored
from tests.servers.judge_labels import Labels as Truth
from tests.stages.truthful import Large, Truthful, judged, large, made

CASE = large(Random(11), 6, 2, 7)
REQUEST = RelevanceRequest(742, "?", {"2": "b", "1": "a"})

Change = Callable[[dict[str, Any]], dict[str, Any]]


class Relating(Truthful):
    """A truthful model whose replies about relevance are changed, one after the other."""

    def __init__(self, labels: Truth, *changes: Change) -> None:
        super().__init__(labels)
        self._changes = list(changes)

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        reply = await super().__call__(task, system, user, terms)
        if task != "judge_relevance" or not self._changes:
            return reply
        return Reply(json.dumps(self._changes.pop(0)(json.loads(reply.text))), "stop")


def asked(model: Truthful) -> list[tuple[str, ...]]:
    """The documents of every call about relevance."""
    found = [r for r in model.requests if r.task == "judge_relevance"]
    return [tuple(request.content["documents"]) for request in found]


def with_passages(case: Large, **changes: Any) -> Interaction:
    """The interaction, without reference, whose first passage is changed."""
    first, *rest = case.interaction.retrieved_contexts
    passages = (first.model_copy(update=changes), *rest)
    return case.interaction.model_copy(update={"retrieved_contexts": passages, "reference": None})


def short(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "relevant": body["relevant"].rpartition(" ")[0]}


@pytest.mark.parametrize("pipeline", PLANS)
@pytest.mark.parametrize("caps", [Caps(), Caps(2, 2), Caps(8, 1), Caps(8, 12, 2_000)])
async def test_every_passage_is_judged(pipeline: PipelineName, caps: Caps) -> None:
    """By whatever calls: the labels' own relevance, in the order of the log, and verdicts stay."""
    model = Truthful(CASE.labels)
    found = await judged(model, CASE.interaction, pipeline, caps, relevance=True)
    assert found.verdicts.relevant_to_question == CASE.relevant
    assert set(CASE.relevant) == {True, False}
    plain = found.verdicts.model_copy(update={"relevant_to_question": ()})
    assert plain == CASE.verdicts
    assert all(len(names) <= caps.passages for names in asked(model))
    assert found.usage.calls == len(model.requests)


async def test_without_the_option_nothing_is_asked_and_nothing_recorded() -> None:
    """The calls are those of always, and the metric has no value."""
    model = Truthful(CASE.labels)
    found = await judged(model, CASE.interaction)
    assert asked(model) == []
    assert found.verdicts == CASE.verdicts
    assert irrelevant_context_reliance(found) is Unscored.NO_RELEVANCE


async def test_passages_stand_in_the_order_of_verification() -> None:
    """One call beside the first verification, and passages in the permuted order."""
    model = Truthful(CASE.labels)
    await judged(model, CASE.interaction, relevance=True)
    order = tuple(str(j) for j in passage_order(CASE.interaction.interaction_id, 7))
    assert asked(model) == [order]


async def test_without_a_reference_the_metric_has_a_value() -> None:
    """mean(IF) by the judge's relevance."""
    interaction = CASE.interaction.model_copy(update={"reference": None})
    found = await judged(Truthful(CASE.labels), interaction, relevance=True)
    rows = CASE.verdicts.response_by_passage
    near = [any(a and r for a, r in zip(row, CASE.relevant, strict=True)) for row in rows]
    alone = [any(row) and not n for row, n in zip(rows, near, strict=True)]
    assert irrelevant_context_reliance(found) == sum(alone) / len(rows) > 0


async def test_labels_outdo_the_judge_and_cost_nothing() -> None:
    """A labelled passage is not asked about; where all are, nothing is."""
    label = not CASE.relevant[0]
    interaction = with_passages(CASE, relevant=label)
    model = Truthful(CASE.labels)
    found = await judged(model, interaction, relevance=True)
    assert sorted(*asked(model)) == ["2", "3", "4", "5", "6", "7"]
    assert found.verdicts.relevant_to_question == (None, *CASE.relevant[1:])
    whole = labelled(found, interaction.retrieved_contexts, labels_win=False)
    assert whole.verdicts.relevant_to_question == (label, *CASE.relevant[1:])
    passages = tuple(
        p.model_copy(update={"relevant": True}) for p in interaction.retrieved_contexts
    )
    interaction = interaction.model_copy(update={"retrieved_contexts": passages})
    model = Truthful(CASE.labels)
    await judged(model, interaction, relevance=True)
    assert asked(model) == []


@pytest.mark.parametrize("question", ["", " ", "…?!"])
async def test_a_question_that_says_nothing_is_not_asked_about(question: str) -> None:
    """Nobody can say what is relevant to it: the reason says so."""
    whole = large(Random(11), 6, 2, 7)
    interaction = whole.interaction.model_copy(update={"user_input": question})
    claims = {(question, text): found for (_, text), found in whole.labels.claims.items()}
    model = Truthful(Truth(claims, whole.labels.supported, whole.labels.together))
    found = await judged(model, interaction, relevance=True)
    assert asked(model) == []
    assert irrelevant_context_reliance(found) is Unscored.NO_RELEVANCE


async def test_a_passage_without_words_is_relevant_to_nothing() -> None:
    """It is not asked about."""
    model = Truthful(CASE.labels)
    found = await judged(model, with_passages(CASE, text=" …"), relevance=True)
    assert sorted(*asked(model)) == ["2", "3", "4", "5", "6", "7"]
    assert found.verdicts.relevant_to_question == (False, *CASE.relevant[1:])


async def test_a_response_without_claims_asks_nothing() -> None:
    """A refusal has no value of the metric, whatever is relevant."""
    question, response = CASE.interaction.user_input, CASE.interaction.response
    labels = CASE.labels | Truth({(question, response): ()})
    model = Truthful(labels)
    found = await judged(model, CASE.interaction, relevance=True)
    assert asked(model) == []
    assert irrelevant_context_reliance(found) is Unscored.NO_CLAIMS


@pytest.mark.parametrize("caps", [Caps(), Caps(8, 4)])
async def test_a_reply_that_was_cut_is_asked_for_in_halves(caps: Caps) -> None:
    """Down to one passage a call."""
    model = Truthful(CASE.labels, 1)
    found = await judged(model, CASE.interaction, caps=caps, relevance=True)
    assert found.verdicts.relevant_to_question == CASE.relevant
    assert {len(names) for names in asked(model)} >= {1, 2}


async def test_a_bad_reply_is_asked_for_once_more_and_then_a_failure() -> None:
    """With a complaint that names what is missing; nothing is padded, and both are paid for."""
    model = Relating(CASE.labels, short)
    found = await judged(model, CASE.interaction, relevance=True)
    assert found.verdicts.relevant_to_question == CASE.relevant
    last = str(passage_order(CASE.interaction.interaction_id, 7)[-1])
    complaints = [r.complaint for r in model.requests if r.task == "judge_relevance"]
    assert complaints == [None, f"missing pairs: {last}"]
    model, cost_meter = Relating(CASE.labels, short, short), CostMeter()
    with pytest.raises(JudgeFailed) as caught:
        await made(model, relevance=True).judge(CASE.interaction, cost_meter)
    assert caught.value.reason == "malformed_reply"
    assert cost_meter.usage.calls >= 4


@pytest.mark.parametrize(
    "reply",
    ["", "{}", "[]", '{"n":742}', '{"n":741,"relevant":"2y 1n"}', '{"relevant":"2y 1n","n":742}',
     '{"n":742,"relevant":"2y"}', '{"n":742,"relevant":"1n 2y"}', '{"n":742,"relevant":"2y 1n 3n"}',
     '{"n":742,"relevant":"2y 1n 1y"}', '{"n":742,"relevant":"2y 1n +"}', '{"n":742,"relevant":""}',
     '{"n":742,"relevant":"2y 1?"}', '{"n":742,"relevant":["2y","1n"]}',
     '{"n":742,"relevant":null}', '{"n":742,"relevant":"2y 1n","c1":"2y"}',
     '{"n":742,"relevant":"2y 1n","relevant":"2n 1y"}',
     '{"n":742,"2":"y","1":"n"}', 'Here: {"n":742,"relevant":"2y 1n"}', '{"n":742,"relevant":"2y'],
)  # fmt: skip
def test_a_reply_answers_exactly_what_was_asked(reply: str) -> None:
    """Nothing missing, nothing more, in order, with the nonce; else it is refused."""
    with pytest.raises(ReplyRejected) as caught:
        REQUEST.read(reply)
    assert caught.value.reason == ("output_limit" if reply.endswith("2y") else "malformed_reply")
    assert REQUEST.read('{"n":742,"relevant":"2y 1n"}') == {"2": True, "1": False}


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ('{"n":742,"relevant":"1y 2n"}', "pairs must stand as: 2 1"),
        ('{"n":742,"relevant":"2y 1n","relevant":"2y 1n"}', "duplicate keys: relevant"),
        ('{"n":742}', "missing keys: relevant"),
        ('{"n":742,"relevant":7}', "relevant: the value must be a string"),
    ],
)
def test_a_complaint_names_what_is_wrong(reply: str, complaint: str) -> None:
    """Keys and documents, never texts."""
    with pytest.raises(ReplyRejected) as caught:
        REQUEST.read(reply)
    assert caught.value.complaint == complaint


def test_single_asks_about_one_passage_a_call() -> None:
    """As it does with claims; the other pipelines keep to the caps."""
    sizes = {
        name: LlmSettings(model="m", pipeline=name, passages_per_call=5).relevance_caps.passages
        for name in PLANS
    }
    assert sizes == {"joint": 5, "single": 1, "ragas": 5}


def test_relevance_of_another_length_is_no_judgement() -> None:
    """One entry for each passage, or none at all."""
    body = {
        "claims": {},
        "passages": 2,
        "has_reference": False,
        "verdicts": {"relevant_to_question": [True]},
        "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], ""),
    }
    with pytest.raises(ValueError, match="relevant_to_question has 1 entries, expected 2"):
        Judgement.model_validate(body)


def unknown(found: Labels) -> int:
    return sum(each is None for each in found)


async def test_an_unlabelled_rest_is_filled_in_by_the_judge_only() -> None:
    """Without the option a passage that nobody labelled stays unknown."""
    interaction = with_passages(CASE, relevant=True)
    for relevance, left in ((False, 6), (True, 0)):
        found = await judged(Truthful(CASE.labels), interaction, relevance=relevance)
        whole = labelled(found, interaction.retrieved_contexts, labels_win=False)
        assert unknown(whole.verdicts.relevant_to_question) == left
