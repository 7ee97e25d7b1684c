"""Claims of texts: kept once confirmed, shared while they are checked, never from a bad store."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext

import pytest

from monitor.errors import JudgeFailed
from monitor.judge.cache.claims import Borrowing, CachedExtractor, ClaimsCache
from monitor.judge.cache.keys import claims_key
from monitor.judge.pipeline.extraction import Extraction
from monitor.judge.protocol import CostMeter
from monitor.records import Usage
from tests.stages.hearing import Failing, Heard
from tests.stages.turns import settled

PRICE = Usage(calls=1, prompt_tokens=10)
VERSION = ("model", "prompt")
QUESTION, TEXT = "Why?", "A. B."
KEY = claims_key(VERSION, QUESTION, TEXT)


class Model:
    """An ``Extract`` that finds A and B; it waits at the gate if that is closed."""

    def __init__(self, *claims: str) -> None:
        self.calls = self.fresh = 0
        self.said: tuple[str, ...] = claims or ("A", "B")
        self.failure: JudgeFailed | None = None
        self.version = VERSION
        self.answers_as = VERSION
        self.gate = asyncio.Event()
        self.gate.set()

    def for_one(self) -> AbstractContextManager[Extraction]:
        return nullcontext(self)

    async def claims(
        self, question: str, text: str, spent: CostMeter, *, fresh: bool = False
    ) -> tuple[str, ...]:
        assert (question, text) == (QUESTION, TEXT)
        self.calls += 1
        self.fresh += fresh
        spent.add(PRICE)
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        self.version = self.answers_as
        return self.said

    async def vouch(self, question: str, text: str, claims: tuple[str, ...]) -> None:
        raise AssertionError("what is kept is no business of the model")


class Stage:
    """A cache, its store and who listens."""

    def __init__(self) -> None:
        self.store, self.heard = Failing(), Heard()
        self.cache = ClaimsCache(self.store, self.heard)

    def borrow(self, model: Model) -> Borrowing:
        return CachedExtractor(model, self.cache, lambda: model.version).for_one()

    async def judged(
        self, model: Model, *, confirmed: bool = True, cost_meter: CostMeter | None = None
    ) -> tuple[str, ...]:
        """One judgement; ``confirmed`` says whether a claim's own text supports it."""
        with self.borrow(model) as source:
            claims = await source.claims(QUESTION, TEXT, cost_meter or CostMeter())
            if confirmed:
                await source.vouch(QUESTION, TEXT, claims)
        return claims


async def test_confirmed_claims_are_not_asked_for_again() -> None:
    """The second judgement has them without a call, and pays nothing."""
    stage, model = Stage(), Model()
    cost_meters = CostMeter(), CostMeter()
    assert await stage.judged(model, cost_meter=cost_meters[0]) == ("A", "B")
    assert await stage.judged(model, cost_meter=cost_meters[1]) == ("A", "B")
    assert [cost_meter.usage for cost_meter in cost_meters] == [PRICE, Usage()]
    assert model.calls == 1
    assert stage.heard.results() == {"miss": 1, "hit": 1}
    assert stage.store.kept == {KEY: b'{"claims": ["A", "B"]}'}


async def test_unconfirmed_claims_are_not_kept() -> None:
    """A judgement that failed, or in which no claim was found in its own text, leaves nothing."""
    stage, model = Stage(), Model()
    await stage.judged(model, confirmed=False)
    assert stage.store.kept == {}
    await stage.judged(model)
    assert model.calls == 2


async def test_a_failed_extraction_is_not_kept() -> None:
    """The next one asks again."""
    stage, model = Stage(), Model()
    model.failure = JudgeFailed("no", reason="timeout")
    with pytest.raises(JudgeFailed):
        await stage.judged(model)
    assert stage.store.kept == {}
    model.failure = None
    assert await stage.judged(model) == ("A", "B")


async def test_the_same_text_at_the_same_time_makes_one_call() -> None:
    """All of them check the claims, and they are kept once."""
    stage, model = Stage(), Model()
    model.gate.clear()
    tasks = [asyncio.create_task(stage.judged(model)) for _ in range(10)]
    await settled()
    model.gate.set()
    assert set(await asyncio.gather(*tasks)) == {("A", "B")}
    assert model.calls == 1
    assert stage.heard.results() == {"miss": 1, "shared": 9}
    assert stage.store.requests == 2


async def test_claims_under_check_are_shared() -> None:
    """Between the extraction and the verdicts a newcomer need not ask either."""
    stage, model = Stage(), Model()
    with stage.borrow(model) as source:
        await source.claims(QUESTION, TEXT, CostMeter())
        await stage.judged(model, confirmed=False)
        assert model.calls == 1
    await stage.judged(model, confirmed=False)
    assert model.calls == 2


