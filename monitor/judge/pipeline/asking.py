"""One question to the model: the messages, the bill, and a second chance for a bad reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from monitor.errors import JudgeFailed, ReplyRejected, TooLarge
from monitor.judge.manner import Manner, MannerChoice
from monitor.judge.pipeline.complaints import Complaint
from monitor.judge.pipeline.examples import largest_examples, turns_for
from monitor.judge.pipeline.material import (
    MAX_CLAIMS_PER_CALL,
    MAX_PASSAGES_PER_CALL,
    estimated_tokens,
    instruction_tokens,
)
from monitor.judge.pipeline.parsing import encoded, sendable
from monitor.judge.pipeline.prompts import Prompts
from monitor.judge.ports import CallObserver, Complete, Silent, Task, Terms, Turn
from monitor.judge.protocol import CostMeter

OUTPUT_LIMIT = "output_limit"
TOO_LONG = "too_long"
#: What the same request in smaller parts may heal.
HEALED_BY_HALVING = (OUTPUT_LIMIT, TOO_LONG)
#: Characters of its own reply that a model is shown again: of one that never ended, the beginning.
MOST_OF_A_REPLY = 4_000
#: What stands for a reply without a word: some providers refuse an empty message.
NO_REPLY = "{}"

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")


class Request(Protocol[T_co]):
    """What can be asked: a message of the wire format, and how its reply is read."""

    task: ClassVar[Task]

    @property
    def shape(self) -> str:
        """Which of the task's instructions it goes with."""

    @property
    def tokens(self) -> int | None:
        """How long its reply may be, None where that is not known."""

    def message(self) -> str:
        """The user message."""

    def read(self, reply: str) -> T_co:
        """The reply's content; raises ``ReplyRejected``."""

    def expected(self) -> Mapping[str, object] | str:
        """The reply without what the model has to say."""

    def properties(self) -> Mapping[str, Mapping[str, object]]:
        """The keys of its reply, each with the JSON schema of its value."""


@dataclass(frozen=True, slots=True)
class Objection:
    """A reply, and what is wrong with it: names of ids and pairs, never texts."""

    reply: str
    complaint: str


class Answer(NamedTuple, Generic[T]):
    """What a reply says, and its text."""

    content: T
    text: str


class Asker:
    """Sends requests through the port ``Complete``, with the instructions of their shape.

    ``manner`` says whether turns of the very shape of a request go before it, in the place of the
    example in the instructions.
    """

    def __init__(
        self,
        complete: Complete,
        prompts: Prompts,
        observe: CallObserver | None = None,
        manner: MannerChoice | None = None,
    ) -> None:
        self._complete, self._prompts = complete, prompts
        self.manner = manner or MannerChoice()
        self.observe = observe or Silent()

    def instructions(
        self,
        task: Task,
        passages: int = MAX_PASSAGES_PER_CALL,
        claims: int = MAX_CLAIMS_PER_CALL,
    ) -> str:
        """The longest that go before a request of a task, for estimates.

        It has so many ``passages`` and ``claims`` at most.
        """
        longest = self._prompts.longest(task)
        if not self.manner.shaped:
            return longest
        # What no call may hold goes with the fixed example; no request has both.
        most = min(passages, MAX_PASSAGES_PER_CALL), min(claims, MAX_CLAIMS_PER_CALL)
        shown = largest_examples(task, *most)
        return max(longest, self._prompts.longest_rules(task) + shown, key=len)

    async def ask(
        self,
        request: Request[T],
        spent: CostMeter,
        *,
        divisible: bool = False,
        separable: bool = False,
        planned: bool = True,
    ) -> T:
        """``answer``, but only what it says."""
        found = await self.answer(
            request, spent, divisible=divisible, separable=separable, planned=planned
        )
        return found.content

    async def answer(
        self,
        request: Request[T],
        spent: CostMeter,
        *,
        divisible: bool = False,
        separable: bool = False,
        objection: Objection | None = None,
        planned: bool = True,
    ) -> Answer[T]:
        """Ask, and once more with the complaint if the reply breaks the wire format.

        Raises ``JudgeFailed`` after a second bad reply, or the first where one interaction may not
        be asked about again; ``TooLarge`` where it may not at all, which happens to no ``planned``
        request. A request that can be asked in parts is ``divisible``: a reply cut at the output
        limit, or a model that finds it too long, raises ``ReplyRejected`` at once. If its parts
        may be answered where the whole is not it is ``separable``, too: then the second bad reply
        raises that, unless it is empty. ``objection`` is to a reply that did keep to the format.
        """
        first: ReplyRejected | None = None
        # Both times the same, whatever is learned of the model in between: one conversation.
        examples = turns_for(request) if self.manner.shaped else ()
        observe = self._observer(request, several=separable)
        while True:
            reply_text = _ReplyText()
            try:
                async with spent.allowance.place():
                    answer = await self._once(
                        request, examples, objection, spent, first, reply_text, planned=planned
                    )
                if first is None:
                    observe(refused=False)
                return answer
            except ReplyRejected as rejected:
                self._count(request.task, rejected, spent)
                # No words at all are no matter of the shape, whatever has ended the reply.
                if first is None and reply_text.text.strip():
                    observe(refused=True)
                if divisible and rejected.reason in HEALED_BY_HALVING:
                    raise
                if separable and first is not None and rejected.kind != Complaint.EMPTY:
                    raise
                if first is not None or rejected.reason == TOO_LONG:
                    raise failure(request, rejected) from rejected
                first, planned = rejected, False
                objection = Objection(reply_text.text, rejected.complaint)
            except TooLarge:
                if first is None:
                    raise
                raise failure(request, first) from first

    def _observer(self, request: Request[T], *, several: bool) -> Callable[..., None]:
        """Takes whether the first reply to a request that is sent in today's manner is refused."""
        observe, changes = self.manner.observe, self.manner.changes
        return partial(observe, request.task, changes, several=several, shape=request.shape)

    def _count(self, task: Task, rejected: ReplyRejected, spent: CostMeter) -> None:
        """A reply was refused; where the model refuses the request there is none."""
        if rejected.kind is not None:
            spent.refused[rejected.kind] += 1
            self.observe.refused(task, rejected.kind, rejected.complaint)

    async def _once(
        self,
        request: Request[T],
        examples: tuple[Turn, ...],
        objection: Objection | None,
        spent: CostMeter,
        first: ReplyRejected | None,
        reply_text: _ReplyText,
        *,
        planned: bool,
    ) -> Answer[T]:
        instructions = self._prompts.rules if examples else self._prompts.of
        system = instructions(request.task, request.shape)
        turns, message = _conversation(request, examples, objection)
        tokens = instruction_tokens(system) + estimated_tokens(message)
        tokens += sum([estimated_tokens(text) for turn in turns for text in turn])
        if not spent.allowance.begin(tokens, planned=planned):
            raise TooLarge(f"{request.task}: no interaction is asked about more often")
        if first is not None:
            self.observe.retried(first.reason)
        if examples:
            spent.manner = max(spent.manner, Manner.SHAPED)
        terms = Terms(turns, request.tokens, request.properties, spent.add, spent.following)
        try:
            with spent.allowance.asking():
                reply = await self._complete(request.task, system, message, terms)
        except JudgeFailed as failure:
            spent.add(failure.usage)
            raise
        spent.add(reply.usage)
        reply_text.text = reply.text
        if reply.model:
            spent.models[request.task] = reply.model
        if reply.finish_reason == "length":
            cut = "the reply was cut at the output limit"
            raise ReplyRejected(cut, kind=Complaint.CUT, reason=OUTPUT_LIMIT)
        return Answer(request.read(reply.text), reply.text)


