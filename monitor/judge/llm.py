"""The LLM judge: the joint pipeline over litellm, with retries, prices and the model's identity.

The only importer of litellm, and only once a judgement needs it: the import takes seconds.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from typing import Any, Literal

import stamina

from monitor.errors import JudgeFailed, ReplyRejected
from monitor.judge.faults import CallFailed, explain
from monitor.judge.joint import MAX_CLAIMS_PER_CALL, PIPELINE, JointPipeline
from monitor.judge.parsing import Task
from monitor.judge.ports import CallObserver, Reply, Silent
from monitor.judge.prompts import Prompts, load_prompts
from monitor.judge.protocol import Bill
from monitor.records import Interaction, JudgeIdentity, Judgement, Usage

__all__ = ["CallObserver", "LlmClient", "LlmJudge", "LlmSettings"]

_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 20.0


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """How to reach the model. ``retries`` are per call; times are seconds."""

    model: str
    name: str = "llm"
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    claims_per_call: int = 8
    attempt_timeout_s: float = 30.0
    retries: int = 4
    max_tokens: int = 2048
    structured: Literal["json_object", "off"] = "json_object"
    temperature: float = 0
    seed: int | None = 7


class LlmJudge:
    """A ``Judge`` that asks a language model."""

    def __init__(
        self,
        settings: LlmSettings,
        *,
        observe: CallObserver | None = None,
        prompts: Prompts | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._settings = settings
        self._prompts = prompts or load_prompts()
        self._client = LlmClient(settings, observe=observe, rng=rng)
        self._pipeline = JointPipeline(
            self._client,
            self._prompts,
            self._identified,
            claims_per_call=settings.claims_per_call,
            observe=observe,
        )

    @property
    def identity(self) -> JudgeIdentity:
        """Model and version as of the last reply; the configured model before the first."""
        return self._identified(None)

    def _identified(self, answered: str | None) -> JudgeIdentity:
        """The identity with the model that answered; None: the one that answered last."""
        prompts, model = self._prompts.hash, answered or self._client.model_id
        claims_per_call = min(self._settings.claims_per_call, MAX_CLAIMS_PER_CALL)
        parts = (model, prompts, PIPELINE, str(claims_per_call), str(self._settings.max_tokens))
        version = blake2b("\0".join(parts).encode()).hexdigest()[:6]
        return JudgeIdentity(
            name=self._settings.name,
            version=version,
            model=model,
            prompts=prompts,
            pipeline=PIPELINE,
        )

    async def prepare(self) -> None:
        """Import the client library, which takes seconds."""
        await self._client.prepare()

    async def judge(self, interaction: Interaction, bill: Bill | None = None) -> Judgement:
        """All verdicts on one interaction; raises ``JudgeFailed`` with the usage so far."""
        return await self._pipeline.judge(interaction, bill)

    def price_per_million(self) -> tuple[float, float] | None:
        """US dollars for a million prompt and completion tokens; None where it is not known.

        To be asked after ``prepare``. As for the bills: of the configured model, by the library's
        own list.
        """
        return _list_price(self._settings.model)

    async def aclose(self) -> None:
        """Close the client library's connections, which it shares between judges."""
        await self._client.aclose()


