"""What is found in a text, and what finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple


class TextMatch(NamedTuple):
    """Something found at ``text[start:end]``; ``value`` is the same however it is written."""

    start: int
    end: int
    value: str


Finder = Callable[[str], Iterator[TextMatch]]
