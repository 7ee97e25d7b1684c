r"""Regular expressions of the user's own, searched by RE2: in time linear in the text.

Python's ``re`` tries again and again: of a pattern like ``(a+)+$`` one text of traffic could hold
up the process for years. RE2 knows no backreferences and no looking around, and its ``\d``,
``\w``, ``\s`` and ``\b`` are about ASCII.
"""

from __future__ import annotations

import re
from typing import Any

#: What installs it.
INSTALL = "pip install 'rag-monitor[patterns]'"
_SURROGATES = re.compile("[\ud800-\udfff]")


def compiled(pattern: str) -> Any:
    """The pattern, with the methods of ``re``.

    Raises ``ValueError`` for what RE2 cannot read (a backreference, a lookaround), and
    ``ImportError`` without the package google-re2.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not readable"
        why = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(f"no regular expression of RE2: {why}") from None


def readable(text: str) -> str:
    """The text, with one character for half a one, which has no UTF-8; all places stay."""
    return _SURROGATES.sub("\ufffd", text)


def literal(text: str) -> str:
    """A pattern of exactly this text."""
    import re2

    return str(re2.escape(text))
