"""Lengths of time for people."""

from __future__ import annotations


def in_words(seconds: float) -> str:
    """The largest unit of which there are two.

    >>> in_words(3.4), in_words(72_000), in_words(259_200), in_words(100)
    ('3 s', '20 h', '3 d', '100 s')
    >>> in_words(0.0), in_words(0.2)
    ('0 s', 'less than 1 s')
    """
    if 0.0 < seconds < 0.5:
        return "less than 1 s"
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:.0f} s"
