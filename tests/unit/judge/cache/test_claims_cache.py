"""Claims of texts: kept once confirmed, shared while they are checked, never from a bad store."""

from __future__ import annotations

import asyncio

import pytest

from monitor.errors import JudgeFailed
from monitor.judge.cache.claims import Borrowing, ClaimsCache
from monitor.judge.cache.keys import claims_key
from tests.unit.judge.cache.hearing import Failing, Heard
from tests.unit.judge.cache.test_flights import settled

KEY = claims_key(["model", "prompt"], "Why?", "A. B.")


class Model:
    """Extracts A and B; it waits at the gate if it is closed."""

    def __init__(self, *claims: str) -> None:
        self.calls = 0
        self.said: tuple[str, ...] = claims or ("A", "B")
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> tuple[str, ...]:
        self.calls += 1
        await self.gate.wait()
        return self.said


class Stage:
    """A cache, its store and who listens."""

    def __init__(self) -> None:
        self.store, self.heard = Failing(), Heard()
        self.cache = ClaimsCache(self.store, self.heard)

    async def judged(self, model: Model, *, confirmed: bool = True) -> tuple[str, ...]:
        """One judgement; ``confirmed`` says whether a claim's own text supports it."""
        with self.cache.borrow() as borrowing:
            claims = await borrowing.claims(KEY, model)
            if confirmed:
                await borrowing.confirm(KEY, claims)
        return claims


async def test_confirmed_claims_are_not_asked_for_again() -> None:
    """The second judgement has them without a call."""
    stage, model = Stage(), Model()
    assert await stage.judged(model) == ("A", "B")
    assert await stage.judged(model) == ("A", "B")
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

    async def failing() -> tuple[str, ...]:
        raise JudgeFailed("no", reason="timeout")

    with stage.cache.borrow() as borrowing, pytest.raises(JudgeFailed):
        await borrowing.claims(KEY, failing)
    assert stage.store.kept == {}
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
    with stage.cache.borrow() as borrowing:
        await borrowing.claims(KEY, model)
        await stage.judged(model, confirmed=False)
        assert model.calls == 1
    await stage.judged(model, confirmed=False)
    assert model.calls == 2


async def test_one_of_those_who_share_is_enough_to_keep_them() -> None:
    """The first judgement fails after the extraction; the second confirms the same claims."""
    stage, model = Stage(), Model()
    with stage.cache.borrow() as borrowing:
        await borrowing.claims(KEY, model)
        await stage.judged(model)
    assert await stage.judged(model) == ("A", "B")
    assert model.calls == 1


async def test_disowned_claims_are_no_longer_shared() -> None:
    """Found wrong, they are extracted anew by the next, while the judgement still runs."""
    stage, model = Stage(), Model()
    with stage.cache.borrow() as borrowing:
        await borrowing.claims(KEY, model)
        borrowing.disown(KEY)
        await stage.judged(model, confirmed=False)
        assert model.calls == 2


async def test_claims_that_were_extracted_once_more_take_the_place_of_the_kept() -> None:
    """The self-check goes past the cache, and what it confirms stands there."""
    stage = Stage()
    await stage.judged(Model("bad"))
    with stage.cache.borrow() as borrowing:
        assert await borrowing.claims(KEY, Model()) == ("bad",)
        await borrowing.confirm(KEY, ("good",))
    assert await stage.judged(Model()) == ("good",)


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
        with stage.cache.borrow() as borrowing:
            found = await asyncio.gather(*(borrowing.claims(KEY, model) for _ in range(2)))
            await borrowing.confirm(KEY, found[0])
            await borrowing.confirm(KEY, found[1])
    assert model.calls == 1


def test_a_borrowing_needs_no_cache_that_was_asked() -> None:
    """Leaving it unused is fine."""
    with ClaimsCache(Failing(), Heard()).borrow() as borrowing:
        assert isinstance(borrowing, Borrowing)
