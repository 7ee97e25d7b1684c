"""Ordinary days of whoever runs it, each told both ways: when all is well, and when it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stages.promtool import Firing, Stage
from tests.stages.weeks import (
    EXPORTERS,
    LENGTH,
    METRIC,
    SCORERS,
    TOPIC,
    Story,
    calm,
    constant,
    ended,
    growing,
    of,
    outcome,
    unseen,
    with_all,
    without,
)

HERE = {"namespace": "rag"}
INPUT = {**HERE, "topic": "rag.interactions.v1"}
SCORE = {**HERE, "job": "rag-monitor-score"}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """The rules of the default settings."""
    return Stage(tmp_path)


def lagging(records: int) -> Firing:
    """Records wait for longer than five minutes."""
    return Firing(
        "RagMonitorLagging",
        INPUT,
        f"{records} records of rag.interactions.v1 have waited for more than 5m and are not done: "
        "gauges and alarms are that late.",
        {"seen_by": "exporter"},
    )


def deployed(back_after: int) -> Story:
    """All scorers go at minute 100; new ones come so many minutes later, with counters of 0."""
    new = {
        series.replace("score-1", "score-8").replace("score-2", "score-9"): values
        for series, values in calm().items()
        if "score-" in series and "group_lag" not in series
    }
    story = ended(calm(), 100, "score-")
    start = 100 + back_after
    for series, values in new.items():
        first, _, step = values.rpartition("x")[0].partition("+")
        begins = "0" if step else first
        story[series] = f"_x{start} {begins}{f'+{step}' if step else ''}x{LENGTH - start}"
        if "process_start_time" in series:
            story[series] = f"_x{start} {60 * start}x{LENGTH - start}"
    backlog = f"3x99 3+10x{back_after} 3x{LENGTH - start}"
    return with_all(story, backlog, "group_lag")


def test_a_deploy_is_no_news(stage: Stage) -> None:
    """Old scorers end, and new ones are there four minutes later: nobody hears of it."""
    stage.tells(deployed(4), *((at, []) for at in (101, 103, 106, 110, 118, 130)))


def test_a_deploy_that_does_not_come_back_pages(stage: Stage) -> None:
    """No scorer after twenty minutes: their backlog says so, as nothing of them is left."""
    stage.tells(deployed(30), (103, []), (115, [lagging(206)]), (150, []))


def from_zero(scorers_at: int) -> Story:
    """Nothing all night; records come from minute 100 on, and scorers are scaled up for them."""
    story = without(calm(), "score-")
    for partition in (0, 1):
        for process in EXPORTERS:
            where = TOPIC.format(partition)
            end = of(process, "rag_monitor_input_end_offset", where)
            story[end] = f"70000x99 70000+10x{LENGTH - 100}"
            wait = scorers_at - 100
            waiting = f"0x99 0+10x{wait} 5x{LENGTH - scorers_at}"
            story[of(process, "rag_monitor_group_lag_records", where)] = waiting
    for series, values in calm().items():
        if "score-" in series and "group_lag" not in series:
            first, _, step = values.rpartition("x")[0].partition("+")
            begins = f"0+{step}" if step else first
            story[series] = f"_x{scorers_at} {begins}x{LENGTH - scorers_at}"
    return story


IDLE = Firing(
    "RagMonitorNoTraffic",
    INPUT,
    "0 records have come onto rag.interactions.v1 within 15m: there is nothing to judge.",
)


def test_scaled_from_zero_is_no_news(stage: Stage) -> None:
    """Four minutes until the first pod is there; before that the topic was idle, as is said."""
    stage.tells(from_zero(104), (90, [IDLE]), *((at, []) for at in (102, 105, 109, 115, 130)))


def test_a_scaler_that_does_nothing_pages(stage: Stage) -> None:
    """Records come, and nobody reads them."""
    blind = Firing(
        "RagMonitorBlind",
        HERE,
        "At least 300 scores were to be expected of the traffic of the last 15m (or 6h), and there "
        "is none: the quality gauges do not cover it.",
    )
    stage.tells(from_zero(140), (115, [lagging(200), blind]))


def test_prometheus_away_for_ten_minutes_is_no_news(stage: Stage) -> None:
    """Nothing of what it missed is told as if it had happened just now."""
    story = {series: unseen(values, 200, 210) for series, values in calm().items()}
    stage.tells(story, *((at, []) for at in (199, 205, 211, 215, 225, 300)))


def test_prometheus_away_in_an_incident_goes_on_with_it(stage: Stage) -> None:
    """The alarm was open before, and is afterwards: it fires again when it is seen."""
    alarm = with_all(calm(), constant(1), "rag_drift_alarm")
    story = {series: unseen(values, 200, 210) for series, values in alarm.items()}
    text = "What changed is not known (yet), see rag.alarms.v1 and the log of the exporter"
    watched = {
        "job": "rag-monitor-export",
        **HERE,
        "metric": "faithfulness",
        "application": "support-bot",
        "judge": "llm@3f2a91",
        "direction": "worse",
    }
    page = Firing(
        "RagQualityDrift",
        watched,
        f"{text}; judge llm@3f2a91.",
        summary="support-bot: faithfulness worse than normal",
    )
    stage.tells(story, (199, [page]), (215, [page]))


def upgraded(old: str) -> Story:
    """At minute 100 a new judge takes over; the old one's gauges stay, without samples."""
    story = with_all(calm(), f"540x99 0x{LENGTH - 100}", "rag_score_samples")
    story = ended(story, 100, "rag_score{")
    story = with_all(story, old, "rag_drift_alarm")
    new = METRIC.replace("llm@3f2a91", "llm@77aa00")
    for process in EXPORTERS:
        gauges = {"rag_score": 0.92, "rag_score_samples": 300, "rag_score_missing_ratio": 0}
        for name, value in gauges.items():
            about = f'{new},window="1h"'
            story[of(process, name, about)] = f"_x100 {value}x{LENGTH - 100}"
        story[of(process, "rag_monitor_baseline_missing", new)] = f"_x100 1x{LENGTH - 100}"
    return story


