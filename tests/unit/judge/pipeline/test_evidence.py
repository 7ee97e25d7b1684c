"""The words that support a claim: found in the passage, asked for again, or unverified."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from monitor.errors import JudgeFailed, ReplyRejected
from monitor.judge.limits.deadline import Deadline
from monitor.judge.limits.limits import Limits
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.pipeline.material import Caps
from monitor.judge.pipeline.plans import PLANS, PipelineName
from monitor.judge.pipeline.quoting import QuoteRequest
from monitor.judge.ports import Reply, Task, Terms
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, Judgement
from monitor.sampling.hashing import Sampler
from monitor.scorer.judging import JudgingInput, ScoringPolicy
from monitor.scorer.judging import judged as within_deadline
from tests.servers.judge_labels import Labels
from tests.stages.truthful import Large, Truthful, judged, large, made

CASE = large(Random(11), 6, 2, 5)
REQUEST = QuoteRequest(742, "?", {"2": "It has “two”  parts."}, {"c1": "Two."}, (("c1", "2"),))

Change = Callable[[dict[str, Any]], dict[str, Any]]


class Quoting(Truthful):
    """A truthful model whose replies about evidence are changed, one after the other."""

    def __init__(self, labels: Labels, *changes: Change | Exception) -> None:
        super().__init__(labels)
        self._changes = list(changes)

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        reply = await super().__call__(task, system, user, terms)
        if task != "quote_evidence" or not self._changes:
            return reply
        change = self._changes.pop(0)
        if isinstance(change, Exception):
            raise change
        return Reply(json.dumps(change(json.loads(reply.text))), "stop")

    @property
    def quote_calls(self) -> list[str | None]:
        """The complaint of every call about evidence."""
        return [r.complaint for r in self.requests if r.task == "quote_evidence"]


def supported(case: Large) -> set[tuple[str, str]]:
    return {
        (f"c{i}", str(j))
        for i, row in enumerate(case.verdicts.response_by_passage, 1)
        for j, held in enumerate(row, 1)
        if held
    }


def invented(body: dict[str, Any]) -> dict[str, Any]:
    first = list(body)[1]
    return {**body, first: "words that nobody wrote"}


@pytest.mark.parametrize("pipeline", PLANS)
@pytest.mark.parametrize("caps", [Caps(), Caps(2, 2), Caps(8, 12, 2_000)])
async def test_every_supported_pair_has_its_quote(pipeline: PipelineName, caps: Caps) -> None:
    """Exactly the pairs that a passage alone supports, each with words of that passage."""
    model = Truthful(CASE.labels)
    found = await judged(model, CASE.interaction, pipeline, caps, evidence=True)
    assert found.verdicts == CASE.verdicts
    pairs = {(claim, j) for claim, quotes in found.evidence.items() for j in quotes}
    assert pairs == supported(CASE)
    texts = [passage.text for passage in CASE.interaction.retrieved_contexts]
    for quotes in found.evidence.values():
        assert all(quote and quote in texts[int(j) - 1] for j, quote in quotes.items())


async def test_without_the_option_nothing_is_quoted() -> None:
    """No call and no evidence; and no call where nothing is supported."""
    model = Truthful(CASE.labels)
    assert (await judged(model, CASE.interaction)).evidence == {}
    assert all(request.task != "quote_evidence" for request in model.requests)
    none = Labels(
        CASE.labels.claims, frozenset(p for p in CASE.labels.supported if p[1] == "response x")
    )
    model = Truthful(none)
    assert (await judged(model, CASE.interaction, evidence=True)).evidence == {}
    assert all(request.task != "quote_evidence" for request in model.requests)


async def test_words_that_are_not_there_are_asked_for_once_more() -> None:
    """With a complaint that names the pairs; the second quote counts if it is there."""
    model = Quoting(CASE.labels, invented)
    found = await judged(model, CASE.interaction, evidence=True)
    assert all(all(quotes.values()) for quotes in found.evidence.values())
    first, second = model.quote_calls
    assert first is None
    assert second is not None
    assert second.startswith("not word for word in their documents: c")


async def test_no_other_model_is_asked_for_evidence() -> None:
    """So its calls are made again as if none followed, unlike those for verdicts."""
    following: dict[str, set[int]] = {}

    class Noting(Truthful):
        async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
            following.setdefault(task, set()).add(terms.following)
            return await super().__call__(task, system, user, terms)

    pipeline = made(Noting(CASE.labels), evidence=True)
    await pipeline.judge(CASE.interaction, CostMeter(following=2))
    assert following == {"extract_claims": {2}, "verify_claims": {2}, "quote_evidence": {0}}


async def test_what_was_there_the_first_time_is_kept() -> None:
    """The second reply only fills what the first left open."""

    def other(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, list(body)[-1]: "words that nobody wrote"}

    found = await judged(Quoting(CASE.labels, invented, other), CASE.interaction, evidence=True)
    assert len(supported(CASE)) > 1
    assert all(all(quotes.values()) for quotes in found.evidence.values())


async def test_words_that_are_not_there_twice_are_unverified() -> None:
    """The pair is marked, the others keep their quotes, and no verdict changes."""
    model = Quoting(CASE.labels, invented, invented)
    found = await judged(model, CASE.interaction, evidence=True)
    quotes = [quote for each in found.evidence.values() for quote in each.values()]
    assert quotes.count(None) == 1
    assert len(quotes) == len(supported(CASE))
    assert len(model.quote_calls) == 2
    assert found.verdicts == CASE.verdicts


@pytest.mark.parametrize(
    "changes",
    [
        [lambda _: {"n": 1}] * 40,
        [ReplyRejected("the reply holds no message", kind="empty")] * 40,
        [JudgeFailed("status 500", reason="server_error")],
    ],
)
async def test_no_judgement_fails_for_its_evidence(changes: list[Change | Exception]) -> None:
    """Where no quotes are to be had all pairs are unverified, and the verdicts stand."""
    spent = CostMeter()
    pipe = made(Quoting(CASE.labels, *changes), evidence=True)
    found = await pipe.judge(CASE.interaction, spent)
    assert spent.unasked
    assert found.verdicts == CASE.verdicts
    assert {quote for each in found.evidence.values() for quote in each.values()} == {None}


class Overdue(Truthful, Limits):
    """A model whose quotes take longer than the deadline, which passes once they are asked for."""

    def __init__(self, labels: Labels) -> None:
        Truthful.__init__(self, labels)
        Limits.__init__(self, 1, 60.0)

    def deadline(self) -> Deadline:
        self.left = super().deadline()
        return self.left

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        reply = await super().__call__(task, system, user, terms)
        if task == "quote_evidence":
            self.left.reschedule(asyncio.get_running_loop().time())
            await asyncio.Event().wait()
        return reply


class Judging(OfflineJudge):
    """The pipeline over the model, where a ``Judge`` is wanted."""

    def __init__(self, model: Truthful) -> None:
        super().__init__()
        self._pipeline = made(model, evidence=True)

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        return await self._pipeline.judge(interaction, cost_meter, claims)


async def test_the_deadline_takes_the_quotes_and_not_the_verdicts() -> None:
    """What has all its verdicts is scored when the time is up; its evidence is unverified."""
    model = Overdue(CASE.labels)
    policy = ScoringPolicy(Sampler(1.0, "interaction_id"), Judging(model), model)
    result = await within_deadline(JudgingInput(CASE.interaction), policy)
    assert (result.outcome, result.reason) == ("scored", None)
    found = result.judgement
    assert found is not None
    assert found.verdicts == CASE.verdicts
    pairs = {(claim, j) for claim, each in found.evidence.items() for j in each}
    assert pairs == supported(CASE)
    assert {quote for each in found.evidence.values() for quote in each.values()} == {None}
    assert result.usage.calls == len(model.requests) - 1  # the one that is still out has no bill


@pytest.mark.parametrize("lines", [1, 2, 3])
async def test_quotes_that_do_not_fit_a_reply_come_in_halves(lines: int) -> None:
    """A reply cut at the output limit is asked for in parts."""
    model = Truthful(CASE.labels, lines)
    found = await judged(model, CASE.interaction, evidence=True)
    pairs = {(claim, j) for claim, each in found.evidence.items() for j, q in each.items() if q}
    assert pairs == supported(CASE)


@pytest.mark.parametrize("quote", ['it has "two" parts', "“Two”\n parts.", "ＴＷＯ"])
def test_case_spacing_and_shapes_of_characters_do_not_matter(quote: str) -> None:
    """They are what a tokenizer changes; the words are the same."""
    assert REQUEST.read(json.dumps({"n": 742, "c1 2": quote})) == {("c1", "2"): quote}


@pytest.mark.parametrize("quote", ["", " ", "…", "It has … parts", "It has three parts", "."])
def test_other_words_and_no_words_do_not_stand_there(quote: str) -> None:
    """Elisions, inventions and mere punctuation are no evidence."""
    assert REQUEST.read(json.dumps({"n": 742, "c1 2": quote})) == {("c1", "2"): None}


@pytest.mark.parametrize(
    "reply",
    ["", "{}", '{"n":742}', '{"n":741,"c1 2":"two"}', '{"n":742,"c1 3":"two"}',
     '{"n":742,"c1 2":1}',
     '{"n":742,"c1 2":"two","c1 3":"two"}', '{"c1 2":"two","n":742}', '{"n":742,"c1 2":"tw'],
)  # fmt: skip
def test_a_reply_answers_exactly_what_was_asked(reply: str) -> None:
    """As with verdicts: nothing missing, nothing more, in order, with the nonce."""
    with pytest.raises(ReplyRejected) as caught:
        REQUEST.read(reply)
    assert caught.value.reason == ("output_limit" if reply.endswith("tw") else "malformed_reply")
