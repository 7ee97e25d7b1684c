"""The exporter's own health."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
)

from monitor.telemetry.shared import NEWER_SCHEMA


class ExporterTelemetry:
    """The exporter's own health."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.records = Counter(
            "rag_monitor_score_records",
            "Score records read, by result (read, or why one was left out).",
            ["result"],
            registry=registry,
        )
        self.control_records = Counter(
            "rag_monitor_control_records",
            "Control records read, by result (read, or why one was left out).",
            ["result"],
            registry=registry,
        )
        self.alarm_records = Counter(
            "rag_monitor_alarm_records",
            "Alarm records read, by result (read, or why one was left out).",
            ["result"],
            registry=registry,
        )
        for counter in (self.records, self.control_records, self.alarm_records):
            counter.labels(NEWER_SCHEMA)  # from 0 on
        self._baselines(registry)
        self.replay_left = Gauge(
            "rag_monitor_replay_records_left",
            "Records still to be read before the exporter is ready.",
            registry=registry,
        )
        self._aggregator(registry)
        self._group(registry)

    def _aggregator(self, registry: CollectorRegistry) -> None:
        self.slots_dropped = Gauge(
            "rag_monitor_slots_dropped",
            "Slots within the horizon that do not count, since they overlap one that does: read "
            "again after a crash or a rebalance.",
            registry=registry,
        )
        self.offsets_dropped = Gauge(
            "rag_monitor_offsets_dropped",
            "Offsets within the horizon that only such slots cover: no gauge counts them.",
            registry=registry,
        )
        self.applications_folded = Gauge(
            "rag_monitor_applications_folded",
            "Applications within the horizon that are summed up as other: beyond export.top_k.",
            registry=registry,
        )
        self.drift_period = Gauge(
            "rag_monitor_drift_period_seconds",
            "P: evidence counts from the start of the previous period on.",
            registry=registry,
        )
        self.judges_folded = Gauge(
            "rag_monitor_judges_folded",
            "Judge versions within the horizon that are summed up as other, counted for each "
            "application.",
            registry=registry,
        )

    def _group(self, registry: CollectorRegistry) -> None:
        where = ["topic", "partition"]
        self.group_lag = Gauge(
            "rag_monitor_group_lag_records",
            "Records between the scorer group's committed offset and the end of the partition.",
            where,
            registry=registry,
        )
        self.input_end = Gauge(
            "rag_monitor_input_end_offset",
            "End offset of the input topic: grows while there is traffic.",
            where,
            registry=registry,
        )

    def _baselines(self, registry: CollectorRegistry) -> None:
        pair = ["application", "judge"]
        self.baseline_learning = Gauge(
            "rag_monitor_baseline_learning",
            "1 while there is no baseline yet: no evidence and no alarm until then.",
            pair,
            registry=registry,
        )
        self.baseline_missing = Gauge(
            "rag_monitor_baseline_missing",
            "1 while a watched metric has no baseline: no evidence and no alarm until then.",
            ["metric", *pair],
            registry=registry,
        )
        self.baseline_slots = Gauge(
            "rag_monitor_baseline_slots",
            "Scored slots that the baseline was, or up to now could be, learned from.",
            pair,
            registry=registry,
        )
        self.baseline_provisional = Gauge(
            "rag_monitor_baseline_provisional",
            "1 while the baseline is of less than drift.learn_for: it tolerates more.",
            pair,
            registry=registry,
        )
        self.baseline_unsteady = Gauge(
            "rag_monitor_baseline_unsteady",
            "1 where the two halves of what a baseline was learned from differ: look at it.",
            ["metric", *pair],
            registry=registry,
        )
        self.baseline_learned_in_alarm = Gauge(
            "rag_monitor_baseline_learned_in_alarm",
            "1 where a baseline was learned while an alarm on it was open.",
            ["metric", *pair],
            registry=registry,
        )
        self.baseline_values = Gauge(
            "rag_monitor_baseline_values",
            "Scores that the baseline of a metric was learned from.",
            ["metric", *pair],
            registry=registry,
        )
        self.baseline_needed = Gauge(
            "rag_monitor_baseline_needed",
            "Scored slots that a baseline is learned from.",
            registry=registry,
        )