def test_a_judge_upgrade_is_no_news(stage: Stage) -> None:
    """Its baseline is to be learned; that the old judge has no samples is nobody's fault."""
    stage.tells(upgraded(constant(0)), *((at, []) for at in (102, 110, 160, 300, 470)))


def test_a_judge_upgrade_in_an_incident_leaves_a_ticket(stage: Stage) -> None:
    """The old judge's alarm would never close: once it is stale nobody is woken by it."""
    story = upgraded(f"0x49 1x{LENGTH - 50}")
    for process in EXPORTERS:
        story[of(process, "rag_drift_alarm_stale", METRIC)] = f"_x50 0x110 1x{LENGTH - 160}"
    stale = Firing(
        "RagQualityDrift",
        {
            "job": "rag-monitor-export",
            **HERE,
            "metric": "faithfulness",
            "application": "support-bot",
            "judge": "llm@3f2a91",
            "direction": "worse",
        },
        "The alarm is open (rag_drift_alarm is 1), and this judge has scored "
        "nothing for long: it was replaced, traffic has ended, or the application is gone. A judge "
        "that takes its place learns what is there as normal, which is a ticket of its own. "
        "It ends a day later. "
        "Last: unknown; judge llm@3f2a91.",
        {"cause": "stale"},
    )
    stage.tells(story, (200, [stale]), (400, [stale]))


def busy(until: int) -> Story:
    """Ten times the traffic from minute 100 on: scorers take a part of it, and keep up."""
    story = {**calm()}
    for process in SCORERS:
        consumed = f"1000+10x99 2000+100x{LENGTH - 100}"
        story[of(process, "rag_monitor_interactions_consumed_total")] = consumed
        story[outcome(process, "not_sampled", "lag")] = f"0x99 0+90x{LENGTH - 100}"
        share = f"1x99 0.08x{until - 100} 1x{LENGTH - until}"
        story[of(process, "rag_monitor_sampling_share")] = share
    return with_all(story, f"70000+10x99 71000+100x{LENGTH - 100}", "input_end_offset")


def test_the_load_of_the_end_of_the_month_is_no_news(stage: Stage) -> None:
    """For 40 minutes a twelfth is judged, and counted for all: nobody has to do anything."""
    stage.tells(busy(140), *((at, []) for at in (110, 135, 160, 200)))


def test_load_that_stays_is_a_ticket(stage: Stage) -> None:
    """For hours hardly anything is judged: more scorers, or a smaller rate that was meant."""
    thinned = Firing(
        "RagMonitorBlind",
        HERE,
        "8% of what should be judged is (reading that is behind takes less, and so does a judge "
        "that fails): gauges have wide intervals, and alarms come late.",
        {"cause": "thinned"},
    )
    stage.tells(busy(LENGTH - 1), (150, []), (170, [thinned]), (300, [thinned]))


def test_a_new_application_is_no_news(tmp_path: Path) -> None:
    """It learns for its time; one that never has enough is told afterwards."""
    story = {**calm()}
    new = METRIC.replace("support-bot", "hr")
    for process in EXPORTERS:
        story[of(process, "rag_score_samples", f'{new},window="1h"')] = f"_x100 30x{LENGTH}"
        missing = f"_x100 1x150 0x{LENGTH - 250}"
        story[of(process, "rag_monitor_baseline_missing", new)] = missing
    stage = Stage(tmp_path, alerts__unwatched="3h")
    stage.tells(story, *((at, []) for at in (105, 200, 260, 470)))


def test_an_hour_that_is_there_twice_is_no_news(stage: Stage) -> None:
    """Clocks are changed in local time only; one that is really an hour ahead is a page."""
    stage.tells(with_all(calm(), constant(-0.4), "clock_offset"), (200, []))
    ahead = with_all(calm(), constant(3600), "clock_offset", "score-1")
    wrong = Firing(
        "RagMonitorDown",
        {**SCORE, "instance": "score-1:9750", "pod": "score-1"},
        "The clock of score-1:9750 and the brokers' differ by 1h 0m 0s: its windows, budgets and "
        "pauses are off by as much, and an hour ahead no broker takes its records.",
        {"cause": "clock"},
    )
    stage.tells(ahead, (20, [wrong]))


def test_a_slow_hour_of_the_night_is_no_news(stage: Stage) -> None:
    """Three interactions an hour, all scored: few are not none, and shares are not taken."""
    story = with_all(calm(), growing(0.05, 70_000), "input_end_offset")
    story = with_all(story, growing(0.05, 900), 'outcome="scored"')
    story = with_all(story, constant(98), 'outcome="unscorable"')
    story = with_all(story, growing(0.05, 1000), "interactions_consumed_total")
    story = with_all(story, constant(0), "group_lag")
    stage.tells(story, (200, []), (400, []))
