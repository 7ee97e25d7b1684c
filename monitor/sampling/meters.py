"""What judgements take of each thing that is limited, whoever judges: models, places.

An interaction may be judged by another model than the next one: by its application, as a fallback,
its claims by a third one. So what one takes of a limit is the mean over all of them: all that was
used of it, by the number of judgements that have ended meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

#: What the latest judgement counts in a mean, at least.
_WEIGHT: Final = 0.05


class Meter(NamedTuple):
    """``per_minute`` may be used of something, of which ``used`` says how much was, ever.

    ``is_shared``: by all replicas.
    """

    per_minute: float
    used: Callable[[], float]
    is_shared: bool = True


class Meters:
    """The mean use of each by the latest judgements.

    >>> used = [0.0, 0.0]
    >>> meters = Meters([Meter(60, lambda: used[0]), Meter(10, lambda: used[1])])
    >>> meters.affordable(1.0)
    >>> used[:] = 3.0, 0.0; meters.judged(); meters.affordable(1.0), meters.affordable(0.5)
    (20.0, 10.0)
    >>> used[:] = 3.0, 2.0; meters.judged(); meters.affordable(1.0)
    10.0
    """

    def __init__(self, meters: Sequence[Meter]) -> None:
        self._meters = meters
        self._before = [meter.used() for meter in meters]
        self._means = [0.0] * len(meters)
        self._judged = 0

    def judged(self) -> None:
        """One more judgement has ended."""
        self._judged += 1
        weight = max(_WEIGHT, 1.0 / self._judged)
        now = [meter.used() for meter in self._meters]
        for number, (before, used) in enumerate(zip(self._before, now, strict=True)):
            self._means[number] += weight * (used - before - self._means[number])
        self._before = now

    def affordable(self, share: float) -> float | None:
        """Judgements a minute for a replica's ``share``; None where nothing was used."""
        bounds = [
            meter.per_minute * (share if meter.is_shared else 1.0) / mean
            for meter, mean in zip(self._meters, self._means, strict=True)
            if mean > 0
        ]
        return min(bounds, default=None)
