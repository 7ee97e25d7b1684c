"""The same gauges from a file of score records, without Kafka."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from datetime import date
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest

from monitor.control.corrections import Corrections
from monitor.errors import ConfigurationError, DependencyRefused, RecordSkipped
from monitor.exporter.baselines.baselines import Baselines, control_state
from monitor.exporter.baselines.schedule import show
from monitor.exporter.period import is_for_lack_of_money, is_scored, of_times
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.objectives import Promised
from monitor.records import NEWER_SCHEMA, read_score_record
from monitor.records.control import (
    BASELINE,
    CALIBRATION,
    CORRECTION,
    DAY,
    baseline_key,
    calibration_key,
    correction_key,
    day_key,
)
from monitor.runtime.garbage import no_garbage
from monitor.telemetry import ExporterTelemetry

_KEYS: Final = {
    BASELINE: baseline_key,
    CALIBRATION: calibration_key,
    CORRECTION: correction_key,
}


def gauges(
    aggregator: ScoreAggregator,
    baselines: Baselines,
    lines: Iterable[bytes],
    at: float,
    control: Iterable[bytes] | None = None,
    promised: Promised = lambda _application: (),
    source: str = "score records",
) -> str:
    """Prometheus text of the quality families at ``at`` (epoch seconds).

    Baselines and corrections are those of the ``control`` records; without any records baselines
    are learned from the scores as of that time. ``rag_monitor_score_records_total`` and
    ``rag_monitor_control_records_total`` in it count the lines that were left out, and why. Raises
    ``ConfigurationError`` where there are lines and not one is a score record: then another file is
    meant than ``source``.
    """
    registry = CollectorRegistry()
    telemetry = ExporterTelemetry(registry)
    if aggregator.auto_period:
        lines = list(_filled(lines))
        spent = _event_times(lines, is_for_lack_of_money)
        aggregator.begin_anew(of_times(_event_times(lines, is_scored), at, spent))
    telemetry.drift_period.set(aggregator.period_s)
    # First, so that records count as they come, and not all at once at the end.
    aggregator.advance(at)
    with no_garbage():
        results = Counter(_apply(aggregator, line) for line in _filled(lines))
    _require_scores(source, results)
    for result, number in results.items():
        telemetry.records.labels(result).inc(number)
    aggregator.advance(at)
    corrections = Corrections()
    state = control_state(baselines, corrections)
    for line in _filled(control or ()):
        left_out = state.apply(_key_of(line), line)
        telemetry.control_records.labels(left_out.cause if left_out else "read").inc()
    learned = baselines.learn(aggregator.training_slots, at)
    for record in learned if control is None else ():
        state.apply(record.key.encode(), record.to_json())
    show(baselines, aggregator, telemetry)
    registry.register(
        QualityCollector(aggregator, lambda: at, lambda: True, promised, corrections=corrections)
    )
    return generate_latest(registry).decode()


def _require_scores(source: str, results: Counter[str]) -> None:
    if results and not results["read"]:
        why = ", ".join(f"{number} {result}" for result, number in results.items())
        raise ConfigurationError(
            f"{source}: no line is a score record ({why}); expected what evaluate --out writes, "
            "or the values of the scores topic"
        )


def _apply(aggregator: ScoreAggregator, line: bytes) -> str:
    """Add a score record; how it is counted."""
    try:
        aggregator.add(read_score_record(line), line)
    except RecordSkipped as skipped:
        if skipped.cause == NEWER_SCHEMA:  # gauges of half a file, and somebody is there to be told
            raise DependencyRefused(str(skipped)) from skipped
        return skipped.cause
    return "read"


def _event_times(lines: Iterable[bytes], counts: Callable[[bytes], bool]) -> Collection[float]:
    """Of those that count, one for each interaction; what is no record is counted when read.

    Of several the latest, so that neither their order nor their number decides.
    """
    found: dict[tuple[str, str], float] = {}
    for line in lines:
        with suppress(RecordSkipped):
            record = read_score_record(line)
            if not counts(line):
                continue  # as in ``asked_for``
            name, at = (record.application, record.interaction_id), record.event_time.timestamp()
            found[name] = max(at, found.get(name, at))
    return found.values()


def _filled(lines: Iterable[bytes]) -> Iterable[bytes]:
    return filter(None, (line.strip() for line in lines))


def _key_of(line: bytes) -> bytes:
    """The key under which a control record stands on its topic; none for what has no such fields.

    Lines of a topic's values come without their keys.
    """
    try:
        found = json.loads(line)
        if found["kind"] == DAY:
            day = date.fromisoformat(str(found["day"]))
            return day_key(str(found["application"]), str(found["judge"]), day).encode()
        key = _KEYS.get(str(found["kind"]))
        if key is None:
            return str(found["kind"]).encode()
        return key(str(found["application"]), str(found["judge"])).encode()
    except (ValueError, TypeError, KeyError):
        return b"baseline/"  # unreadable, and counted as that
