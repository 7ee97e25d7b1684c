"""The LLM judge: a pipeline over litellm, with retries, prices and the model's identity."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeGuard

from monitor.errors import JudgeFailed, ReplyRejected
from monitor.judge.allowance import may_ask_again
from monitor.judge.cache.claims import CachedExtractor, ClaimsCache
from monitor.judge.limits.deadline import is_bounded
from monitor.judge.limits.provider_gate import Call, ProviderGate
from monitor.judge.limits.provider_gates import ProviderGates
from monitor.judge.limits.retries import Retries
from monitor.judge.llm import yes_no
from monitor.judge.llm.abilities import (
    REASONING_TOKENS,
    Abilities,
    ReplyForm,
    has_patterns,
    response_format,
)
from monitor.judge.llm.forms import TakenForms, TakenProbabilities
from monitor.judge.llm.library import (
    attempts,
    close_connections,
    completion,
    count_tokens,
    list_price,
    litellm,
    name_prefix,
    read_without_probabilities,
    require_llm,
)
from monitor.judge.manner import Manner, MannerChoice
from monitor.judge.pipeline.asking import TOO_LONG, Asker
from monitor.judge.pipeline.complaints import Complaint
from monitor.judge.pipeline.evidence import Quoter
from monitor.judge.pipeline.extraction import Extract, Extractor
from monitor.judge.pipeline.identity import LlmSettings, extraction_version, identify
from monitor.judge.pipeline.material import estimated_tokens
from monitor.judge.pipeline.model_ids import ModelIds, is_usable, secrets_of
from monitor.judge.pipeline.pairing import PairRequest, word
from monitor.judge.pipeline.pairs import AskedModel, PairVerifier
from monitor.judge.pipeline.parsing import PassageOrder, VerifyRequest, passage_order
from monitor.judge.pipeline.pipeline import Pipeline
from monitor.judge.pipeline.plans import PLANS, joint
from monitor.judge.pipeline.prompts import Prompts, load_prompts
from monitor.judge.pipeline.relevance import Relevance
from monitor.judge.ports import CallObserver, Reply, Silent, Task, Terms
from monitor.judge.protocol import CostMeter
from monitor.judge.provider.answered import written_in
from monitor.judge.provider.faults import (
    NO_ANSWER,
    CallFailed,
    Fault,
    ProviderAnswer,
    explain,
    fault_in,
)
from monitor.judge.provider.refusals import Action
from monitor.judge.verifier import NamedPairJudge, verifier_of
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement, Usage
from monitor.runtime.logs import logger

__all__ = ["CallObserver", "LlmClient", "LlmJudge", "LlmSettings"]

#: Probabilities that the library cannot read: without them the same request may be answered.
_NOT_WHOLE: Final = Fault("malformed_reply", "its log-probabilities are not whole", Action.RETRY)
#: Tokens of a reply whose length nobody knows before: claims, quotes.
MAX_TOKENS: Final = 2_048
_PLAIN: Final = Terms()
_SAID_OF: Final = {
    Manner.SHAPED: "judge_examples_shaped",
    Manner.ONE_CLAIM: "judge_claims_one_by_one",
}


class LlmJudge:
    """A ``Judge`` that asks a language model; ``listen`` is told every user message it sends.

    With a ``verifier``, given or of the settings, the model takes claims out of texts, and that
    verifies them.

    ``order`` is that in which passages are shown, if it is not the usual one of the settings.
    The ``manner`` is shared by judges of one model: what one learns of it holds for the others.
    Judges with the same ``provider_gates`` share what their models bear. Raises
    ``ConfigurationError`` where the extra ``llm`` is not installed.
    """

    def __init__(
        self,
        settings: LlmSettings,
        *,
        observe: CallObserver | None = None,
        prompts: Prompts | None = None,
        rng: random.Random | None = None,
        cache: ClaimsCache | None = None,
        listen: Callable[[str], None] | None = None,
        order: PassageOrder | None = None,
        provider_gates: ProviderGates | None = None,
        verifier: NamedPairJudge | None = None,
        manner: MannerChoice | None = None,
    ) -> None:
        require_llm()
        self._settings = settings
        self._verifier = verifier or verifier_of(settings)
        self._listen = listen
        self._provider_gates = provider_gates or ProviderGates(rng=rng)
        pairs = settings.pipeline == "pairs"
        self._prompts = prompts or _prompts(settings)
        self._clients = tuple(
            LlmClient(
                made,
                observe=observe,
                rng=rng,
                provider_gate=self._provider_gates.of(made),
                ids=self._provider_gates.ids.of(made),
            )
            for made in map(settings.of_model, settings.models())
        )
        self.manner = manner or self._own_manner()
        asker = Asker(self._complete, self._prompts, observe, self.manner)
        extract: Extract = Extractor(asker)
        if cache is not None:
            extract = CachedExtractor(extract, cache, self._extraction_version)
        self._pipeline = Pipeline(
            asker,
            extract,
            self.identified,
            planner=PLANS.get(settings.pipeline, joint),
            caps=settings.caps,
            order=order or partial(passage_order, seed=settings.order_seed),
            quoter=Quoter(asker, settings.caps) if settings.quotes else None,
            relevance=Relevance(asker, settings.relevance_caps) if settings.relates else None,
            asks_answer=settings.asks_answer,
            ceiling=settings.ceiling,
            at_once=settings.calls_at_once,
            pair_verifier=self._pair_verifier(observe) if pairs else None,
        )

    def _pair_verifier(self, observe: CallObserver | None) -> PairVerifier:
        caps, threshold = self._settings.caps, self._settings.threshold
        if self._verifier is not None:
            return PairVerifier(self._verifier, caps, threshold, asks=False)
        model = AskedModel(self._complete, self._prompts, observe)
        return PairVerifier(model, caps, threshold)

    @property
    def identity(self) -> JudgeIdentity:
        """Model and version as of the last reply; the configured model before the first."""
        return self.identified(CostMeter(manner=self.manner.now))

    def identified(self, spent: CostMeter) -> JudgeIdentity:
        """The identity with the models that answered this; otherwise those that did last."""
        of_pairs = self._settings.pipeline == "pairs"
        # Else no request has an example.
        has_shape = not of_pairs or self._settings.relates or self._settings.quotes
        manner = spent.manner if has_shape else Manner.FIXED
        if self._verifier is not None:
            extracts = spent.models.get("extract_claims") or self._clients[-1].model_id
            found = (self._verifier.name, extracts)
            return identify(self._settings, self._prompts.hash, found, manner)
        tasks: tuple[Task, ...] = (
            PairRequest.task if of_pairs else VerifyRequest.task,
            "extract_claims",
        )
        if len(self._clients) == 1:
            answered = next((spent.models[t] for t in tasks if t in spent.models), None)
            models: tuple[str, ...] = (answered or self._clients[0].model_id,)
        else:
            pairs = zip(tasks, self._clients, strict=True)
            models = tuple(spent.models.get(task) or client.model_id for task, client in pairs)
        return identify(self._settings, self._prompts.hash, models, manner)

    def ask_for_shaped(self) -> bool:
        """Show examples of the very shape of each request from now on; whether that is new.

        A pair has one shape, and no example.
        """
        return self._settings.pipeline != "pairs" and self.manner.ask_for_shaped()

    def _own_manner(self) -> MannerChoice:
        return MannerChoice(self._settings.examples, self._report_manner, self._report_trial)

    def _report_manner(self, manner: Manner) -> None:
        """From here on it is another version of the judge."""
        logger().warning(_SAID_OF[manner], model=self._settings.model)

    def _report_trial(self) -> None:
        logger().info("judge_one_claim_trial", model=self._settings.model)

    def _extraction_version(self) -> tuple[str, ...]:
        model = self._clients[-1].model_id
        return extraction_version(self._settings, self._prompts.longest("extract_claims"), model)

    async def _complete(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        """The port of the pipeline: extraction to the last client, all else to the first."""
        if self._listen is not None:
            self._listen(user)
        client = self._clients[-1 if task == "extract_claims" else 0]
        return await client(task, system, user, terms)

    async def prepare(self) -> None:
        """Import the client library, which takes seconds, and load the verifier's model."""
        for client in self._clients:
            await client.prepare()
        if self._verifier is not None:
            await self._verifier.prepare()

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        """All verdicts on one interaction; raises ``JudgeFailed`` with the usage so far.

        With ``claims`` given, those are verified and nothing is extracted.
        """
        return await self._pipeline.judge(interaction, cost_meter, claims)

    def _foresee(self, interaction: Interaction, claims: Claims) -> None:
        self._pipeline.foresee(interaction, claims)

    def price_per_million(self) -> tuple[float, float] | None:
        """US dollars for a million prompt and completion tokens; None where it is not known.

        To be asked after ``prepare``. As for the bills: of the configured model, by the library's
        own list.
        """
        return _price_per_million(self._settings)

    def unpriced(self) -> list[str]:
        """Its models whose price nobody knows. To be asked after ``prepare``."""
        made = map(self._settings.of_model, self._settings.models())
        return [one.model for one in made if _price_per_million(one) is None]

    @property
    def refused_forms(self) -> frozenset[ReplyForm]:
        """The ways to hold replies to JSON that a provider has refused."""
        return frozenset().union(*(client.forms.refused for client in self._clients))

    @property
    def broken_forms(self) -> frozenset[ReplyForm]:
        """Those at which it had an error of its own the last time, and answered in another one."""
        return frozenset().union(*(client.forms.broken for client in self._clients))

    def without_form(self) -> LlmJudge | None:
        """One that is asked the same and holds no reply to a form; None where this is that one.

        Both share their connections.
        """
        if self._settings.structured == "prompt":
            return None
        made = replace(self._settings, structured="prompt")
        return LlmJudge(made, prompts=self._prompts, verifier=self._verifier)

    async def aclose(self) -> None:
        """Close the client library's connections, which it shares between judges."""
        for client in self._clients:
            await client.aclose()


