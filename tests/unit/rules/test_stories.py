"""Every alert fires when it should, and is quiet when it should: stories told to promtool."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitor.config.alerting import PENDING
from tests.stages.promtool import WATCHDOG, Firing, Stage, quoted
from tests.stages.weeks import (
    EXPORTERS,
    LENGTH,
    METRIC,
    SCORERS,
    TOPIC,
    Story,
    at_work,
    calm,
    constant,
    ended,
    growing,
    judge_state,
    judge_unknown,
    lost,
    not_judging,
    of,
    outcome,
    picked,
    unseen,
    verdicts_constant,
    with_all,
    without,
)

HERE = {"namespace": "rag"}
EXPORT = {**HERE, "job": "rag-monitor-export"}
SCORE = {**HERE, "job": "rag-monitor-score"}
INPUT = {**HERE, "topic": "rag.interactions.v1"}
WATCHED = {
    **EXPORT,
    "metric": "faithfulness",
    "application": "support-bot",
    "judge": "llm@3f2a91",
    "direction": "worse",
}
HEADLINE = (
    "support-bot: claims that the passages support 93 % → 71 % (64–78 %, n 96) since 02:10 UTC"
)
DETAILS = "Judge failures 0 % (normal); mix of traffic explains 6 %; all segments of tenant alike"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """The rules of the default settings."""
    return Stage(tmp_path)


@pytest.fixture
def each_minute(tmp_path: Path) -> Stage:
    """The same, for stories whose numbers are those of rules that are evaluated each minute."""
    return Stage(tmp_path, each_minute=True)


def drifting(headline: str | None = HEADLINE) -> Story:
    """From minute 100 to 160 both exporters show an alarm."""
    story = with_all(calm(), f"0x99 1x60 0x{LENGTH - 160}", "rag_drift_alarm")
    story = with_all(story, f"0.4x99 6.1x60 0.4x{LENGTH - 160}", "rag_drift_evidence")
    if headline is not None:
        for process in EXPORTERS:
            story[told(process, headline)] = "_x99 1x60 stale"
    return story


def told(process: str, headline: str) -> str:
    """The series with the sentences about the alarm."""
    said = f"answer={quoted('long')},headline={quoted(headline)},details={quoted(DETAILS)}"
    return of(process, "rag_drift_change_info", f"{METRIC},{said}")


def drift(said: str = HEADLINE, labels: dict[str, str] = WATCHED, details: str = DETAILS) -> Firing:
    """The page of that alarm."""
    return Firing("RagQualityDrift", labels, f"{details}; judge llm@3f2a91.", summary=said)


def no_traffic() -> Firing:
    """The input topic is idle."""
    return Firing(
        "RagMonitorNoTraffic",
        INPUT,
        "0 records have come onto rag.interactions.v1 within 15m: there is nothing to judge.",
    )


def lagging(records: int) -> Firing:
    """The group is behind."""
    return Firing(
        "RagMonitorLagging",
        INPUT,
        f"{records} records of rag.interactions.v1 have waited for more than 5m and are not done: "
        "gauges and alarms are that late.",
        {"seen_by": "exporter"},
    )


def blind(expected: int) -> Firing:
    """Traffic, but no scores."""
    return Firing(
        "RagMonitorBlind",
        HERE,
        f"At least {expected} scores were to be expected of the traffic of the last 15m (or 6h), "
        "and there is none: the quality gauges do not cover it.",
    )


def down(cause: str, labels: dict[str, str], text: str) -> Firing:
    """Processes are away."""
    return Firing("RagMonitorDown", labels, text, {"cause": cause})


def unreachable(labels: dict[str, str]) -> Firing:
    """No process of a job answers."""
    text = f"Prometheus reaches none of the targets of {labels['job']} (up is 0)."
    return down("unreachable", labels, text)


def test_a_calm_day_is_quiet(stage: Stage) -> None:
    """Two scorers, two exporters, traffic, nothing wrong: only the watchdog fires."""
    stage.tells(calm(), (5, []), (60, []), (420, []))


def test_a_quiet_sunday_pages_nobody(stage: Stage) -> None:
    """Nothing comes in: gauges are gone, and the only thing said is that the topic is idle."""
    story = calm()
    for process in SCORERS:
        story[of(process, "rag_monitor_interactions_consumed_total")] = constant(1000)
        story[outcome(process, "scored")] = constant(900)
        story[outcome(process, "unscorable", "no_contexts")] = constant(98)
    story = with_all(story, constant(70_000), "input_end_offset")
    story = with_all(story, constant(0), "group_lag")
    story = with_all(story, constant(0), "in_flight")
    story = with_all(story, constant(0), "rag_score_samples")
    story = without(story, "rag_score{")
    story = without(story, "rag_score_missing_ratio")
    stage.tells(story, (10, []), (60, [no_traffic()]), (420, [no_traffic()]))


def test_a_sunday_with_three_failures_pages_nobody(stage: Stage) -> None:
    """All four interactions of a whole day fail: of so few no share is taken."""
    story = calm()
    for process in SCORERS:
        story[of(process, "rag_monitor_interactions_consumed_total")] = f"1000x99 1002x{LENGTH}"
        story[outcome(process, "scored")] = constant(900)
        story[outcome(process, "unscorable", "no_contexts")] = constant(98)
        story[outcome(process, "judge_failed", "timeout")] = f"0x99 2x{LENGTH}"
    story = with_all(story, f"70000x99 70002x{LENGTH}", "input_end_offset")
    story = with_all(story, constant(0), "group_lag")
    stage.tells(story, (110, []), (420, [no_traffic()]))


def test_drift_is_one_page_with_what_changed(stage: Stage) -> None:
    """Two exporters make one alert; its text is the sentence, and it ends after the recovery."""
    stage.tells(drifting(), (99, []), (102, [drift()]), (150, [drift()]), (170, []))


def test_drift_fires_without_the_sentence(stage: Stage) -> None:
    """Where no record says what changed (yet), the alert fires all the same, as the same alert."""
    text = "What changed is not known (yet), see rag.alarms.v1 and the log of the exporter"
    story = drifting(None)
    stage.fires(story, 110, drift("support-bot: faithfulness worse than normal", details=text))
    story[of("export-1", "rag_metric_info", 'metric="faithfulness",plain="supported claims"')] = (
        constant(1)
    )
    stage.fires(story, 110, drift("support-bot: supported claims worse than normal", details=text))


def test_the_sentence_may_come_later(stage: Stage) -> None:
    """The label of the sentence is none of the alert: it goes on firing as the same."""
    story = drifting()
    for series in [series for series in story if "change_info" in series]:
        story[series] = "_x129 1x30 stale"
    stage.fires(story, 140, drift())


def test_names_from_traffic_cannot_leave_their_quotes(stage: Stage) -> None:
    """An application called like a piece of PromQL has its sentence in its own alert."""
    name = 'a"} or vector(1) # \\{{ $labels.x }}'
    story = {
        series.replace('application="support-bot"', f"application={quoted(name)}"): values
        for series, values in drifting("changed").items()
    }
    stage.fires(story, 110, drift("changed", {**WATCHED, "application": name}))


def test_a_restarted_exporter_resolves_nothing(stage: Stage) -> None:
    """While both replay at once for three minutes there are no gauges, and the alert stays."""
    story = with_all(drifting(), f"0x99 1x20 stale _x3 1x36 0x{LENGTH - 160}", "rag_drift_alarm")
    stage.tells(story, (118, [drift()]), (122, [drift()]), (150, [drift()]))


def test_an_objective_is_broken(stage: Stage) -> None:
    """Mean, interval and bound stand in the page; ten minutes of it are no news yet."""
    stage.tells(breached("1h"), (109, []), (112, [below_objective("1h")]))


def breached(window: str) -> Story:
    """From minute 99 on an objective of the window is breached."""
    about = f'{METRIC},window="{window}"'
    story = calm()
    for process in EXPORTERS:
        story[of(process, "rag_score", about)] = constant(0.81)
        story[of(process, "rag_score_lower", about)] = constant(0.78)
        story[of(process, "rag_score_upper", about)] = constant(0.84)
        story[of(process, "rag_objective_bound", about)] = constant(0.9)
        story[of(process, "rag_objective_breached", about)] = f"0x99 1x{LENGTH}"
    return story


def below_objective(window: str) -> Firing:
    """The page, or the ticket, about it."""
    labels = {**WATCHED, "window": window}
    del labels["direction"]
    return Firing(
        "RagQualityBelowObjective",
        labels,
        "95 % interval 78% to 84%: even the better end is worse than the objective, and the latest "
        "scores are, too; judge llm@3f2a91.",
        {"cause": "long_window"} if window == "24h" else {},
        f"support-bot: faithfulness 81% over {window}, the objective is 90%",
    )


def at_short(story: Story, window: str, mean: str, samples: str) -> Story:
    """With the window that says whether it is over."""
    about = f'{METRIC},window="{window}"'
    for process in EXPORTERS:
        story[of(process, "rag_score", about)] = mean
        story[of(process, "rag_score_samples", about)] = samples
    return story


@pytest.mark.parametrize(("window", "short"), [("1h", "5m"), ("24h", "1h")])
def test_an_objective_is_kept_again_when_the_short_window_says_so(
    stage: Stage, window: str, short: str
) -> None:
    """The long one forgets two bad hours in a day: a page until then would be one for nothing."""
    mended = at_short(breached(window), short, f"0.8x199 0.95x{LENGTH - 200}", constant(40))
    found = below_objective(window)
    stage.tells(mended, (112, [found]), (199, [found]), (210, []), (400, []))


def test_the_end_of_a_breach_says_where_it_is_now(stage: Stage) -> None:
    """And after how long, or that nothing is scored any more. A blip is told to nobody."""
    mended = at_short(breached("1h"), "5m", f"0.8x199 0.95x{LENGTH - 200}", constant(40))
    ends = "The shorter window is well again, or has none, or the longer one is not surely worse"
    over = below_objective("1h")._replace(
        description=f"{ends}; judge llm@3f2a91.",
        summary="support-bot: faithfulness 95% over 5m, no longer worse than 90% after 1h 40m 0s",
    )
    stage.tells(mended, (198, [below_objective("1h")]), (202, [over]), (204, [over]), (208, []))
    silent = at_short(breached("1h"), "5m", "0.8x199 stale", f"40x199 0x{LENGTH}")
    silent = {
        s: v.replace("x480", "x230 0x200") if "breached" in s else v for s, v in silent.items()
    }
    nothing = over._replace(
        summary="support-bot: faithfulness is not scored any more after 2h 10m 0s"
    )
    told = [one for one in stage.said(silent, 234)[234] if "Objective" in one["alertname"]]
    assert [one["summary"] for one in told] == [nothing.summary]
    blip = at_short(breached("1h"), "5m", f"0.8x106 0.95x{LENGTH}", constant(40))
    stage.tells(blip, (108, []), (110, []), (114, []))


def test_few_scores_in_the_short_window_do_not_end_a_breach(stage: Stage) -> None:
    """Three good answers in five minutes are no news; that there are none is: nobody is served."""
    few = at_short(breached("1h"), "5m", constant(1), constant(3))
    stage.fires(few, 130, below_objective("1h"))
    stage.fires(at_short(few, "5m", constant(1), constant(0)), 130)


def test_batches_with_nothing_between_are_still_a_breach(stage: Stage) -> None:
    """Ten answers each quarter of an hour: mostly there is none within five minutes."""
    batches = at_short(
        breached("1h"), "5m", " ".join(["0.8x4 _x9"] * 32), " ".join(["10x4 0x9"] * 32)
    )
    stage.tells(batches, *((at, [below_objective("1h")]) for at in (150, 203, 255, 306, 400)))


def test_an_objective_that_is_kept_is_quiet(stage: Stage) -> None:
    """A mean below the bound is none while the interval reaches it, or too little is known."""
    story = with_all(calm(), constant(0.89), "rag_score{")
    for process in EXPORTERS:
        window = f'{METRIC},window="1h"'
        story[of(process, "rag_objective_bound", window)] = constant(0.9)
        story[of(process, "rag_objective_breached", window)] = f"0x200 _x{LENGTH}"
    stage.tells(story, (120, []), (420, []))


def test_blind_when_all_judgements_fail(each_minute: Stage) -> None:
    """A page for the missing scores, and a ticket with the reason."""
    story = without(calm(), 'outcome="scored"')
    for process in SCORERS:
        story[outcome(process, "judge_failed", "timeout")] = growing(9)
        story[picked(process, "judge_failed")] = growing(9)
    failing = Firing(
        "RagMonitorJudgeFailing",
        HERE,
        "90% of the judgements fail (more than 10%), most often: timeout. The gauges are about the "
        "others only.",
        {"cause": "all"},
    )
    each_minute.fires(story, 60, blind(300), failing)


def test_blind_when_traffic_comes_but_is_not_read(each_minute: Stage) -> None:
    """The scorers are there and wait; what they should have scored is known from the topic."""
    story = with_all(calm(), constant(1000), "interactions_consumed_total")
    story = with_all(story, constant(900), "rag_monitor_interactions_total")
    story = with_all(story, growing(10), "group_lag")
    each_minute.fires(story, 60, blind(300), lagging(1100))


def test_blind_on_little_traffic(stage: Stage) -> None:
    """Of two interactions an hour and process that end nowhere one is blind only after hours."""
    story = without(calm(), 'outcome="scored"')
    story = without(story, 'outcome="unscorable"')
    for name in ("input_end_offset", "interactions_consumed_total"):
        story = with_all(story, " ".join(f"{n}x29" for n in range(1, 18)), name)
    story = with_all(story, constant(0), "group_lag")
    stage.tells(story, (100, []), (470, [blind(24)]))


def test_a_small_sample_is_not_blind(tmp_path: Path) -> None:
    """One of 1,000 is judged, two scores a day: that none came for hours was to be expected."""
    story = without(calm(), 'outcome="scored"')
    story = without(story, 'outcome="unscorable"')
    for process in SCORERS:
        story[outcome(process, "not_sampled", "hash")] = growing(10, 998)
    story = with_all(story, constant(0), "in_flight")
    stage = Stage(tmp_path, sampling__rate="0.001")
    stage.tells(story, (60, []), (400, []))


def test_a_sample_of_much_traffic_may_be_blind(tmp_path: Path) -> None:
    """One of ten is judged: of 300 interactions 30 scores were to be expected."""
    story = without(calm(), 'outcome="scored"')
    story = without(story, 'outcome="unscorable"')
    for process in SCORERS:
        story[outcome(process, "not_sampled", "hash")] = growing(10, 998)
    Stage(tmp_path, each_minute=True, sampling__rate="0.1").fires(story, 60, blind(30))


@pytest.mark.parametrize("reason", ["filtered", "duplicate"])
def test_what_nobody_expects_a_score_of_is_not_missed(each_minute: Stage, reason: str) -> None:
    """Only the health checks come in, which a filter leaves out; or a producer sends all again."""
    story = without(calm(), 'outcome="scored"')
    story = without(story, 'outcome="unscorable"')
    for process in SCORERS:
        story[outcome(process, "not_sampled", reason)] = growing(10, 998)
    each_minute.fires(story, 60)


def test_a_restarted_scorer_is_no_news(stage: Stage) -> None:
    """Counters begin anew, on the same address or as a new pod: nothing fires."""
    story = calm()
    grown = [series for series, values in story.items() if "score-1" in series and "+" in values]
    for series in grown:
        story[series] = f"900+9x99 0+9x{LENGTH - 100}"
    story = ended(story, 120, "score-2")
    for series, values in calm().items():
        if "score-2" in series:
            start, _, step = values.rpartition("x")[0].partition("+")
            born = f"0+{step}x{LENGTH - 122}" if step else f"{start}x{LENGTH - 122}"
            story[series.replace("score-2", "score-3")] = f"_x121 {born}"
    stage.tells(story, (101, []), (105, []), (123, []), (130, []), (200, []))


def test_what_was_counted_before_anybody_looked_is_no_news(stage: Stage) -> None:
    """Prometheus is new, and away for ten minutes: dead letters and budget are of last week."""
    story = calm()
    for process in SCORERS:
        letters = of(process, "rag_monitor_dead_letters_total", 'stage="decode",cause="json"')
        story |= {letters: constant(7), outcome(process, "over_budget", "usd"): constant(500)}
    story = {series: unseen(values, 200, 210) for series, values in story.items()}
    stage.tells(story, (3, []), (10, []), (205, []), (217, []), (222, []), (250, []))


def test_the_first_dead_letter_of_a_new_process_counts(stage: Stage) -> None:
    """It started a minute ago, and its counter begins with 3."""
    story = {**calm()}
    new = "score-3"
    for name, value in (("up", 1), ("process_start_time_seconds", 60 * 120)):
        story[of(new, name)] = f"_x120 {value}x{LENGTH - 121}"
    letters = of(new, "rag_monitor_dead_letters_total", 'stage="decode",cause="json"')
    story[letters] = f"_x120 3x{LENGTH - 121}"
    text = "3 records could not be read or scored within 15m (or 6h); most often: decode/json."
    found = Firing("RagMonitorDeadLetters", HERE, text, {"cause": "rejected"})
    stage.tells(story, (119, []), (122, [found]))


def test_traffic_that_stops_is_not_blind(stage: Stage) -> None:
    """Gauges disappear, the topic is idle, and that is all that is said."""
    story = {
        series: f"{values.partition('x')[0]}x119 {_at(values, 119)}x{LENGTH - 120}"
        if "+" in values
        else values
        for series, values in calm().items()
    }
    story = with_all(story, f"3x119 0x{LENGTH - 120}", "group_lag")
    story = ended(story, 180, "rag_score{")
    stage.tells(story, (130, []), (155, [no_traffic()]), (400, [no_traffic()]))


def _at(values: str, minute: int) -> int:
    start, _, step = values.partition("x")[0].partition("+")
    return int(start) + minute * int(step)


def test_killed_scorers_lag(each_minute: Stage) -> None:
    """Their own gauges die with them; the exporters see that the group does not come on."""
    story = with_all(calm(), f"3x99 3+10x{LENGTH - 100}", "group_lag")
    story = ended(story, 100, "score-")
    gone = {series for series in story if series.startswith("up{") and "score-" in series}
    story |= dict.fromkeys(gone, f"1x99 0x{LENGTH - 100}")
    each_minute.tells(
        story,
        (104, []),
        (112, [lagging(146), unreachable(SCORE)]),
        (130, [lagging(506), unreachable(SCORE), blind(300)]),
    )


def test_scorers_that_are_scaled_away_lag(each_minute: Stage) -> None:
    """Without targets nothing is down; while nothing comes in nothing is wrong either."""
    story = without(calm(), "score-")
    each_minute.fires(
        with_all(without(story, "group_lag"), constant(70_000), "input_end_offset"),
        10,
        down(
            "role_missing",
            {**HERE, "role": "score"},
            "Other processes of the monitor answer, but none of them has the role score "
            "(rag-monitor score, or run).",
        ),
    )
    idle = with_all(story, constant(0), "group_lag")
    idle = with_all(idle, constant(70_000), "input_end_offset")
    each_minute.fires(idle, 60, no_traffic())
    each_minute.fires(with_all(story, growing(10), "group_lag"), 60, lagging(1100), blind(300))


def test_lag_without_the_right_to_look_at_the_group(stage: Stage) -> None:
    """Then the scorers themselves say how old the oldest record is."""
    story = without(without(calm(), "group_lag"), "input_end")
    for process in SCORERS:
        for partition in (0, 1):
            where = f'topic="rag.interactions.v1",partition="{partition}"'
            story[of(process, "rag_monitor_consumer_lag_seconds", where)] = growing(60)
    labels = {**SCORE, "topic": "rag.interactions.v1"}
    text = "The oldest record of rag.interactions.v1 that is not done has waited for 20m 0s."
    late = Firing("RagMonitorLagging", labels, text, {"seen_by": "scorer"})
    stage.tells(story, (5, []), (20, [late]))


def test_a_topic_that_was_made_anew_does_not_lag(tmp_path: Path) -> None:
    """Its offsets begin with 0: what the old one's end was says nothing."""
    story = with_all(calm(), f"70000+10x99 0+10x{LENGTH - 100}", "input_end_offset")
    story = with_all(story, f"3x99 0x{LENGTH - 100}", "group_lag")
    stage = Stage(tmp_path, sampling__block="16")
    stage.tells(story, *((at, []) for at in (101, 106, 110, 114, 118)))


