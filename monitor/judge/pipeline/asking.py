"""One question to the model: the message, the bill, and a second chance for a bad reply."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, ClassVar, Protocol, TypeVar

from monitor.errors import JudgeFailed, ReplyRejected, TooLarge
from monitor.judge.pipeline.complaints import Complaint
from monitor.judge.pipeline.material import estimated_tokens
from monitor.judge.pipeline.pairing import PairRequest
from monitor.judge.pipeline.parsing import ExtractRequest, VerifyRequest
from monitor.judge.pipeline.prompts import Prompts
from monitor.judge.pipeline.quoting import QuoteRequest
from monitor.judge.pipeline.relating import RelevanceRequest
from monitor.judge.ports import CallObserver, Complete, Silent, Task
from monitor.judge.protocol import CostMeter

OUTPUT_LIMIT = "output_limit"
TOO_LONG = "too_long"
#: What the same request in smaller parts may heal.
TOO_LARGE = (OUTPUT_LIMIT, TOO_LONG)

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")


class Request(Protocol[T_co]):
    """What can be asked: a message of the wire format, and how its reply is read."""

    task: ClassVar[Task]

    def message(self, complaint: str | None = None) -> str:
        """The user message."""

    def read(self, reply: str) -> T_co:
        """The reply's content; raises ``ReplyRejected``."""


class Asker:
    """Sends requests through the port ``Complete``, with the static instructions of their task."""

    def __init__(
        self, complete: Complete, prompts: Prompts, observe: CallObserver | None = None
    ) -> None:
        self._complete = complete
        self.systems = {
            ExtractRequest.task: prompts.extract,
            VerifyRequest.task: prompts.verify,
            QuoteRequest.task: prompts.quote,
            RelevanceRequest.task: prompts.relevance,
            PairRequest.task: prompts.pair,
        }
        self.observe = observe or Silent()

    async def ask(
        self,
        request: Request[T],
        spent: CostMeter,
        *,
        divisible: bool = False,
        complaint: str | None = None,
        planned: bool = True,
    ) -> T:
        """Ask, and once more with the complaint if the reply breaks the wire format.

        Raises ``JudgeFailed`` after a second bad reply, or the first where one interaction may not
        be asked about again; ``TooLarge`` where it may not at all, which happens to no ``planned``
        request. A request that can be asked in parts is
        ``divisible``: a reply cut at the output limit, or a model that finds it too long, raises
        ``ReplyRejected`` at once.
        ``complaint`` is what was wrong with a reply that did keep to the format.
        """
        first: ReplyRejected | None = None
        while True:
            try:
                async with spent.allowance.place():
                    return await self._once(request, complaint, spent, first, planned=planned)
            except ReplyRejected as rejected:
                self._count(request.task, rejected, spent)
                if divisible and rejected.reason in TOO_LARGE:
                    raise
                if first is not None or rejected.reason == TOO_LONG:
                    raise _failed(request, rejected) from rejected
                first, complaint, planned = rejected, rejected.complaint, False
            except TooLarge:
                if first is None:
                    raise
                raise _failed(request, first) from first

    def _count(self, task: Task, rejected: ReplyRejected, spent: CostMeter) -> None:
        """A reply was refused; where the model refuses the request there is none."""
        if rejected.kind is not None:
            spent.refused[rejected.kind] += 1
            self.observe.refused(task, rejected.kind, rejected.complaint)

    async def _once(
        self,
        request: Request[T],
        complaint: str | None,
        spent: CostMeter,
        first: ReplyRejected | None,
        *,
        planned: bool,
    ) -> T:
        system, message = self.systems[request.task], request.message(complaint)
        tokens = estimated_tokens(system) + estimated_tokens(message)
        if not spent.allowance.begin(tokens, planned=planned):
            raise TooLarge(f"{request.task}: no interaction is asked about more often")
        if first is not None:
            self.observe.retried(first.reason)
        try:
            with spent.allowance.asking():
                reply = await self._complete(request.task, system, message)
        except JudgeFailed as failure:
            spent.add(failure.usage)
            raise
        spent.add(reply.usage)
        if reply.model:
            spent.models[request.task] = reply.model
        if reply.finish_reason == "length":
            cut = "the reply was cut at the output limit"
            raise ReplyRejected(cut, kind=Complaint.CUT, reason=OUTPUT_LIMIT)
        return request.read(reply.text)


def _failed(request: Request[Any], rejected: ReplyRejected) -> JudgeFailed:
    return JudgeFailed(f"{request.task}: {rejected.complaint}", reason=rejected.reason)


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


async def both(one: Coroutine[Any, Any, T], other: Coroutine[Any, Any, U]) -> tuple[T, U]:
    """The same for two of different kinds."""
    jobs: tuple[Coroutine[Any, Any, Any], ...] = (one, other)
    first, second = await at_once(*jobs)
    return first, second
