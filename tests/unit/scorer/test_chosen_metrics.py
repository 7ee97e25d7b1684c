"""Metrics that an application did not choose are absent: on records, and in the gauges' book."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Interaction, Outcome, ScoreRecord, Source, Usage, read_score_record
from monitor.scorer.score_records import JudgingResult, build
from tests.stages.records import JUDGE

START = 1_795_176_000
CHOSEN = ("faithfulness", "incorrect_claims")


def record(offset: int, metrics: tuple[str, ...] | None, score: float | None) -> ScoreRecord:
    """Of an interaction with a reference that was judged, or whose judgement failed."""
    scores = {} if score is None else dict.fromkeys(metrics or CATALOGUE, score)
    outcome = Outcome.SCORED if scores else Outcome.JUDGE_FAILED
    time = datetime.fromtimestamp(START + offset, UTC)
    return build(
        Interaction(
            interaction_id=str(offset),
            event_time=time,
            application="bot",
            user_input="?",
            response="yes",
            reference="yes",
            source=Source(topic="t", partition=0, offset=offset),
        ),
        JudgingResult(outcome, None if scores else "timeout", JUDGE, Usage(), None, {**scores}, {}),
        rate=1.0,
        segment_by=(),
        metrics=metrics,
        now=time,
    )


def missing(*records: ScoreRecord) -> dict[str, tuple[float, float | None]]:
    """Metric → effective number of scored interactions, and share of failed judgements."""
    aggregator = ScoreAggregator({"1h": 3_600}, 86_400)
    aggregator.advance(START + 60)
    for one in records:
        line = one.to_json()
        aggregator.add(read_score_record(line), line)
    return {
        found.key.metric: (found.estimate.samples, found.estimate.missing_ratio)
        for found in aggregator.estimates()
    }


def test_a_failed_pick_is_missing_for_the_chosen_metrics_alone() -> None:
    """A series of a metric that nobody chose would show nothing but failures."""
    failed = record(1, CHOSEN, None)
    assert json.loads(failed.to_json())["scores"] == {
        metric: {"unscored": "JUDGE_FAILED"} for metric in CHOSEN
    }
    found = missing(record(0, CHOSEN, 0.5), failed)
    assert found == dict.fromkeys(CHOSEN, (1.0, 0.5))


def test_without_a_choice_a_failed_pick_is_missing_for_all() -> None:
    """Its record names none, as ever."""
    failed = record(1, None, None)
    assert failed.scores == {}
    assert missing(record(0, None, 0.5), failed) == dict.fromkeys(CATALOGUE, (1.0, 0.5))
