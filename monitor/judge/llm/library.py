"""The one door to litellm: imported late, since that takes seconds, and kept in its place.

It comes with an extra, as does stamina: what asks no model runs without both.

It takes settings from nowhere but here and the environment that this process was given: no
``.env``, of this folder or any above it, no list from the network. Nobody is told of what it does.
And it goes where it is sent: an answer that redirects is an error, for what it would take along,
texts and headers, is not for others.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from monitor.errors import ConfigurationError
from monitor.judge.provider.answered import body_of
from monitor.runtime.garbage import no_garbage

if TYPE_CHECKING:
    import stamina

_ENVIRONMENT: Final = {
    # Else it reads the first .env above its own folder: a key, and the address it is sent to.
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    # Its native client follows redirects as it likes, and nobody here can tell it not to.
    "LITELLM_RUST": "False",
}

#: Whether the call under way is ours: callbacks of those who use the library beside us see theirs.
_IS_OURS: Final[ContextVar[bool]] = ContextVar("is_ours", default=False)


def require_llm() -> None:
    """Raises ``ConfigurationError`` where the extra is missing; quick, as nothing is imported."""
    needed = ("litellm", "stamina")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"judge.kind: llm needs {' and '.join(missing)}, which this installation leaves out; "
            "pip install 'rag-monitor[llm]'"
        )


def attempts(
    on: Callable[[Exception], bool | float], most: int, limit_s: float | None
) -> AsyncIterator[stamina.Attempt]:
    """One attempt after the other, as long as ``on`` says so: stamina's, imported late, too."""
    import stamina

    return stamina.retry_context(on, attempts=most, timeout=limit_s).__aiter__()


@cache
def litellm() -> Any:
    """The library, made quiet: no banners, and no traffic in logs."""
    import stamina

    os.environ.update(_ENVIRONMENT)
    # Hundreds of thousands of objects, of which nothing is ever garbage.
    with no_garbage():
        import litellm

        # The first call would import these on the event loop: hundreds of modules, half a second.
        for name in ("openai.resources.chat", "openai.types.chat", "openai.types.responses"):
            importlib.import_module(name)

    hush()
    _follow_no_redirects()
    _log_no_calls_of_ours()
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.telemetry = False
    # Retries are counted by the observer; stamina's own hooks would print them.
    stamina.instrumentation.set_on_retry_hooks(())
    return litellm


def _follow_no_redirects() -> None:
    """For every client that the library makes: what it asks is answered as it came, or fails.

    It builds clients in many places, of httpx, and told to follow. What httpx follows is an answer
    of which it says that it has a place to go to. Tokens are asked for by requests (for Databricks,
    and within Google's and Databricks' own libraries), which asks its session where to go to.
    Nobody else here uses either. Amazon's library follows nothing by itself.
    """
    import httpx

    setattr(httpx.Response, "has_redirect_location", property(lambda _: False))  # noqa: B010
    with suppress(ImportError):  # one of the library's libraries needs it, as yet
        import requests

        def refused(_session: requests.Session, answer: requests.Response) -> None:
            if answer.is_redirect:
                raise requests.HTTPError("a redirect", response=answer)

        setattr(requests.Session, "get_redirect_target", refused)  # noqa: B010


@cache
def _is_told_to_nobody() -> ContextVar[bool]:
    """The library's own mark of a call of which it tells no callback, where its version has one.

    It saves the record of a failed call, too, which is half of what such a call computes.
    """
    with suppress(ImportError):
        from litellm._internal_context import is_internal_call as mark

        return cast("ContextVar[bool]", mark)
    return _IS_OURS


async def completion(**arguments: Any) -> Any:
    """One call of the library, of whose end it tells no callback.

    Loggers of others in the process that ask for ``log_pre_api_call`` or ``log_post_api_call``
    hear of it all the same: it has no switch for those.
    """
    library, marks = litellm(), {_IS_OURS, _is_told_to_nobody()}
    tokens = [(mark, mark.set(True)) for mark in marks]
    try:
        return await library.acompletion(**arguments)
    finally:
        for mark, token in tokens:
            mark.reset(token)


