"""Whether what the slots of a run add up to is the truth that its traffic was made with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from monitor.records import ScoreRecord
from tests.stages import batch
from tests.stages.chaos.traffic import Made

#: By chance an estimate is further off than so many standard errors once in 16,000 times.
MOST_OFF = 4.0


class Estimated(NamedTuple):
    """A metric's mean as the slots estimate it, its standard error, and what it is in truth."""

    metric: str
    value: float
    error: float
    truth: float

    @property
    def off(self) -> float:
        """How many standard errors the estimate is off."""
        difference = abs(self.value - self.truth)
        return difference / self.error if self.error else math.inf if difference > 1e-9 else 0.0

    def __str__(self) -> str:
        return f"{self.metric} {self.value:.4f} ± {self.error:.4f}, in truth {self.truth:.4f}"


def estimates(traffic: Sequence[Made], counted: Sequence[ScoreRecord]) -> tuple[Estimated, ...]:
    """θ̂ = ΣWG/ΣWH of all counted slots, larger meaning worse, with the error of its residuals."""
    unfaithful = [1.0 - one.faithfulness for one in traffic]
    incorrect = [one.incorrect_claims for one in traffic if one.incorrect_claims is not None]
    return tuple(
        _estimated(metric, counted, math.fsum(values) / len(values))
        for metric, values in (("faithfulness", unfaithful), ("incorrect_claims", incorrect))
    )


def _estimated(metric: str, counted: Sequence[ScoreRecord], truth: float) -> Estimated:
    slots = [slot for each in counted for name, slot in batch.slots(each) if name == metric]
    scored = math.fsum(slot.w * slot.h for slot in slots)
    value = math.fsum(slot.w * slot.g for slot in slots) / scored
    squares = math.fsum((slot.w * (slot.g - value * slot.h)) ** 2 for slot in slots)
    return Estimated(metric, value, math.sqrt(squares) / scored, truth)