def _prompts(settings: LlmSettings) -> Prompts:
    return load_prompts(
        evidence=settings.quotes,
        relevance=settings.relates,
        pairs=settings.pipeline == "pairs",
        answers=settings.asks_answer,
    )


class LlmClient:
    """The port ``Complete`` over litellm; keeps the id of the model that answered last.

    ``forms``: which of them its provider takes.
    """

    def __init__(
        self,
        settings: LlmSettings,
        *,
        observe: CallObserver | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.perf_counter,
        provider_gate: ProviderGate | None = None,
        ids: ModelIds | None = None,
    ) -> None:
        self._settings = settings
        self._ids = ids or ModelIds(settings.model)
        self._secrets, self._reported = secrets_of(settings, os.environ), False
        self._provider_gate = provider_gate or ProviderGates(rng=rng).of(settings)
        self._observe = observe or Silent()
        self._rng = rng or random.Random()
        self._clock, self._thinks = clock, False
        self.forms = TakenForms()
        self._route: _Route | None = None
        self._probabilities, self._weighs_not = TakenProbabilities(), False
        self._prefix: str | None = None
        self.model_id = settings.model

    async def __call__(self, task: Task, system: str, user: str, terms: Terms = _PLAIN) -> Reply:
        """Ask, with retries of passing faults; raises ``ReplyRejected`` or ``JudgeFailed``."""
        retries = self._settings.retries
        # A deadline stands still while a call waits for the limits, and stamina's clock does not.
        limit_s = None if is_bounded() else self._settings.retries_s
        asked = _Question(task, system, user, terms)
        tokens, size = sum(map(estimated_tokens, asked.texts)), _bytes(*asked.texts)
        may_ask = partial(may_ask_again, tokens)
        waits = Retries(retries, self._rng, self._observe, may_ask, terms.following)
        try:
            async for attempt in attempts(waits, retries + 1, limit_s):
                with attempt:
                    route = await self.prepare()
                    async with self._provider_gate.call(task, size) as call:
                        if task == PairRequest.task:
                            reply = await self._weighed(asked, route, call, tokens)
                        else:
                            first = attempt.num == 1
                            reply = await self._formed(asked, route, call, tokens, is_first=first)
                    return replace(reply, usage=asked.bill.usage)
        except JudgeFailed as failure:
            failure.usage = asked.bill.usage
            raise
        except asyncio.CancelledError:
            terms.cut_off(asked.bill.usage)
            raise
        raise AssertionError("the last attempt returns or raises")

    async def prepare(self) -> _Route:
        """Import the library and find the route to the model; quick from the second time on."""
        if self._route is None:
            # In a thread: the import would hold up the event loop for seconds.
            self._route = await asyncio.to_thread(_route, self._settings)
        return self._route

    async def aclose(self) -> None:
        """Close the connections that litellm keeps for this event loop, and no others."""
        if self._route is not None:
            await close_connections()

    async def _request(
        self,
        asked: _Question,
        route: _Route,
        call: Call,
        form: ReplyForm = "prompt",
        *,
        weighed: bool = False,
    ) -> Reply:
        """One request of a call; its cost goes on the bill, and who counts is told how it ended."""
        started = self._clock()
        usage = Usage()
        error: str | None = "cancelled"
        try:
            reply = await self._send(asked, route, form, weighed=weighed)
            usage, error = reply.usage, None
            call.tokens = usage.tokens
            self._thinks = self._thinks or _was_thinking(reply)
            return reply
        except JudgeFailed as failure:
            usage, error = failure.usage or Usage(), failure.reason
            call.tokens = usage.tokens or None
            if isinstance(failure, CallFailed):
                if failure.fault.is_cut_off:
                    call.tokens = None  # what the reply would have had is not known
                call.failed(failure.fault)
            raise
        except asyncio.CancelledError:
            usage = _counted(asked.texts, "", self._settings)
            raise
        finally:
            asked.bill.usage += usage
            self._observe.call_finished(asked.task, self._clock() - started, usage, error)

    async def _formed(
        self, asked: _Question, route: _Route, call: Call, tokens: int, *, is_first: bool
    ) -> Reply:
        """The reply to it in the first form that the provider takes.

        An error of its own may pass, and as well be its way to refuse a form. Where nobody but us
        has chosen the form, the first attempt finds out.
        """
        finds_out = is_first and self._settings.structured == "auto"
        tried = self.forms.begin(route.forms, patterns=has_patterns(asked.terms.properties))
        for form in tried.left:
            try:
                reply = await self._request(asked, route, call, form)
            except JudgeFailed as failure:
                usage = failure.usage or Usage()
                fault = failure.fault if isinstance(failure, CallFailed) else None
                # A model that has begun to write was held to the form.
                breaks = finds_out and not usage.completion_tokens and _is_an_error(fault)
                may_be_the_form = breaks or _is_a_refusal(fault)
                if form == tried.left[-1] or not may_be_the_form or not may_ask_again(tokens):
                    raise
                (tried.broke if breaks else tried.refused).add(form)
                await call.again()
            else:
                if (of := self.forms.answered(tried, form)) is not None:
                    model = self._settings.model
                    logger().warning("judge_patterns_refused", model=model, of=of, takes=form)
                return reply
        raise AssertionError("the last form returns or raises")

    async def _weighed(self, asked: _Question, route: _Route, call: Call, tokens: int) -> Reply:
        """The reply of one word, with its probability where the server tells it."""
        taken, before = self._probabilities, self._probabilities.broke
        try:
            reply = await self._request(asked, route, call, weighed=taken.asked)
            taken.told()
            tells_none = reply.yes is None and word(reply.text) is not None
        except _LogprobsRefused as refused:
            if not may_ask_again(tokens):
                raise
            await call.again()
            reply = await self._request(asked, route, call)
            if word(reply.text) is not None:
                taken.refused(before, passes=refused.fault.retriable)
            tells_none = not taken.asked
        if tells_none and not self._weighs_not:
            self._weighs_not = True
            logger().warning("judge_tells_no_probabilities", model=self._settings.model)
        return reply

    async def _send(
        self, asked: _Question, route: _Route, shape: ReplyForm = "prompt", *, weighed: bool = False
    ) -> Reply:
        arguments = {**_arguments(self._settings, asked), **route.arguments}
        usual = arguments["max_tokens"]
        if route.reasons or self._thinks:
            arguments["max_tokens"] += REASONING_TOKENS
        if asked.task == PairRequest.task:
            arguments = yes_no.arguments(arguments, usual, weighed=weighed)
        elif (form := response_format(shape, asked.task, asked.terms.properties)) is not None:
            arguments["response_format"] = form
        captured = _ResponseCapture()
        try:
            # The library's own timeout is per read: a trickling server would outlive it.
            async with asyncio.timeout(self._settings.attempt_timeout_s):
                response = await completion(**arguments, logger_fn=captured)
        except Exception as error:  # noqa: BLE001 - the library raises any kind
            fault = explain(error, datetime.now(UTC), answer := captured.answer())
            if weighed and _may_be_of_weights(fault, f"{error}{answer.body}"):
                raise _LogprobsRefused(fault) from None
            unreadable = weighed and fault is None
            found = self._read(answer.body, asked) if unreadable else None
            if found is None:
                usage = _unread(answer, fault, asked.texts, self._settings)
                # Not chained: its message may quote the traffic.
                raise _failure(fault, usage) from None
            response = found
        if (fault := fault_in(captured.answer(response), datetime.now(UTC))) is not None:
            reply = _reply(response, self._settings, self.model_id, asked.texts)
            raise _failure(fault, reply.usage if reply.text else _usage(response, self._settings))
        if self._prefix is None and self._settings.pipeline == "pairs":
            self._prefix = name_prefix(response, captured.answer(response).body)
        self._answered(getattr(response, "model", None))
        return _reply(response, self._settings, self.model_id, asked.texts)

    def _read(self, body: str, asked: _Question) -> Any | None:
        """An answer that the library rejects for its probabilities, as it would have read it.

        Raises ``_LogprobsRefused`` where that is not known: nobody has answered yet, or it would
        have taken thoughts out.
        """
        answer = read_without_probabilities(body, self._prefix or "")
        if answer is None:
            return None
        reply = _reply(answer, self._settings, "", asked.texts)
        if self._prefix is None or reply.text.lstrip().startswith("<"):
            raise _LogprobsRefused(_NOT_WHOLE, reply.usage)
        return answer

    def _answered(self, model_id: object) -> None:
        """Who has answered, as far as that can be told: no record shows what was sent in trust."""
        if self._settings.version_from == "configured" or not isinstance(model_id, str):
            return
        if is_usable(model_id, self._secrets):
            self.model_id = self._ids.name(model_id)
        elif model_id:
            self.model_id = self._settings.model
            if not self._reported:
                logger().warning("judge_id_unusable", model=self._settings.model)
            self._reported = True


