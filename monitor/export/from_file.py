"""The same gauges from a file of score records, without Kafka."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest

from monitor.errors import RecordSkipped
from monitor.export.book import ScoreBook
from monitor.export.collector import QualityCollector
from monitor.records import read_score_record
from monitor.telemetry import ExporterTelemetry


def gauges(book: ScoreBook, lines: Iterable[bytes], at: float) -> str:
    """Prometheus text of the quality families at ``at`` (epoch seconds).

    ``rag_monitor_score_records_total`` in it counts the lines that were left out, and why.
    """
    registry = CollectorRegistry()
    telemetry = ExporterTelemetry(registry)
    book.advance(at)  # First, so that records count as they come, and not all at once at the end.
    for line in lines:
        if not (line := line.strip()):
            continue
        try:
            book.add(read_score_record(line), line)
        except RecordSkipped as skipped:
            telemetry.records.labels(skipped.cause).inc()
        else:
            telemetry.records.labels("read").inc()
    registry.register(QualityCollector(book, lambda: at, lambda: True))
    return generate_latest(registry).decode()