async def test_one_of_those_who_share_is_enough_to_keep_them() -> None:
    """The first judgement fails after the extraction; the second confirms the same claims."""
    stage, model = Stage(), Model()
    with stage.borrow(model) as source:
        await source.claims(QUESTION, TEXT, CostMeter())
        await stage.judged(model)
    assert await stage.judged(model) == ("A", "B")
    assert model.calls == 1


async def test_claims_found_wrong_are_no_longer_shared() -> None:
    """While the judgement extracts them once more, a newcomer extracts them by itself, too."""
    stage, model = Stage(), Model()
    with stage.borrow(model) as source:
        await source.claims(QUESTION, TEXT, CostMeter())
        await source.claims(QUESTION, TEXT, CostMeter(), fresh=True)
        await stage.judged(model, confirmed=False)
    assert (model.calls, model.fresh) == (3, 1)


async def test_claims_that_were_extracted_once_more_take_the_place_of_the_kept() -> None:
    """The self-check goes past the cache, and what it confirms stands there."""
    stage = Stage()
    await stage.judged(Model("bad"))
    with stage.borrow(Model("good")) as source:
        assert await source.claims(QUESTION, TEXT, CostMeter()) == ("bad",)
        assert await source.claims(QUESTION, TEXT, CostMeter(), fresh=True) == ("good",)
        await source.vouch(QUESTION, TEXT, ("good",))
    assert await stage.judged(Model()) == ("good",)


async def test_claims_that_are_not_from_here_are_not_kept() -> None:
    """A judgement may be given its claims: what it finds of them says nothing of an extraction."""
    stage, model = Stage(), Model()
    with stage.borrow(model) as source:
        await source.vouch(QUESTION, TEXT, ("given",))
        await source.claims(QUESTION, TEXT, CostMeter())
        await source.vouch(QUESTION, TEXT, ("given",))
    assert stage.store.kept == {}


async def test_claims_belong_to_the_model_that_answered() -> None:
    """It is known only from the reply; what an earlier model found is found no longer."""
    stage, model = Stage(), Model()
    model.answers_as = ("model-2", "prompt")
    await stage.judged(model)
    assert list(stage.store.kept) == [claims_key(model.answers_as, QUESTION, TEXT)]
    await stage.judged(model)
    assert model.calls == 1
    await stage.judged(other := Model())
    assert other.calls == 1


async def test_a_text_without_words_is_no_lookup() -> None:
    """It has no claims, which nobody needs to be asked for."""
    stage, model = Stage(), Model()
    with stage.borrow(model) as source:
        assert await source.claims(QUESTION, "…?!", CostMeter()) == ()
    assert (model.calls, stage.heard.results(), stage.store.requests) == (0, {}, 0)


async def test_a_cancelled_judgement_leaves_the_work_to_another() -> None:
    """It was extracting; whoever waited for it extracts now."""
    stage, model = Stage(), Model()
    model.gate.clear()
    first, second = [asyncio.create_task(stage.judged(model)) for _ in range(2)]
    await settled()
    first.cancel()
    await settled()
    model.gate.set()
    assert await second == ("A", "B")
    assert first.cancelled()
    assert model.calls == 2


@pytest.mark.parametrize(
    "found",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"claims": "A"}',
        b'{"claims": [""]}',
        b'{"claims": [1]}',
        b'{"claims": ["\\ud800"]}',
        b'{"claims": ["A"], "more": 1}',
    ],
)
async def test_what_is_no_claims_is_a_miss_and_is_replaced(found: bytes) -> None:
    """Others may write to a store: what it gives is held to what a model's answer is held to."""
    stage, model = Stage(), Model()
    stage.store.kept[KEY] = found
    assert await stage.judged(model) == ("A", "B")
    assert model.calls == 1
    assert stage.store.kept[KEY] == b'{"claims": ["A", "B"]}'


async def test_two_texts_of_one_judgement_may_be_the_same() -> None:
    """A response that repeats its reference: one call, and neither waits for the other's end."""
    stage, model = Stage(), Model()
    async with asyncio.timeout(5):
        with stage.borrow(model) as source:
            jobs = [source.claims(QUESTION, TEXT, CostMeter()) for _ in range(2)]
            for claims in await asyncio.gather(*jobs):
                await source.vouch(QUESTION, TEXT, claims)
    assert model.calls == 1
    assert stage.store.requests == 2
