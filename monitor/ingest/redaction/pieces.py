"""Replacing what is found by tokens, until nothing more is found, in time linear in the text.

What stands between two values may be one, now that they are gone; and a value that was none for
its neighbour's sake is one as soon as the neighbour is a token. So it is searched again: only what
has changed, and of that, where values stand in a chain, only what follows a token. A text of which
that has not found the end after a few rounds is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from monitor.errors import MessageRejected
from monitor.ingest.redaction.kinds import BUILT_IN, may_hold_numbers, too_short
from monitor.ingest.redaction.matches import TextMatch
from monitor.ingest.redaction.shadow import Shadow, shadow

#: The stage of all that goes wrong here: nothing of such a record may get out.
REDACT: Final = "redact"
#: The cause of a dead letter whose record could not be redacted, and stays on its own topic.
FAILED: Final = "redaction_failed"
#: Rounds of searching; ordinary texts take two when something is found in them, and else one.
MOST_ROUNDS: Final = 12
#: So much next to a token is looked at for the next value of a chain, and what comes so close to
#: the end of that may go on behind it. A phone number has up to 58 signs, most secrets 200.
_WINDOWS: Final = ((140, 64), (600, 250))
#: Written wherever redaction is on, so that what was redacted elsewhere stays as it is.
_ALWAYS: Final = (*BUILT_IN, "phone")


class Piece:
    """A text between tokens; ``before`` and ``after`` are the signs next to it, if any."""

    __slots__ = ("_numbers", "_shadow", "_short", "after", "before", "searched", "text")

    def __init__(self, text: str, before: str = "", after: str = "") -> None:
        self.text, self.before, self.after = text, before, after
        #: By which searches it is known to hold nothing, one bit each.
        self.searched = 0
        self._shadow: Shadow | None = None
        self._short: bool | None = None
        self._numbers: bool | None = None

    @property
    def is_too_short(self) -> bool:
        """Whether nothing built in can stand there."""
        if self._short is None:
            self._short = too_short(self.text)
        return self._short

    @property
    def may_hold_numbers(self) -> bool:
        """Whether there are enough digits close together."""
        if self._numbers is None:
            self._numbers = may_hold_numbers(self.shadow.plain)
        return self._numbers

    @property
    def shadow(self) -> Shadow:
        """As it would be typed."""
        if self._shadow is None:
            self._shadow = shadow(self.text)
        return self._shadow


class Search(Protocol):
    """Where the values of one kind stand in a piece."""

    @property
    def kind(self) -> str:
        """What it finds."""

    def __call__(self, piece: Piece) -> Iterable[TextMatch]:
        """Spans of the piece's text, in any order, and perhaps over each other."""

    def sure(self, piece: Piece) -> int:
        """Before which place of a piece that was cut nothing begins that may go on behind it."""


#: ``token(kind, value)``.
TokenOf = Callable[[str, str], str]


def replaced(text: str, searches: Sequence[Search], token: TokenOf) -> str:
    """The text with tokens in place of all that the searches find; tokens that are there stay.

    Those are of kinds that are built in or searched for: in the brackets of any other name a value
    could hide. Searches go in order: what one has taken no other sees. Raises ``MessageRejected``
    where there is no end of values.
    """
    pieces = _tokens(frozenset(search.kind for search in searches)).split(text)
    last = len(pieces) - 1
    parts: list[Piece | str] = [
        each if i % 2 else Piece(each, ">" if i else "", "<" if i < last else "")
        for i, each in enumerate(pieces)
    ]
    for number in range(MOST_ROUNDS):
        before = len(parts)
        for bit, search in enumerate(searches):
            parts = _searched(parts, search, 1 << bit, token)
        if len(parts) == before:
            return "".join(each if isinstance(each, str) else each.text for each in parts)
        if number:  # twice in a row: it may be a chain
            parts = [new for each in parts for new in _chained(each, searches, token)]
    raise MessageRejected(
        f"redaction: {MOST_ROUNDS} rounds find no end of values in a text of {len(text)} "
        "characters; key, value and headers stay on the source topic",
        stage=REDACT,
        cause=FAILED,
    )