def in_blocks(story: Story, minutes: int) -> Story:
    """Twelve partitions, each committed whenever a block of so many minutes is done."""
    story = without(without(story, "group_lag"), "input_end")
    for partition in range(12):
        waiting = [10 * ((at + partition) % minutes) + 2 for at in range(LENGTH)]
        for process in EXPORTERS:
            where = TOPIC.format(partition)
            story[of(process, "rag_monitor_input_end_offset", where)] = growing(10, 70_000)
            story[of(process, "rag_monitor_group_lag_records", where)] = " ".join(map(str, waiting))
    return story


def test_what_waits_for_its_block_does_not_lag(tmp_path: Path) -> None:
    """Of many partitions one always waits for the last minutes of a long block."""
    story = in_blocks(calm(), 9)
    Stage(tmp_path, sampling__block="64").tells(story, (60, []), (75, []), (200, []))


def test_blocks_that_are_not_done_lag(tmp_path: Path) -> None:
    """Nothing is committed any more: what waits for longer than its block and the lag is late."""
    story = with_all(in_blocks(calm(), 9), f"2x59 2+10x{LENGTH - 60}", "group_lag")
    said = "1584 records of rag.interactions.v1 have waited for more than 15m and are not done: "
    late = Firing(
        "RagMonitorLagging",
        INPUT,
        f"{said}gauges and alarms are that late.",
        {"seen_by": "exporter"},
    )
    Stage(tmp_path, each_minute=True, sampling__block="64").tells(story, (74, []), (88, [late]))


