"""OAuth tokens: shared, renewed early, kept while their source is away."""

from __future__ import annotations

import asyncio

import pytest

from monitor.kafka.auth.oauth import Token, TokenRefused, Tokens, TokenUnavailable
from tests.stages.process import until


class Clock:
    """Monotonic seconds, set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Source:
    """Numbered tokens, or an error; each waits until ``gate`` is open."""

    def __init__(self, life_s: float | None) -> None:
        self.life_s, self.fetched = life_s, 0
        self.error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self._news = asyncio.Condition()

    async def __call__(self) -> Token:
        async with self._news:
            self.fetched += 1
            number = self.fetched
            self._news.notify_all()
        await self.gate.wait()
        if self.error:
            raise self.error
        return Token(f"token-{number}", self.life_s)

    async def until_fetched(self, times: int) -> None:
        """Return when it was asked so often."""
        async with asyncio.timeout(60), self._news:
            await self._news.wait_for(lambda: self.fetched >= times)


async def renewed(tokens: Tokens, before: str) -> str:
    """The first token that is not this one."""

    async def found() -> str:
        now = await tokens.token()
        return "" if now == before else now

    return str(await until(found, "another token", every_s=0.001))


async def test_one_fetch_serves_all_who_wait() -> None:
    """Ten connections at once, one request; later ones use the same token."""
    source = Source(600)
    tokens = Tokens(source, "test")
    source.gate.clear()
    waiting = [asyncio.create_task(tokens.token()) for _ in range(10)]
    await source.until_fetched(1)
    source.gate.set()
    assert set(await asyncio.gather(*waiting)) == {"token-1"}
    assert await tokens.token() == "token-1"
    assert source.fetched == 1


async def test_who_gives_up_does_not_spoil_it_for_the_others() -> None:
    """One connection's time-out leaves the fetch alone."""
    source = Source(600)
    tokens = Tokens(source, "test")
    source.gate.clear()
    impatient, patient = (asyncio.create_task(tokens.token()) for _ in range(2))
    await source.until_fetched(1)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    source.gate.set()
    assert await patient == "token-1"
    assert source.fetched == 1


@pytest.mark.parametrize(("age_s", "found"), [(0, "token-1"), (94, "token-1"), (96, "token-2")])
async def test_a_token_near_its_end_is_not_used(age_s: float, found: str) -> None:
    """Of 100 s the last five are the login's own time and the clocks' difference."""
    clock = Clock()
    tokens = Tokens(Source(100), "test", clock=clock)
    await tokens.token()
    clock.now += age_s
    assert await tokens.token() == found


async def test_the_life_of_a_token_begins_with_the_question() -> None:
    """A slow answer does not make a token live longer than its issuer thinks."""
    clock = Clock()

    async def slow() -> Token:
        clock.now += 90
        return Token("t", 100)

    tokens = Tokens(slow, "test", clock=clock)
    await tokens.token()
    clock.now += 6
    later = asyncio.create_task(tokens.token())
    assert await later == "t"
    assert clock.now == 1_000 + 90 + 6 + 90  # fetched again


async def test_a_token_of_unknown_life_is_used_once() -> None:
    """Every connection asks for its own."""
    tokens = Tokens(Source(None), "test")
    assert [await tokens.token(), await tokens.token()] == ["token-1", "token-2"]


async def test_the_next_token_comes_by_itself() -> None:
    """At 80 % of the life, without anybody asking."""
    source = Source(1.25)  # the shortest that is not lengthened: 80 % of it are a second
    tokens = Tokens(source, "test")
    await tokens.token()
    await source.until_fetched(2)
    assert await renewed(tokens, "token-1") == "token-2"
    assert source.fetched == 2


async def test_a_source_that_is_away_leaves_the_token_that_is_there() -> None:
    """The renewal fails, the token is good for a while longer, and the renewal is tried again."""
    source = Source(1.25)
    clock = Clock()
    tokens = Tokens(source, "test", clock=clock)
    await tokens.token()
    source.error = TokenUnavailable("away")
    await source.until_fetched(2)
    assert await tokens.token() == "token-1"
    source.error = None
    await source.until_fetched(3)
    assert await renewed(tokens, "token-1") == "token-3"


@pytest.mark.parametrize("value", ["", "two words", "line\nbreak", "auth\x01host=x", "schlüssel"])
async def test_what_is_no_token_is_not_sent(value: str) -> None:
    """It would change the meaning of the login message; and it is not shown."""

    async def fetch() -> Token:
        return Token(value, 600)

    with pytest.raises(TokenRefused, match=r"^test: its reply is no token$"):
        await Tokens(fetch, "test").token()


async def test_a_source_that_hangs_is_left() -> None:
    """After the time limit, and then the next question starts over."""
    source = Source(600)
    tokens = Tokens(source, "somewhere", limit_s=0.05)
    source.gate.clear()
    with pytest.raises(TokenUnavailable, match=r"^somewhere: no token within"):
        await tokens.token()
    source.gate.set()
    assert await tokens.token() == "token-2"


def test_a_new_event_loop_gets_a_fetch_of_its_own() -> None:
    """A fetch that died with its loop is not waited for."""
    source = Source(None)
    tokens = Tokens(source, "test")

    async def leave() -> None:
        source.gate.clear()
        waiting = asyncio.create_task(tokens.token())
        await source.until_fetched(1)
        assert not waiting.done()

    async def come() -> str:
        source.gate, source._news = asyncio.Event(), asyncio.Condition()
        source.gate.set()
        return await tokens.token()

    asyncio.run(leave())
    assert asyncio.run(come()) == "token-2"
