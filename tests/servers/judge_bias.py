"""Known habits of a bad judge: replies that keep the wire format and are wrong in a known way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tests.servers.judge_reply import Line, Reply
from tests.servers.judge_request import Request


@dataclass(frozen=True)
class Bias:
    """What to do to an honest reply.

    ``flipped`` are the (claim, text) pairs whose verdict is turned round. Of the claims of one call
    those beyond ``claims_read`` get n, and an extraction lists at most ``claims_listed``; None: all
    of them. A claim in ``swayed`` gets y for the passage that is listed first. A claim's pair with
    its own text stays as it is: the self-check of the extraction is not what is measured.

    ``favoured`` collects, per request, the swayed claims with the text that was listed first.
    """

    flipped: frozenset[tuple[str, str]] = frozenset()
    claims_read: int | None = None
    claims_listed: int | None = None
    swayed: frozenset[str] = frozenset()
    favoured: list[tuple[str, str]] = field(default_factory=list)

    def apply(self, request: Request, reply: Reply) -> Reply:
        """The biased reply."""
        if reply.nonce is None:
            return replace(reply, claims=reply.claims[: self.claims_listed])
        if request.task == "judge_relevance":
            return reply
        lines = enumerate(reply.lines)
        return replace(reply, lines=tuple(self._line(i, line, request) for i, line in lines))

    def _line(self, place: int, line: Line, request: Request) -> Line:
        documents: Mapping[str, str] = request.content["documents"]
        claim = request.content["claims"][line.claim_id]
        own = "A" if line.claim_id.startswith("c") else "R"
        unread = self.claims_read is not None and place >= self.claims_read
        first = next((name for name in documents if name.isdigit()), None)
        verdicts = {}
        for token in line.tokens:
            name, yes = token[:-1], token.endswith("y")
            if token != "+" and name != own:
                flipped = (claim, documents[name]) in self.flipped
                yes = not unread and (yes != flipped or (name == first and claim in self.swayed))
            if token != "+":
                verdicts[name] = yes
        if first is not None and claim in self.swayed:
            self.favoured.append((claim, documents[first]))
        alone = any(yes for name, yes in verdicts.items() if name.isdigit())
        together = "+" in line.tokens and not unread and not alone
        tokens = tuple(f"{name}{'y' if yes else 'n'}" for name, yes in verdicts.items())
        return replace(line, tokens=(*tokens, *(["+"] if together else [])))
