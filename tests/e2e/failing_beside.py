"""A process of which a part in the background fails, with words of a user in its error.

``python -m tests.e2e.failing_beside PART`` takes the settings of ``rag-monitor run``; the part is
``pause-log`` or ``outbox``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from monitor.__main__ import main
from monitor.app.export_role import ExportRole
from monitor.app.process import Monitor
from monitor.config import Settings
from monitor.control.pauses import Pauses
from monitor.control.publisher import Outbox
from monitor.exporter.exporter import Exporter
from monitor.records.control import PauseRecord
from tests.stages.altered import serve

WORDS: Final = "what a user wrote"


class FailingPauses(Pauses):
    """Cannot say what holds."""

    def records(self, now: float) -> list[PauseRecord]:
        """Fails."""
        raise ValueError(WORDS)


class FailingLog(Monitor):
    """The product, but for its pauses."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.shared.controls.pauses = FailingPauses()


class FailingOutbox(Outbox):
    """Writes nothing."""

    async def run(self) -> None:
        """Fails."""
        raise ValueError(WORDS)


class FailingExporter(Exporter):
    """The product's, with another outbox."""

    outbox = FailingOutbox


class FailingRole(ExportRole):
    """The exporter's, with another one inside."""

    exporter = FailingExporter


class FailingWriter(Monitor):
    """The product, but for its exporter."""

    export_role = FailingRole


ALTERED: Final[dict[str, Callable[[Settings], Monitor]]] = {
    "pause-log": FailingLog,
    "outbox": FailingWriter,
}


def run() -> None:
    """Run it until it fails."""
    serve(ALTERED[sys.argv[1]], ["score", "export"])


if __name__ == "__main__":
    main(run)
