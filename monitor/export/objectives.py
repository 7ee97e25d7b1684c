"""What an application has promised, held against the interval of a window.

An objective is breached only when even the better end of the 95 % interval is worse than its bound,
on enough scored interactions: a mean that is worse by chance is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from monitor.export.book import SeriesEstimate, SeriesKey
from monitor.metrics.catalogue import CATALOGUE
from monitor.stats.estimate import Estimate

Standing = Literal["met", "breached", "unknown"]


@dataclass(frozen=True)
class Objective:
    """``bound`` is the worst mean that is still good enough, in the direction of the metric.

    ``window`` is the name of a window; below ``minimum_samples`` nothing is said.
    """

    metric: str
    window: str
    bound: float
    minimum_samples: int = 30


#: Names of applications, as patterns of which one must match, and what those have promised.
Promises = Sequence[tuple[Sequence[str], Sequence[Objective]]]


class ObjectiveState(NamedTuple):
    """How one series stands to one objective."""

    key: SeriesKey
    objective: Objective
    standing: Standing


def standing(objective: Objective, estimate: Estimate) -> Standing:
    """Met, breached, or unknown for too few samples; ``estimate`` is that of its window.

    >>> promised = Objective("faithfulness", "1h", bound=0.9)
    >>> standing(promised, Estimate(0.85, 0.79, 0.91, 96.0, 0.0))
    'met'
    >>> standing(promised, Estimate(0.80, 0.73, 0.86, 96.0, 0.0))
    'breached'
    >>> standing(promised, Estimate(0.20, 0.05, 0.50, 9.0, 0.0))
    'unknown'
    """
    if estimate.lower is None or estimate.upper is None:
        return "unknown"
    if estimate.samples < objective.minimum_samples:
        return "unknown"
    if CATALOGUE[objective.metric].higher_is_better:
        return "breached" if estimate.upper < objective.bound else "met"
    return "breached" if estimate.lower > objective.bound else "met"


def promised_by(promises: Promises) -> Callable[[str], Sequence[Objective]]:
    """What an application has promised: the first entry with a pattern of its name.

    In a pattern ``*`` stands for any characters and ``?`` for one, and nothing else is special.

    >>> strict, lax = Objective("hallucination", "1h", 0.01), Objective("hallucination", "1h", 0.1)
    >>> of = promised_by([(["bank-*"], [strict]), (["*"], [lax])])
    >>> of("bank-1") == [strict], of("shop") == [lax]
    (True, True)
    """
    compiled = [
        (re.compile("|".join(map(_regex, patterns))), objectives)
        for patterns, objectives in promises
    ]

    def found(application: str) -> Sequence[Objective]:
        for pattern, objectives in compiled:
            if pattern.fullmatch(application):
                return objectives
        return ()

    return found


def standings(
    estimates: Iterable[SeriesEstimate], promised: Callable[[str], Sequence[Objective]]
) -> Iterator[ObjectiveState]:
    """Every objective of every series that there is, judge by judge."""
    for key, window, estimate in estimates:
        if not isinstance(key, SeriesKey):
            continue  # a segment: promises are about applications
        for objective in promised(key.application):
            if (objective.metric, objective.window) == (key.metric, window):
                yield ObjectiveState(key, objective, standing(objective, estimate))


def _regex(pattern: str) -> str:
    parts = ({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in pattern)
    return f"(?s:{''.join(parts)})"