def _bytes(*texts: str) -> int:
    return sum(len(text.encode()) for text in texts)


def _may_be_of_weights(fault: Fault | None, told: str) -> TypeGuard[Fault]:
    """Whether it may be the probabilities that a server does not give; not where it is to wait."""
    return fault is not None and fault.action != Action.WAIT and "logprob" in told.lower()


class _LogprobsRefused(CallFailed):
    """The server refuses the request since it asks for probabilities; it may answer without."""


class _ResponseCapture:
    """What the library was given, before it makes something better of it."""

    def __init__(self) -> None:
        self._body, self._details = "", NO_ANSWER.headers

    def __call__(self, details: Mapping[str, Any]) -> None:
        """The library's hook for what it sends and gets; the first text is the provider's."""
        found = details.get("original_response")
        if not self._body and isinstance(found, str):
            self._body, self._details = found, details

    def answer(self, made_of_it: Any = None) -> ProviderAnswer:
        """With headers where the library tells them: always with what it has made of the answer.

        Of an answer that it rejects, only by some of its routes: OpenAI's and Azure's are among
        them.
        """
        # Put there only after the hook was called.
        response_headers = self._details.get("response_headers")
        headers = getattr(made_of_it, "_response_headers", None) or response_headers
        return ProviderAnswer(
            self._body, headers if isinstance(headers, Mapping) else NO_ANSWER.headers
        )


