"""What is wrong with a reply, by a few names: for counting, and for people. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Complaint(StrEnum):
    """The kinds of complaint about a reply; its wording names the ids and pairs."""

    EMPTY = "empty"
    NOT_JSON = "not_json"
    CUT = "cut"
    KEYS = "keys"
    NONCE = "nonce"
    VALUES = "values"
    PAIRS = "pairs"
    PLUS = "plus"


#: What a reply does, or holds, that it should not.
_MEANS: Final[Mapping[str, str]] = {
    Complaint.EMPTY: "holds no message",
    Complaint.NOT_JSON: "is not one JSON object",
    Complaint.CUT: "is cut before its end",
    Complaint.KEYS: "has other keys than asked",
    Complaint.NONCE: "repeats another number than asked",
    Complaint.VALUES: "has a value of the wrong kind",
    Complaint.PAIRS: "answers other pairs than asked",
    Complaint.PLUS: "has a + where none is allowed",
}


def commonest(refused: Mapping[str, float]) -> str | None:
    """The kind of most refusals, the first in order of two as frequent; None without any.

    >>> commonest({"pairs": 2, "keys": 3, "cut": 0}), commonest({})
    ('keys', None)
    """
    found = Counter({kind: refused.get(kind, 0) for kind in Complaint}).most_common(1)[0]
    return found[0].value if found[1] else None


def in_words(
    refused: Mapping[str, float], number: float, were: str = "replies were refused"
) -> str | None:
    """How many of so many replies were refused, and mostly why; None where none was.

    >>> in_words({"keys": 3, "cut": 1}, 12), in_words({}, 5)
    ('4 of 12 replies were refused; most often the reply has other keys than asked (keys)', None)
    """
    kind = commonest(refused)
    if kind is None:
        return None
    times = sum(refused.values())
    most = f"the reply {_MEANS[kind]} ({kind})"
    return f"{times:.0f} of {number:.0f} {were}; most often {most}"


def of_calls(refused: Mapping[str, float], calls: int) -> str | None:
    """The same of calls, of which some may have brought no reply."""
    return in_words(refused, calls, "calls brought a reply that was refused")


@dataclass
class ReplyTally:
    """How many replies of models were read, and how many of them refused, by kind."""

    replies: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def in_words(self) -> str | None:
        """How many were refused, and mostly why; None where none was."""
        return in_words(self.refused, self.replies)
