r"""All matches of a pattern of RE2 in a text, for a bounded multiple of its length.

One search of RE2 is linear in the text. All matches are not: behind each of them a pattern like
``secret.*?end|secret`` is read on to the end, in vain. Where there are many matches, each is looked
for in a window. It is that of the whole text when nothing that begins before its end can go on
behind the window, which a second pattern tells: the same one, which may end with the window
wherever it is. Otherwise the window grows. How far all windows go is counted, not timed: the same
text has the same ending on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

from monitor.errors import MonitorError
from monitor.runtime import patterns

#: Characters that may be read for each one of the text.
MOST_READ: Final = 256
_SMALLEST: Final = 128
#: So many times a window may be read; then the next begins behind the matches that it had.
_MOST_IN_WINDOW: Final = 32
_CLASS = r"\[\^?\]?(?:\[:\^?[a-z]+:\]|\\[pP]\{[^}]*\}|\\x\{[^}]*\}|\\.|[^\]\\])*\]"
#: The syntax of RE2: what stays as it is (1), a quotation (2), or anything that may be matched.
_SYNTAX = re.compile(
    r"(\((?:\?(?:P?<[^>]*>|[A-Za-z\-]*[:)]))?|[)|]|[*+?]\??|\{[0-9]+(?:,[0-9]*)?\}\??)"
    r"|\\Q(.*?)(?:\\E|\Z)"
    rf"|\\[pP](?:\{{[^}}]*\}}|.)|\\x(?:\{{[^}}]*\}}|..)|\\[0-7]{{1,3}}|\\.|{_CLASS}|.",
    re.DOTALL,
)


class ReadTooFar(MonitorError):
    """A pattern reads so far beyond its matches that a text takes more than linear time."""


class Found(NamedTuple):
    """A match, which knows places from ``shift`` on."""

    match: Any
    shift: int

    def span(self, group: int) -> tuple[int, int]:
        """Where the group stands in the text; it begins before 0 where it took no part."""
        start, end = self.match.span(group)
        return (start, end) if start < 0 else (start + self.shift, end + self.shift)


def unfinished(pattern: str) -> str:
    r"""Matches what ends with the text, and with which a match of the pattern may begin.

    >>> unfinished(r"(?i)a[b-d]*?\b(?:e|f){2}")
    '(?:(?i)(?:a|\\z)(?:[b-d]|\\z)*?(?:\\b|\\z)(?:(?:e|\\z)|(?:f|\\z)){2})\\z'
    """
    return rf"(?:{_SYNTAX.sub(_or_the_end, pattern)})\z"


def _or_the_end(found: re.Match[str]) -> str:
    if found[1] is not None:
        return found[1]
    if found[2] is not None:
        return "".join(rf"(?:{patterns.literal(sign)}|\z)" for sign in found[2])
    return rf"(?:{found[0]}|\z)"


class Reach:
    """A pattern that reads no further than it may.

    Raises as ``patterns.compiled`` does.
    """

    def __init__(self, pattern: str) -> None:
        self.compiled = patterns.compiled(pattern)
        self._unfinished: Any = None
        with suppress(ValueError):  # too large: how far it reads cannot be told, and is too far
            self._unfinished = patterns.compiled(unfinished(pattern))

    def matches(self, text: str, start: int, end: int) -> Iterator[Found]:
        """All in ``text[start:end]``, which may look at the signs around it.

        Raises ``ReadTooFar`` where that takes reading more than ``MOST_READ`` times its length.
        """
        left, place = MOST_READ * (end - start), start
        for match in self.compiled.finditer(text, start, end):
            yield Found(match, 0)
            place = max(match.end(), place + 1)
            left -= end - match.end()  # at most
            if left < 0:
                yield from self.in_windows(text, place, end)
                return

    def in_windows(
        self,
        text: str,
        start: int,
        end: int,
        smallest: int = _SMALLEST,
        most_read: int = MOST_READ,
    ) -> Iterator[Found]:
        """The same, by windows of at first ``smallest`` characters."""
        left, size = most_read * (end - start), smallest
        while start < end:
            stop, shift = min(start + size, end), max(start - 1, 0)
            sure = end if stop == end else self.sure(text[shift:stop], start - shift) + shift
            place, read = start, stop - start
            around = text[shift : stop + 1]
            for match in self.compiled.finditer(around, start - shift, stop - shift):
                if shift + match.start() >= sure or read > _MOST_IN_WINDOW * (stop - start):
                    break
                yield Found(match, shift)
                place = max(shift + match.end(), place + 1)
                read += stop - place  # at most
            else:
                match = None
            is_full = match is not None and shift + match.start() < sure
            left -= read
            if left < 0:
                raise ReadTooFar
            size = 2 * size if place == start else max(smallest, size // 2)
            start = place if is_full else max(place, sure)

    def sure(self, text: str, start: int) -> int:
        """Before which place nothing begins that may go on behind the text."""
        if self._unfinished is None:
            return start
        return int(self._unfinished.search(text, start).start())