def _failure(fault: Fault | None, usage: Usage | None = None) -> JudgeFailed:
    if fault is not None and fault.action is not Action.SHRINK:
        return CallFailed(fault, usage)
    rejected = (
        ReplyRejected(
            f"the model takes no request as long as this ({fault.note})", kind=None, reason=TOO_LONG
        )
        if fault
        else ReplyRejected("the reply holds no message", kind=Complaint.EMPTY)
    )
    rejected.usage = usage or Usage(calls=1)
    return rejected


@dataclass(slots=True)
class _Bill:
    """What has been asked until now, whatever became of each request, has cost so much."""

    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class _Question:
    """One question, with all that is sent with it, and the bill of its requests."""

    task: Task
    system: str
    user: str
    terms: Terms
    bill: _Bill = field(default_factory=_Bill)

    @property
    def texts(self) -> tuple[str, ...]:
        """All of it, in the order of sending."""
        return self.system, *(text for turn in self.terms.turns for text in turn), self.user

    def messages(self) -> list[dict[str, str]]:
        """As providers take them: system, turns of user and assistant, user."""
        roles = ("system", *("user", "assistant") * len(self.terms.turns), "user")
        pairs = zip(roles, self.texts, strict=True)
        return [{"role": role, "content": text} for role, text in pairs]


