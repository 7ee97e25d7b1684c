"""Long work in steps: between them others have their turn, where there are any."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterator
from typing import Final, TypeVar

#: Others have their turn after so many seconds: a page takes a dozen turns.
TURN_S: Final = 0.005
T = TypeVar("T")


def at_once(steps: Generator[None, None, T]) -> T:
    """Take all steps; what they give in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


async def in_turns(steps: Generator[None, None, T]) -> T:
    """The same, and others have their turn between them."""
    began = time.perf_counter()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        if time.perf_counter() - began >= TURN_S:
            await asyncio.sleep(0)
            began = time.perf_counter()


def one_turn(left: Iterator[T], seconds: float = TURN_S) -> Iterator[T]:
    """The next ones of ``left``, at least one, until so many seconds have passed."""
    began = time.perf_counter()
    for one in left:
        yield one
        if time.perf_counter() - began >= seconds:
            return
