"""The evidence for what is supported: quotes that were found in the passages themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from monitor.errors import JudgeFailed, ReplyRejected, TooLarge
from monitor.judge.pipeline.asking import Asker, Objection, at_once, parts
from monitor.judge.pipeline.material import Caps, Material, packed
from monitor.judge.pipeline.parsing import RESPONSE, ClaimVerdict
from monitor.judge.pipeline.quoting import ClaimAndPassage, QuoteRequest
from monitor.judge.protocol import CostMeter
from monitor.records import Evidence

Quotes = Mapping[ClaimAndPassage, str | None]


class Quoter:
    """Asks for the shortest words of each passage that support a claim of the response."""

    def __init__(self, asker: Asker, caps: Caps) -> None:
        self._asker, self._caps = asker, caps

    async def evidence(
        self, material: Material, answers: Mapping[str, ClaimVerdict], spent: CostMeter
    ) -> Evidence:
        """By claim id and passage number the quote, or None where it is unverified.

        A quote that does not stand in its passage is asked for once more. What fails here fails no
        judgement: the verdicts stand, and their evidence is unverified. So is what would take more
        calls than an interaction may.
        """
        requests = quote_requests(material, self._caps, answers)
        return _by_claim(await at_once(*(self._quoted(request, spent) for request in requests)))

    def unverified(self, material: Material, answers: Mapping[str, ClaimVerdict]) -> Evidence:
        """The same without a call: every pair that a quote would be asked for, and none found."""
        requests = quote_requests(material, self._caps, answers)
        return _by_claim(dict.fromkeys(request.pairs) for request in requests)

    async def _quoted(self, request: QuoteRequest, spent: CostMeter) -> Quotes:
        several = len(request.pairs) > 1
        try:
            found = await self._asker.answer(
                request, spent, divisible=several, separable=several, planned=False
            )
        except ReplyRejected as refused:
            self._asker.observe.retried(refused.reason)
            halves = await parts(refused, *(self._quoted(half, spent) for half in _halves(request)))
            return {**halves[0], **halves[1]}
        except TooLarge:
            return dict.fromkeys(request.pairs)
        except JudgeFailed:
            spent.unasked = True
            return dict.fromkeys(request.pairs)
        first = found.content
        invented = [" ".join(pair) for pair, quote in first.items() if quote is None]
        if not invented:
            return first
        self._asker.observe.retried("evidence")
        complaint = f"not word for word in their documents: {', '.join(invented)}"
        try:
            again = Objection(found.text, complaint)
            second = await self._asker.answer(request, spent, objection=again, planned=False)
        except TooLarge:
            return first
        except JudgeFailed:
            spent.unasked = True
            return first
        return {pair: first[pair] or second.content[pair] for pair in request.pairs}


def quote_requests(
    material: Material, caps: Caps, answers: Mapping[str, ClaimVerdict]
) -> list[QuoteRequest]:
    """One request or more for every response claim and passage that supports it alone."""
    held = {
        claim: [name for name in material.passages if answers[claim].supported[name]]
        for claim in material.of_text(RESPONSE)
    }
    room = material.room(caps)
    quotable = [claim for claim in held if held[claim]]
    passages = {name: material.texts[name] for name in material.passages}
    whole = QuoteRequest(material.nonce, material.question, passages, material.claims, ())
    requests = []
    for batch in packed(quotable, material.claim_tokens, caps.claims, room // 2):
        wanted = {name for claim in batch for name in held[claim]}
        names = [name for name in material.passages if name in wanted]
        left = room - sum(map(material.claim_tokens, batch))
        for group in packed(names, material.document_tokens, caps.passages, left):
            pairs = [(claim, name) for claim in batch for name in group if name in held[claim]]
            requests.append(_part(whole, tuple(pairs)))
    return requests


def _by_claim(parts: Iterable[Quotes]) -> Evidence:
    found: Evidence = {}
    for quotes in parts:
        for (claim, passage), quote in quotes.items():
            found.setdefault(claim, {})[passage] = quote
    return found


def _halves(request: QuoteRequest) -> tuple[QuoteRequest, QuoteRequest]:
    middle = (len(request.pairs) + 1) // 2
    return _part(request, request.pairs[:middle]), _part(request, request.pairs[middle:])


def _part(request: QuoteRequest, pairs: tuple[ClaimAndPassage, ...]) -> QuoteRequest:
    """The request for these pairs only, with what they need."""
    claims, names = {claim for claim, _ in pairs}, {name for _, name in pairs}
    return QuoteRequest(
        nonce=request.nonce,
        question=request.question,
        documents={name: text for name, text in request.documents.items() if name in names},
        claims={claim: text for claim, text in request.claims.items() if claim in claims},
        pairs=pairs,
    )