def _is_a_refusal(fault: Fault | None) -> bool:
    """Whether it is this request that the provider refuses, for no reason that is known."""
    return fault is not None and (fault.action, fault.reason) == (Action.FALLBACK, "rejected")


def _is_an_error(fault: Fault | None) -> bool:
    """Whether the provider has answered by an error of its own, other than that of too much to do.

    Some do where they cannot hold a reply to a form.
    """
    return fault is not None and (fault.action, fault.reason) == (Action.RETRY, "server_error")


def _was_thinking(reply: Reply) -> bool:
    """Whether a reply was cut before its first word: its tokens went into thoughts."""
    return reply.finish_reason == "length" and not reply.text.strip()


def _arguments(settings: LlmSettings, asked: _Question) -> dict[str, Any]:
    return {
        "model": settings.model,
        "messages": asked.messages(),
        "temperature": settings.temperature,
        "seed": settings.seed,
        "max_tokens": settings.max_tokens or asked.terms.tokens or MAX_TOKENS,
        "timeout": settings.attempt_timeout_s,
        "max_retries": 0,
        "drop_params": True,
        "api_base": settings.api_base,
        "api_key": settings.api_key,
        "extra_headers": dict(settings.headers) or None,
    }


@dataclass(frozen=True, slots=True)
class _Route:
    """How a model is reached and told what it can be told: found once, the same for all calls."""

    arguments: Mapping[str, Any]
    forms: tuple[ReplyForm, ...]
    reasons: bool