def test_the_first_block_after_a_silence_is_not_blind(tmp_path: Path) -> None:
    """Traffic comes back on Monday; for ten minutes it waits for the end of its block."""
    story = without(calm(), 'outcome="unscorable"')
    for name in ("input_end_offset", "interactions_consumed_total"):
        story = with_all(story, f"1000x99 1000+10x{LENGTH - 100}", name)
    story = with_all(story, f"0x99 0+10x9 {' '.join(['5'] * (LENGTH - 110))}", "in_flight")
    story = with_all(story, f"0x99 0+10x9 {' '.join(['5'] * (LENGTH - 110))}", "group_lag")
    story = with_all(story, f"900x109 901+1x{LENGTH - 110}", 'outcome="scored"')
    for process in SCORERS:
        story[outcome(process, "not_sampled", "slot")] = f"5000x109 5090+9x{LENGTH - 110}"
    stage = Stage(tmp_path, sampling__block="128")
    stage.tells(story, *((at, []) for at in (104, 107, 109, 112, 120, 130)))


def test_blocks_that_give_no_scores_are_blind(tmp_path: Path) -> None:
    """One of ten was picked, and all of them failed; what stood for others is not missed."""
    story = without(calm(), 'outcome="scored"')
    story = without(story, 'outcome="unscorable"')
    for process in SCORERS:
        story[outcome(process, "not_sampled", "slot")] = growing(9)
        story[outcome(process, "judge_failed", "timeout")] = growing(1)
    failing = Firing(
        "RagMonitorJudgeFailing",
        HERE,
        "100% of the judgements fail (more than 10%), most often: timeout. The gauges are about "
        "the others only.",
        {"cause": "all"},
    )
    stage = Stage(tmp_path, each_minute=True, sampling__block="16")
    stage.tells(story, (60, [blind(30), failing]))


