"""What an application has promised, held against the interval of a window.

An objective is breached only when even the better end of the interval is worse than its bound, on
enough scored interactions: a mean that is worse by chance is not. The interval is a one-sided
99.9 % one, also where few may be wrong. At 95 % an application exactly at its objective would page
eight times a week.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final, Literal, NamedTuple

from monitor.exporter.scores.aggregator import OTHER, SeriesEstimate, SeriesKey
from monitor.metrics.catalogue import CATALOGUE
from monitor.stats.estimate import Estimate, is_surely_worse

ObjectiveStatus = Literal["met", "breached", "unknown"]


@dataclass(frozen=True)
class Objective:
    """``bound`` is the worst mean that is still good enough, in the direction of the metric.

    ``window`` is the name of a window; below ``minimum_samples`` nothing is said.
    """

    metric: str
    window: str
    bound: float
    minimum_samples: int = 30


#: Weights that are no whole numbers make 29.9999999 of 30 scored interactions.
_ROUNDING: Final = 1e-6

#: Patterns of the whole names of applications, and what those have promised.
Promises = Sequence[tuple[re.Pattern[str], Sequence[Objective]]]
#: What an application has promised.
Promised = Callable[[str], Sequence[Objective]]
#: Applications whose promises are remembered; traffic names applications.
MOST_REMEMBERED = 4_096


class ObjectiveState(NamedTuple):
    """How one series stands to one objective."""

    key: SeriesKey
    objective: Objective
    status: ObjectiveStatus


def status_of(objective: Objective, estimate: Estimate) -> ObjectiveStatus:
    """Met, breached, or unknown for too few samples; ``estimate`` is that of its window.

    >>> promised = Objective("faithfulness", "1h", bound=0.9)
    >>> status_of(promised, Estimate(0.85, 0.79, 0.89, 96.0, 0.0, trials=192.0))
    'met'
    >>> status_of(promised, Estimate(0.80, 0.73, 0.86, 96.0, 0.0, trials=192.0))
    'breached'
    >>> status_of(promised, Estimate(0.20, 0.05, 0.50, 9.0, 0.0, trials=9.0))
    'unknown'
    """
    if estimate.value is None or estimate.samples < objective.minimum_samples - _ROUNDING:
        return "unknown"
    higher_is_better = CATALOGUE[objective.metric].higher_is_better
    return "breached" if is_surely_worse(estimate, objective.bound, higher_is_better) else "met"


def promised_by(own: Promises, shared: Promises = ()) -> Promised:
    """What an application has promised: one objective a metric and window.

    Of ``own`` the first entry that matches holds, whatever is in it; of that and all ``shared``
    ones that match, the first about a metric and window.

    >>> strict, lax = Objective("hallucination", "1h", 0.01), Objective("hallucination", "1h", 0.1)
    >>> of = promised_by([(re.compile("bank-.*"), [strict])], [(re.compile(".*"), [lax])])
    >>> of("bank-1") == [strict], of("shop") == [lax]
    (True, True)
    """

    @lru_cache(MOST_REMEMBERED)
    def found(application: str) -> Sequence[Objective]:
        first = next((objs for pattern, objs in own if pattern.fullmatch(application)), ())
        more = [objs for pattern, objs in shared if pattern.fullmatch(application)]
        chosen: dict[tuple[str, str], Objective] = {}
        for objective in (*first, *chain(*more)):
            chosen.setdefault((objective.metric, objective.window), objective)
        return list(chosen.values())

    return found


def objective_states(
    estimates: Iterable[SeriesEstimate], promised: Promised
) -> Iterator[ObjectiveState]:
    """Every objective of every series that there is, judge by judge."""
    for key, window, estimate in estimates:
        if not isinstance(key, SeriesKey) or key.application == OTHER:
            continue  # promises are those of one application, not of its segments nor of the rest
        for objective in promised(key.application):
            if (objective.metric, objective.window) == (key.metric, window):
                yield ObjectiveState(key, objective, status_of(objective, estimate))
