"""Of whom a baseline comes late or never: what is held of so small an application is too little."""

from __future__ import annotations

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.learning import LearningSettings, Progress
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.folding import JudgedApplication
from monitor.stats.threshold import WEEK_S


def unlikely(
    baselines: Baselines, aggregator: ScoreAggregator, now: float
) -> frozenset[JudgedApplication]:
    """The applications and judges that are learned of; ``now`` in epoch seconds.

    As of the last ``learn``.
    """
    chosen, span = baselines.learning_settings, aggregator.span
    held_s = max(2 * span.period_s, span.learning_s, *aggregator.windows.values())
    learning = {status.pair for status in baselines.status() if status.is_learning}
    return frozenset(
        progress.pair
        for progress in baselines.progress
        if progress.pair in learning and is_unlikely(progress, chosen, held_s, now)
    )


def is_unlikely(progress: Progress, chosen: LearningSettings, held_s: float, now: float) -> bool:
    """Whether at this pace there will not be enough at once of what is held for ``held_s`` seconds.

    Of less than half of that time, or of a week, no pace is told.
    """
    old_s, seen_s = held_s - chosen.wait_s, now - chosen.wait_s - progress.first
    if progress.done or seen_s < min(WEEK_S, old_s / 2):
        return False
    return progress.slots / seen_s * old_s < chosen.enough_of(old_s)
