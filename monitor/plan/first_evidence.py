"""When quality can be held against a baseline, by how many are judged a day."""

from __future__ import annotations

from typing import NamedTuple

from monitor.config import Settings
from monitor.exporter.baselines.learning import LEAST_VALUES, MOST_TAUGHT
from monitor.records import durations as spans
from monitor.stats.period import DAY_S, period_days
from monitor.stats.threshold import WEEK_S


class FirstEvidence(NamedTuple):
    """``after_s`` seconds of judging there is evidence; None: never. ``period_s`` is P.

    The baseline is ``learned_from`` so many judged, 0 where it is given or never comes.
    """

    after_s: int | None
    learned_from: int
    period_s: int

    def in_words(self) -> str:
        r"""When there is something to hold quality against, and for how long evidence counts.

        >>> print(*FirstEvidence(7 * DAY_S, 140, 28 * DAY_S).in_words().split("; "), sep="\n")
        after 7 d, when a baseline is learned from 140 judged
        P is 28 d: evidence of 28 d to 56 d counts
        """
        least, most = spans.in_words(self.period_s), spans.in_words(2 * self.period_s)
        counts = f"P is {least}: evidence of {least} to {most} counts"
        if self.after_s is None:
            return (
                f"never: two periods of {least} hold too little for a baseline. Give one "
                "(drift.baselines), an objective, or judge more"
            )
        if not self.after_s:
            return f"at once, against drift.baselines; {counts}"
        after = spans.in_words(self.after_s)
        return (
            f"after {after}, when a baseline is learned from {self.learned_from:,} judged; {counts}"
        )


def first_evidence(settings: Settings, per_day: float) -> FirstEvidence:
    """By these settings, with so many judged a day (above 0), all of one application and judge.

    A baseline is given where an entry has all metrics that are watched: the others are learned.
    """
    period_s = settings.drift.period_s or DAY_S * period_days(per_day)
    watched = set(settings.drift.metrics)
    if any(watched <= set(given.metrics) for given in settings.drift.baselines):
        return FirstEvidence(0, 0, period_s)
    days = _days(settings, per_day)
    # What it is learned from lies within two periods.
    if days > 2 * period_s / DAY_S:
        return FirstEvidence(None, 0, period_s)
    learned_from = max(1, min(MOST_TAUGHT, round(days * per_day)))
    return FirstEvidence(round(days * DAY_S), learned_from, period_s)


def _days(settings: Settings, per_day: float) -> float:
    """Until a whole baseline has enough: so many and so long, or what a week gives."""
    drift = settings.drift
    enough = max(drift.learn_slots / per_day, drift.learn_for_s / DAY_S)
    a_week = max(min(LEAST_VALUES, drift.learn_slots) / per_day, WEEK_S / DAY_S)
    return min(enough, a_week)
