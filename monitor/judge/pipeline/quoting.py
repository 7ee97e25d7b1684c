"""The wire format of evidence: which words of a passage support a claim. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from monitor.errors import ReplyRejected
from monitor.judge.pipeline import parsing
from monitor.judge.pipeline.complaints import Complaint
from monitor.judge.ports import Task

ClaimAndPassage = tuple[str, str]
"""Claim id and name of the passage."""

_QUOTES = str.maketrans("‘’‚‛“”„‟«»‐‑‒–—―−", "''''" + '""""""' + "-------")


@dataclass(frozen=True, slots=True)
class QuoteRequest:
    """Ask for the words of ``documents`` that support ``claims``; ``pairs`` says which of which."""

    task: ClassVar[Task] = "quote_evidence"
    nonce: int
    question: str
    documents: Mapping[str, str]
    claims: Mapping[str, str]
    pairs: tuple[ClaimAndPassage, ...]

    @property
    def shape(self) -> str:
        """Which instruction file it goes with: one passage or several."""
        return "several" if len(self.documents) > 1 else "one"

    @property
    def tokens(self) -> None:
        """How long its reply may be: quotes are as long as their documents make them."""
        return None

    def message(self) -> str:
        """The user message."""
        return parsing.encoded(
            {
                "task": self.task,
                "n": self.nonce,
                "question": self.question,
                "documents": dict(self.documents),
                "claims": dict(self.claims),
                "pairs": [" ".join(pair) for pair in self.pairs],
            }
        )

    def expected(self) -> dict[str, object]:
        """The reply without its quotes."""
        return {"n": self.nonce, **{" ".join(pair): "…" for pair in self.pairs}}

    def properties(self) -> dict[str, dict[str, object]]:
        """The keys of its reply, each with the JSON schema of its value."""
        quotes: dict[str, dict[str, object]] = {" ".join(p): {"type": "string"} for p in self.pairs}
        return {"n": parsing.repeated(self.nonce), **quotes}

    def read(self, reply: str) -> dict[ClaimAndPassage, str | None]:
        """The quotes of a reply, None for what does not stand in its document.

        Raises ``ReplyRejected`` unless it answers exactly the pairs asked, in order.
        """
        parsing.refuse_unterminated(reply)
        asked = [" ".join(pair) for pair in self.pairs]
        answers = parsing.keyed(reply, self.nonce, asked)
        found: dict[ClaimAndPassage, str | None] = {}
        for pair, key in zip(self.pairs, asked, strict=True):
            quote = answers[key]
            if not isinstance(quote, str):
                raise ReplyRejected(f"{key}: the value must be a string", kind=Complaint.VALUES)
            found[pair] = quote if is_run_of(quote, self.documents[pair[1]]) else None
        return found


def is_run_of(quote: str, text: str) -> bool:
    """Whether a quote is a run of the text, but for case, spacing and the shapes of characters.

    >>> is_run_of("the “Warranty” lasts", 'The "warranty"  lasts 2 years.'), is_run_of(" ", "a b")
    (True, False)
    >>> is_run_of("lasts … years", "It lasts 2 years."), is_run_of("１９８７年", "成立于1987年")
    (False, True)
    """
    wanted = normalised(quote)
    return parsing.has_words(wanted) and wanted in normalised(text)


def normalised(text: str) -> str:
    """Compatibility forms, one space for any run of them, plain quotes and dashes, case folded."""
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold()
    return " ".join(plain.split())
