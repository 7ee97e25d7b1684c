"""The pipeline of pairs: one claim and one document a call, and a threshold for probabilities."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from monitor.errors import JudgeFailed, ReplyRejected
from monitor.judge.ceiling import Ceiling
from monitor.judge.pipeline.asking import Asker
from monitor.judge.pipeline.extraction import Extractor
from monitor.judge.pipeline.material import Caps
from monitor.judge.pipeline.pairing import PairRequest
from monitor.judge.pipeline.pairs import WEIGHS_ALL, AskedModel, PairVerifier
from monitor.judge.pipeline.pipeline import Pipeline
from monitor.judge.pipeline.prompts import load_prompts
from monitor.judge.ports import Reply, Task, Terms
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, Passage
from tests.stages.truthful import IDENTITY, Truthful, judged, large, made

CASE = large(Random(5), 4, 3, 3)
QUESTION, DOCUMENT, CLAIM = "Where is Acme?", "Acme sits in Porto.", "Acme is in Porto."


def asked(model: Truthful) -> list[tuple[str, str]]:
    """(claim, document) of every pair, in the order of asking."""
    pairs = [r.content for r in model.requests if r.task == "judge_pair"]
    return [(content["claim"], content["document"]) for content in pairs]


class Weighing(Truthful):
    """Says how probable each pair is: by claim and document, else by its own word."""

    def __init__(self, probabilities: dict[tuple[str, str], float]) -> None:
        super().__init__(CASE.labels)
        self._probabilities = probabilities

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        reply = await super().__call__(task, system, user, terms)
        body = json.loads(user)
        known = self._probabilities.get((body.get("claim"), body.get("document")))
        return reply if known is None else Reply(reply.text, "stop", yes=known)


class Saying(Truthful):
    """Answers the first pairs with these texts, and then truthfully."""

    def __init__(self, *texts: str) -> None:
        super().__init__(CASE.labels)
        self._texts = list(texts)

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        reply = await super().__call__(task, system, user, terms)
        return Reply(self._texts.pop(0)) if task == "judge_pair" and self._texts else reply


async def test_the_same_judgement_as_of_any_other_pipeline() -> None:
    """With a reference, without, and without passages: the matrices of the labels."""
    item, right = CASE.interaction, CASE.verdicts
    assert (await judged(Truthful(CASE.labels), item, "pairs")).verdicts == right
    bare: Interaction = item.model_copy(update={"reference": None})
    found = (await judged(Truthful(CASE.labels), bare, "pairs")).verdicts
    assert (found.response_by_passage, found.response_by_reference) == (
        right.response_by_passage,
        (),
    )
    alone: Interaction = item.model_copy(update={"retrieved_contexts": ()})
    found = (await judged(Truthful(CASE.labels), alone, "pairs")).verdicts
    assert found.response_by_context == (False,) * 4
    assert found.response_by_reference == right.response_by_reference


async def test_every_pair_is_asked_once_and_a_document_after_the_other() -> None:
    """Then all passages as one text, of the response's claims that none of them supports."""
    model = Truthful(CASE.labels)
    await judged(model, CASE.interaction, "pairs")
    pairs, item = asked(model), CASE.interaction
    texts = [passage.text for passage in item.retrieved_contexts]
    documents = [document for _, document in pairs[:35]]
    assert set(documents) == {*texts, item.response, item.reference}
    assert len(set(pairs)) == len(pairs)
    assert sum(a != b for a, b in pairwise(documents)) == 4
    unsupported = [i for i, row in enumerate(CASE.verdicts.response_by_passage) if not any(row)]
    claims = CASE.labels.claims[item.user_input, item.response]
    assert unsupported
    assert pairs[35:] == [(claims[i], "\n".join(texts)) for i in unsupported]


async def test_an_equal_or_blank_document_is_not_asked_about() -> None:
    """A passage that stands twice has one answer for both; a blank one supports nothing."""
    texts = [passage.text for passage in CASE.interaction.retrieved_contexts]
    passages = tuple(Passage(text=text) for text in (texts[0], "…", texts[0]))
    item: Interaction = CASE.interaction.model_copy(update={"retrieved_contexts": passages})
    model = Truthful(CASE.labels)
    found = await judged(model, item, "pairs")
    assert len(set(asked(model))) == len(asked(model))
    assert all(document != "…" for _, document in asked(model))
    for row, right in zip(
        found.verdicts.response_by_passage, CASE.verdicts.response_by_passage, strict=True
    ):
        assert row == (right[0], False, right[0])
    assert set(found.probabilities["c1"]) - {"+"} == {"1", "3", "A", "R"}


def verifier(model: Any, threshold: float) -> Pipeline:
    prompts = load_prompts(pairs=True)
    asker, pairs = Asker(model, prompts), AskedModel(model, prompts)
    made_of = PairVerifier(pairs, Caps(), threshold)
    return Pipeline(asker, Extractor(asker), lambda _: IDENTITY, pair_verifier=made_of)


@pytest.mark.parametrize(("threshold", "supported"), [(0.5, True), (0.7, True), (0.71, False)])
async def test_a_probability_becomes_a_verdict_by_the_threshold(
    threshold: float, supported: bool
) -> None:
    """From the threshold on it is supported, whatever the word was; the judgement keeps it."""
    item = CASE.interaction
    claim = CASE.labels.claims[item.user_input, item.response][0]
    text = item.retrieved_contexts[0].text
    found = await verifier(Weighing({(claim, text): 0.7}), threshold).judge(item)
    assert found.verdicts.response_by_passage[0][0] is supported
    assert found.probabilities["c1"]["1"] == 0.7
    assert found.probabilities["c1"]["A"] == 1.0
    assert found.verdicts.response_by_passage[1:] == CASE.verdicts.response_by_passage[1:]


