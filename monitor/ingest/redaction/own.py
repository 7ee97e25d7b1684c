"""Patterns of the user's own, searched by RE2: a search takes time linear in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from monitor.ingest.redaction.spans import Span

Own = Callable[[str, str, str], Iterator[Span]]
"""Finds in a text, given what stands before and after it: there it neither begins nor ends."""

_SURROGATES = re.compile("[\ud800-\udfff]")


def own(pattern: str) -> Own:
    """Finds what the pattern matches; its first group, where it has one.

    Raises ``ValueError`` for what RE2 cannot read (a backreference, a lookaround) and for a pattern
    that matches the empty text, and ``ImportError`` without the package google-re2.
    """
    compiled = _compiled(pattern)
    if compiled.search("") is not None:
        raise ValueError("it matches the empty text")
    group = 1 if compiled.groups else 0

    def found(text: str, before: str, after: str) -> Iterator[Span]:
        # Half a character has no UTF-8; one character stands for another, so that places hold.
        whole, shift = before + _SURROGATES.sub("\ufffd", text) + after, len(before)
        for match in compiled.finditer(whole, shift, shift + len(text)):
            start, end = (place - shift for place in match.span(group))
            if 0 <= start < end:  # a group that took no part stands at -1
                yield Span(start, end, text[start:end])

    return found


def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        said = error.args[0] if error.args else "not readable"
        why = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise ValueError(f"no regular expression of RE2: {why}") from None
