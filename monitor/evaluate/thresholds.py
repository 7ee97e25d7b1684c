"""Rows that bring their own threshold: pass or fail, one by one. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pydantic import JsonValue

from monitor.metrics.catalogue import CATALOGUE
from monitor.records import ScoreRecord, UnscoredMark

#: Attribute of a row that holds it.
THRESHOLD: Final = "threshold"


class RowFailure(NamedTuple):
    """A row, counted from 1, that does not keep its threshold, and why in words."""

    row: int
    interaction_id: str
    metric: str
    why: str


@dataclass
class RowThresholds:
    """Holds rows to the thresholds that stand on them: a number for ``metric``, or one by name.

    A row without a value fails: what is not known is not good.
    """

    metric: str
    held: int = 0
    failed: list[RowFailure] = field(default_factory=list)

    @property
    def passed(self) -> int:
        """How many rows keep all of theirs."""
        return self.held - len({failure.row for failure in self.failed})

    def add(self, record: ScoreRecord) -> None:
        """One more record; nothing where its row has no threshold."""
        asked = record.attributes.get(THRESHOLD)
        if asked is None or asked == "":
            return
        self.held += 1
        for metric, why in self._failures(record, asked):
            row = record.source.offset + 1
            self.failed.append(RowFailure(row, record.interaction_id, metric, why))

    def _failures(self, record: ScoreRecord, asked: JsonValue) -> Iterator[tuple[str, str]]:
        wanted = asked if isinstance(asked, dict) else {self.metric: asked}
        for metric, each in wanted.items():
            threshold = as_number(each)
            if metric not in CATALOGUE:
                yield metric, f"threshold: found {metric!r}, expected {', '.join(CATALOGUE)}"
            elif threshold is None:
                yield metric, f"threshold: found {each!r}, expected a number from 0 to 1"
            elif (why := beyond(metric, value_of(record, metric), threshold)) is not None:
                yield metric, why


def value_of(record: ScoreRecord, metric: str) -> float | str:
    """The value on a record, or the reason why it has none."""
    score = record.scores.get(metric)
    if isinstance(score, float):
        return score
    if isinstance(score, UnscoredMark):
        return score.unscored
    return record.reason or "NOT_ASKED"


def as_number(found: JsonValue) -> float | None:
    """A share, also as the text of a CSV cell; None where it is none.

    >>> as_number("0.2"), as_number(1), as_number(True), as_number("high"), as_number(1.5)
    (0.2, 1.0, None, None, None)
    """
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        return None
    try:
        number = float(found)
    except ValueError:
        return None
    return number if math.isfinite(number) and 0.0 <= number <= 1.0 else None


def beyond(metric: str, value: float | str, threshold: float) -> str | None:
    """Why a value does not keep a threshold, in the direction of its metric; None where it does.

    >>> beyond("noise_sensitivity_relevant", 0.2, 0.2), beyond("faithfulness", 0.9, 0.8)
    (None, None)
    >>> beyond("faithfulness", 0.5, 0.8)
    '0.500 is below 0.8'
    >>> beyond("faithfulness", "NO_CLAIMS", 0.8)
    'it has no value (NO_CLAIMS), and so does not pass'
    """
    if isinstance(value, str):
        return f"it has no value ({value}), and so does not pass"
    # Of a metric without a better direction the threshold is the most that there may be.
    if CATALOGUE[metric].higher_is_better:
        return f"{value:.3f} is below {threshold:g}" if value < threshold else None
    return f"{value:.3f} is above {threshold:g}" if value > threshold else None
