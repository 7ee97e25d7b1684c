"""Of whom a baseline comes late or never: what is held of so small an application is too little."""

from __future__ import annotations

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.learning import LearningSettings, Progress
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.folding import JudgedApplication
from monitor.exporter.scores.outlook import Outlook
from monitor.stats.threshold import WEEK_S


def unlikely(
    baselines: Baselines, aggregator: ScoreAggregator, now: float
) -> frozenset[JudgedApplication]:
    """The applications and judges that are learned of; ``now`` in epoch seconds.

    As of the last ``learn``.
    """
    chosen, held_s = baselines.learning_settings, most_held_s(aggregator)
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
    least, late = least_of_a_week(baselines, aggregator), unlikely(baselines, aggregator, now)
    wait_s = baselines.learning_settings.wait_s
    first = {one.pair: one.first for one in baselines.progress}
    return {
        one.pair: Outlook(
            least,
            first[one.pair] + WEEK_S + wait_s if one.pair in first else None,
            one.pair in late,
        )
        for one in baselines.status()
        if one.is_learning
    }


def least_of_a_week(baselines: Baselines, aggregator: ScoreAggregator) -> int | None:
    """Slots that are enough where they are those of a week; None where it is never held."""
    chosen = baselines.learning_settings
    enough = chosen.enough_of(most_held_s(aggregator) - chosen.wait_s)
    return enough if enough < chosen.slots else None


def most_held_s(aggregator: ScoreAggregator) -> int:
    """For how many seconds slots are held at most."""
    span = aggregator.span
    return max(2 * span.period_s, span.learning_s, *aggregator.windows.values())


def is_unlikely(progress: Progress, chosen: LearningSettings, held_s: float, now: float) -> bool:
    """Whether at this pace there will not be enough at once of what is held for ``held_s`` seconds.

    Of less than half of that time, or of a week, no pace is told.
    """
    old_s, seen_s = held_s - chosen.wait_s, now - chosen.wait_s - progress.first
    if progress.done or seen_s < min(WEEK_S, old_s / 2):
        return False
    return progress.slots / seen_s * old_s < chosen.enough_of(old_s)
