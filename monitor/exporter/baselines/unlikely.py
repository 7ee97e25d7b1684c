"""Of whom a baseline comes late or never: what is held of so small an application is too little."""

from __future__ import annotations

import math

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.learning import LearningSettings, Progress
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.folding import JudgedApplication
from monitor.exporter.scores.outlook import Outlook
from monitor.stats.period import MOST_PER_DAY
from monitor.stats.threshold import WEEK_S


def unlikely(
    baselines: Baselines, aggregator: ScoreAggregator, now: float
) -> frozenset[JudgedApplication]:
    """The applications and judges that are learned of; ``now`` in epoch seconds.

    As of the last ``learn``.
    """
    windows = aggregator.windows.values()
    chosen, held_s = baselines.learning_settings, aggregator.span.most_held_s(windows)
    learning = {status.pair for status in baselines.status() if status.is_learning}
    return frozenset(
        progress.pair
        for progress in baselines.progress
        if progress.pair in learning and is_unlikely(progress, chosen, held_s, now)
    )


def outlooks(
    baselines: Baselines, aggregator: ScoreAggregator, now: float
) -> dict[JudgedApplication, Outlook]:
    """Of all that are learned of, as of the last ``learn``."""
    least, helps = baselines.learning_settings.least, week_helps(baselines, aggregator, now)
    late = unlikely(baselines, aggregator, now)
    progress = {one.pair: one for one in baselines.progress}
    found = {}
    for one in baselines.status():
        if one.is_learning:
            seen, comes_s = progress.get(one.pair), None
            over_s = math.inf if seen is None else _week_over(seen, baselines)
            if seen is not None and seen.slots >= least and over_s > now:
                is_held = aggregator.horizon_start(over_s) <= seen.first
                comes_s = over_s if is_held else None
            is_late = one.pair in late
            found[one.pair] = Outlook(least, helps, comes_s, over_s <= now, is_late)
    return found


def _week_over(progress: Progress, baselines: Baselines) -> float:
    """When a week since the first slot is over, and old enough; in epoch seconds."""
    return progress.first + WEEK_S + baselines.learning_settings.wait_s


def week_helps(baselines: Baselines, aggregator: ScoreAggregator, now: float) -> bool | None:
    """Whether a week is held, and asks for fewer slots; None where a pace to come decides it.

    Of a first day nobody knows which part it is; and where some days have more than are held for a
    week, the mean of the latest ones decides.
    """
    chosen, windows = baselines.learning_settings, aggregator.windows.values()
    surely_s = max(2 * aggregator.period_s, *windows)
    if chosen.enough_of(surely_s - chosen.wait_s) < chosen.slots:
        return True
    if chosen.enough_of(aggregator.span.most_held_s(windows) - chosen.wait_s) == chosen.slots:
        return False
    most = baselines.drift.most_a_day(now)
    return True if most is not None and most <= MOST_PER_DAY else None


def is_unlikely(progress: Progress, chosen: LearningSettings, held_s: float, now: float) -> bool:
    """Whether at this pace there will not be enough at once of what is held for ``held_s`` seconds.

    Of less than half of that time, or of a week, no pace is told.
    """
    old_s, seen_s = held_s - chosen.wait_s, now - chosen.wait_s - progress.first
    if progress.done or seen_s < min(WEEK_S, old_s / 2):
        return False
    return progress.slots / seen_s * old_s < chosen.enough_of(old_s)