@dataclass(slots=True)
class _ReplyText:
    """The text of a reply, also of one that is refused. No error holds it: it is traffic text."""

    text: str = ""


def _conversation(
    request: Request[Any], examples: tuple[Turn, ...], objection: Objection | None
) -> tuple[tuple[Turn, ...], str]:
    """The turns before the last user message, and that message."""
    message = request.message()
    if objection is None:
        return examples, message
    reply = objection.reply if objection.reply.strip() else NO_REPLY
    own = Turn(message, sendable(reply[:MOST_OF_A_REPLY]))
    return (*examples, own), _again(request, objection.complaint)


def _again(request: Request[Any], complaint: str) -> str:
    """The last message of a re-ask: what was wrong, and what is expected, without any text."""
    expected = request.expected()
    number = {"n": expected["n"]} if isinstance(expected, Mapping) and "n" in expected else {}
    return encoded({"task": request.task, **number, "complaint": complaint, "expected": expected})


def failure(request: Request[Any], rejected: ReplyRejected) -> JudgeFailed:
    """That nobody can read what is replied to a request."""
    return JudgeFailed(f"{request.task}: {rejected.complaint}", reason=rejected.reason)


async def parts(refused: ReplyRejected, *jobs: Coroutine[Any, Any, T]) -> list[T]:
    """The answers to the parts of a request whose reply was refused.

    Parts of what was too large are asked at once. Those of a malformed reply one after the other: a
    model that can read none of it shall not be asked about all of it.
    """
    if refused.reason in HEALED_BY_HALVING:
        return await at_once(*jobs)
    answers = []
    try:
        for job in jobs:
            answers.append(await job)
    finally:
        for job in jobs:
            job.close()
    return answers


async def at_once(*jobs: Coroutine[Any, Any, T]) -> list[T]:
    """Run all at once. The first failure cancels the others and is raised bare.

    Not a TaskGroup: before Python 3.13 one that fails while it is left can leave the caller with a
    cancellation request, after which an outer ``asyncio.timeout`` ends in ``CancelledError``.
    """
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def one_or_at_once(*jobs: Coroutine[Any, Any, T]) -> list[T]:
    """The same where nothing is asked beside it: then one alone needs no task of its own."""
    return [await jobs[0]] if len(jobs) == 1 else await at_once(*jobs)


async def both(one: Coroutine[Any, Any, T], other: Coroutine[Any, Any, U]) -> tuple[T, U]:
    """The same for two of different kinds."""
    jobs: tuple[Coroutine[Any, Any, Any], ...] = (one, other)
    first, second = await at_once(*jobs)
    return first, second