def _route(settings: LlmSettings) -> _Route:
    provider, arguments = _provider(settings)
    abilities = _abilities(settings.model, provider, settings.api_base)
    effort = abilities.effort(settings.reasoning_effort)
    if effort is not None:
        arguments["reasoning_effort"] = effort
    reasons = effort not in (None, "none")
    return _Route(arguments, abilities.forms(settings.structured), reasons)


def _provider(settings: LlmSettings) -> tuple[str, dict[str, Any]]:
    """Who serves the model, and what a private endpoint needs: a provider, and some key."""
    library = litellm()
    arguments: dict[str, Any] = {}
    try:
        provider = library.get_llm_provider(settings.model, api_base=settings.api_base)[1]
    except library.BadRequestError:
        provider = "openai"
        if settings.api_base is not None:
            # A bare model name: what serves at a given address speaks the OpenAI protocol. Spoken
            # without OpenAI's own library, as here, it costs a third less CPU.
            provider = "hosted_vllm"
            arguments["custom_llm_provider"] = provider
    keyless = settings.api_base is not None and not settings.api_key
    if provider == "hosted_vllm" and keyless:
        arguments["api_key"] = os.environ.get("OPENAI_API_KEY", "none")
    elif provider == "openai" and keyless and "OPENAI_API_KEY" not in os.environ:
        arguments["api_key"] = "none"
    return provider, arguments


