"""Records of one kind as the control topic has them: the latest of each key. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from monitor.control.state import WrittenAt
from monitor.records.control import (
    BaselineRecord,
    CalibrationRecord,
    ControlRecord,
    CorrectionRecord,
    Removed,
)

R = TypeVar("R", bound=BaselineRecord | CalibrationRecord | CorrectionRecord)


class LatestRecords(Generic[R]):
    """Holds what was applied, by key.

    ``after`` says what holds when a record is found after what held before; else it is that record.

    >>> LatestRecords(CorrectionRecord).of("correction/support-bot/offline@3f2a91") is None
    True
    """

    def __init__(self, kind: type[R], after: Callable[[R | None, R], R] | None = None) -> None:
        self._kind, self._after = kind, after
        self._held: dict[str, R] = {}

    @property
    def by_key(self) -> Mapping[str, R]:
        """All that hold."""
        return self._held

    def of(self, key: str) -> R | None:
        """What holds; None while there is none."""
        return self._held.get(key)

    def apply(self, found: ControlRecord | Removed, _written: WrittenAt) -> None:
        """Let a record hold, or none any more; those of other kinds say nothing."""
        if isinstance(found, Removed):
            self._held.pop(found.key, None)
        elif isinstance(found, self._kind):
            after = self._after
            held = found if after is None else after(self._held.get(found.key), found)
            self._held[found.key] = held