def test_nothing_answers(stage: Stage) -> None:
    """Every target is there, and none answers: one page for each job."""
    story = {series: constant(0) for series in calm() if series.startswith("up{")}
    stage.tells(story, (3, []), (10, [unreachable(SCORE), unreachable(EXPORT)]))


def test_nothing_is_there(stage: Stage) -> None:
    """All targets have vanished, or there never was one."""
    text = (
        "Prometheus has no target with a job like (.*/)?rag-monitor(-(score|export|run|audit))? "
        "any more: nothing is deployed, or nothing is scraped. What was there within 6h is missed."
    )
    stage.fires({'up{job="other",instance="x"}': constant(1)}, 10, down("no_target", {}, text))


def test_one_monitor_of_two_vanishes(stage: Stage) -> None:
    """Staging stays: that production has no target any more is told with its name, and once."""
    ended = {series: f"{values.partition('x')[0]}x99" for series, values in calm().items()}
    staging = {
        series.replace('namespace="rag"', 'namespace="staging"'): values
        for series, values in calm().items()
    }
    text = (
        "Prometheus has no target with a job like (.*/)?rag-monitor(-(score|export|run|audit))? "
        "any more: nothing is deployed, or nothing is scraped. What was there within 6h is missed."
    )
    gone = down("no_target", HERE, text)
    stage.tells({**ended, **staging}, (95, []), (115, [gone]), (450, [gone]), (478, []))


