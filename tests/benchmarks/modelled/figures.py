"""Figures of a run: balanced accuracy and AUC with intervals. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeVar

from monitor.records import Usage

#: Bootstrap samples, of whole interactions.
SAMPLES: Final = 2_000

Hit = tuple[bool, bool]
"""Label and verdict."""
Weighed = tuple[bool, float]
"""Label and probability."""
Row = TypeVar("Row")


@dataclass
class Found:
    """What a run has found; ``hits`` and ``weights`` interaction by interaction.

    Of the ``firsts``, replies to what was asked for the first time, so many were ``accepted``.
    Where a reply is one word, there are none.
    """

    asked: int = 0
    firsts: int = 0
    accepted: int = 0
    judged: int = 0
    hits: list[list[Hit]] = field(default_factory=list)
    weights: list[list[Weighed]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


def balanced(hits: Iterable[Sequence[Hit]]) -> float | None:
    """The mean of both shares of right verdicts; None where a label is missing.

    >>> balanced([[(True, True), (True, False)], [(False, False)]])
    0.75
    """
    right, all_ = {True: 0, False: 0}, {True: 0, False: 0}
    for label, verdict in itertools.chain.from_iterable(hits):
        right[label] += label == verdict
        all_[label] += 1
    return sum(right[x] / all_[x] for x in all_) / 2 if all(all_.values()) else None


def area(weights: Iterable[Sequence[Weighed]]) -> float | None:
    """The area under the ROC curve, with half a point for ties; None where a label is missing.

    >>> area([[(True, 0.9), (False, 0.2)], [(False, 0.9)]])
    0.75
    """
    flat = sorted(itertools.chain.from_iterable(weights), key=lambda each: each[1])
    yes = sum(label for label, _ in flat)
    no, below, points = len(flat) - yes, 0, 0.0
    for _, tied in itertools.groupby(flat, key=lambda each: each[1]):
        labels = [label for label, _ in tied]
        won = sum(labels)
        points += won * (below + (len(labels) - won) / 2)
        below += len(labels) - won
    return points / (yes * no) if yes and no else None


def interval(of: Callable[[Sequence[Row]], float | None], rows: Sequence[Row]) -> str:
    """A figure with its 95 % percentile interval, of whole interactions drawn anew; seed 1."""
    value, rng = of(rows), Random(1)
    if value is None:
        return "none"
    drawn = (of(rng.choices(rows, k=len(rows))) for _ in range(SAMPLES))
    spread = sorted(found for found in drawn if found is not None)
    low, high = spread[len(spread) // 40], spread[-1 - len(spread) // 40]
    return f"{value:.3f} [{low:.2f}, {high:.2f}]"


def row(found: Found) -> str:
    """The figures of a run in one line; tokens and seconds are of an interaction."""
    n, usage = max(1, found.asked), found.usage
    shown = interval(balanced, found.hits)
    curve = interval(area, found.weights) if found.weights else ""
    first = f"{found.accepted / found.firsts:.1%}" if found.firsts else "-"
    return (
        f"{first:>6} {found.judged:>5} of {n:<3} {shown:<21} {curve:<21}"
        f" {usage.calls / n:>6.1f} {usage.prompt_tokens / n:>7,.0f} +"
        f" {usage.completion_tokens / n:<5,.0f} {found.seconds / n:>7.1f}"
    )
