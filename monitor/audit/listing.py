"""Which judged interactions are listed, and in which order. Pure."""

from __future__ import annotations

from typing import Literal, NamedTuple

Order = Literal["newest", "worst"]


class Filters(NamedTuple):
    """Which interactions; None is any. Times are epoch milliseconds.

    ``least`` and ``most`` bound the value of ``metric``; without one they say nothing.
    """

    application: str | None = None
    judge: str | None = None
    segment: str | None = None
    outcome: str | None = None
    metric: str | None = None
    least: float | None = None
    most: float | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    order: Order = "newest"


class Key(NamedTuple):
    """Where the next page begins: behind the row with this place in the order."""

    place: float
    number: int


class JudgeInUse(NamedTuple):
    """A judge of an application: how many it has judged, and since when and until when.

    ``in_doubt`` of them with a verdict of which it was not sure.
    """

    application: str
    judge: str
    judged: int
    first_ms: int
    last_ms: int
    in_doubt: int = 0