def test_one_exporter_of_two_is_a_ticket(stage: Stage) -> None:
    """The other one goes on; nobody is woken."""
    story = without(calm(), "export-2")
    story[of("export-2", "up")] = constant(0)
    text = "1 of the targets of rag-monitor-export do not answer; others do."
    stage.fires(story, 10, down("some_unreachable", EXPORT, text))


def test_no_exporter(stage: Stage) -> None:
    """Scorers answer, and nobody serves the gauges."""
    story = without(calm(), "export-")
    text = (
        "Other processes of the monitor answer, but none of them has the role export "
        "(rag-monitor export, or run)."
    )
    stage.fires(story, 10, down("role_missing", {**HERE, "role": "export"}, text))


def test_brokers_are_away(stage: Stage) -> None:
    """Nobody is ready and nobody knows the lag; an idle topic is not what it is called."""
    story = with_all(calm(), f"1x99 0x{LENGTH - 100}", "rag_monitor_ready")
    for name in ("group_lag", "input_end_offset"):
        story = ended(story, 100, name)
    found = [
        down(
            "not_ready",
            labels,
            f"All processes of {labels['job']} have been waiting for 15m (rag_monitor_ready is 0); "
            "/readyz names it.",
        )
        for labels in (SCORE, EXPORT)
    ]
    stage.tells(story, (105, []), (118, found))


def test_few_failures_are_quiet(stage: Stage) -> None:
    """One judgement of twenty fails."""
    story = calm()
    for process in SCORERS:
        story[outcome(process, "judge_failed", "timeout")] = growing(0.5)
    stage.fires(story, 60)


def small(story: Story, missing: str, samples: str) -> Story:
    """Beside the other one an application of its own judge."""
    labels = 'metric="faithfulness",application="hr",judge="strict@1",window="1h"'
    for process in EXPORTERS:
        story[of(process, "rag_score_missing_ratio", labels)] = missing
        story[of(process, "rag_score_samples", labels)] = samples
    return story


def failing_for_hr(share: str) -> Firing:
    """The ticket about it."""
    return Firing(
        "RagMonitorJudgeFailing",
        {**EXPORT, "application": "hr", "judge": "strict@1"},
        f"{share} of the judgements of hr by strict@1 have failed within 1h. Its gauges are about "
        "the others only.",
        {"cause": "some"},
    )


def test_a_small_application_fails(stage: Stage) -> None:
    """Among all it does not weigh; of 18 that were scored and 6 that failed a share is taken."""
    half = f"0x29 0.25x{LENGTH}"
    stage.fires(small(calm(), half, constant(18)), 40, failing_for_hr("25%"))
    stage.fires(small(calm(), half, constant(14)), 40)
    stage.fires(small(calm(), f"0x29 0.15x{LENGTH}", constant(50)), 40)


def test_all_of_a_small_application_fails(stage: Stage) -> None:
    """A single failure fills one window, and is none; what goes on longer is."""
    story = small(calm(), f"_x29 1x{LENGTH}", constant(0))
    stage.tells(story, (80, []), (97, [failing_for_hr("100%")]))
    stage.fires(small(calm(), "_x29 1x59 stale", constant(0)), 110)


def test_the_judge_stops(stage: Stage) -> None:
    """One alert, however many scorers see it; waiting for it is none."""
    story = calm()
    for state, values in (("judging", "1x29 0x200"), ("stopped", "0x29 1x200")):
        for process in SCORERS:
            story[judge_state(process, state)] = values
    labels = {**SCORE, "model": "openai/gpt-4o", "state": "stopped"}
    text = (
        "The judge openai/gpt-4o is not asked any more (state stopped, value 1): it refuses, and "
        "only a person can change that (key, bill, model)."
    )
    stage.tells(story, (32, []), (36, [Firing("RagMonitorJudgeStopped", labels, text)]))
    for process in SCORERS:
        story[judge_state(process, "stopped")] = constant(0)
        story[judge_state(process, "waiting")] = constant(1)
    stage.fires(story, 60)


def test_the_circuit_of_one_scorer_opens(stage: Stage) -> None:
    """It says so as well; for a minute it is no news."""
    story = calm()
    story[judge_state("score-1", "circuit_open")] = "0x29 1x2 0x29 1x200"
    labels = {**SCORE, "model": "openai/gpt-4o", "state": "circuit_open"}
    text = (
        "The judge openai/gpt-4o is not asked any more (state circuit_open, value 1): it has "
        "failed time and again, and is only tried now and then."
    )
    stage.tells(story, (40, []), (70, [Firing("RagMonitorJudgeStopped", labels, text)]))


