"""An exporter that is killed when an alarm stands on its topic, before it can read it there.

``python -m tests.e2e.dying_exporter export`` takes the settings of ``rag-monitor export``.
"""

from __future__ import annotations

import os
import signal

from monitor.__main__ import main
from monitor.app.export_role import ExportRole
from monitor.app.process import Monitor
from monitor.control.publisher import Outbox
from monitor.exporter.exporter import Exporter
from monitor.kafka.producer import Producer
from monitor.records.alarm import AlarmRecord
from monitor.records.control import Removed
from monitor.records.keyed import Keyed
from tests.stages.altered import serve


class DyingOutbox(Outbox):
    """SIGKILL comes with the acknowledgement."""

    async def _write(self, producer: Producer, record: Keyed | Removed) -> None:
        await super()._write(producer, record)
        if isinstance(record, AlarmRecord):
            os.kill(os.getpid(), signal.SIGKILL)


class DyingExporter(Exporter):
    """The product's, with another outbox."""

    outbox = DyingOutbox


class DyingRole(ExportRole):
    """The exporter's, with another one inside."""

    exporter = DyingExporter


class DyingMonitor(Monitor):
    """The composition of the product with another exporter."""

    export_role = DyingRole


def export() -> None:
    """Run it until it dies."""
    serve(DyingMonitor, ["export"])


if __name__ == "__main__":
    main(export)
