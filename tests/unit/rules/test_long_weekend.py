"""From score records to pages: 48 hours with an incident that nobody can end at its desk.

The exporter's own gauges, every quarter of an hour, are what promtool evaluates the shipped rules
on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.samples import Sample

from monitor.app.scores import aggregators
from monitor.config import load
from monitor.exporter.serve.collector import QualityCollector
from monitor.records import ScoreRecord
from tests.stages.promtool import Stage, quoted
from tests.stages.score_records import FIRST, SECOND, START, record
from tests.stages.weeks import EXPORTERS, Story, calm, of

HOUR, STEP_S = 3_600, 900
LENGTH_H, INCIDENT_H, MENDED_H = 48, 10, 12
#: The rules look at steps of a quarter of an hour, and an objective is none here.
RULES: dict[str, Any] = {"alerts__window": "30m", "interval": "15m"}
FLAGS = {
    "drift.metrics": "faithfulness",
    "drift.judged_per_week": "5000",
    "drift.period": "7d",
    "drift.baselines": '[{"application": "bot", "metrics": {"faithfulness": 0.93}}]',
}
#: The change is seen within an hour; stale is what was silent for one, and it ends a day later.
PAGED_H, TICKET_H = range(11, 14), range(14, 38)


def judged(ends: str) -> Iterator[ScoreRecord]:
    """One answer in two minutes; from the mend on by another judge, or none any more."""
    for number in range(LENGTH_H * 30):
        at = number * 120.0
        is_over = at >= MENDED_H * HOUR
        if is_over and ends == "traffic":
            return
        worse = INCIDENT_H * HOUR <= at < MENDED_H * HOUR
        value = 0.5 if worse or number % 12 == 0 else 1.0
        yield record(str(number), at, value, judge=SECOND if is_over else FIRST)


def watched(ends: str) -> Iterator[list[Sample]]:
    """What an exporter shows of drift, every quarter of an hour."""
    scores, _, _ = aggregators(load({}, flags=FLAGS))
    registry = CollectorRegistry()
    now = [float(START)]
    registry.register(QualityCollector(scores, lambda: now[0], lambda: True))
    coming = list(judged(ends))
    for step in range(LENGTH_H * HOUR // STEP_S):
        now[0] = START + float(step * STEP_S)
        while coming and coming[0].event_time.timestamp() <= now[0] - 60:
            one = coming.pop(0)
            scores.add(one, one.to_json())
        scores.advance(now[0])
        yield [one for family in registry.collect() for one in family.samples]


def told(ends: str) -> Story:
    """All processes are well for the two days; of quality both exporters show what was scored."""
    steps = LENGTH_H * HOUR // STEP_S
    until = MENDED_H * HOUR // STEP_S if ends == "traffic" else steps
    story = {
        series.replace("support-bot", "bot"): growing_until(values, until, steps)
        for series, values in calm().items()
        if not series.startswith(("rag_drift", "rag_score"))
    }
    found: dict[str, list[str]] = {}
    for step, samples in enumerate(watched(ends)):
        for one in samples:
            if one.name.startswith(("rag_drift", "rag_score")):
                labels = ",".join(f"{name}={quoted(value)}" for name, value in one.labels.items())
                for process in EXPORTERS:
                    values = found.setdefault(of(process, one.name, labels), [])
                    values += ["_"] * (step - len(values)) + [f"{one.value:.6g}"]
    return story | {series: " ".join([*values, "stale"]) for series, values in found.items()}


def growing_until(values: str, until: int, steps: int) -> str:
    """``axn`` or ``a+bxn`` of so many steps, which grows up to one of them."""
    first, _, each = values.rpartition("x")[0].partition("+")
    last = float(first) + float(each or 0) * until
    return f"{first}+{each or 0}x{until} {last:g}x{steps - until}"


@pytest.mark.parametrize("ends", ["judge", "traffic"])
def test_no_page_that_nobody_can_act_on(ends: str, tmp_path: Path) -> None:
    """A judge upgraded in the incident, or traffic that stops on Friday: a page while it lasts.

    From an hour of silence on it is a ticket, which ends a day later by itself.
    """
    hours = range(2, LENGTH_H, 2) if ends == "traffic" else range(1, LENGTH_H, 2)
    found = Stage(tmp_path, **RULES).said(told(ends), *hours, unit="h")
    quality = {
        hour: {(one["severity"], one.get("cause", "")) for one in told_then}
        for hour, told_then in found.items()
    }
    pages = {hour for hour, said in quality.items() if any(how == "page" for how, _ in said)}
    assert pages == set(PAGED_H) & set(hours)
    tickets = {hour: said for hour, said in quality.items() if said and hour not in pages}
    silent = {("info", "")} if ends == "traffic" else set()
    assert tickets == {
        hour: ({("ticket", "stale")} if hour in TICKET_H else set()) | silent
        for hour in hours
        if hour in TICKET_H or (silent and hour > MENDED_H)
    }
