"""The demo's summary: truth and estimate per phase, over event time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.demo.chronicle import Chronicle
from monitor.demo.mix import INCIDENT, NORMAL, expected
from monitor.demo.report import DemoRun, report
from monitor.demo.schedule import Schedule
from monitor.demo.traffic import APPLICATION
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.serve.scraped import DriftReading, Learning, ScrapedPage
from monitor.records import ScoreRecord
from monitor.records.alarm import AlarmRecord
from tests.stages.demo_alarms import alarm
from tests.stages.records import METRICS
from tests.stages.score_records import FIRST, SECOND, START, record

PAGE = ScrapedPage(
    gauges={},
    outcomes={("scored", ""): 5, ("not_sampled", "hash"): 2, ("not_sampled", "lag"): 1},
    consumed=9,
    in_flight=1,
    records_read=5,
)
LEARNED = PAGE._replace(
    learning=Learning(200, 200, True),
    watched={"faithfulness": DriftReading(None, 7.56, 0.93, False)},
)
PHASES = Schedule(START, 20, 10).phases(START + 40)


def made(name: str, seconds: float, score: float, **fields: Any) -> ScoreRecord:
    """A record of the demo's application with all metrics."""
    scores = dict.fromkeys(METRICS, score)
    return record(name, seconds, application=APPLICATION, scores=scores, **fields)


def summary(records: list[ScoreRecord], *alarms: AlarmRecord) -> dict[str, Any]:
    """What is reported after 40 s."""
    aggregator = ScoreAggregator({"15s": 15, "1m": 60}, 86_400)
    for each in records:
        aggregator.add(each, each.to_json())
    aggregator.advance(START + 40.0)
    chronicle = Chronicle(START)
    for alarmed in alarms:
        chronicle.apply(alarmed)
    if alarms:
        chronicle.look(LEARNED, START + 13.46)
    found = report(PAGE, aggregator, chronicle, DemoRun(PHASES, 9, 9, 2.5, 1.5))
    again: dict[str, Any] = json.loads(json.dumps(found))
    return again


def estimates(records: list[ScoreRecord], phase: str) -> dict[str, dict[str, float]]:
    """Metric → estimate of a phase."""
    phases: dict[str, dict[str, dict[str, float]]] = summary(records)["estimate"]
    return phases[phase]


def test_the_counts_are_those_of_the_page() -> None:
    """Outcomes are summed over their reasons, so that they add up with what is in flight."""
    found = summary([])
    assert found["outcomes"] == {"scored": 5, "not_sampled": 3}
    assert (found["consumed"], found["in_flight"]) == (9, 1)
    assert (found["acknowledged"], found["end_offset"], found["first_gauge_s"]) == (9, 9, 2.5)


def test_the_truth_is_the_expectation_of_each_mix() -> None:
    """Before and after the incident the same, exactly as the traffic was drawn."""
    assert summary([])["truth"] == {
        "before": expected(NORMAL),
        "incident": expected(INCIDENT),
        "after": expected(NORMAL),
    }


def test_estimates_are_over_the_event_times_of_a_phase() -> None:
    """A record of second 20 belongs to the incident, one of second 30 to what follows."""
    records = [
        made("1", 0, 0.0),
        made("2", 19.99, 0.5),
        made("3", 20, 1.0),
        made("4", 29.99, 0.75),
        made("5", 30, 0.25),
    ]
    for phase, value, samples in [("before", 0.25, 2), ("incident", 0.875, 2), ("after", 0.25, 1)]:
        found = estimates(records, phase)
        assert set(found) == set(METRICS)
        for metric in METRICS:
            assert found[metric]["value"] == pytest.approx(value)
            assert found[metric]["samples"] == samples
            assert found[metric]["lower"] < value < found[metric]["upper"]


def test_without_records_nothing_is_estimated() -> None:
    """Empty, not zero; and no judge is named."""
    assert summary([])["judges"] == []
    assert [estimates([], phase.name) for phase in PHASES] == [{}, {}, {}]


def test_a_phase_without_records_has_no_value() -> None:
    """The series is there, its value in that phase is null."""
    found = estimates([made("1", 0, 0.5)], "incident")
    assert found["faithfulness"] == {"value": None, "lower": None, "upper": None, "samples": 0.0}


def test_the_latest_judge_is_reported() -> None:
    """Judges never mix; both are named, the last one's estimates stand."""
    records = [made("1", 0, 0.0, judge=FIRST), made("2", 0, 1.0, judge=SECOND)]
    assert summary(records)["judges"] == [FIRST.label, SECOND.label]
    assert estimates(records, "before")["hallucination"]["value"] == 1.0


def test_what_happened_is_told_with_its_sentences() -> None:
    """When the baseline was learned, when an alarm opened and closed, and how many were judged."""
    records = [made(f"{second}", second, 0.0) for second in (5, 20, 21, 22, 26)]
    opened = alarm("open", opened_s=24.5, until_s=22.5)
    found = summary(records, opened, alarm("closed", opened_s=24.5, closed_s=33.04))
    assert found["baseline"] == {"at_s": 13.5, "slots": 200, "normal": {"faithfulness": 0.93}}
    assert found["alarms"] == [
        {
            "metric": "noise_sensitivity_irrelevant",
            "opened_s": 24.5,
            "judged": 3,
            "answer": "it rose",
            "closed_s": 33.0,
            "recovery": "recovered: it rose",
        }
    ]


def test_an_alarm_that_is_open_has_no_end() -> None:
    """Null, not a time; and of one from before the incident nothing was judged in it."""
    (found,) = summary([], alarm("open", opened_s=15, until_s=13))["alarms"]
    assert (found["closed_s"], found["recovery"], found["judged"]) == (None, None, None)


def test_without_baseline_and_alarm_there_is_none() -> None:
    """Null and empty, not left out."""
    assert (summary([])["baseline"], summary([])["alarms"]) == (None, [])