def name_prefix(answer: Any, body: str) -> str | None:
    """What the library puts before the model that the ``body`` of an answer names, on its route.

    None where it makes another name of it.
    """
    told, name = body_of(body), getattr(answer, "model", None)
    own = told.get("model") if isinstance(told, dict) else None
    if not (isinstance(name, str) and isinstance(own, str) and own and name.endswith(own)):
        return None
    return name.removesuffix(own)


def read_without_probabilities(body: str, prefix: str) -> Any | None:
    """The library's object of an answer, with probabilities as they came; None of what is none.

    Some servers leave out a field of a token, or have null there. The library then rejects the
    whole answer, and with it a reply that is well. ``prefix`` goes before the model's name.
    """
    with suppress(Exception):  # whatever else is wrong with it
        told = body_of(body)
        logprobs = [choice.pop("logprobs") for choice in told["choices"]]
        answer = litellm().ModelResponse(**told)
        answer.model = prefix + answer.model
        for choice, found in zip(answer.choices, logprobs, strict=True):
            choice.logprobs = found
        return answer
    return None


def _log_no_calls_of_ours() -> None:
    """There is one worker a process for what callbacks are told, and it lives in one event loop.

    Calls from loops in several threads would take it from each other: it prints a traceback each.
    """
    from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER as worker

    enqueue = worker.ensure_initialized_and_enqueue

    def of_others(async_coroutine: Coroutine[Any, Any, Any]) -> None:
        if _IS_OURS.get():
            async_coroutine.close()
        else:
            enqueue(async_coroutine)

    setattr(worker, "ensure_initialized_and_enqueue", of_others)  # noqa: B010


async def close_kept(kept: Any) -> None:
    """Close the clients that ``kept``, a cache of the library's, holds for the running event loop.

    It names its loops by what its version likes: their addresses up to 1.106, then running numbers.
    So it is asked itself.
    """
    try:
        of_this_loop = kept.update_cache_key_with_event_loop("")
        clients: dict[str, Any] = kept.cache_dict
    except AttributeError as error:
        warnings.warn(
            f"this version of litellm does not say which connections are of this event loop: they "
            f"stay open until it closes them itself ({error}); install one that rag-monitor knows: "
            "pip install 'litellm<2'",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    if not of_this_loop:  # without a loop in the keys nobody knows whose a client is
        return
    for key in [key for key in clients if key.endswith(of_this_loop)]:
        # Its own client of httpx, under one name or the other.
        client = clients[key]
        held = getattr(client, "_client", None) or getattr(client, "client", None) or client
        # One that is not async is of no loop: its key only happens to end so.
        if callable(close := getattr(held, "aclose", None)):
            del clients[key]
            with suppress(Exception):
                await close()


async def close_connections() -> None:
    """Close the clients that the library keeps for the running event loop, and forget them.

    Each belongs to the loop it was made in. Those of other loops, and of others who use the library
    in this process, stay as they are.
    """
    library, loop = litellm(), asyncio.get_running_loop()
    await close_kept(library.in_memory_llm_clients_cache)
    shared = getattr(library, "base_llm_aiohttp_handler", None)
    session = getattr(shared, "client_session", None)
    if shared is not None and getattr(session, "_loop", None) is loop:
        with suppress(Exception):
            await shared.close()


def hush() -> None:
    """No warnings of the library's doings: some quote the traffic."""
    # Said of calls that are cancelled while the library makes their request in a thread.
    warnings.filterwarnings("ignore", r"coroutine '.*a(?:sync_)?completion' was never awaited")
    # Said of replies with values of other types than the protocol's, and it quotes the values.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings")


@cache
def list_price(model: str) -> tuple[float, float] | None:
    """US dollars for a million prompt and completion tokens, by the library's list."""
    # A thousand, not a million: some prices rise with the length of the prompt.
    with suppress(Exception):
        prompt, completion = litellm().cost_per_token(
            model=model, prompt_tokens=1_000, completion_tokens=1_000
        )
        return prompt * 1_000, completion * 1_000
    return None


def count_tokens(text: str) -> int:
    """Tokens by cl100k_base, which comes with the library: near enough for most models."""
    return len(litellm().encoding.encode(text, disallowed_special=()))
