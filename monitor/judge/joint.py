"""The joint pipeline: extract both texts' claims, then verify all of them against all texts.

It talks to a model through the port ``Complete`` and knows nothing of HTTP, retries or prices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ClassVar, Protocol, TypeVar

from monitor.errors import JudgeFailed, ReplyRejected
from monitor.judge import parsing
from monitor.judge.parsing import ClaimVerdict, ExtractRequest, Task, VerifyRequest
from monitor.judge.ports import CallObserver, Complete, Silent
from monitor.judge.prompts import Prompts
from monitor.judge.protocol import Bill
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement, Verdicts

PIPELINE = "joint"
MAX_CLAIMS_PER_CALL = 12  # larger batches cost accuracy

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class _Request(Protocol[T_co]):
    task: ClassVar[Task]

    def message(self, complaint: str | None = None) -> str: ...

    def read(self, reply: str) -> T_co: ...


class JointPipeline:
    """``Interaction`` → ``Judgement`` in three calls or more."""

    def __init__(
        self,
        complete: Complete,
        prompts: Prompts,
        identity: Callable[[str | None], JudgeIdentity],
        *,
        claims_per_call: int = 8,
        observe: CallObserver | None = None,
    ) -> None:
        self._complete = complete
        self._systems = {
            ExtractRequest.task: prompts.extract,
            VerifyRequest.task: prompts.verify,
        }
        self._identity = identity
        self._claims_per_call = min(claims_per_call, MAX_CLAIMS_PER_CALL)
        self._observe = observe or Silent()

    async def judge(self, interaction: Interaction, bill: Bill | None = None) -> Judgement:
        """All verdicts on one interaction; ``bill`` says at any moment what it has cost.

        Raises ``JudgeFailed`` with the usage so far: ``malformed_reply`` or ``output_limit`` after
        a second bad reply, or whatever reason the port gives.
        """
        spent = bill or Bill()
        try:
            claims, answers = await self._checked(interaction, spent)
        except JudgeFailed as failure:
            failure.usage = spent.usage
            raise
        return Judgement(
            claims=claims,
            passages=len(interaction.retrieved_contexts),
            has_reference=interaction.reference is not None,
            verdicts=_verdicts(interaction, claims, answers),
            judge=self._identity(spent.model),
            usage=spent.usage,
        )

    async def _checked(
        self, interaction: Interaction, spent: Bill
    ) -> tuple[Claims, Mapping[str, ClaimVerdict]]:
        """Claims and answers; a text whose claims all deny their own text is extracted anew."""
        if not _can_be_judged(interaction):
            return Claims(), {}
        claims = await self._extract(interaction, ("A", "R"), Claims(), spent)
        claims, answers = await self._verify(interaction, claims, spent)
        disowned = tuple(own for own in ("A", "R") if _all_missed(answers, own))
        if disowned:
            self._observe.retried("self_check")
            claims = await self._extract(interaction, disowned, claims, spent)
            claims, answers = await self._verify(interaction, claims, spent)
        missed = len(_missed(answers, "A")) + len(_missed(answers, "R"))
        if missed:
            self._observe.self_check_missed(missed)
        return claims, answers

    async def _extract(
        self, interaction: Interaction, wanted: tuple[str, ...], known: Claims, spent: Bill
    ) -> Claims:
        """``known`` with the wanted texts' claims (``A``, ``R``) asked for, each text alone."""

        async def claims_of(name: str, text: str, kept: tuple[str, ...]) -> tuple[str, ...]:
            if name not in wanted:
                return kept
            if not parsing.has_words(text):
                return ()
            return await self._ask(ExtractRequest(interaction.user_input, text), spent)

        response, reference = await _together(
            claims_of("A", interaction.response, known.response),
            claims_of("R", interaction.reference or "", known.reference),
        )
        return Claims(response=response, reference=reference)

    async def _verify(
        self, interaction: Interaction, claims: Claims, spent: Bill
    ) -> tuple[Claims, dict[str, ClaimVerdict]]:
        """All claims against all texts; without response claims there is nothing to ask."""
        if not claims.response:
            return Claims(), {}
        batches = self._batches(interaction, claims)
        replies = await _together(*(self._ask(batch, spent) for batch in batches))
        return claims, {key: verdict for reply in replies for key, verdict in reply.items()}

    def _batches(self, interaction: Interaction, claims: Claims) -> list[VerifyRequest]:
        named = [(f"c{i}", claim) for i, claim in enumerate(claims.response, 1)]
        named += [(f"r{i}", claim) for i, claim in enumerate(claims.reference, 1)]
        step, listed = self._claims_per_call, _documents(interaction)
        return [
            VerifyRequest(
                nonce=parsing.nonce(interaction.interaction_id),
                question=interaction.user_input,
                documents=listed,
                claims=dict(named[start : start + step]),
            )
            for start in range(0, len(named), step)
        ]

    async def _ask(self, request: _Request[T], spent: Bill) -> T:
        """Ask, and once more with the complaint if the reply breaks the wire format."""
        try:
            return await self._once(request, None, spent)
        except ReplyRejected as rejected:
            self._observe.retried(rejected.reason)
            complaint = rejected.complaint
        try:
            return await self._once(request, complaint, spent)
        except ReplyRejected as rejected:
            message = f"{request.task}: {rejected.complaint}"
            raise JudgeFailed(message, reason=rejected.reason) from rejected

    async def _once(self, request: _Request[T], complaint: str | None, spent: Bill) -> T:
        system = self._systems[request.task]
        try:
            reply = await self._complete(request.task, system, request.message(complaint))
        except JudgeFailed as failure:
            spent.add(failure.usage)
            raise
        spent.add(reply.usage)
        spent.model = reply.model or spent.model
        if reply.finish_reason == "length":
            raise ReplyRejected("the reply was cut at the output limit", reason="output_limit")
        return request.read(reply.text)


