"""Every own-health metric, declared once, with its meaning.

All names begin with ``rag_monitor_``, but for the scorer's histogram ``rag_interaction_score``.
Labels come from closed sets; the one that traffic supplies (``application``) is capped.
"""

from __future__ import annotations

from monitor.telemetry.audit import AuditTelemetry
from monitor.telemetry.budget import BudgetTelemetry, BurstTelemetry
from monitor.telemetry.exporter import ExporterTelemetry
from monitor.telemetry.judge import (
    AsideTelemetry,
    CacheTelemetry,
    CanaryTelemetry,
    RecheckTelemetry,
)
from monitor.telemetry.process import MOST_PAUSED, KafkaTelemetry, PausedTelemetry, ProcessTelemetry
from monitor.telemetry.scorer import ScorerTelemetry
from monitor.telemetry.shared import NEWER_SCHEMA, OTHER, LabelCap, LateGauge, new_registry

__all__ = [
    "MOST_PAUSED",
    "NEWER_SCHEMA",
    "OTHER",
    "AsideTelemetry",
    "AuditTelemetry",
    "BudgetTelemetry",
    "BurstTelemetry",
    "CacheTelemetry",
    "CanaryTelemetry",
    "ExporterTelemetry",
    "KafkaTelemetry",
    "LabelCap",
    "LateGauge",
    "PausedTelemetry",
    "ProcessTelemetry",
    "RecheckTelemetry",
    "ScorerTelemetry",
    "new_registry",
]
