"""Metrics that have a baseline and no value any more, though their application is scored.

A metric that is not defined is left out, so it cannot become worse: an index that returns nothing
moves no faithfulness, and opens no alarm of it. That there is no value at all is told instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from monitor.exporter.scores.aggregator import ScoreAggregator, SeriesEstimate, SeriesKey
from monitor.exporter.scores.detectors import DriftKey

#: Values that were to be expected before it means anything that there is none: by chance that
#: happens once in 10^8 windows.
LEAST: Final = 20.0
#: Windows from this length on are looked at, or the longest one: references of a batch job that
#: runs each hour are not missing in between.
WINDOW_S: Final = 3_600

#: The share of an application's scored picks in which a metric had a value while it was learned.
LearnedShare = Callable[[DriftKey], float]


class MissingMetric(NamedTuple):
    """No value within ``window``; of ``picks`` scored there ``expected`` should have one."""

    key: DriftKey
    window: str
    picks: float
    expected: float

    def __str__(self) -> str:
        """In words."""
        metric, application, judge = self.key
        return (
            f"{metric} of {application} has no value within {self.window}, where {self.picks:.0f} "
            f"interactions were scored and about {self.expected:.0f} should have one; judge {judge}"
        )


#: By window and metric.
_Samples = dict[str, dict[str, float]]


def missing_metrics(
    estimates: Iterable[SeriesEstimate],
    held: Iterable[DriftKey],
    windows: Mapping[str, int],
    learned: LearnedShare = lambda _key: 0.0,
) -> Iterator[tuple[DriftKey, MissingMetric | None]]:
    """Of each detector with a baseline, whether its metric is missing.

    ``windows`` maps names to seconds. How often a metric has a value follows from the longest
    window, and from what was learned: else whatever is missing for so long would be usual.
    """
    longest = max(windows, key=windows.__getitem__)
    looked_at = [name for name, length in windows.items() if length >= WINDOW_S] or [longest]
    found: dict[tuple[str, str], _Samples] = defaultdict(lambda: defaultdict(dict))
    for key, window, estimate in estimates:
        if isinstance(key, SeriesKey):
            found[key.application, key.judge][window][key.metric] = estimate.samples
    for drift_key in held:
        samples = found.get((drift_key.application, drift_key.judge))
        if samples is not None and drift_key.metric in samples[longest]:
            share = max(_share(samples[longest], drift_key.metric), learned(drift_key))
            yield drift_key, _missing(drift_key, samples, looked_at, share)


def missing_of(
    aggregator: ScoreAggregator,
    learned: LearnedShare,
    estimates: Iterable[SeriesEstimate] | None = None,
) -> Iterator[tuple[DriftKey, MissingMetric | None]]:
    """The same for all that is scored, as of the last time that it was moved on.

    ``estimates`` are those of the aggregator, where they are at hand.
    """
    drift = aggregator.drift
    held = [] if drift is None else [key for key, is_held in drift.watched() if is_held]
    if held:
        found = aggregator.estimates() if estimates is None else estimates
        yield from missing_metrics(found, held, aggregator.windows, learned)


def _share(samples: Mapping[str, float], metric: str) -> float:
    most = max(samples.values(), default=0.0)
    return samples[metric] / most if most else 0.0


def _missing(
    key: DriftKey, samples: _Samples, windows: Iterable[str], share: float
) -> MissingMetric | None:
    """By the first window that tells."""
    for window in windows:
        picks = max(samples[window].values(), default=0.0)
        if not samples[window].get(key.metric) and picks * share >= LEAST:
            return MissingMetric(key, window, picks, picks * share)
    return None
