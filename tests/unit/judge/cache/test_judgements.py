"""Whole judgements: kept by content and by who answered, and never when they failed."""

from __future__ import annotations

import asyncio

import pytest

from monitor.errors import JudgeFailed
from monitor.judge.cache.judgements import CachedJudge
from monitor.judge.cache.keys import judge_key, judgement_key
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement, Usage, Verdicts
from tests.stages.hearing import Failing, Heard
from tests.stages.judge_case import interaction
from tests.stages.turns import settled

PRICE = Usage(calls=3, prompt_tokens=10)


def identity(model: str) -> JudgeIdentity:
    return JudgeIdentity(name="llm", version=model, model=model, prompts="p", pipeline="joint")


class Model:
    """A judge that is ``configured`` as one model and answers as another."""

    def __init__(self, answers: str = "m-1", configured: str = "m") -> None:
        self.answers, self.identity = answers, identity(configured)
        self.calls = 0
        self.failure: JudgeFailed | None = None
        self.unasked = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.closed = False

    async def prepare(self) -> None:
        """Nothing to load."""

    async def judge(
        self, interaction: Interaction, cost_meter: CostMeter | None = None
    ) -> Judgement:
        self.calls += 1
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        self.identity = identity(self.answers)
        spent = cost_meter or CostMeter()
        spent.add(PRICE)
        spent.unasked = self.unasked
        passages = len(interaction.retrieved_contexts)
        return Judgement(
            claims=Claims(response=(interaction.response,)),
            passages=passages,
            has_reference=interaction.reference is not None,
            verdicts=Verdicts(
                response_by_passage=((False,) * passages,),
                response_by_context=(False,),
                response_by_reference=(False,) if interaction.reference is not None else (),
            ),
            judge=self.identity,
            usage=PRICE,
        )

    async def aclose(self) -> None:
        self.closed = True


def kept(model: Model, store: Failing, heard: Heard | None = None) -> CachedJudge:
    return CachedJudge(model, store, heard or Heard())


async def test_the_second_time_costs_nothing() -> None:
    """The same judgement, of the same judge, without a call, a token or a bill."""
    model, heard = Model(), Heard()
    judge = kept(model, Failing(), heard)
    first, cost_meter = await judge.judge(interaction()), CostMeter()
    second = await judge.judge(interaction().model_copy(update={"interaction_id": "2"}), cost_meter)
    assert model.calls == 1
    assert (first.usage, second.usage, cost_meter.usage) == (PRICE, Usage(), Usage())
    assert second == first.model_copy(update={"usage": Usage()})
    assert heard.results("judgement") == {"miss": 1, "hit": 1}


async def test_the_same_content_at_the_same_time_is_judged_once() -> None:
    """One has paid for it."""
    model, heard = Model(), Heard()
    model.gate.clear()
    judge = kept(model, Failing(), heard)
    tasks = [asyncio.create_task(judge.judge(interaction())) for _ in range(5)]
    await settled()
    model.gate.set()
    found = await asyncio.gather(*tasks)
    assert model.calls == 1
    assert sorted(judgement.usage.calls for judgement in found) == [0, 0, 0, 0, 3]
    assert heard.results("judgement") == {"miss": 1, "shared": 4}


async def test_failures_are_not_kept() -> None:
    """It is tried again, and the failure is raised as it was."""
    model, store = Model(), Failing()
    judge = kept(model, store)
    model.failure = JudgeFailed("no", reason="timeout", usage=PRICE)
    with pytest.raises(JudgeFailed) as caught:
        await judge.judge(interaction())
    assert (caught.value.reason, caught.value.usage) == ("timeout", PRICE)
    assert store.kept == {}
    model.failure = None
    assert (await judge.judge(interaction())).usage == PRICE


async def test_another_process_finds_them_before_any_reply() -> None:
    """Who answered last is kept, too: nothing is asked, and the judgement says who judged."""
    store = Failing()
    await kept(Model(), store).judge(interaction())
    model = Model()
    again = kept(model, store)
    found = await again.judge(interaction())
    assert (model.calls, found.judge) == (0, identity("m-1"))
    assert again.identity == identity("m-1")


async def test_a_reply_tells_who_answers_now() -> None:
    """What another model has judged is found no longer."""
    store, other = Failing(), interaction(response="Something else.")
    await kept(Model(answers="m-1"), store).judge(interaction())
    model = Model(answers="m-2")
    judge = kept(model, store)
    assert (await judge.judge(other)).judge == judge.identity == identity("m-2")
    assert (await judge.judge(interaction())).judge == identity("m-2")
    assert model.calls == 2
    assert (await kept(Model(), store).judge(interaction())).judge == identity("m-2")


async def test_a_model_that_answers_by_its_own_name() -> None:
    """Its identity does not change with the first reply, nor is an older one believed then."""
    store = Failing()
    await kept(Model(answers="m-1"), store).judge(interaction())
    model = Model(answers="m")
    judge = kept(model, store)
    await judge.judge(interaction(response="Something else."))
    assert (await judge.judge(interaction())).judge == judge.identity == identity("m")
    assert model.calls == 2


@pytest.mark.parametrize("value", [b"", b"[]", b"{}", b"\xff"])
async def test_what_is_no_judgement_is_a_miss_and_is_replaced(value: bytes) -> None:
    """Also one of another shape; and an unreadable name of who answered."""
    store, model = Failing(), Model(answers="m")
    key = judgement_key(identity("m"), interaction())
    store.kept = {key: value, judge_key(identity("m")): value}
    await kept(model, store).judge(interaction())
    assert model.calls == 1
    assert Judgement.model_validate_json(store.kept[key]).judge == identity("m")


async def test_a_judgement_of_another_shape_is_a_miss() -> None:
    """A store that others write to cannot make an interaction have other passages."""
    store, model = Failing(), Model(answers="m")
    other = await Model(answers="m").judge(interaction(passages=("only one",)))
    store.kept[judgement_key(identity("m"), interaction())] = other.model_dump_json().encode()
    assert (await kept(model, store).judge(interaction())).passages == 3
    assert model.calls == 1


async def test_closing_closes_the_judge_and_not_the_store() -> None:
    """The store may serve others."""
    model, store = Model(), Failing()
    await kept(model, store).aclose()
    assert (model.closed, store.closed) == (True, False)


async def test_without_evidence_that_could_not_be_asked_for_it_is_not_kept() -> None:
    """The next one asks again: unverified for an hour of 500s must not be so for a day."""
    model, heard = Model(), Heard()
    judge = kept(model, Failing(), heard)
    model.unasked = True
    await judge.judge(interaction())
    model.unasked = False
    await judge.judge(interaction(), CostMeter())
    assert model.calls == 2
    assert (await judge.judge(interaction())).usage == Usage()
    assert model.calls == 2