class LlmClient:
    """The port ``Complete`` over litellm; keeps the id of the model that answered last."""

    def __init__(
        self,
        settings: LlmSettings,
        *,
        observe: CallObserver | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._settings = settings
        self._observe = observe or Silent()
        self._rng = rng or random.Random()
        self._clock = clock
        self._route: dict[str, Any] | None = None
        self.model_id = settings.model

    async def __call__(self, task: Task, system: str, user: str) -> Reply:
        """Ask, with retries of passing faults; raises ``ReplyRejected`` or ``JudgeFailed``."""
        retries = self._settings.retries
        backoff = _Backoff(retries, self._rng, self._observe)
        async for attempt in stamina.retry_context(backoff, attempts=retries + 1, timeout=None):
            with attempt:
                return await self._attempt(task, system, user)
        raise AssertionError("the last attempt returns or raises")

    async def prepare(self) -> dict[str, Any]:
        """Import the library and find the route to the model; quick from the second time on."""
        if self._route is None:
            # In a thread: the import would hold up the event loop for seconds.
            self._route = await asyncio.to_thread(_route, self._settings)
        return self._route

    async def aclose(self) -> None:
        """Close litellm's connections; forget them too, or the next judge gets closed ones."""
        if self._route is not None:
            litellm = _litellm()
            await litellm.close_litellm_async_clients()
            litellm.in_memory_llm_clients_cache.flush_cache()

    async def _attempt(self, task: Task, system: str, user: str) -> Reply:
        route = await self.prepare()
        started = self._clock()
        usage = Usage()
        error: str | None = "cancelled"
        try:
            reply = await self._send(system, user, route)
            usage, error = reply.usage, None
            return reply
        except JudgeFailed as failure:
            usage, error = failure.usage or Usage(), failure.reason
            raise
        finally:
            self._observe.call_finished(task, self._clock() - started, usage, error)

    async def _send(self, system: str, user: str, route: Mapping[str, Any]) -> Reply:
        arguments = {**_arguments(self._settings, system, user), **route}
        try:
            # The library's own timeout is per read: a trickling server would outlive it.
            async with asyncio.timeout(self._settings.attempt_timeout_s):
                response = await _litellm().acompletion(**arguments)
        except Exception as error:  # noqa: BLE001 - the library raises any kind
            # Not chained: its message may quote the traffic.
            raise _failure(error) from None
        model = getattr(response, "model", None)
        self.model_id = model if isinstance(model, str) and model else self.model_id
        return _reply(response, self._settings.model, self.model_id)


class _Backoff:
    """Whether and how long to wait: what the server asks for, else full jitter.

    Full jitter: uniform between 0 and the exponential bound (AWS Architecture Blog, 2015,
    "Exponential backoff and jitter"). After a Retry-After a first step of jitter follows, or all
    callers that were told the same second come back together.
    """

    def __init__(self, retries: int, rng: random.Random, observe: CallObserver) -> None:
        self._left, self._rng, self._observe = retries, rng, observe
        self._bound_s = _FIRST_WAIT_S

    def __call__(self, error: Exception) -> bool | float:
        if not isinstance(error, CallFailed) or not error.fault.retriable or not self._left:
            return False
        self._left -= 1
        self._observe.retried(error.reason)
        asked, bound = error.fault.wait_s, self._bound_s
        self._bound_s = min(_LONGEST_WAIT_S, 2 * bound)
        if asked is not None:
            return asked + self._rng.uniform(0.0, _FIRST_WAIT_S)
        return self._rng.uniform(0.0, bound)


def _failure(error: Exception) -> JudgeFailed:
    fault = explain(error, datetime.now(UTC))
    if fault is not None:
        return CallFailed(fault)
    rejected = ReplyRejected("the reply holds no message")
    rejected.usage = Usage(calls=1)
    return rejected


def _arguments(settings: LlmSettings, system: str, user: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": settings.model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        "temperature": settings.temperature,
        "seed": settings.seed,
        "max_tokens": settings.max_tokens,
        "timeout": settings.attempt_timeout_s,
        "max_retries": 0,
        "drop_params": True,
        "api_base": settings.api_base,
        "api_key": settings.api_key,
        "extra_headers": dict(settings.headers) or None,
    }
    if settings.structured == "json_object":
        arguments["response_format"] = {"type": "json_object"}
    return arguments


def _route(settings: LlmSettings) -> dict[str, Any]:
    """What a private endpoint needs beside its address: a provider, and a key that is not empty."""
    litellm = _litellm()
    if settings.api_base is None:
        return {}
    try:
        provider = litellm.get_llm_provider(settings.model, api_base=settings.api_base)[1]
        route: dict[str, Any] = {}
    except litellm.BadRequestError:
        # A bare model name: what serves at a given address speaks the OpenAI protocol.
        provider, route = "openai", {"custom_llm_provider": "openai"}
    if provider == "openai" and not settings.api_key and "OPENAI_API_KEY" not in os.environ:
        route["api_key"] = "none"
    return route


def _reply(response: Any, model: str, answered: str) -> Reply:
    choice = response.choices[0] if getattr(response, "choices", None) else None
    content = getattr(getattr(choice, "message", None), "content", None)
    usage = getattr(response, "usage", None)
    return Reply(
        text=content if isinstance(content, str) else "",
        finish_reason=getattr(choice, "finish_reason", None),
        model=answered,
        usage=Usage(
            calls=1,
            prompt_tokens=getattr(usage, "prompt_tokens", None) or 0,
            completion_tokens=getattr(usage, "completion_tokens", None) or 0,
            usd=_price(response, model),
        ),
    )


def _price(response: Any, model: str) -> float:
    # The library has worked it out already; a second time would be a tenth of the call's CPU.
    hidden = getattr(response, "_hidden_params", None)
    if isinstance(hidden, dict) and "response_cost" in hidden:
        return float(hidden["response_cost"] or 0.0)
    # Unpriced models raise many kinds of error; their tokens are counted all the same.
    with suppress(Exception):
        return float(_litellm().completion_cost(response, model=model))
    return 0.0


def _list_price(model: str) -> tuple[float, float] | None:
    # A thousand, not a million: some prices rise with the length of the prompt.
    with suppress(Exception):
        prompt, completion = _litellm().cost_per_token(
            model=model, prompt_tokens=1_000, completion_tokens=1_000
        )
        return prompt * 1_000, completion * 1_000
    return None


@cache
def _litellm() -> Any:
    """The library, made quiet: no price list from the network, no banners, no traffic in logs."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    # The first call would import these on the event loop: hundreds of modules, half a second.
    import openai.resources.chat
    import openai.types.chat
    import openai.types.responses  # noqa: F401 - for the side effect

    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    # Retries are counted by the observer; stamina's own hooks would print them.
    stamina.instrumentation.set_on_retry_hooks(())
    return litellm
