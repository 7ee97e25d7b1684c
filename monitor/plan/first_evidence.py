"""When quality can be held against a baseline, by how many are judged a day."""

from __future__ import annotations

import math
from typing import NamedTuple

from monitor.config import Settings, seconds
from monitor.exporter.baselines.learning import LEAST_VALUES, MOST_TAUGHT, LearningSettings
from monitor.records import durations
from monitor.stats.period import DAY_S, HorizonSpan, horizon_span
from monitor.stats.threshold import WEEK_S


class FirstEvidence(NamedTuple):
    """``after_s`` seconds of judging there is a baseline; None: never. ``period_s`` is P.

    It is ``learned_from`` so many judged, 0 where it is given or never comes. Before that there is
    evidence against a provisional one from ``provisional_s`` on, None where there is no such one.
    It ``stays_provisional`` where a whole one never comes. An application that has fewer than
    ``least_per_day`` beside others gets one late, when it happens to have more, or never.
    """

    after_s: int | None
    learned_from: int
    period_s: int
    provisional_s: int | None = None
    stays_provisional: bool = False
    least_per_day: int = 0

    def in_words(self) -> str:
        r"""When there is something to hold quality against, and for how long evidence counts.

        >>> print(*FirstEvidence(7 * DAY_S, 140, 28 * DAY_S).in_words().split("; "), sep="\n")
        after 7 d, when a baseline is learned from 140 judged
        P is 28 d: evidence of 28 d to 56 d counts
        >>> print(FirstEvidence(DAY_S, 10_000, DAY_S, 1_600).in_words().split("; ")[0])
        after 24 h, when a baseline is learned from 10,000 judged (a provisional one after 26.7 min)
        """
        least = durations.in_words(self.period_s)
        counts = self.counts_in_words()
        if self.least_per_day > 1:
            few = f"an application with fewer than {self.least_per_day:,} a day"
            counts += f"; {few} gets one late or never"
        if self.after_s is None:
            return (
                f"never: two periods of {least} hold too little for a baseline. Give one "
                "(drift.baselines), an objective, or judge more"
            )
        if not self.after_s:
            return f"at once, against drift.baselines; {counts}"
        after = f"after {durations.in_words(self.after_s)}, when a"
        of = f"is learned from {self.learned_from:,} judged"
        if self.stays_provisional:
            return (
                f"{after} provisional baseline {of}. It stays: two periods of {least} hold less "
                f"than drift.learn_for asks for; {counts}"
            )
        soon = ""
        if self.provisional_s is not None:
            soon = f" (a provisional one after {durations.in_words(self.provisional_s)})"
        return f"{after} baseline {of}{soon}; {counts}"

    def counts_in_words(self) -> str:
        """For how long evidence counts."""
        least, most = durations.in_words(self.period_s), durations.in_words(2 * self.period_s)
        return f"P is {least}: evidence of {least} to {most} counts"


def first_evidence(
    settings: Settings,
    per_day: float,
    of_all: float | None = None,
    *,
    is_given: bool | None = None,
    span: HorizonSpan | None = None,
) -> FirstEvidence:
    """By these settings, with so many judged a day (above 0) of one application and judge.

    ``of_all`` are judged a day together with the others, None where there are none. A baseline is
    given where an entry has all metrics that are watched: the others are learned. ``is_given``
    says so of this application; None: no application is known. ``span`` is what an exporter takes;
    None: what so many ask for.
    """
    drift = settings.drift
    held = span or span_of(settings, per_day if of_all is None else of_all)
    period_s, least = held.period_s, _least_per_day(settings, held)
    if is_given is None:
        watched = set(drift.metrics)
        is_given = any(watched <= set(given.metrics) for given in drift.baselines)
    if is_given:
        return FirstEvidence(0, 0, period_s)
    slots_s, needed_s = drift.learn_slots / per_day * DAY_S, _needed_s(settings, per_day)
    whole_s = _within(settings, held, needed_s)
    soon_s = _within(settings, held, slots_s) if slots_s < needed_s else None
    wait_s = seconds(drift.learn_wait)
    provisional_s = None if soon_s is None else round(soon_s + wait_s)
    if whole_s is not None:
        learned_from = max(1, min(MOST_TAUGHT, round(needed_s / DAY_S * per_day)))
        after_s = round(whole_s + wait_s)
        return FirstEvidence(after_s, learned_from, period_s, provisional_s, False, least)
    if provisional_s is not None:
        return FirstEvidence(provisional_s, drift.learn_slots, period_s, provisional_s, True, least)
    return FirstEvidence(None, 0, period_s)


def _needed_s(settings: Settings, per_day: float) -> float:
    """Until a whole baseline has enough: so many and so long, or what a week gives."""
    drift = settings.drift
    enough = max(drift.learn_slots / per_day * DAY_S, drift.learn_for_s)
    a_week = max(min(LEAST_VALUES, drift.learn_slots) / per_day * DAY_S, WEEK_S)
    return min(enough, a_week)


def span_of(settings: Settings, of_all: float | None) -> HorizonSpan:
    """For how long slots count, with so many judged a day of all applications together."""
    period_s = settings.drift.period_s
    return horizon_span(of_all) if period_s is None else HorizonSpan(period_s)


def _held_s(settings: Settings, held: HorizonSpan) -> int:
    """For how long slots are held at least, whenever a period began."""
    return max(held.learning_s, held.period_s, *map(seconds, settings.export.windows))


def most_held_s(settings: Settings, held: HorizonSpan) -> int:
    """For how long slots are held at most: at the end of a period those of the one before, too."""
    return held.most_held_s(map(seconds, settings.export.windows))


def _least_per_day(settings: Settings, held: HorizonSpan) -> int:
    """With how many a day an application gets a baseline, beside others that have more."""
    drift, old_s = settings.drift, most_held_s(settings, held) - seconds(settings.drift.learn_wait)
    needed = LearningSettings(drift.learn_slots, 0).enough_of(old_s)
    return math.ceil(needed / max(1, old_s) * DAY_S)


def _within(settings: Settings, held: HorizonSpan, needed_s: float) -> float | None:
    """When slots of so many seconds are held together, at the latest; None: never.

    They are held from the start of the previous period, or for as long as the span says, or the
    longest window. What is longer than a period may begin in the midst of one, is dropped, and
    begins anew with the next.
    """
    period_s = held.period_s
    old_enough_s = needed_s + seconds(settings.drift.learn_wait)
    if old_enough_s <= _held_s(settings, held):
        return needed_s
    return 2 * needed_s - period_s if old_enough_s < 2 * period_s else None
