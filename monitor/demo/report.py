"""The demo's last line: what went in, what came out and happened, truth beside estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from monitor.demo.chronicle import Alarm, Chronicle
from monitor.demo.mix import INCIDENT, expected
from monitor.demo.schedule import Phase
from monitor.demo.traffic import APPLICATION
from monitor.exporter.scores.aggregator import ScoreAggregator, SeriesKey
from monitor.exporter.serve.scraped import ScrapedPage
from monitor.metrics.catalogue import CATALOGUE


class DemoRun(NamedTuple):
    """The phases of a run that is over, and what was counted outside the monitor."""

    phases: list[Phase]
    acknowledged: int
    end_offset: int
    first_gauge_s: float | None
    traffic_began_s: float


def report(
    page: ScrapedPage,
    aggregator: ScoreAggregator,
    chronicle: Chronicle,
    run: DemoRun,
    messages: Sequence[Any] = (),
) -> dict[str, Any]:
    """One JSON object; estimates are over event time, truth is the mix's exact expectation.

    Times of the baseline and the alarms are seconds after the traffic began, as in the picture;
    So are those of the notifications (``messages``) that arrived from Alertmanager;
    ``first_gauge_s`` and ``traffic_began_s`` are after the program began.
    """
    judges = [judge.label for judge in aggregator.judges()]
    learned = chronicle.learned
    return {
        "acknowledged": run.acknowledged,
        "end_offset": run.end_offset,
        "consumed": page.consumed,
        "in_flight": page.in_flight,
        "outcomes": _outcomes(page.outcomes),
        "judges": judges,
        "first_gauge_s": run.first_gauge_s,
        "traffic_began_s": run.traffic_began_s,
        "baseline": None if learned is None else learned._asdict(),
        "alarms": [
            _alarm(alarm, aggregator, chronicle, run.phases) for alarm in chronicle.alarms()
        ],
        "notifications": list(messages),
        "truth": {phase.name: expected(phase.mix) for phase in run.phases},
        "estimate": {phase.name: _estimates(aggregator, phase, judges) for phase in run.phases},
    }


def _alarm(
    alarm: Alarm, aggregator: ScoreAggregator, chronicle: Chronicle, phases: list[Phase]
) -> dict[str, Any]:
    opened, closed = alarm.opened, alarm.closed
    ended = closed.closed_at if closed is not None else None
    return {
        "metric": opened.metric,
        "opened_s": chronicle.seconds(opened.opened_at.timestamp()),
        "judged": _judged(alarm, aggregator, phases),
        "answer": opened.answer,
        "closed_s": None if ended is None else chronicle.seconds(ended.timestamp()),
        "recovery": None if closed is None else closed.answer,
    }


def _judged(alarm: Alarm, aggregator: ScoreAggregator, phases: list[Phase]) -> int | None:
    """How many were judged since the incident began when the alarm opened; None without one."""
    until = alarm.opened.evidence_until
    begin = next((phase.start for phase in phases if phase.mix == INCIDENT), None)
    if begin is None or until is None or until.timestamp() < begin:
        return None
    return sum(begin <= one.event_time <= until.timestamp() for one in aggregator.counted())


def _outcomes(outcomes: Mapping[tuple[str, str], int]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for (outcome, _), count in outcomes.items():
        totals[outcome] = totals.get(outcome, 0) + count
    return totals


def _estimates(aggregator: ScoreAggregator, phase: Phase, judges: list[str]) -> dict[str, Any]:
    return {
        metric: {"value": found.value, "lower": found.lower, "upper": found.upper,
                 "samples": found.samples}
        for metric in CATALOGUE
        for judge in judges[-1:]
        if (
            found := aggregator.estimate_between(
                SeriesKey(metric, APPLICATION, judge), phase.start, phase.end
            )
        )
    }  # fmt: skip
