"""No interaction asks for more than its ceiling: known before, kept to whatever is answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, partial
from random import Random
from typing import Any

import pytest

from monitor.errors import JudgeFailed, ReplyRejected, TooLarge
from monitor.judge.allowance import Allowance
from monitor.judge.ceiling import NOTHING, Ceiling, Demand
from monitor.judge.limits.limits import Limits
from monitor.judge.llm.dry_run import DryRunJudge
from monitor.judge.llm.fallback import FallbackJudge
from monitor.judge.llm.judge import LlmJudge, LlmSettings
from monitor.judge.pipeline.material import Caps, Material
from monitor.judge.pipeline.pairs import pairs
from monitor.judge.pipeline.parsing import ClaimVerdict, passage_order
from monitor.judge.pipeline.pipeline import Pipeline
from monitor.judge.pipeline.plans import PLANS, PipelineName, Planner, demand, fewest, together
from monitor.judge.ports import Reply, Task, Terms
from monitor.judge.protocol import CostMeter
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import REDACTED_TEXT, Claims, Interaction, Outcome, Passage, Source, Unscored
from monitor.sampling.hashing import Sampler
from monitor.scorer.judging import JudgingInput, ScoringPolicy
from monitor.scorer.judging import judged as judged_within
from tests.servers.judge_server import JudgeServer
from tests.servers.judge_weather import Weather
from tests.stages.judge_case import LABELS, interaction
from tests.stages.truthful import Large, Truthful, judged, large, made

PLANNERS: Mapping[PipelineName, Planner] = {**PLANS, "pairs": pairs}
BY_PIPELINE = pytest.mark.parametrize("pipeline", PLANNERS)


@cache
def passage(text: str) -> Passage:
    """It cannot change, so one object may stand for all that are equal."""
    return Passage(text=text)


def logged(passages: list[str], response: str = "R.", reference: str | None = None) -> Interaction:
    return Interaction(
        interaction_id="x",
        event_time=datetime(2026, 1, 1, tzinfo=UTC),
        application="app",
        user_input="Why?",
        response=response,
        retrieved_contexts=tuple(map(passage, passages)),
        reference=reference,
        source=Source(topic="t", partition=0, offset=7),
    )


class Counted:
    """An order of passages that counts how many it was asked to put in order."""

    def __init__(self) -> None:
        self.passages = 0

    def __call__(self, interaction_id: str, passages: int) -> list[int]:
        self.passages += passages
        return passage_order(interaction_id, passages)


class Chatty:
    """A model that finds ``claims`` claims in every text, and says which tasks it was asked."""

    def __init__(self, claims: int) -> None:
        self.claims, self.tasks = claims, list[str]()

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        self.tasks.append(task)
        assert task == "extract_claims"
        found = [f"claim {n} of {json.loads(user)['text']}" for n in range(self.claims)]
        return Reply(json.dumps({"claims": found}))


def pipe(model: Any, pipeline: PipelineName = "joint", **more: Any) -> Pipeline:
    return made(model, pipeline, **more)


@BY_PIPELINE
async def test_a_hundred_thousand_passages_are_refused_before_anything_is_made_of_them(
    pipeline: PipelineName,
) -> None:
    """No call, no plan and no order: it is known from their number."""
    model, order = Chatty(1), Counted()
    judge = pipe(model, pipeline, ceiling=Ceiling(64, 10**9), order=order)
    with pytest.raises(TooLarge, match=r"calls at least, judge\.max_calls is 64") as caught:
        await judge.judge(logged([f"Fact {n}." for n in range(100_000)]))
    assert (caught.value.reason, model.tasks, order.passages) == ("too_large", [], 0)
    assert caught.value.usage.calls == 0


@BY_PIPELINE
@pytest.mark.parametrize("text", ["", "Fact."], ids=["blank", "equal"])
async def test_passages_that_nobody_is_asked_about_count_as_well(
    pipeline: PipelineName, text: str
) -> None:
    """Blank ones, and those like another one, stand in the verdicts of every claim all the same."""
    model = Chatty(40)
    judge = pipe(model, pipeline, ceiling=Ceiling(10**9, 10**9))
    with pytest.raises(TooLarge, match="verdicts that a judgement may hold"):
        await judge.judge(logged(["A fact.", *[text] * 100_000]))
    assert model.tasks == []
    with pytest.raises(TooLarge, match="40 claims and 3,001 passages"):
        await judge.judge(logged(["A fact.", *[text] * 3_000]))
    assert model.tasks == ["extract_claims"]


async def test_too_much_text_is_refused_before_anything_is_asked() -> None:
    """Of passages or of the response, which is read twice: by the extraction, and to be checked."""
    model = Chatty(1)
    for large_one in (logged(["word " * 100_000]), logged(["w"], "word " * 50_000)):
        with pytest.raises(TooLarge, match=r"judge\.max_input_tokens is 150,000"):
            await pipe(model, ceiling=Ceiling(64, 150_000)).judge(large_one)
    assert model.tasks == []


@BY_PIPELINE
async def test_too_many_claims_are_refused_before_any_verification(pipeline: PipelineName) -> None:
    """What was asked until then is the extraction."""
    model, cost_meter = Chatty(600), CostMeter()
    with pytest.raises(TooLarge):
        await pipe(model, pipeline, ceiling=Ceiling(64)).judge(logged(["a", "b"]), cost_meter)
    assert model.tasks == ["extract_claims"]
    assert (cost_meter.usage.calls, cost_meter.allowance.made.calls) == (1, 1)


def cases(n: int, most: int = 30) -> list[Large]:
    """Up to so many claims, truths and passages."""
    found = []
    for seed in range(n):
        rng = Random(seed)
        sizes = rng.randint(1, most), rng.randint(1, most), rng.randint(1, most)
        found.append(large(rng, *sizes, name=f"x{seed}", words=rng.choice([0, 40])))
    return found


@BY_PIPELINE
async def test_what_is_foreseen_is_enough(pipeline: PipelineName) -> None:
    """Calls and tokens of all that is asked are at most what they were said to be before."""
    caps = Caps(8, 12, 2_000)
    for each in cases(12):
        model, found = Truthful(each.labels), CostMeter()
        judge = partial(pipe, model, pipeline, caps=caps, relevance=True)
        await judge().judge(each.interaction, found)
        asked = found.allowance.made
        assert asked.calls == len(model.requests)
        claims = _claims(each)
        # Messages hold no quotes or line ends, which are written with a character more.
        for ceiling in (Ceiling(asked.calls - 1), Ceiling(None, asked.tokens - 1)):
            with pytest.raises(TooLarge):
                judge(ceiling=ceiling).foresee(each.interaction, claims)
        judge(ceiling=Ceiling(10_000, 10**8)).foresee(each.interaction, claims)


def _claims(each: Large) -> Claims:
    question, interaction = each.interaction.user_input, each.interaction
    response = each.labels.claims[question, interaction.response]
    reference = each.labels.claims[question, interaction.reference or ""]
    return Claims(response=tuple(response), reference=tuple(reference))


@BY_PIPELINE
async def test_a_ceiling_changes_no_judgement_below_it(pipeline: PipelineName) -> None:
    """The same messages in the same order, and the same verdicts."""
    for each in cases(8):
        free, bound = Truthful(each.labels), Truthful(each.labels)
        first = await judged(free, each.interaction, pipeline, relevance=True)
        judge = pipe(bound, pipeline, relevance=True, ceiling=Ceiling(10_000, 10**9), at_once=100)
        assert await judge.judge(each.interaction) == first
        assert bound.requests == free.requests


class Unruly(Truthful):
    """Cuts replies, breaks the format or gives no answer, at random."""

    def __init__(self, each: Large, rng: Random) -> None:
        super().__init__(each.labels, lines=rng.choice([None, 1, 3]))
        self._rng = rng
        self.calls = 0

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        self.calls += 1
        reply = await super().__call__(task, system, user, terms)
        wish = self._rng.random()
        if wish < 0.02:
            raise ReplyRejected("no message", kind="empty")
        return Reply("{}") if wish < 0.04 else reply


@BY_PIPELINE
@pytest.mark.parametrize("most", [4, 9, 25, 64])
async def test_no_reply_makes_an_interaction_ask_for_more(
    pipeline: PipelineName, most: int
) -> None:
    """Second tries, halves, new extractions and evidence included; it fails by its own reason."""
    ended = set[str]()
    for seed, each in enumerate(cases(25, most=9)):
        model, cost_meter = Unruly(each, Random(seed)), CostMeter()
        judge = pipe(model, pipeline, evidence=True, relevance=True, ceiling=Ceiling(most))
        try:
            await judge.judge(each.interaction, cost_meter)
            ended.add("judged")
        except JudgeFailed as failure:
            ended.add(failure.reason)
        assert model.calls == cost_meter.allowance.made.calls <= most
    assert ended <= {"judged", "too_large", "malformed_reply", "output_limit"}
    assert "too_large" in ended or "judged" in ended


class Slow(Truthful):
    """Says how many calls were under way at a time."""

    open = most_open = 0

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        for _ in range(5):
            await asyncio.sleep(0)
        self.open -= 1
        return await super().__call__(task, system, user, terms)


@pytest.mark.parametrize("at_once", [1, 3])
async def test_calls_begin_as_places_come_free(at_once: int) -> None:
    """Of one judgement so many at a time, not all of its plan."""
    each = large(Random(1), 20, 4, 12)
    model = Slow(each.labels)
    await pipe(model, "single", at_once=at_once, relevance=True).judge(each.interaction)
    assert (model.most_open, model.open) == (at_once, 0)
    assert len(model.requests) > 30


def test_extras_leave_room_for_what_is_planned() -> None:
    """A second try is made beside the plan, never in its place."""
    allowance = Allowance(Demand(1, 10))
    allowance.bind(Ceiling(5, 100), None)
    allowance.bind(Ceiling(500, 10_000), None)  # another model's: it is the same interaction
    allowance.plan(Demand(3, 60))
    assert allowance.begin(30, planned=False)
    assert not allowance.begin(1, planned=False)
    assert [allowance.begin(20, planned=True) for _ in range(4)] == [True, True, True, False]
    assert allowance.made == Demand(5, 100)
    with pytest.raises(TooLarge):
        allowance.plan(Demand(1, 0))
    allowance.plan(NOTHING)


def test_a_third_is_of_what_is_left_beside_a_plan() -> None:
    """And of no limit there is none."""
    assert Ceiling(64, 1_000).third(Demand(4, 100)) == Ceiling(20, 300)
    assert Ceiling(64).third(Demand(4, 100)) == Ceiling(20)
    assert not Ceiling(3).third(Demand(2, 0)).allows(Demand(1, 0))


def material(passages: int, claims: int) -> Material:
    texts = [f"Fact {n}." for n in range(passages)]
    found = Claims(response=tuple(f"Claim {n}." for n in range(claims)))
    return Material.of(logged(texts), found, passage_order, "instructions")


@BY_PIPELINE
def test_the_fewest_calls_are_a_lower_bound(pipeline: PipelineName) -> None:
    """Of every plan, with one claim; equal passages are asked about once by some."""
    caps = Caps(8, 12, 3_000)
    for passages in (0, 1, 11, 12, 13, 100):
        texts = [f"Fact {n % 40}." for n in range(passages)]
        found = Material.of(logged(texts), Claims(response=("C.",)), passage_order, "i")
        planned = PLANNERS[pipeline](found, caps)
        assert fewest(PLANNERS[pipeline], caps, texts) <= len(planned.blocks)


class Looked(dict[str, str]):
    """Texts that count how often one is looked up, and how often all are copied."""

    looked = copied = 0

    def __getitem__(self, name: str) -> str:
        Looked.looked += 1
        return super().__getitem__(name)

    def keys(self) -> Any:
        Looked.copied += 1
        return super().keys()


@BY_PIPELINE
def test_planning_looks_at_each_text_a_bounded_number_of_times(pipeline: PipelineName) -> None:
    """Twice the passages, twice the work: plan, size, messages and what follows."""

    def work(passages: int) -> tuple[int, int]:
        whole = material(passages, 3)
        texts = Looked(whole.texts)
        whole = Material(
            whole.nonce, whole.question, texts, whole.best_first, whole.claims, "instructions"
        )
        Looked.looked = Looked.copied = 0
        caps = Caps(prompt_tokens=10**9)
        plan = PLANNERS[pipeline](whole, caps)
        demand(whole, plan)
        for block in plan.blocks:
            whole.request(block, plan.joined)
        answers = dict.fromkeys(whole.claims, ClaimVerdict({}, together=False))
        together(whole, plan, answers)
        return Looked.looked, Looked.copied

    (few, copies), (many, more) = work(500), work(1_000)
    assert many <= 2.1 * few
    assert copies == more


async def test_tries_that_fail_count_too() -> None:
    """A provider that is away is not asked more often than it may be; its reason stands."""
    weather = Weather()
    weather.refusal = (500, {"error": {"message": "away"}}, {})
    async with JudgeServer(LABELS, gate=weather) as server:
        made = LlmSettings(
            "openai/judge", api_base=server.url, api_key="k", retries=50, max_calls=5
        )
        judge, cost_meter = LlmJudge(made, rng=Random(1)), CostMeter()
        with pytest.raises(JudgeFailed) as caught:
            await judge.judge(interaction(), cost_meter)
        await judge.aclose()
    assert (caught.value.reason, cost_meter.allowance.made.calls) == ("server_error", 4)
    assert len(weather.requests) <= 4  # the fifth is kept for the verification


async def test_another_model_does_not_get_what_the_first_has_used_up() -> None:
    """Then the interaction fails as the first one did: it is not too large."""
    weather = Weather()
    weather.refusal = (500, {"error": {"message": "away"}}, {})
    async with JudgeServer(LABELS, gate=weather) as server:
        models = [
            LlmSettings(f"openai/{name}", api_base=server.url, api_key="k", max_calls=4)
            for name in ("first", "second")
        ]
        judge, cost_meter = (
            FallbackJudge([LlmJudge(one, rng=Random(1)) for one in models]),
            CostMeter(),
        )
        with pytest.raises(JudgeFailed) as caught:
            await judge.judge(interaction(), cost_meter)
        await judge.aclose()
    assert (caught.value.reason, cost_meter.allowance.made.calls) == ("server_error", 3)


@pytest.mark.parametrize("metrics", [None, ("faithfulness", "context_recall")])
async def test_what_is_too_large_is_unscorable(metrics: tuple[str, ...] | None) -> None:
    """With the reason for each metric that is recorded, but for those whose texts are hidden.

    That there are passages is known all the same.
    """
    judge = LlmJudge(LlmSettings("openai/nobody", api_base="http://127.0.0.1:1/v1"))
    policy = ScoringPolicy(Sampler(1.0), judge, Limits(1, 60.0), metrics=metrics)
    hides = logged([f"Fact {n}." for n in range(1_000)], reference=REDACTED_TEXT)
    result = await judged_within(JudgingInput(hides), policy)
    assert (result.outcome, result.reason) == (Outcome.UNSCORABLE, "too_large")
    assert (result.usage.calls, result.judge) == (0, judge.identity)
    assert set(result.scores) == set(metrics or CATALOGUE)
    needs = {name for name in result.scores if CATALOGUE[name].needs_reference}
    hidden = {name for name, score in result.scores.items() if score is Unscored.REDACTED}
    assert hidden == needs
    values = {name: score for name, score in result.scores.items() if isinstance(score, float)}
    assert values == ({} if metrics else {"retrieved": 1.0})
    reasons = set(result.scores.values()) - {1.0}
    assert reasons == {Unscored.REDACTED, Unscored.TOO_LARGE}


def test_the_rehearsal_foresees_what_the_judge_refuses() -> None:
    """By sentences as claims; nobody is asked."""
    judge = DryRunJudge(LlmSettings("openai/nobody"))
    judge.foresee(logged(["Fact."] * 24, "One. Two. Three."))
    for large_one in (
        logged(["Fact."] * 1_000),
        logged(["Fact."], " ".join(f"The pump number {n} is blue." for n in range(600))),
    ):
        with pytest.raises(TooLarge):
            judge.foresee(large_one)
