"""What people's audits say of judges, as the control topic has it; the exporter asks. Pure."""

from __future__ import annotations

from monitor.control.latest_records import LatestRecords
from monitor.records.control import CorrectionRecord, correction_key


class Corrections:
    """The latest record of each application and judge (``name@version``).

    >>> Corrections().of("support-bot", "offline@3f2a91") is None
    True
    """

    def __init__(self) -> None:
        self._latest = LatestRecords(CorrectionRecord)
        self.apply = self._latest.apply

    def of(self, application: str, judge: str) -> CorrectionRecord | None:
        """What holds; None where nobody has audited."""
        return self._latest.of(correction_key(application, judge))
