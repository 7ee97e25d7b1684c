"""What people have said of a judged interaction. Pure."""

from __future__ import annotations

from typing import NamedTuple

from monitor.records import ScoreRecord, Verdicts

#: Characters of a reviewer's name, and of a note.
MOST_NAME, MOST_NOTE = 128, 2_000


class HumanLabel(NamedTuple):
    """One reading of an interaction by one person; the time is epoch milliseconds."""

    reviewer: str
    labelled_ms: int
    verdicts: Verdicts
    note: str


class AuditReading(NamedTuple):
    """An audited interaction with its labels, one of each reviewer, the first reviewer first.

    ``probability`` is π, 0 where it was chosen and not drawn; ``is_stratified`` whether the bad
    were drawn more often.
    """

    record: ScoreRecord
    weight: float
    probability: float
    is_stratified: bool
    labels: tuple[HumanLabel, ...]

    @property
    def labelled_ms(self) -> int:
        """When the first of them was given."""
        return min(each.labelled_ms for each in self.labels)