GUESSES = Firing(
    "RagMonitorJudgeDoubtful",
    {**SCORE, "model": "openai/gpt-4o"},
    "The judge openai/gpt-4o answers interactions with known verdicts no better than a guesser "
    "(rag_monitor_judge_not_judging is 1, or was before a restart): its verdicts on the traffic "
    "are worth nothing. It is asked about canaries only: unless another of judge.fallback_models "
    "judges, or judge.not_judging is score, nothing is scored. Of several judges with this model "
    "that holds for one: /readyz of the scorer says which.",
    {"cause": "canaries"},
)


def test_the_judge_guesses(stage: Stage) -> None:
    """One alert, however many scorers have found it; a few minutes are none, and it ends."""
    story = calm()
    for process in SCORERS:
        story[not_judging(process)] = "0x29 1x59 0x200"
    firing = GUESSES
    stage.tells(story, (32, []), (36, [firing]), (80, [firing]), (100, []))
    story[not_judging("score-1")] = "0x29 1x2 0x260"
    story[not_judging("score-2")] = constant(0)
    stage.fires(story, 60)


def test_a_restart_does_not_end_what_the_judge_does(stage: Stage) -> None:
    """Until canaries have said it anew; however long it takes, and while nothing runs.

    A judge that had mended stays mended, and of a model that was put away nothing is told.
    """
    story = calm()
    for process in SCORERS:
        # Guesses from 30 on, restarts at 60, is known to judge at 120, restarts again at 180.
        story[not_judging(process)] = "0x29 1x29 stale _x8 0x230"
        story[judge_unknown(process)] = "0x59 stale _x8 1x49 0x59 1x100"
        story[at_work(process)] = "2x59 stale _x8 2x230"
    told = GUESSES
    stage.tells(story, (36, [told]), (66, [told]), (110, [told]), (125, []), (200, []))
    for process in SCORERS:
        story[not_judging(process)] = "0x29 1x29 stale _x8 1x230"
    stage.tells(story, (66, [told]), (75, [told]), (150, [told]))
    for process in SCORERS:
        story[not_judging(process)] = "0x29 1x29 stale"
        story[judge_unknown(process)] = "0x59 stale"
        for name in ("not_judging", "unknown"):
            other = of(process, f"rag_monitor_judge_{name}", 'model="openai/other"')
            story[other] = "_x69 0x230"
    stage.tells(story, (66, [told]), (80, []))


def test_a_judge_that_was_put_away_is_not_told_of(stage: Stage) -> None:
    """Also where what judges in its place has no canaries: the offline judge, or a verifier."""
    story = calm()
    for process in SCORERS:
        story[not_judging(process)] = "0x29 1x29 stale"
        story[judge_unknown(process)] = "0x59 stale"
        story[at_work(process)] = "2x59 stale _x8 2x230"
    stage.tells(story, (66, [GUESSES]), (80, []))


def test_the_judge_says_the_same_to_everything(stage: Stage) -> None:
    """A ticket of one scorer's verdicts, until one differs; none beside what canaries say."""
    story = calm()
    story[verdicts_constant("score-1", "passage")] = "0x29 1x59 0x200"
    labels = {**SCORE, "model": "openai/gpt-4o", "kind": "passage"}
    text = (
        "The latest 1,000 verdicts of the judge openai/gpt-4o on claims against the passage are "
        "all the same (rag_monitor_judge_verdicts_constant is 1): either the traffic is like that, "
        "or they are no judgement."
    )
    firing = Firing("RagMonitorJudgeDoubtful", labels, text, {"cause": "constant"})
    stage.tells(story, (32, []), (36, [firing]), (80, [firing]), (100, []))
    story[not_judging("score-2")] = constant(1)
    stage.fires(story, 60, GUESSES)


def test_the_budget_is_spent(stage: Stage) -> None:
    """A ticket from the first one on, of one series and no page: the limit was meant."""
    story = with_all(calm(), f"900+9x99 {900 + 9 * 99}x{LENGTH - 100}", 'outcome="scored"')
    story = with_all(story, f"98+1x99 {98 + 99}x{LENGTH - 100}", 'outcome="unscorable"')
    story[outcome("score-1", "over_budget", "usd_per_day")] = f"_x99 1+20x{LENGTH - 100}"
    text = "{} picked interactions were not judged within 15m, being over the budget (usd_per_day)."
    first = Firing("RagMonitorBudgetExhausted", HERE, text.format(1), {"cause": "left_out"})
    later = first._replace(description=text.format(300))
    stage.tells(story, (98, []), (99, [first]), (140, [later]))


def test_who_waits_for_money_neither_lags_nor_is_blind(tmp_path: Path) -> None:
    """That all is judged, however late, was chosen: a ticket, and no page; nor at midnight."""
    story = calm()
    counters = ("interactions_consumed_total", 'outcome="scored"', 'outcome="unscorable"')
    for name in counters:
        story = {
            series: f"{values.partition('x')[0]}x99 {_at(values, 99)}x139 "
            f"{_at(values, 99)}+80x{LENGTH - 240}"
            if name in series
            else values
            for series, values in story.items()
        }
    story = with_all(story, f"0x99 4x139 0x{LENGTH - 240}", "waiting_for_money")
    story = with_all(story, f"3x99 3+10x139 1393-35x39 3x{LENGTH - 280}", "group_lag")
    waits = Firing(
        "RagMonitorBudgetExhausted",
        HERE,
        "8 interactions wait for tomorrow's money, and all that comes after them: gauges and "
        "alarms are that late.",
        {"cause": "waits"},
    )
    stage = Stage(tmp_path, each_minute=True, ingest__when_behind="completeness")
    stage.tells(story, (99, []), (130, [waits]), (235, [waits]), (320, []))
    late = with_all(story, constant(0), "waiting_for_money")
    stage.tells(late, (120, [lagging(306), blind(300)]), (320, []))


MODEL = 'model="openai/gpt-4o"'


def sharing(first: str, second: str) -> Story:
    """Two scorers that share limits (1), or keep to their parts of them (0)."""
    shown = zip(SCORERS, (first, second), strict=True)
    return calm() | {of(p, "rag_monitor_limits_shared", MODEL): values for p, values in shown}


