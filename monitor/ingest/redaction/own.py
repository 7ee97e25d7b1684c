"""Patterns of the user's own, searched by RE2: all matches in linear time, or an error."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.ingest.redaction.matches import TextMatch
from monitor.ingest.redaction.reach import Reach
from monitor.runtime import patterns


class OwnPattern:
    """Finds what the pattern matches; its first group, where it has one.

    Raises ``ValueError`` for what RE2 cannot read (a backreference, a lookaround) and for a pattern
    that matches the empty text, and ``ImportError`` without the package google-re2.
    """

    def __init__(self, pattern: str) -> None:
        self._reach = Reach(pattern)
        if self._reach.compiled.search("") is not None:
            raise ValueError("it matches the empty text")
        self._group = 1 if self._reach.compiled.groups else 0

    def found(self, text: str, before: str, after: str) -> Iterator[TextMatch]:
        """All in a text, given the signs next to it: there it neither begins nor ends.

        Raises ``ReadTooFar`` where that would take more than linear time.
        """
        whole, shift = before + patterns.readable(text) + after, len(before)
        for match in self._reach.matches(whole, shift, shift + len(text)):
            start, end = (place - shift for place in match.span(self._group))
            if 0 <= start < end:  # a group that took no part stands before the text
                yield TextMatch(start, end, text[start:end])

    def sure(self, text: str, before: str) -> int:
        """Before which place nothing begins that may go on behind the text."""
        return self._reach.sure(before + patterns.readable(text), len(before)) - len(before)
