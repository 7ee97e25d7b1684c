"""Long inputs: split over calls, halved at the output limit, within a budget, merged exactly."""

from __future__ import annotations

from random import Random

import pytest

from monitor.errors import JudgeFailed
from monitor.judge.pipeline.material import Caps
from monitor.judge.pipeline.plans import PLANS, PipelineName
from monitor.judge.ports import Reply, Task, Terms
from monitor.records import Interaction, Passage
from tests.servers.judge_labels import Labels
from tests.stages.truthful import Large, Truthful, judged, large

CAPS = [(claims, passages) for claims in range(1, 13) for passages in range(1, 9)]
SHAPES = [(7, 5, 8), (12, 0, 8), (3, 2, 2), (5, 4, 1), (1, 6, 7), (4, 3, 12), (13, 3, 10)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("pipeline", PLANS)
async def test_split_runs_equal_the_truth_at_every_cap(
    pipeline: PipelineName, shape: tuple[int, int, int]
) -> None:
    """All five matrices are the labels' own at every cap of 1 to 12 claims and 1 to 8 passages.

    Each shape meets every cap in one of the pipelines, and each pipeline in two shapes or three.
    """
    case = large(Random(f"{shape}"), *shape)
    turn = (SHAPES.index(shape) + list(PLANS).index(pipeline)) % len(PLANS)
    for claims, passages in CAPS[turn :: len(PLANS)]:
        model = Truthful(case.labels)
        caps = Caps(claims, passages)
        found = await judged(model, case.interaction, pipeline, caps)
        assert found.verdicts == case.verdicts, caps
        assert max(len(asked) for asked, _ in model.verifications) <= claims
        assert found.usage.calls == len(model.requests)


@pytest.mark.parametrize("cap", [1, 2, 3, 5, 8, 11])
async def test_no_call_holds_more_passages_but_the_one_for_all(cap: int) -> None:
    """Passage blocks keep to the cap; only the claims left unsupported meet all passages."""
    case = large(Random(3), 9, 3, 12)
    model = Truthful(case.labels)
    await judged(model, case.interaction, caps=Caps(12, cap))
    shown = [[name for name in names if name.isdigit()] for _, names in model.verifications]
    *split, last = shown
    assert len(last) == 12
    assert sorted(name for block in split for name in block) == sorted(last)
    assert all(len(block) <= cap for block in split)
    alone = {f"c{i}" for i, row in enumerate(case.verdicts.response_by_passage, 1) if any(row)}
    assert len(alone) > 2
    assert not alone & set(model.verifications[-1][0])


async def test_a_whole_run_asks_nothing_twice() -> None:
    """Within the caps one call holds everything, and no second one follows."""
    case = large(Random(4), 5, 3, 8)
    model = Truthful(case.labels)
    await judged(model, case.interaction)
    assert len(model.verifications) == 1
    await judged(model, case.interaction, caps=Caps(12, 8, 16_000))
    assert model.verifications[1] == model.verifications[0]


async def test_what_several_passages_of_one_block_support_is_not_asked_again() -> None:
    """A ``+`` in any block settles the claim: more passages do not take support away."""
    case = large(Random(6), 8, 2, 6)
    one = Truthful(case.labels)
    await judged(one, case.interaction, caps=Caps(8, 3))
    blocks = [names for _, names in one.verifications[:-1]]
    claims = case.labels.claims["Why x?", "response x"]
    names = {
        passage.text: str(j) for j, passage in enumerate(case.interaction.retrieved_contexts, 1)
    }
    settled = {
        f"c{claims.index(claim) + 1}"
        for claim, texts in case.labels.together
        if any({names[text] for text in texts} <= set(block) for block in blocks)
    }
    assert settled
    assert not settled & set(one.verifications[-1][0])


async def test_batches_of_one_document_block_share_their_beginning() -> None:
    """Documents stand before claims: the messages are equal up to the claims."""
    case = large(Random(5), 9, 0, 3)
    model = Truthful(case.labels)
    await judged(model, case.interaction, caps=Caps(3, 12))
    verify = [dict(r.content) for r in model.requests if r.task == "verify_claims"]
    assert len(verify) == 3
    assert all(list(body)[-1] == "claims" for body in verify)
    beginnings = [{key: body[key] for key in list(body)[:-1]} for body in verify]
    assert beginnings[1:] == beginnings[:-1]


@pytest.mark.parametrize("pipeline", PLANS)
@pytest.mark.parametrize("lines", range(1, 9))
async def test_replies_cut_at_the_limit_are_asked_for_in_halves(
    pipeline: PipelineName, lines: int
) -> None:
    """A batch whose reply is cut is halved until it fits; the verdicts are those of one reply."""
    case = large(Random(7), 8, 5, 4)
    model = Truthful(case.labels, lines)
    found = await judged(model, case.interaction, pipeline)
    assert found.verdicts == case.verdicts
    assert all(request.complaint is None for request in model.requests)


async def test_one_claim_that_does_not_fit_is_a_failure() -> None:
    """Halved down to one claim, asked for once more, then judge_failed with its reason."""
    case = large(Random(8), 4, 0, 2)
    model = Truthful(case.labels, lines=0)
    with pytest.raises(JudgeFailed) as caught:
        await judged(model, case.interaction)
    assert caught.value.reason == "output_limit"
    assert caught.value.usage.calls == len(model.requests)
    sizes = [len(claims) for claims, _ in model.verifications]
    assert (sizes[:3], sizes[3:]) == ([4, 2, 2], [1] * len(sizes[3:]))
    assert sum(request.complaint is not None for request in model.requests) >= 1


@pytest.mark.parametrize("pipeline", PLANS)
@pytest.mark.parametrize("budget", [2_000, 2_400, 3_000, 8_000])
async def test_prompts_keep_to_their_budget(pipeline: PipelineName, budget: int) -> None:
    """No prompt exceeds it, and every matrix but the one of the whole context is the truth."""
    case = large(Random(9), 9, 4, 10, words=150)
    model = Truthful(case.labels)
    found = (await judged(model, case.interaction, pipeline, Caps(8, 12, budget))).verdicts
    assert max(model.prompt_bytes) <= 3 * budget
    truth = case.verdicts
    if budget == 8_000:
        assert found == truth
    whole = {"response_by_context": truth.response_by_context}
    assert found.model_copy(update=whole) == truth
    pairs = zip(found.response_by_context, truth.response_by_context, strict=True)
    assert all(held <= true for held, true in pairs)


@pytest.mark.parametrize("pipeline", PLANS)
async def test_a_question_beyond_the_budget_does_not_multiply_calls(pipeline: PipelineName) -> None:
    """It cannot be held then: claims and passages are not sent one by one beside it."""
    case = large(Random(13), 7, 0, 5, words=20)
    question = "Why so? " * 2_000
    texts = {(question, text): claims for (_, text), claims in case.labels.claims.items()}
    labels = Labels(texts, case.labels.supported, case.labels.together)
    asked = case.interaction.model_copy(update={"user_input": question})
    usual, long = Truthful(case.labels), Truthful(labels)
    whole = await judged(usual, case.interaction, pipeline, Caps(8, 12, 5_000))
    found = await judged(long, asked, pipeline, Caps(8, 12, 5_000))
    assert found.verdicts == whole.verdicts == case.verdicts
    assert long.verifications == usual.verifications


async def test_all_passages_together_say_nothing_new_about_each_alone() -> None:
    """A judge that changes its mind there is believed on the context, and not on the passage."""
    case = large(Random(12), 1, 0, 3)
    own = frozenset([("claim x 0 说法", "response x")])

    class Fickle(Truthful):
        async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
            reply = await super().__call__(task, system, user, terms)
            whole = self.verifications and len(self.verifications[-1][1]) == 3
            return Reply(reply.text.replace("2n", "2y"), "stop") if whole else reply

    model = Fickle(Labels(case.labels.claims, own))
    found = (await judged(model, case.interaction, "single")).verdicts
    assert model.verifications[-1][0] == ("c1",)
    assert found.response_by_passage == ((False, False, False),)
    assert found.response_by_context == (True,)


async def test_the_best_passages_are_shown_where_not_all_fit() -> None:
    """By the retriever's score if all have one, else by rank; a passage too long is passed over."""
    case = large(Random(10), 2, 0, 6, words=200)
    unsupported = Labels(case.labels.claims, _own_only(case))
    ranked = case.interaction
    scored = _scored(ranked, [0.1, 0.9, 0.2, 0.8, 0.3, 0.7])
    for item, best in ((ranked, {"1", "2", "3"}), (scored, {"2", "4", "6"})):
        model = Truthful(unsupported)
        await judged(model, item, caps=Caps(8, 2, 2_150))
        assert set(model.verifications[-1][1]) == best
    long = Passage(text="long " * 2_000)
    first = ranked.model_copy(update={"retrieved_contexts": (long, *ranked.retrieved_contexts[1:])})
    model = Truthful(unsupported)
    await judged(model, first, caps=Caps(8, 2, 2_150))
    assert set(model.verifications[-1][1]) == {"2", "3", "4"}


def _own_only(case: Large) -> frozenset[tuple[str, str]]:
    return frozenset((c, text) for c, text in case.labels.supported if text == "response x")


def _scored(item: Interaction, scores: list[float]) -> Interaction:
    passages = zip(item.retrieved_contexts, scores, strict=True)
    return item.model_copy(
        update={"retrieved_contexts": tuple(p.model_copy(update={"score": s}) for p, s in passages)}
    )
