"""What people's audits say of judges, as the control topic has it; the exporter asks. Pure."""

from __future__ import annotations

from monitor.control.state import WrittenAt
from monitor.records.control import (
    ControlRecord,
    CorrectionRecord,
    Removed,
    correction_key,
)


class Corrections:
    """The latest record of each application and judge (``name@version``).

    >>> Corrections().of("support-bot", "offline@3f2a91") is None
    True
    """

    def __init__(self) -> None:
        self._held: dict[str, CorrectionRecord] = {}

    def of(self, application: str, judge: str) -> CorrectionRecord | None:
        """What holds; None where nobody has audited."""
        return self._held.get(correction_key(application, judge))

    def apply(self, found: ControlRecord | Removed, _written: WrittenAt) -> None:
        """What audits say now."""
        if isinstance(found, Removed):
            self._held.pop(found.key, None)
        elif isinstance(found, CorrectionRecord):
            self._held[found.key] = found
