"""Whether the response addresses the question: asked in a call that is made anyway, if at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from monitor.errors import JudgeFailed, ReplyRejected
from monitor.judge.ceiling import Ceiling
from monitor.judge.pipeline.material import Caps
from monitor.judge.pipeline.parsing import ADDRESSES, VerifyRequest
from monitor.judge.pipeline.plans import PLANS, PipelineName
from monitor.judge.pipeline.recheck_choice import agreement
from monitor.judge.ports import Reply, Task, Terms
from monitor.metrics.answer_relevance import answer_relevance
from monitor.records import Claims, Interaction, Unscored
from tests.servers.judge_labels import Labels
from tests.stages.truthful import Large, Truthful, judged, large, made

CASE = large(Random(11), 6, 2, 7)
REQUEST = VerifyRequest(742, "?", {"1": "b", "A": "a"}, {"c1": "x", "A": ADDRESSES})


def addressed(case: Large = CASE, *, addresses: bool = True) -> Labels:
    """The labels of a case, and whether its response addresses the question."""
    about = frozenset([(case.interaction.user_input, case.interaction.response)])
    return replace(case.labels, relevant=case.labels.relevant | (about if addresses else set()))


def whole(model: Truthful) -> list[tuple[str, ...]]:
    """The documents of every call that asks it."""
    return [documents for claims, documents in model.verifications if "A" in claims]


@pytest.mark.parametrize("pipeline", PLANS)
@pytest.mark.parametrize("caps", [Caps(), Caps(2, 2), Caps(8, 1), Caps(8, 12, 2_000)])
@pytest.mark.parametrize("addresses", [True, False])
async def test_it_is_asked_once_and_costs_no_call(
    pipeline: PipelineName, caps: Caps, addresses: bool
) -> None:
    """By whatever calls: as the label says, with the same verdicts and as many calls as without."""
    plain, model = Truthful(CASE.labels), Truthful(addressed(addresses=addresses))
    without = await judged(plain, CASE.interaction, pipeline, caps)
    found = await judged(model, CASE.interaction, pipeline, caps, answers=True)
    assert found.verdicts.answers_question is addresses
    assert found.verdicts.model_copy(update={"answers_question": None}) == without.verdicts
    assert answer_relevance(found) == float(addresses)
    (documents,) = whole(model)
    assert "A" in documents
    assert len(model.requests) == len(plain.requests)


async def test_without_the_option_no_byte_is_another() -> None:
    """Instructions and messages are those of always, and the metric says that nobody was asked."""
    sent: list[tuple[str, str]] = []

    class Heard(Truthful):
        """Keeps what is sent."""

        async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
            sent.append((system, user))
            return await super().__call__(task, system, user, terms)

    found = await judged(Heard(CASE.labels), CASE.interaction)
    assert not any("addresses the question" in text for pair in sent for text in pair)
    assert found.verdicts.answers_question is None
    assert "answers_question" not in found.verdicts.model_dump_json()
    assert answer_relevance(found) is Unscored.NOT_ASKED


@pytest.mark.parametrize(
    "changed",
    [{"user_input": "…?"}, {"response": "…"}],
    ids=["no question", "no response"],
)
async def test_nothing_is_asked_of_what_says_nothing(changed: dict[str, Any]) -> None:
    """Neither of a question without words nor of a response that claims nothing."""
    interaction = CASE.interaction.model_copy(update=changed)
    model = Truthful(addressed())
    question, text = interaction.user_input, interaction.response
    labels = {(question, t): found for (_, t), found in CASE.labels.claims.items()}
    model = Truthful(replace(addressed(), claims={**labels, (question, text): ()}))
    if "user_input" in changed:
        model = Truthful(replace(addressed(), claims=labels))
    found = await judged(model, interaction, answers=True)
    assert whole(model) == []
    assert found.verdicts.answers_question is None


async def test_a_response_that_is_a_passage_takes_a_call_of_its_own() -> None:
    """``ragas`` asks about equal texts once, so no call shows the response."""
    first, *rest = CASE.interaction.retrieved_contexts
    passages = (first.model_copy(update={"text": CASE.interaction.response}), *rest)
    interaction = CASE.interaction.model_copy(update={"retrieved_contexts": passages})
    plain, model = Truthful(CASE.labels), Truthful(addressed())
    without = await judged(plain, interaction, "ragas")
    found = await judged(model, interaction, "ragas", answers=True)
    assert whole(model) == [("A",)]
    assert len(model.requests) == len(plain.requests) + 1
    assert found.verdicts == without.verdicts.model_copy(update={"answers_question": True})


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("Qy Qy", "A: duplicate pairs: Q"),
        ("Ay", "A: missing pairs: Q, 1 pairs that are malformed"),
        ("yes", "A: missing pairs: Q, 1 pairs that are malformed"),
        ("", "A: missing pairs: Q"),
        ("Qy +", "A: + needs two or more passages"),
        (True, "A: the value must be a string"),
    ],
)
def test_what_does_not_answer_it_is_refused(value: object, complaint: str) -> None:
    """Never padded, never guessed."""
    with pytest.raises(ReplyRejected) as caught:
        REQUEST.read(json.dumps({"n": 742, "c1": "1y Ay", "A": value}))
    assert caught.value.complaint == complaint


def test_a_missing_or_misplaced_one_is_refused_and_its_schema_says_so() -> None:
    """The key stands last, and a server that holds replies to a schema allows nothing else."""
    for reply in ({"n": 742, "c1": "1y Ay"}, {"n": 742, "A": "Qy", "c1": "1y Ay"}):
        with pytest.raises(ReplyRejected):
            REQUEST.read(json.dumps(reply))
    assert REQUEST.properties()["A"] == {"type": "string", "pattern": "^Q[yn]$"}
    assert REQUEST.expected()["A"] == "Q?"
    plain = VerifyRequest(742, "?", {"1": "b", "A": "a"}, {"c1": "x"})
    with pytest.raises(ReplyRejected, match="1 pairs that are malformed"):
        plain.read(json.dumps({"n": 742, "c1": "1y Qy"}))


Change = Callable[[dict[str, Any]], dict[str, Any]]


class Forgetful(Truthful):
    """Leaves it out as long as there are more claims than so many in a call."""

    def __init__(self, labels: Labels, most: int) -> None:
        super().__init__(labels)
        self._most = most

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        reply = await super().__call__(task, system, user, terms)
        body = json.loads(reply.text)
        if "A" not in body or len(body) - 2 <= self._most:
            return reply
        del body["A"]
        return Reply(json.dumps(body), "stop")


async def test_it_is_asked_again_in_halves_and_is_never_made_up() -> None:
    """The first half takes it along; with one claim left the judgement has failed."""
    found = await judged(Forgetful(addressed(), most=2), CASE.interaction, answers=True)
    assert found.verdicts.answers_question is True
    assert found.verdicts.response_by_context == CASE.verdicts.response_by_context
    with pytest.raises(JudgeFailed) as caught:
        await judged(Forgetful(addressed(), most=0), CASE.interaction, answers=True)
    assert caught.value.reason == "malformed_reply"


async def test_what_it_takes_is_in_the_ceiling() -> None:
    """No call more is foreseen than without, and some tokens."""
    claims = Claims(
        response=CASE.labels.claims[CASE.interaction.user_input, CASE.interaction.response],
        reference=CASE.labels.claims[CASE.interaction.user_input, CASE.interaction.reference or ""],
    )
    calls = len((await _asked(CASE.interaction)).requests)
    made(Truthful(addressed()), answers=True, ceiling=Ceiling(calls, 100_000)).foresee(
        CASE.interaction, claims
    )


async def _asked(interaction: Interaction) -> Truthful:
    model = Truthful(addressed())
    await judged(model, interaction, answers=True)
    return model


async def test_rechecks_say_how_often_it_is_the_same() -> None:
    """Of both judgements that were asked."""
    yes = await judged(Truthful(addressed()), CASE.interaction, answers=True)
    no = await judged(
        Truthful(addressed(addresses=False)), CASE.interaction, "single", answers=True
    )
    assert agreement(yes, no)["answer"] == (0, 1)
    assert agreement(yes, yes)["answer"] == (1, 1)
    off = await judged(Truthful(CASE.labels), CASE.interaction)
    assert "answer" not in agreement(off, yes)
