"""Does the judge fail more often than before? Fisher's exact test (1935), one-sided."""

from __future__ import annotations

import math
from typing import Final, Literal

LEVEL: Final = 0.05
"""How often a judge that fails as before is called one that fails more, at most.

It is a hint beside the rates themselves and no alarm; a stricter level would overlook a judge that
fails one time in ten whenever the alarm came quickly.
"""

Verdict = Literal["normal", "more", "unknown"]


def fails_more(failed_before: int, before: int, failed: int, since: int) -> Verdict:
    """Compare failed of all picks before a change and since; ``unknown`` without picks on a side.

    The test is conservative: with few picks it says ``normal`` unless the failures are many.

    >>> fails_more(8, 2_000, 1, 96), fails_more(8, 2_000, 6, 96), fails_more(0, 0, 6, 96)
    ('normal', 'more', 'unknown')
    """
    if not before or not since:
        return "unknown"
    return (
        "more" if tail(failed, since, failed_before + failed, before + since) < LEVEL else "normal"
    )


def tail(found: int, drawn: int, marked: int, total: int) -> float:
    """P(at least ``found`` marked among ``drawn``, out of ``total`` of which ``marked`` are).

    The upper tail of the hypergeometric distribution.

    >>> tail(1, 2, 1, 4), tail(0, 2, 1, 4)
    (0.5, 1.0)
    """
    if found <= max(0, drawn + marked - total):
        return 1.0
    whole = _log_choose(total, drawn)
    terms = (
        math.exp(_log_choose(marked, k) + _log_choose(total - marked, drawn - k) - whole)
        for k in range(found, min(drawn, marked) + 1)
    )
    return round(min(1.0, math.fsum(terms)), 12)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
