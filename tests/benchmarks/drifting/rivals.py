"""Detectors that people use instead, each seen as: one score in, alarm or not.

river's detectors as they come and tuned; a rule on the mean of the last 100; textbook CUSUM. A
river detector also alarms on changes for the better; that is how it comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

Alarm = Callable[[float], bool]
#: A parameter → a fresh detector.
Family = Callable[[float], Alarm]


def river_is_missing() -> bool:
    """Whether the package of the first three is not installed: the benchmark does without."""
    return find_spec("river") is None


def _river(name: str, **parameters: Any) -> Alarm:
    from river import drift

    detector = getattr(drift, name)(**parameters)

    def alarm(score: float) -> bool:
        detector.update(score)
        return bool(detector.drift_detected)

    return alarm


def adwin(delta: float) -> Alarm:
    """river's ADWIN; its default delta is 0.002."""
    return _river("ADWIN", delta=delta)


def page_hinkley(threshold: float) -> Alarm:
    """river's Page-Hinkley, upwards; its default threshold is 50."""
    return _river("PageHinkley", threshold=threshold, mode="up")


def kswin(alpha: float) -> Alarm:
    """river's KSWIN; its default alpha is 0.005."""
    return _river("KSWIN", alpha=alpha, seed=1)


def rolling_100(limit: float) -> Alarm:
    """The mean of the last 100 scores is above a limit."""
    last: deque[float] = deque(maxlen=100)

    def alarm(score: float) -> bool:
        last.append(score)
        return len(last) == 100 and sum(last) / 100 > limit

    return alarm


def cusum(threshold: float, reference: float = 0.12) -> Alarm:
    """Page's CUSUM for a shift from 0.08 to 0.16: S ← max(0, S + x − 0.12), alarm at S ≥ h."""
    total = 0.0

    def alarm(score: float) -> bool:
        nonlocal total
        total = max(0.0, total + score - reference)
        return total >= threshold

    return alarm


@dataclass(frozen=True)
class Rival:
    """A family, its default parameter (None: it has none) and where to look for the tuned one.

    ``cost`` is roughly microseconds a score: dear ones are run less often.
    """

    name: str
    family: Family
    default: float | None
    low: float
    high: float
    cost: float = 1.0
    of_river: bool = False


RIVALS = (
    Rival("ADWIN", adwin, 0.002, 0.5, 1e-6, of_river=True),
    Rival("Page-Hinkley", page_hinkley, 50.0, 0.5, 60.0, of_river=True),
    Rival("KSWIN", kswin, 0.005, 1e-2, 1e-8, cost=420.0, of_river=True),
    Rival("rolling 100", rolling_100, None, 0.08, 0.3),
    Rival("CUSUM", cusum, None, 0.2, 6.0),
)


def first_alarm(alarm: Alarm, scores: Iterable[float]) -> int | None:
    """How many scores until the first alarm, that one included; None without an alarm."""
    for number, score in enumerate(scores, 1):
        if alarm(score):
            return number
    return None


def run_length(family: Family, parameter: float, scores: np.ndarray[Any, Any]) -> float:
    """Scores per alarm over one long stream, starting anew after each alarm."""
    alarms, alarm = 0, family(parameter)
    for score in scores.tolist():
        if alarm(score):
            alarms += 1
            alarm = family(parameter)
    return len(scores) / max(alarms, 0.5)


def tuned(rival: Rival, scores: np.ndarray[Any, Any], target: float, rounds: int = 9) -> float:
    """The parameter between ``low`` (alarms often) and ``high`` (seldom) with that run length.

    By halving the logarithm of the interval.
    """
    low, high = np.log(rival.low), np.log(rival.high)
    for _ in range(rounds):
        middle = (low + high) / 2
        if run_length(rival.family, float(np.exp(middle)), scores) < target:
            low = middle
        else:
            high = middle
    return float(np.exp(high))
