"""Some rows of a file, drawn by a seed: the same ones each time. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TypeVar

T = TypeVar("T")


def drawn(rows: Iterable[T], most: int, seed: int) -> list[T]:
    """At most ``most`` of the rows, each with the same probability, in their order.

    Algorithm R (Vitter 1985): it holds no more than it draws, and asks for no length.

    >>> drawn(range(10), 3, seed=1) == drawn(range(10), 3, seed=1)
    True
    >>> drawn(range(3), 5, seed=1)
    [0, 1, 2]
    """
    random, kept = Random(seed), list[tuple[int, T]]()
    for number, row in enumerate(rows):
        if len(kept) < most:
            kept.append((number, row))
        elif (place := random.randrange(number + 1)) < most:
            kept[place] = (number, row)
    return [row for _, row in sorted(kept, key=lambda pair: pair[0])]
