"""What the audit role says of itself."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
)


class AuditTelemetry:
    """What the audit role says of itself."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.records = Counter(
            "rag_monitor_audit_records",
            "Score records read for audits, by result: kept, known already, tombstone, refused by "
            "the database, or why one was left out.",
            ["result"],
            registry=registry,
        )
        self.control_records = Counter(
            "rag_monitor_audit_control_records",
            "Control records read for audits, by result (read, or why one was left out).",
            ["result"],
            registry=registry,
        )
        self.alarm_records = Counter(
            "rag_monitor_audit_alarm_records",
            "Alarm records read for audits, by result (read, or why one was left out).",
            ["result"],
            registry=registry,
        )
        self.database_up = Gauge(
            "rag_monitor_audit_database_up",
            "1 while the database of audits takes records, 0 while it is away.",
            registry=registry,
        )
        self.evidence_bytes = Gauge(
            "rag_monitor_audit_evidence_bytes",
            "Bytes of the score records that are kept for audits.",
            registry=registry,
        )
        self.dropped = Counter(
            "rag_monitor_audit_dropped",
            "Interactions that were dropped from audits, by reason: age, size.",
            ["reason"],
            registry=registry,
        )
        self.labels = Counter(
            "rag_monitor_audit_labels", "Labels that people have given.", registry=registry
        )
        self.logins = Counter(
            "rag_monitor_audit_logins",
            "Attempts to log in, by result: ok, refused, slowed_down.",
            ["result"],
            registry=registry,
        )