def _abilities(model: str, provider: str, api_base: str | None) -> Abilities:
    library, name = litellm(), model.removeprefix(f"{provider}/")
    parameters = library.get_supported_openai_params(name, provider) or ()
    info: Mapping[str, Any] = {}
    # Raised for every model that is not in the library's table: nothing is known of it then.
    with suppress(Exception):
        info = library.get_model_info(name, provider)
    return Abilities.read(provider, frozenset(parameters), info, api_base)


def _reply(response: Any, settings: LlmSettings, answered: str, asked: tuple[str, ...]) -> Reply:
    choice = response.choices[0] if getattr(response, "choices", None) else None
    content = getattr(getattr(choice, "message", None), "content", None)
    text = content if isinstance(content, str) else ""
    usage, said = _usage(response, settings), word(text)
    return Reply(
        text=text,
        finish_reason=getattr(choice, "finish_reason", None),
        yes=None if said is None else yes_no.probability(choice, text, said=said),
        model=answered,
        # Some servers and gateways leave it out; limits and budget would hold nothing back.
        usage=usage if _is_whole(usage, text) else _counted(asked, text, settings),
    )


def _is_whole(usage: Usage, text: str) -> bool:
    """Whether it says what was sent, and what came back."""
    return usage.prompt_tokens > 0 and (usage.tokens > usage.prompt_tokens or not text)


def _counted(asked: tuple[str, ...], text: str, settings: LlmSettings) -> Usage:
    """The usage of a reply that says none."""
    prompt, completion = sum(map(count_tokens, asked)), count_tokens(text)
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=completion,
        usd=_cost(settings, prompt, completion),
    )


def _unread(
    answer: ProviderAnswer, fault: Fault | None, asked: tuple[str, ...], settings: LlmSettings
) -> Usage | None:
    """The usage of an answer that the library rejects, where a model has written something.

    What is no reply at all costs nothing, and neither does an error without a word of a reply. Of a
    request that was cut off the prompt counts: more is not known, and it is billed at least.
    """
    written = written_in(answer.body)
    if written is None or (fault is not None and not written):
        return _counted(asked, "", settings) if fault and fault.is_cut_off else None
    return _counted(asked, written, settings)


def _cost(settings: LlmSettings, prompt: int, completion: int) -> float:
    """US dollars for so many tokens, by the settings or the list; 0 where nobody knows."""
    price = _price_per_million(settings) or (0.0, 0.0)
    return (prompt * price[0] + completion * price[1]) / 1e6


def _usage(response: Any, settings: LlmSettings) -> Usage:
    """What a reply cost; providers count reasoning among the completion."""
    usage = getattr(response, "usage", None)
    completion = _tokens(usage, "completion_tokens")
    details = getattr(usage, "completion_tokens_details", None)
    reasoning = min(completion, _tokens(details, "reasoning_tokens"))
    prompt = _tokens(usage, "prompt_tokens")
    usd = _price(response, settings.model) if settings.price is None else 0.0
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=completion - reasoning,
        reasoning_tokens=reasoning,
        # The library looks some providers' models up by the name in the reply, which may be a
        # gateway's own: what has a price would be free, and the budget never spent.
        usd=usd or _cost(settings, prompt, completion),
    )


def _tokens(usage: Any, name: str) -> int:
    """A number that a server made up may be below zero; that says nothing."""
    return max(0, getattr(usage, name, None) or 0)


def _price(response: Any, model: str) -> float:
    # The library has worked it out already; a second time would be a tenth of the call's CPU.
    hidden = getattr(response, "_hidden_params", None)
    if isinstance(hidden, dict) and "response_cost" in hidden:
        return max(0.0, float(hidden["response_cost"] or 0.0))
    # Unpriced models raise many kinds of error; their tokens are counted all the same.
    with suppress(Exception):
        return float(litellm().completion_cost(response, model=model))
    return 0.0


def _price_per_million(settings: LlmSettings) -> tuple[float, float] | None:
    return settings.price or list_price(settings.model)
