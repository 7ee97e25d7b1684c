"""Patterns of the user's own, searched by RE2: all matches in linear time, or an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from monitor import patterns
from monitor.ingest.redaction.reach import Reach
from monitor.ingest.redaction.spans import Span

Own = Callable[[str, str, str], Iterator[Span]]
"""Finds in a text, given what stands before and after it: there it neither begins nor ends.

Raises ``ReadTooFar`` where that would take more than linear time."""


def own(pattern: str) -> Own:
    """Finds what the pattern matches; its first group, where it has one.

    Raises ``ValueError`` for what RE2 cannot read (a backreference, a lookaround) and for a pattern
    that matches the empty text, and ``ImportError`` without the package google-re2.
    """
    reach = Reach(pattern)
    if reach.compiled.search("") is not None:
        raise ValueError("it matches the empty text")
    group = 1 if reach.compiled.groups else 0

    def found(text: str, before: str, after: str) -> Iterator[Span]:
        whole, shift = before + patterns.readable(text) + after, len(before)
        for match in reach.matches(whole, shift, shift + len(text)):
            start, end = (place - shift for place in match.span(group))
            if 0 <= start < end:  # a group that took no part stands before the text
                yield Span(start, end, text[start:end])

    return found
