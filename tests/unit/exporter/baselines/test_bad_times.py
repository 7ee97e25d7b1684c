"""A judge that learns in an incident: what was bad may be its normal, and that is said."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from monitor.exporter.alarms.transitions import transitions
from monitor.exporter.baselines.bad_times import AlarmsOf, alarm_spans, no_alarms
from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.learning import Learner, LearningSettings
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftDetectors
from monitor.records import ScoreRecord
from monitor.records.alarm import AlarmRecord
from monitor.records.control import BaselineRecord, MetricBaseline
from tests.stages.incident import INCIDENT, KEY, NORMAL, SETTINGS, aggregator, usual
from tests.stages.score_records import FIRST, SECOND, START, WINDOWS, at


def alarms(records: list[ScoreRecord], *moments: float) -> dict[str, AlarmRecord]:
    """What stands on the alarms' topic after looks at these moments."""
    drift, last = aggregator(records), dict[str, AlarmRecord]()
    for moment in moments:
        found = transitions(last, drift.states(START + moment), drift.history, START + moment)
        last |= {one.key: one for one in found}
    return last


def by_second(first: int, count: int) -> list[ScoreRecord]:
    """Scores of the judge that took the place of the first one."""
    return [one.model_copy(update={"judge": SECOND}) for one in usual(first, count)]


def learned(records: list[ScoreRecord], alarms_of: AlarmsOf) -> MetricBaseline:
    """What the second judge learns from 60 slots of these."""
    drift = DriftDetectors(SETTINGS)
    drift.set_normal("bot", FIRST.label, NORMAL)
    scores = ScoreAggregator(WINDOWS, SETTINGS.period_s, drift=drift)
    baselines = Baselines(drift, Learner(LearningSettings(60, 0)))
    for one in records:
        scores.add(one, one.to_json())
    now = START + 500.0
    scores.advance(now)
    (record,) = baselines.learn(scores.training_slots, now, alarms_of=alarms_of)
    assert isinstance(record, BaselineRecord)
    assert record.judge == SECOND.label
    return record.metrics["faithfulness"]


def test_a_judge_that_takes_over_in_an_incident_says_so() -> None:
    """The alarm of the first one is open, and nothing will ever close it but silence."""
    last = alarms(INCIDENT, 302.0)
    assert last[KEY].state == "open"
    found = learned([*INCIDENT, *by_second(300, 80)], partial(alarm_spans, last))
    assert found.learned_in_alarm_of == FIRST.label
    assert learned([*INCIDENT, *by_second(300, 80)], no_alarms).learned_in_alarm_of is None


@pytest.mark.parametrize(("because", "is_said"), [("not_watched", True), ("recovered", False)])
def test_one_that_comes_when_it_was_over(because: str, is_said: bool) -> None:
    """An alarm that recovered is over; one that fell silent goes on for who was there by then."""
    (record,) = alarms(INCIDENT, 302.0).values()
    closed = {"state": "closed", "closed_because": because, "closed_at": at(303.0)}
    last = {KEY: record.model_copy(update=closed)}
    found = learned([*INCIDENT, *by_second(302, 80)], partial(alarm_spans, last))
    assert (found.learned_in_alarm_of is not None) is is_said
    later = {KEY: record.model_copy(update={**closed, "closed_at": at(301.0)})}
    found = learned([*INCIDENT, *by_second(302, 80)], partial(alarm_spans, later))
    assert found.learned_in_alarm_of is None


def provisional() -> BaselineRecord:
    """What the first judge learned within minutes."""
    return BaselineRecord(
        application="bot", judge=FIRST.label, origin="learned", effective_from=at(60.0), slots=60,
        provisional=True,
        metrics={"faithfulness": MetricBaseline(mean=0.9, se=0.01)},
    )  # fmt: skip


@pytest.mark.parametrize(("waits_s", "is_kept"), [(500.0, True), (3 * 86_400.0 + 400.0, False)])
def test_an_incident_of_the_first_day_is_not_learned_while_its_alarm_is_open(
    waits_s: float, is_kept: bool
) -> None:
    """The provisional baseline stays, three days at most; then it says what it was learned in."""
    settings = replace(SETTINGS, period_s=604_800)
    drift = DriftDetectors(settings)
    scores = ScoreAggregator(WINDOWS, settings.period_s, drift=drift)
    baselines = Baselines(drift, Learner(LearningSettings(60, 0, for_s=250)))
    baselines.hold(provisional())
    for one in INCIDENT:
        scores.add(one, one.to_json())
    scores.advance(START + waits_s)
    (record,) = alarms(INCIDENT, 302.0).values()
    last = {KEY: record}

    def look() -> list[BaselineRecord]:
        found = baselines.learn(
            scores.training_slots, START + waits_s, alarms_of=partial(alarm_spans, last)
        )
        return [one for one in found if isinstance(one, BaselineRecord)]

    if is_kept:
        assert look() == []
        over = {"state": "closed", "closed_because": "recovered", "closed_at": at(400.0)}
        last[KEY] = record.model_copy(update=over)
    (learned,) = look()
    assert not learned.provisional
    assert learned.metrics["faithfulness"].learned_in_alarm_of == FIRST.label


def test_alarms_of_others_say_nothing() -> None:
    """Neither those of another application or metric, nor its own."""
    (record,) = alarms(INCIDENT, 302.0).values()
    for other in ({"application": "hr"}, {"metric": "answered"}, {"judge": SECOND.label}):
        last = {KEY: record.model_copy(update=other)}
        found = learned([*INCIDENT, *by_second(300, 80)], partial(alarm_spans, last))
        assert found.learned_in_alarm_of is None


def test_a_short_alarm_says_nothing_of_a_long_time() -> None:
    """Of what is learned from a tenth must lie in it."""
    (record,) = alarms(INCIDENT, 302.0).values()
    for seconds, is_said in ((4.0, False), (8.0, True)):
        over = record.since + timedelta(seconds=seconds)
        closed = {"state": "closed", "closed_because": "recovered", "closed_at": over}
        last = {KEY: record.model_copy(update=closed)}
        since = int((record.since - at(0)).total_seconds())
        found = learned(by_second(since, 80), partial(alarm_spans, last))
        assert (found.learned_in_alarm_of is not None) is is_said