@lru_cache
def _tokens(kinds: frozenset[str]) -> re.Pattern[str]:
    names = "|".join(re.escape(kind.upper()) for kind in sorted(kinds.union(_ALWAYS)))
    return re.compile(f"(<(?:{names}):[0-9a-f]{{6}}>)")


def _searched(
    parts: list[Piece | str], search: Search, bit: int, token: TokenOf
) -> list[Piece | str]:
    """The parts without what one search finds in them: next to a token no text begins or ends."""
    found: list[Piece | str] = []
    for part in parts:
        if isinstance(part, str) or part.searched & bit:
            found.append(part)
        elif spans := _without_overlaps(search(part)):
            text, last, before = part.text, 0, part.before
            for span in spans:
                found.append(Piece(text[last : span.start], before, "<"))
                found.append(token(search.kind, span.value))
                last, before = span.end, ">"
            found.append(Piece(text[last:], before, part.after))
        else:
            part.searched |= bit
            found.append(part)
    return found


class _Stretch(NamedTuple):
    """``text[start:end]``, and the signs next to it; not cut out, for a chain has many."""

    text: str
    start: int
    end: int
    before: str
    after: str

    def piece(self, start: int, end: int) -> Piece:
        """A part of it, as it stands there."""
        before = self.before if start == self.start else self.text[start - 1]
        after = self.after if end == self.end else self.text[end]
        return Piece(self.text[start:end], before, after)


def _chained(part: Piece | str, searches: Sequence[Search], token: TokenOf) -> list[Piece | str]:
    """A part without the values of chains that begin, or end, at a token next to it."""
    if isinstance(part, str) or part.searched == (1 << len(searches)) - 1:
        return [part]
    done: list[Piece | str] = []
    left: list[_Stretch | str] = [_Stretch(part.text, 0, len(part.text), part.before, part.after)]
    while left:
        one = left.pop()
        if isinstance(one, str):
            done.append(one)
        elif (found := _next(one, searches)) is not None:
            kind, (start, end, value) = found
            # From the top: what stands before the value, its token, and the rest.
            left.append(one._replace(start=end, before=">"))
            left.append(token(kind, value))
            left.append(one._replace(end=start, after="<"))
        else:
            done.append(one.piece(one.start, one.end))
    return done if len(done) > 1 else [part]


def _next(one: _Stretch, searches: Sequence[Search]) -> tuple[str, TextMatch] | None:
    """The first value behind the token before a stretch, or the last one before the next token."""
    for size, margin in _WINDOWS:
        is_cut = size < one.end - one.start
        if one.before == ">" or not is_cut:
            end = one.start + size if is_cut else one.end
            found = _near(one, one.start, end, searches)
            if found and (not is_cut or found[0][1].end <= end - margin):
                return found[0]
        if one.after == "<" and is_cut:
            start = one.end - size
            found = _near(one, start, one.end, searches)
            if found and found[-1][1].start >= start + margin:
                return found[-1]
        if not is_cut:
            break
    return None


def _near(
    one: _Stretch, start: int, end: int, searches: Sequence[Search]
) -> list[tuple[str, TextMatch]]:
    """What the first search that finds something finds there."""
    if start == end:  # as before every value that follows a token
        return []
    piece = one.piece(start, end)
    sure = len(piece.text)
    for search in searches:
        spans, before = _without_overlaps(search(piece)), sure
        if end < one.end:
            sure = min(sure, search.sure(piece))
        if spans:
            first = spans[0]
            if first.start >= sure or first.end > before:
                break  # here, or over it, something longer may stand: the next round sees all of it
            return [(search.kind, TextMatch(start + a, start + b, value)) for a, b, value in spans]
    return []


def _without_overlaps(spans: Iterable[TextMatch]) -> list[TextMatch]:
    """In order and without overlaps: of two that overlap the earlier, then the longer one."""
    found = list(spans)
    if len(found) < 2:
        return found
    chosen: list[TextMatch] = []
    for span in sorted(found, key=lambda one: (one.start, -one.end)):
        if not chosen or span.start >= chosen[-1].end:
            chosen.append(span)
    return chosen
