"""Whose connections the library's cache holds, whatever its version calls an event loop."""

from __future__ import annotations

import warnings

import httpx
import pytest

from monitor.judge.llm.library import close_kept, litellm

litellm()  # before its parts are imported: it is kept from reading a .env

from litellm.caching.llm_caching_handler import LLMClientCache  # noqa: E402


class NumberedLoops(LLMClientCache):  # type: ignore[misc]  # untyped
    """As of litellm 1.110: a loop is known by a running number."""

    number = 0

    def update_cache_key_with_event_loop(self, key: str) -> str:
        """The key with the number of the loop."""
        return f"{key}-{self.number}"


@pytest.mark.parametrize("made", [LLMClientCache, NumberedLoops])
async def test_clients_of_this_loop_are_closed(made: type[LLMClientCache]) -> None:
    """Under the names of the installed version, and under running numbers."""
    cache, client = made(), httpx.AsyncClient()
    cache.set_cache("async_httpx_client", client)
    await close_kept(cache)
    assert client.is_closed
    assert cache.cache_dict == {}


async def test_clients_of_others_stay() -> None:
    """Those of another loop, and one of no loop whose name only ends like that of one."""
    cache, other, of_no_loop = NumberedLoops(), httpx.AsyncClient(), httpx.Client()
    cache.number = 10
    cache.set_cache("async_httpx_client", other)
    cache.cache_dict["openai_client organization=shop-0"] = of_no_loop
    cache.number = 0
    await close_kept(cache)
    assert not other.is_closed
    assert not of_no_loop.is_closed
    assert len(cache.cache_dict) == 2
    await other.aclose()
    of_no_loop.close()  # noqa: ASYNC212 - nothing is sent


async def test_a_cache_that_cannot_be_asked_is_told() -> None:
    """Connections that stay open are no secret."""
    with pytest.warns(RuntimeWarning, match="litellm does not say which connections"):
        await close_kept(object())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await close_kept(LLMClientCache())