async def _together(*jobs: Coroutine[Any, Any, T]) -> list[T]:
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


def _can_be_judged(interaction: Interaction) -> bool:
    has_evidence = bool(interaction.retrieved_contexts) or interaction.reference is not None
    return has_evidence and parsing.has_words(interaction.response)


def _documents(interaction: Interaction) -> dict[str, str]:
    return parsing.documents(
        interaction.interaction_id,
        [passage.text for passage in interaction.retrieved_contexts],
        interaction.response,
        interaction.reference,
    )


def _own(answers: Mapping[str, ClaimVerdict], document: str) -> list[str]:
    letter = "c" if document == "A" else "r"
    return [claim_id for claim_id in answers if claim_id.startswith(letter)]


def _missed(answers: Mapping[str, ClaimVerdict], document: str) -> list[str]:
    """The claims of a text that the same text does not support: the extraction went astray."""
    return [key for key in _own(answers, document) if not answers[key].supported[document]]


def _all_missed(answers: Mapping[str, ClaimVerdict], document: str) -> bool:
    own = _own(answers, document)
    return bool(own) and len(_missed(answers, document)) == len(own)


def _verdicts(
    interaction: Interaction, claims: Claims, answers: Mapping[str, ClaimVerdict]
) -> Verdicts:
    """The matrices in the order of the log: passages by number, claims by number."""
    columns = [str(j) for j in range(1, len(interaction.retrieved_contexts) + 1)]
    c = [answers[f"c{i}"] for i in range(1, len(claims.response) + 1)]
    r = [answers[f"r{i}"] for i in range(1, len(claims.reference) + 1)]
    by_passage = [tuple(answer.supported[j] for j in columns) for answer in c]
    has_reference = interaction.reference is not None
    return Verdicts(
        response_by_passage=tuple(by_passage),
        response_by_context=tuple(
            any(row) or answer.together for row, answer in zip(by_passage, c, strict=True)
        ),
        response_by_reference=tuple(answer.supported["R"] for answer in c if has_reference),
        reference_by_passage=tuple(tuple(answer.supported[j] for j in columns) for answer in r),
        reference_by_response=tuple(answer.supported["A"] for answer in r),
    )
