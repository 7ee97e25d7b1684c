"""What is said in the log when applications or judges are summed up as ``other``."""

from __future__ import annotations

from collections.abc import Callable

from monitor.exporter.scores.folding import Folded
from monitor.runtime.logs import logger

_APPLICATIONS = (
    "the field application has more names than export.top_k: the rest is summed up as other, "
    "without alarms; if it holds ids, map another field to it, else raise export.top_k"
)
_JUDGES = (
    "judges have more versions than fit: the rest is summed up as other, "
    "without baselines and alarms. Does a provider's reply name another model"
    " each time?"
)


class FoldingLog:
    """Says when it begins, when there is ten times as much of it, and when it is over."""

    def __init__(self, folded: Callable[[], Folded]) -> None:
        self._folded = folded
        self._reported = {"applications": 0, "judges": 0}

    def look(self) -> None:
        """Say what is new."""
        found = self._folded()
        self._tell("applications", found.applications, _APPLICATIONS, found.example)
        self._tell("judges", found.judges, _JUDGES, None)

    def _tell(self, what: str, number: int, why: str, example: str | None) -> None:
        reported = self._reported[what]
        if number and number >= 10 * reported:
            self._reported[what] = number
            shown = {} if example is None else {"example": example}
            logger().warning(f"{what}_folded", number=number, what=why, **shown)
        elif reported and not number:
            self._reported[what] = 0
            logger().info(f"{what}_folded", number=0)
