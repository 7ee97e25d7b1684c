"""How good each application is, as a table: the same numbers as its gauges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftState
from monitor.exporter.scores.outlook import Outlook
from monitor.metrics.catalogue import CATALOGUE
from monitor.stats.estimate import Estimate

#: Of a number that ``is_beyond``.
BEYOND_NORMAL: Final = "beyond normal, no alarm"
#: Of a window that is to be shown: fewer scored interactions say little.
FEW: Final = 5.0


class ScoreRow(NamedTuple):
    """One metric: its mean with the interval, the effective number, and what is normal.

    ``normal`` is the baseline with its tolerance, None where there is none (yet); ``is_watched``
    whether an alarm can open on it, ``is_worse`` whether one has. Not ``is_learned``: nobody
    learns a baseline of it, since people have decided.
    """

    metric: str
    mean: float
    lower: float
    upper: float
    samples: float
    normal: float | None
    is_watched: bool
    is_worse: bool
    is_learned: bool = True

    @property
    def is_beyond(self) -> bool:
        """Whether all of its interval is worse than normal.

        Without an alarm there is no evidence enough yet, or one has just ended.
        """
        if self.normal is None:
            return False
        better = CATALOGUE[self.metric].higher_is_better
        return self.upper < self.normal if better else self.lower > self.normal


class ScoreTable(NamedTuple):
    """An application and judge over one window.

    ``learning`` is how many scored slots there are of those that a baseline takes; None when there
    is a baseline, or none is to be learned. ``outlook`` says when it comes, None: not known.
    ``worse`` are the metrics whose alarm is open, also those without a value, and so without a row.
    """

    application: str
    judge: str
    window: str
    rows: Sequence[ScoreRow]
    learning: tuple[int, int] | None
    outlook: Outlook | None = None
    worse: Sequence[str] = ()


Pair = tuple[str, str]


def score_tables(
    aggregator: ScoreAggregator,
    learning: Mapping[Pair, tuple[int, int]],
    now: float,
    outlooks: Mapping[Pair, Outlook] = MappingProxyType({}),
    unlearned: Collection[Pair] = frozenset(),
) -> list[ScoreTable]:
    """One for each application and judge with a value within the horizon, by name.

    Over the shortest window in which a metric has five effective interactions, else the longest.
    ``learning`` says how many scored slots there are, and are needed, where there is no baseline;
    ``outlooks`` say when one comes. Of the ``unlearned`` nobody learns what has none.
    """
    estimates = defaultdict[Pair, dict[str, dict[str, Estimate]]](dict)
    for found in chain.from_iterable(aggregator.blocks()):
        pair = found.key.application, found.key.judge
        estimates[pair].setdefault(found.window, {})[found.key.metric] = found.estimate
    drift = aggregator.drift
    states: dict[Pair, dict[str, DriftState]] = defaultdict(dict)
    for state in drift.states(now) if drift is not None else ():
        states[state.key.application, state.key.judge][state.key.metric] = state
    watched = frozenset(() if drift is None else drift.settings.metrics)
    tables = []
    for pair, by_window in sorted(estimates.items()):
        window = _window(aggregator.windows, by_window)
        rows = _rows(by_window[window], states[pair], watched, is_learned=pair not in unlearned)
        worse = [metric for metric, state in states[pair].items() if state.alarm]
        outlook = outlooks.get(pair)
        tables.append(ScoreTable(*pair, window, rows, learning.get(pair), outlook, worse))
    return tables


def _window(windows: Mapping[str, int], by_window: Mapping[str, Mapping[str, Estimate]]) -> str:
    by_length = sorted(windows, key=lambda name: windows[name])
    for name in by_length:
        if any(each.samples >= FEW for each in by_window.get(name, {}).values()):
            return name
    return by_length[-1]


def _rows(
    estimates: Mapping[str, Estimate],
    states: Mapping[str, DriftState],
    watched: frozenset[str],
    *,
    is_learned: bool,
) -> list[ScoreRow]:
    """In the catalogue's order; those without a value are left out."""
    rows = []
    for metric in CATALOGUE:
        found, state = estimates.get(metric), states.get(metric)
        if found is None or found.value is None or found.lower is None or found.upper is None:
            continue
        normal = None if state is None else state.baseline
        rows.append(
            ScoreRow(
                metric,
                found.value,
                found.lower,
                found.upper,
                found.samples,
                normal,
                metric in watched,
                state is not None and state.alarm,
                is_learned,
            )
        )
    return rows
