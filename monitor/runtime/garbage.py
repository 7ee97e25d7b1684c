"""When the garbage collector must not look: it stops all threads for as long as it looks.

With a large library loaded it looks for a third of a second, and after so many new objects, it
does so again: most of the time that a record of a hundred thousand passages takes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No collection meanwhile: what is made is in use, so looking through it would be in vain.

    >>> with uncollected():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def no_garbage() -> Iterator[None]:
    """What is made meanwhile stays: it is never looked through, then or later.

    >>> before = gc.get_freeze_count()
    >>> with no_garbage():
    ...     modules = [[] for _ in range(1_000)]
    >>> gc.get_freeze_count() - before >= 1_000
    True
    >>> gc.unfreeze()
    """
    with uncollected():
        try:
            yield
        finally:
            gc.freeze()
