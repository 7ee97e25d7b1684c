"""Whether a window can have as many scores as an objective needs to be known."""

from __future__ import annotations

from typing import Final

from monitor.config import ObjectiveSettings, Settings, seconds
from monitor.doctor.report import ReportLine, warn
from monitor.stats.period import DAY_S

#: Windows for objectives where little is judged.
LONG_WINDOWS: Final = ("7d", "14d", "28d")
#: Of an objective, by default.
LEAST_SAMPLES: Final = 30
#: All of a day's traffic may come within so many seconds.
BUSY_S: Final = 8 * 3_600


def objectives_of(settings: Settings) -> list[ObjectiveSettings]:
    """All that the settings have, each once."""
    own = [each for whole in settings.effective for each in whole.objective]
    return list(
        {
            (*each.about, each.minimum_samples): each for each in [*own, *settings.objectives]
        }.values()
    )


def can_be_known(window: str, per_day: float, least: int = LEAST_SAMPLES) -> bool:
    """Whether a window can hold so many, at most: those of busy hours, of all applications.

    >>> [can_be_known(window, 20.0) for window in ("1h", "24h", "7d")]
    [False, False, True]
    >>> can_be_known("1h", 300.0), can_be_known("1h", 200.0)
    (True, False)
    """
    return most_in(window, per_day) >= least


def most_in(window: str, per_day: float) -> float:
    """Judged interactions in a window at most."""
    length = seconds(window)
    return per_day * max(length / DAY_S, min(1.0, length / BUSY_S))


def lines(settings: Settings, per_day: float) -> list[ReportLine]:
    """One for each objective that stays unknown at so many judged a day."""
    return [
        _unknown(each, settings, per_day)
        for each in objectives_of(settings)
        if not can_be_known(each.window, per_day, each.minimum_samples)
    ]


def _unknown(objective: ObjectiveSettings, settings: Settings, per_day: float) -> ReportLine:
    least = objective.minimum_samples
    found = (
        f"stays unknown: minimum_samples is {least}, and {objective.window} holds about "
        f"{most_in(objective.window, per_day):.2g} at most"
    )
    better = next((w for w in LONG_WINDOWS if can_be_known(w, per_day, least)), None)
    if better is None:
        mend = "judge more (sampling.rate, limits.usd_per_day), or lower minimum_samples"
        return warn("objective", _name(objective), found, mend)
    mend = f"set its window to {better}"
    windows = settings.export.windows
    if seconds(better) not in map(seconds, windows):
        mend += f", and export.windows to {', '.join((*windows, better))}"
    return warn("objective", _name(objective), found, mend)


def _name(objective: ObjectiveSettings) -> str:
    return f"{objective.metric} {objective.window}"