def not_shared(scorers: int) -> Firing:
    """So many of them keep to their parts."""
    text = (
        f"{scorers} scorers do not reach limits.redis, and each keeps to its part of the limits of "
        "openai/gpt-4o: none is exceeded, and the rest of a replica with less traffic is not "
        "used."
    )
    return down("limits_not_shared", {**SCORE, "model": "openai/gpt-4o"}, text)


def test_limits_that_are_not_shared_are_a_ticket(stage: Stage) -> None:
    """While the Redis of the limits is away for five minutes or more; of one scorer, too."""
    story = sharing(f"1x19 0x60 1x{LENGTH - 80}", f"1x19 0x40 1x{LENGTH - 60}")
    stage.tells(story, (24, []), (30, [not_shared(2)]), (70, [not_shared(1)]), (82, []), (420, []))


def test_a_redis_that_fails_over_is_no_ticket(stage: Stage) -> None:
    """Four minutes of it, again and again; nor is one that is always there."""
    fails_over = " ".join(["1x19 0x3"] * 19)
    stage.tells(sharing(fails_over, constant(1)), (22, []), (100, []), (300, []))


def test_scorers_that_restart_without_a_redis_stay_one_ticket(stage: Stage) -> None:
    """A new one says that it shares, until it asks for the first time; what it replaces is gone."""
    gone, shared = "1x19 0x39 stale", "rag_monitor_limits_shared"
    story = sharing(gone, f"1x19 0x{LENGTH - 20}")
    story[of("score-3", shared, MODEL)] = f"_x60 1x1 0x60 1x{LENGTH - 123}"
    both = [not_shared(2)]
    stage.tells(story, (59, both), (61, [not_shared(1)]), (66, both), (110, both))
    recovered = sharing(gone, constant(1))
    recovered[of("score-3", shared, MODEL)] = f"_x60 1x{LENGTH - 61}"
    stage.tells(recovered, (59, [not_shared(1)]), (63, []))


def paused(application: str, seconds: int) -> Story:
    """For so many seconds at the beginning of the story, as a scorer and an exporter say it."""
    name = "rag_monitor_paused_since_timestamp_seconds"
    label = f'application="{application}"'
    return {of(process, name, label): constant(-seconds) for process in ("score-1", "export-1")}


def forgotten(application: str, lasts: str) -> Firing:
    """A pause that nobody has ended."""
    text = (
        f"It has been paused by hand for {lasts}: the quality gauges do not cover it, and no "
        "alarm opens. rag-monitor resume ends it."
    )
    return Firing("RagMonitorBlind", {**HERE, "application": application}, text, PAUSED)


PAUSED = {"cause": "paused"}


def test_a_pause_that_lasts_for_more_than_a_day_is_one_ticket(stage: Stage) -> None:
    """Whoever shows it; also when it has lasted for longer before anybody looked."""
    story = calm() | paused("support-bot", 86_400 - 3_600)
    stage.tells(story, (60, []), (70, [forgotten("support-bot", "1d 0h 10m 0s")]))
    stage.tells(calm() | paused("*", 3 * 86_400), (10, [forgotten("*", "3d 0h 10m 0s")]))


def test_a_pause_that_ends_within_a_day_is_quiet(stage: Stage) -> None:
    """As every one does that was given no length."""
    story = {key: f"{values.split('x')[0]}x59 stale" for key, values in paused("*", 82_800).items()}
    stage.tells(calm() | story, (30, []), (59, []), (70, []), (420, []))


def newer(topic: str, records: int) -> Firing:
    """So many records of a topic were left out by one process."""
    text = (
        f"{records} records on the topic kafka.topics.{topic} have a schema that is newer than the "
        "processes that read it: gauges, baselines or alarms are computed without them."
    )
    return down("newer_schema", {**HERE, "topic": topic}, text)


def left_out(counter: str, process: str, values: str) -> Story:
    """What a process has counted of records of a newer schema."""
    return {of(process, f"rag_monitor_{counter}_records_total", 'result="newer_schema"'): values}


def test_records_of_a_newer_version_are_a_ticket(stage: Stage) -> None:
    """On each topic, by whichever process has left out most; also what a replay has left out."""
    story = calm() | left_out("score", "export-1", f"0x19 3x{LENGTH - 20}")
    story |= left_out("score", "export-2", constant(0))
    stage.tells(story, (19, []), (26, [newer("scores", 3)]), (300, [newer("scores", 3)]))
    for counter, topic, process in (
        ("control", "control", "export-1"),
        ("calibration", "control", "score-1"),
        ("alarm", "alarms", "export-2"),
    ):
        story = calm() | left_out(counter, process, constant(1))
        stage.tells(story, (10, [newer(topic, 1)]))


def test_who_reads_all_records_is_no_ticket(stage: Stage) -> None:
    """Counters that stand at 0, and other records that are left out."""
    story = calm() | left_out("score", "export-1", constant(0))
    story[of("export-1", "rag_monitor_score_records_total", 'result="malformed"')] = constant(7)
    stage.tells(story, (10, []), (300, []))


def with_letters(values: str) -> Story:
    """Dead letters of one scorer."""
    cause = 'stage="decode",cause="invalid_json"'
    return {**calm(), of("score-1", "rag_monitor_dead_letters_total", cause): values}


def letters(number: int) -> Firing:
    """The ticket about them."""
    return Firing(
        "RagMonitorDeadLetters",
        HERE,
        f"{number} records could not be read or scored within 15m (or 6h); most often: "
        "decode/invalid_json.",
        {"cause": "rejected"},
    )


def test_three_dead_letters_at_once(stage: Stage) -> None:
    """The first of their kind are a ticket for an hour, though their series begins with them."""
    story = with_letters(f"_x99 3x{LENGTH - 100}")
    stage.tells(story, (98, []), (101, [letters(3)]), (150, [letters(3)]), (200, []))