async def test_all_passages_as_one_have_a_probability_too() -> None:
    """Under ``+``, where no passage alone supports the claim; nothing else is asked of them."""
    found = await judged(Truthful(CASE.labels), CASE.interaction, "pairs")
    for i, row in enumerate(CASE.verdicts.response_by_passage):
        said = found.probabilities[f"c{i + 1}"]
        assert ("+" in said) is not any(row)
        assert said.get("+", 1.0) == CASE.verdicts.response_by_context[i]


async def test_who_learns_the_threshold_has_it_of_all_claims() -> None:
    """No verdict changes, and no claim of the reference has one."""
    before = WEIGHS_ALL.set(True)
    try:
        found = await judged(Truthful(CASE.labels), CASE.interaction, "pairs")
    finally:
        WEIGHS_ALL.reset(before)
    assert (
        found.verdicts == (await judged(Truthful(CASE.labels), CASE.interaction, "pairs")).verdicts
    )
    assert {claim for claim, said in found.probabilities.items() if "+" in said} == {
        f"c{i + 1}" for i in range(len(found.claims.response))
    }


async def test_other_pipelines_keep_no_probabilities() -> None:
    """They say yes or no."""
    assert (await judged(Truthful(CASE.labels), CASE.interaction)).probabilities == {}


@pytest.mark.parametrize("text", ["Yes.", "yes, it does", "", "maybe", "y", '{"yes":1}', "是"])
async def test_whatever_is_not_the_word_is_asked_for_once_more(text: str) -> None:
    """With a complaint that holds no text; a second one is a failure, and never a verdict."""
    model = Saying(text)
    found = await judged(model, CASE.interaction, "pairs")
    assert found.verdicts == CASE.verdicts
    complaints = [request.complaint for request in model.requests if request.complaint]
    assert complaints == ["the whole reply must be one word, yes or no"]
    with pytest.raises(JudgeFailed) as caught:
        await made(Saying(text, text), "pairs", at_once=1).judge(CASE.interaction)
    assert caught.value.reason == "malformed_reply"


async def test_a_cut_reply_is_a_failure_after_a_second_one() -> None:
    """There is nothing to halve."""

    class Cut(Truthful):
        async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
            reply = await super().__call__(task, system, user, terms)
            return Reply("yes", "length") if task == "judge_pair" else reply

    with pytest.raises(JudgeFailed) as caught:
        await judged(Cut(CASE.labels), CASE.interaction, "pairs")
    assert caught.value.reason == "output_limit"


async def test_pairs_count_against_the_ceiling() -> None:
    """Each is a call: 7 claims against 5 documents, and the unsupported ones once more."""
    model, cost_meter = Truthful(CASE.labels), CostMeter()
    await made(model, "pairs").judge(CASE.interaction, cost_meter)
    assert cost_meter.allowance.made.calls == len(model.requests) > 35
    with pytest.raises(JudgeFailed) as caught:
        await made(Truthful(CASE.labels), "pairs", ceiling=Ceiling(36)).judge(CASE.interaction)
    assert caught.value.reason == "too_large"


async def test_given_claims_are_verified_and_nothing_is_extracted() -> None:
    """As ``judge-check`` asks for them."""
    item = CASE.interaction
    response = CASE.labels.claims[item.user_input, item.response]
    model = Truthful(CASE.labels)
    found = await made(model, "pairs").judge(item, claims=Claims(response=response))
    assert found.verdicts.response_by_passage == CASE.verdicts.response_by_passage
    assert {request.task for request in model.requests} == {"judge_pair"}


async def test_the_first_failure_ends_the_others() -> None:
    """No pair goes on alone."""
    ended: list[str] = []

    class Half(Truthful):
        async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
            if task == "judge_pair" and json.loads(user)["document"] == "response x":
                raise JudgeFailed("away", reason="timeout")
            try:
                await asyncio.sleep(0 if task == "extract_claims" else 60)
            finally:
                ended.append(task)
            return await super().__call__(task, system, user, terms)

    with pytest.raises(JudgeFailed, match="away"):
        await judged(Half(CASE.labels), CASE.interaction, "pairs")
    assert ended.count("judge_pair") > 0


def test_the_message_is_one_object_and_the_claim_its_end() -> None:
    """What is shared by all claims of a document stands before them."""
    request = PairRequest(QUESTION, DOCUMENT, CLAIM)
    message = request.message()
    assert list(json.loads(message)) == ["task", "question", "document", "claim"]
    other = PairRequest(QUESTION, DOCUMENT, "Acme is in Lisbon.").message()
    assert message.index("Acme is in") == other.index("Acme is in")
    assert request.expected() == "yes or no"


@pytest.mark.parametrize(("reply", "said"), [("yes", True), (" No\n", False), ("YES", True)])
def test_a_word_is_read_in_any_case(reply: str, said: bool) -> None:
    """And whatever white space stands around it."""
    assert PairRequest(QUESTION, DOCUMENT, CLAIM).read(reply) is said


def test_an_empty_reply_is_told_from_a_wrong_one() -> None:
    """By its kind of complaint."""
    for reply, kind in (("", "empty"), ("perhaps", "values")):
        with pytest.raises(ReplyRejected) as caught:
            PairRequest(QUESTION, DOCUMENT, CLAIM).read(reply)
        assert caught.value.kind == kind