def test_a_bad_record_now_and_then_is_nobodys_work(stage: Stage) -> None:
    """One an hour among 1,200 for the whole day; or a single one where there is hardly traffic."""
    hourly = " ".join(str(1 + minute // 60) for minute in range(LENGTH))
    stage.tells(with_letters(hourly), (30, []), (200, []), (470, []))
    quiet = with_letters(f"_x99 1x{LENGTH - 100}")
    for process in SCORERS:
        quiet[of(process, "rag_monitor_interactions_consumed_total")] = growing(0.01)
    quiet = with_all(quiet, constant(1), 'outcome="scored"')
    quiet = with_all(quiet, constant(1), 'outcome="unscorable"')
    quiet = with_all(quiet, constant(70_000), "input_end_offset")
    quiet = with_all(quiet, constant(0), "group_lag")
    stage.tells(quiet, (101, [no_traffic()]), (300, [no_traffic()]))


def test_a_share_of_dead_letters_is_a_ticket(stage: Stage) -> None:
    """One in fifty minutes, where there are only two records in them: two of a hundred."""
    story = with_letters(" ".join(str(1 + minute // 50) for minute in range(LENGTH)))
    for process in SCORERS:
        story[of(process, "rag_monitor_interactions_consumed_total")] = growing(0.5, 100)
    stage.tells(story, (90, []), (400, [letters(8)]))


def test_dead_letters_hold_up_reading(stage: Stage) -> None:
    """A page: nothing goes on."""
    story = with_all(calm(), f"0x19 3x29 0x{LENGTH}", "dead_letters_waiting")
    text = "6 dead letters find no place on their topic, and their partitions are held."
    held = Firing("RagMonitorDeadLetters", {**HERE, "held_by": "topic"}, text, {"cause": "held"})
    stage.tells(story, (22, []), (30, [held]), (51, []))
    story = with_all(calm(), f"0x19 1x{LENGTH}", "circuit_open", "score-2", "dead_letter")
    text = "1 scorers have stopped reading, since nearly every record becomes a dead letter."
    held = Firing("RagMonitorDeadLetters", {**HERE, "held_by": "circuit"}, text, {"cause": "held"})
    stage.fires(story, 30, held)


def lost_records(number: int, topic: str) -> Firing:
    """Offsets of a topic were deleted unread."""
    text = (
        f"{number} offsets of {topic} went with its retention within 15m before a process had "
        "read them; they are lost."
    )
    return Firing("RagMonitorRecordsLost", {**HERE, "topic": topic}, text)


def test_records_that_retention_took_are_a_ticket(stage: Stage) -> None:
    """For an hour and the window, whoever lost them; that nothing more is lost ends it."""
    story = calm()
    story[lost("score-2", "rag.interactions.v1")] = f"0x99 30x{LENGTH - 100}"
    found = lost_records(30, "rag.interactions.v1")
    stage.tells(story, (99, []), (105, [found]), (150, [found]), (200, []))


def test_what_was_lost_before_a_process_began_is_a_ticket(stage: Stage) -> None:
    """The group's offset was gone when it started: its first scrape has them already."""
    story, new = calm(), "score-3"
    for name, value in (("up", 1), ("process_start_time_seconds", 60 * 120)):
        story[of(new, name)] = f"_x120 {value}x{LENGTH - 121}"
    story[lost(new, "rag.interactions.v1")] = f"_x120 7x{LENGTH - 121}"
    stage.tells(story, (119, []), (122, [lost_records(7, "rag.interactions.v1")]))


def test_a_clock_that_is_wrong_is_a_page(stage: Stage) -> None:
    """Ahead or behind, of that one process; a difference of some minutes is none."""
    where = {**SCORE, "instance": "score-1:9750", "pod": "score-1"}
    text = (
        "The clock of score-1:9750 and the brokers' differ by 2h 0m 0s: its windows, budgets and "
        "pauses are off by as much, and an hour ahead no broker takes its records."
    )
    wrong = down("clock", where, text)
    for offset in (-7_200, 7_200):
        story = with_all(
            calm(), f"0x19 {offset}x59 0x{LENGTH - 80}", "clock_offset", 'pod="score-1"'
        )
        stage.tells(story, (20, []), (30, [wrong]), (85, []))
    story = with_all(calm(), constant(-240), "clock_offset")
    stage.fires(story, 60)


def test_a_metric_that_has_no_value_any_more_is_a_page(stage: Stage) -> None:
    """By whichever exporter; it ends with the first value."""
    story = calm()
    for process in EXPORTERS:
        story[of(process, "rag_quality_missing", METRIC)] = f"0x99 1x60 0x{LENGTH - 160}"
    labels = {label: WATCHED[label] for label in WATCHED if label != "direction"}
    text = (
        "faithfulness of support-bot has a baseline, and no interaction of the last hour or more "
        "gave it a value (rag_quality_missing is 1), though the application is scored: nothing can "
        "be told of it, and it opens no alarm; judge llm@3f2a91."
    )
    missing = Firing("RagQualityMissing", labels, text)
    stage.tells(story, (99, []), (103, []), (107, [missing]), (162, [missing]), (170, []))


def test_most_is_unscorable(stage: Stage) -> None:
    """A ticket for the one application, with its most frequent reason; tombstones do not count."""
    story = calm()
    for process in SCORERS:
        story[picked(process, "scored", application="shop-bot")] = growing(0.4)
        story[picked(process, "unscorable", "no_claims", "shop-bot")] = growing(0.6)
        story[picked(process, "unscorable", "no_contexts", "shop-bot")] = growing(1)
    text = (
        "80% of the picked interactions of shop-bot are unscorable (more than 50%), most often: "
        "no_contexts."
    )
    one = {**HERE, "application": "shop-bot"}
    stage.fires(story, 60, Firing("RagMonitorUnscorable", one, text))
    story = calm()
    for process in SCORERS:
        story[outcome(process, "unscorable", "tombstone")] = growing(100)
        story[of(process, "rag_monitor_interactions_consumed_total")] = growing(110)
    stage.fires(story, 60)


def test_every_alert_has_a_story() -> None:
    """Each fires in one of the above; and each is looked for, and quiet, in all the others."""
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    told = {name for text in texts for name in re.findall(r'Firing\(\s*"(\w+)"', text)}
    assert told | {WATCHDOG.alert} == PENDING.keys()
