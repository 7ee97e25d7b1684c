"""What people are told is true: no page that nobody can act on, and no silence that is a fault."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from monitor.rules.judge import RESTS_ON
from tests.stages.promtool import Firing, Stage, quoted
from tests.stages.weeks import (
    EXPORTERS,
    LENGTH,
    METRIC,
    SCORERS,
    Story,
    calm,
    constant,
    growing,
    judge_unknown,
    of,
    outcome,
    picked,
    with_all,
    without,
)

HERE = {"namespace": "rag"}
EXPORT = {**HERE, "job": "rag-monitor-export"}
DAY_END = "rag_monitor_budget_day_end_timestamp_seconds"
SCORE = {**HERE, "job": "rag-monitor-score"}
WATCHED = {
    **EXPORT,
    "metric": "faithfulness",
    "application": "support-bot",
    "judge": "llm@3f2a91",
}
TOGETHER = "rag_drift_applications_together"
INFO = "rag_drift_change_info"
INCIDENT = 'incident="2026-11-25T01:40:00Z"'
LINE = "support-bot: claims that the passages support 93 % → 71 % (64–78 %, n 96) since 02:10 UTC"
BACK = "support-bot: claims that the passages support back at 92 % (89–95 %) after 60 min"
DETAILS = "Judge failures 0 % (normal)"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """The rules of the default settings."""
    return Stage(tmp_path)


def with_series(story: Story, values: str, name: str, labels: str = METRIC) -> Story:
    """Both exporters show one more series."""
    return {**story, **{of(process, name, labels): values for process in EXPORTERS}}


def told(story: Story, headline: str, values: str) -> Story:
    """The exporters have these sentences about the alarm."""
    labels = f"answer={quoted('long')},headline={quoted(headline)},details={quoted(DETAILS)}"
    return with_series(story, values, "rag_drift_change_info", f"{METRIC},{labels}")


def drifting(until: int = 160) -> Story:
    """An alarm is open from minute 100 on."""
    alarm = f"0x99 1x{until - 100} 0x{LENGTH - until}"
    story = with_all(calm(), alarm, "rag_drift_alarm")
    return told(story, LINE, f"_x99 1x{until - 100} stale")


def drift(headline: str = LINE) -> Firing:
    """The page about it."""
    text = f"{DETAILS}; judge llm@3f2a91."
    return Firing("RagQualityDrift", {**WATCHED, "direction": "worse"}, text, summary=headline)


def stale(last: str = LINE) -> Firing:
    """The ticket in its place."""
    return Firing(
        "RagQualityDrift",
        {**WATCHED, "direction": "worse"},
        "The alarm is open (rag_drift_alarm is 1), and this judge has scored "
        "nothing for long: it was replaced, traffic has ended, or the application is gone. A judge "
        "that takes its place learns what is there as normal, which is a ticket of its own. It "
        "ends a day later. "
        f"Last: {last}; judge llm@3f2a91.",
        {"cause": "stale"},
    )


def test_the_message_of_the_end_says_where_it_is_now(stage: Stage) -> None:
    """The page goes on for a moment with the sentence of the recovery, which is the last one."""
    story = told(drifting(), BACK, "_x160 1x5 stale")
    ended = f"_x160 {160 * 60}x5 stale"
    story = with_series(story, ended, "rag_drift_ended_timestamp_seconds")
    stage.tells(story, (150, [drift()]), (162, [drift(BACK)]), (166, [drift(BACK)]), (169, []))


def test_a_label_that_all_alerts_are_given_hides_no_end(tmp_path: Path) -> None:
    """``alerts.labels`` may say the cluster, where no series does."""
    story = told(drifting(), BACK, "_x160 1x5 stale")
    ended = f"_x160 {160 * 60}x5 stale"
    story = with_series(story, ended, "rag_drift_ended_timestamp_seconds")
    stage = Stage(tmp_path, alerts__labels='{"cluster": "eu"}')
    for at, found in stage.said(story, 150, 162, 166).items():
        drifts = [one for one in found if one["alertname"] == "RagQualityDrift"]
        assert said(drifts, "summary") == {LINE if at == 150 else BACK}
        assert said(drifts, "cluster") == {"eu"}


@pytest.mark.parametrize("detector", ["0", "stale"], ids=["reset", "switched-off"])
def test_an_end_that_is_no_recovery_says_so(stage: Stage, detector: str) -> None:
    """Somebody has reset the baseline, or the metric is not watched any more: not *worse*."""
    ends = "support-bot: claims that the passages support – alarm ended after 60 min: reset"
    alarm = f"0x99 1x59 {detector}" + (f"x{LENGTH}" if detector == "0" else "")
    story = told(told(with_all(calm(), alarm, "rag_drift_alarm"), LINE, "_x99 1x59 stale"), ends,
                 "_x159 1x5 stale")  # fmt: skip
    story = with_series(story, f"_x159 {159 * 60}x5 stale", "rag_drift_ended_timestamp_seconds")
    stage.tells(story, (150, [drift()]), (160, [drift(ends)]), (164, [drift(ends)]), (170, []))


def test_the_clock_of_the_exporter_does_not_matter(stage: Stage) -> None:
    """An hour ahead, or four minutes behind: its end is told as long, and told."""
    for off in (3_600, -240):
        story = told(drifting(), BACK, "_x160 1x5 stale")
        ended = f"_x160 {160 * 60 + off}x5 stale"
        story = with_series(story, ended, "rag_drift_ended_timestamp_seconds")
        stage.tells(story, (162, [drift(BACK)]), (166, [drift(BACK)]), (169, []))


@pytest.mark.parametrize("crash", [True, False], ids=["crashed", "replays"])
def test_an_incident_is_not_over_because_no_exporter_is_seen(stage: Stage, crash: bool) -> None:
    """For twenty minutes: the page stays with its words, and does not call again afterwards.

    Where it was over meanwhile, it ends when that is seen; after an hour nobody knows any more.
    """
    story = told(drifting(LENGTH - 1), LINE, f"_x99 1x{LENGTH}")
    away = away_from(story, 120, 140, crash)
    for at, found in stage.said(away, 119, 121, 127, 133, 139, 141, 150).items():
        drifts = [one for one in found if one["alertname"] == "RagQualityDrift"]
        assert said(drifts, "summary") == {LINE}, at
    over = away_from(told(drifting(130), LINE, "_x99 1x30 stale"), 120, 140, crash)
    drifts = [one for one in stage.said(over, 150)[150] if one["alertname"] == "RagQualityDrift"]
    assert drifts == []
    for_long = away_from(story, 120, 260, crash)
    moments = stage.said(for_long, 178, 190)
    assert "RagQualityDrift" in said(moments[178], "alertname")
    assert "RagQualityDrift" not in said(moments[190], "alertname")


def away_from(story: Story, start: int, end: int, crash: bool) -> Story:
    """Exporters answer nothing from a minute to another, or without any gauge of quality."""
    away = f"1x{start - 1} {{}}x{end - start - 1} 1x{LENGTH}"
    found = {}
    for series, values in story.items():
        if "export-" not in series:
            found[series] = values
        elif series.startswith("up{"):
            found[series] = away.format(0 if crash else 1)
        elif series.startswith("rag_monitor_series{"):
            found[series] = away.format("stale _" if crash else 0)
        else:
            each = minutes_of(values)
            found[series] = " ".join((*each[:start], "stale", *["_"] * (end - start), *each[end:]))
    return found


def minutes_of(values: str) -> list[str]:
    """One value a minute, of ``a+bxn``, ``axn``, ``_xn`` and ``stale`` in a row."""
    found: list[str] = []
    for part in values.split():
        first, _, number = part.partition("x")
        start, _, step = first.partition("+")
        if start == "_":
            found += ["_"] * int(number or 1)
        elif part == "stale":
            found.append(part)
        else:
            each = float(step or 0)
            found += [f"{float(start) + each * i:g}" for i in range(int(number or 0) + 1)]
    return found[:LENGTH]


def test_a_message_leads_to_the_page_of_its_alarm(tmp_path: Path) -> None:
    """Whatever stands in a name: the path is that of the key, as a server reads it."""
    name = "shop a/b+c%"
    story = {series.replace("support-bot", name): values for series, values in drifting().items()}
    stage = Stage(tmp_path, alerts__pages_url="https://monitor.example/rag/")
    (found,) = [one for one in stage.said(story, 150)[150] if one["alertname"] == "RagQualityDrift"]
    path = urlsplit(found["alarm_url"]).path
    metric, judge = found["metric"], found["judge"]
    assert unquote(path) == f"/rag/alarms/{metric}/{name}/{judge}"


def test_an_alarm_that_is_no_longer_fed_wakes_nobody(stage: Stage) -> None:
    """Judge upgraded in the incident, or traffic that ends on Friday: a ticket, until it ends."""
    story = with_series(drifting(400), f"_x99 0x100 1x199 _x{LENGTH}", "rag_drift_alarm_stale")
    stage.tells(
        story,
        (150, [drift()]),
        (199, [drift()]),
        (210, [stale()]),
        (390, [stale()]),
        (407, []),
    )


def test_an_alarm_of_some_seconds_is_told_to_nobody(tmp_path: Path) -> None:
    """It was over before anybody could have been called; its end is no news either."""
    story = told(calm(), LINE, "_x399 1x3 _x1600")
    story = {series: re.sub(rf"x{LENGTH}$", "x2000", values) for series, values in story.items()}
    name = "rag_drift_alarm"
    story = with_series(story, "0x399 1x3 0x1600", name, f'{METRIC},direction="worse"')
    ended = "rag_drift_ended_timestamp_seconds"
    story = with_series(story, "_x402 4030x1600", ended)
    found = Stage(tmp_path, "10s").said(story, 4000, 4060, 4120, 4400, unit="s")
    assert [one for each in found.values() for one in each if "Drift" in one["alertname"]] == []


def test_the_end_of_a_storm_calls_nobody_again(stage: Stage) -> None:
    """The page for all goes on as long as the single ones, which it inhibits."""
    story = calm()
    names = [f"app-{i}" for i in range(5)]
    for name in names:
        whose = METRIC.replace("support-bot", name)
        drift = f'{whose},direction="worse"'
        story = with_series(story, f"0x99 1x59 0x{LENGTH}", "rag_drift_alarm", drift)
        whole = f"{whose},{INCIDENT}"
        story = with_series(story, "_x99 5x66 stale", TOGETHER, whole)
        story = with_series(story, "_x99 1x59 stale", INFO, f"{whose},{said_of(name, LINE)}")
        story = with_series(story, "_x160 1x5 stale", INFO, f"{whose},{said_of(name, BACK)}")
        ended = "rag_drift_ended_timestamp_seconds"
        story = with_series(story, f"_x160 {160 * 60}x5 stale", ended, whose)
    moments = stage.said(story, *range(158, 180, 2))
    for at, found in moments.items():
        names = [one["alertname"] for one in found]
        many, single = names.count("RagQualityDriftMany"), names.count("RagQualityDrift")
        assert many == 5 or single == 0, at
    paged = [one for one in moments[158] if one["alertname"] == "RagQualityDriftMany"]
    assert "5 applications became worse together, app-3 among them" in said(paged, "summary")
    last = [one for one in moments[168] if one["alertname"] == "RagQualityDriftMany"]
    assert said(last, "summary") == {BACK.replace("support-bot", f"app-{i}") for i in range(5)}
    assert moments[178] == []


def said(alerts: list[dict[str, str]], annotation: str) -> set[str]:
    """What they say."""
    return {one[annotation] for one in alerts}


def said_of(name: str, headline: str) -> str:
    """The labels of a sentence about an application."""
    line = quoted(headline.replace("support-bot", name))
    return f'answer="long",headline={line},details="x"'


def test_what_has_recovered_is_not_told_of_what_goes_on(stage: Stage) -> None:
    """Of two metrics of one application of a storm one is back: the line is about the other."""
    story = calm()
    for metric, until, line in (("a", 120, LINE), ("b", 400, BACK)):
        whose = METRIC.replace("faithfulness", metric)
        alarm = f"0x99 1x{until - 100} 0x{LENGTH}"
        story = with_series(story, alarm, "rag_drift_alarm", f'{whose},direction="worse"')
        story = with_series(story, f"_x99 3x{LENGTH}", TOGETHER, f"{whose},{INCIDENT}")
        line = "back" if metric == "a" else "worse"
        labels = f'{whose},answer="long",headline="{line}",details="x"'
        story = with_series(story, "_x99 1x300 stale", INFO, labels)
    ended = METRIC.replace("faithfulness", "a")
    story = with_series(story, f"_x120 {120 * 60}x5", "rag_drift_ended_timestamp_seconds", ended)
    found = [one for one in stage.said(story, 122)[122] if one["alertname"].endswith("Many")]
    (one,) = found
    assert one["summary"] == "3 applications became worse together, support-bot among them"
    assert one["description"].startswith("worse. What they have in common")


def test_a_storm_that_nobody_feeds_wakes_nobody(stage: Stage) -> None:
    """Traffic stops on Friday evening while many are open: tickets, as of a single one."""
    story = calm()
    for name in ("a", "b", "c"):
        whose = METRIC.replace("support-bot", name)
        story = with_series(
            story, f"0x99 1x{LENGTH}", "rag_drift_alarm", f'{whose},direction="worse"'
        )
        story = with_series(story, f"_x99 3x{LENGTH}", TOGETHER, f"{whose},{INCIDENT}")
        stale = f"_x99 0x100 1x{LENGTH}"
        story = with_series(story, stale, "rag_drift_alarm_stale", whose)
    moments = stage.said(story, 190, 212, 400)
    assert [one["severity"] for one in moments[190]] == ["page"] * 6
    for at in (212, 400):
        assert [(one["severity"], one["cause"]) for one in moments[at]] == [("ticket", "stale")] * 3


def test_a_second_storm_is_another_page(stage: Stage) -> None:
    """While the first is open: Alertmanager groups by ``incident``, and calls for each."""
    story = calm()
    incidents = {"a": "12:00", "b": "12:00", "c": "12:00", "x": "14:00", "y": "14:00", "z": "14:00"}
    for name, incident in incidents.items():
        whose = METRIC.replace("support-bot", name)
        alarm = f"0x99 1x{LENGTH}"
        story = with_series(story, alarm, "rag_drift_alarm", f'{whose},direction="worse"')
        labels = f'{whose},incident="{incident}"'
        story = with_series(story, f"_x99 3x{LENGTH}", TOGETHER, labels)
    found = [one for one in stage.said(story, 110)[110] if one["alertname"].endswith("Many")]
    assert {one["application"]: one["incident"] for one in found} == incidents


def of_application(name: str, together: int) -> Story:
    """The series of one application whose alarm opened with others at minute 100."""
    whose = METRIC.replace("support-bot", name)
    story = with_series({}, f"0x99 1x{LENGTH}", "rag_drift_alarm", f'{whose},direction="worse"')
    many = f"_x99 {together}x{LENGTH}"
    story = with_series(story, many, "rag_drift_applications_together", whose)
    said = f"answer={quoted('long')},headline={quoted(name)},details={quoted(DETAILS)}"
    return with_series(story, many, "rag_drift_change_info", f"{whose},{said}")


@pytest.mark.parametrize(("number", "is_storm"), [(2, False), (20, True)])
def test_a_providers_model_change_is_one_incident(
    stage: Stage, number: int, is_storm: bool
) -> None:
    """Many say that they belong together (Alertmanager sends one page); two are two incidents."""
    names = [f"app-{i:02}" for i in range(number)]
    story = calm()
    for name in names:
        story |= of_application(name, number)
    singles = [
        Firing(
            "RagQualityDrift",
            {**WATCHED, "application": name, "direction": "worse"},
            f"{DETAILS}; judge llm@3f2a91.",
            summary=name,
        )
        for name in names
    ]
    many = [
        Firing(
            "RagQualityDriftMany",
            {**HERE, "application": name},
            f"{name}. What they have in common comes first: the model, the judge, the index, the "
            "provider.",
            summary=f"{number} applications became worse together, {name} among them",
        )
        for name in names
        if is_storm
    ]
    stage.fires(story, 110, *singles, *many)


#: A value a quarter of an hour: eight days of them take promtool some seconds.
STEP, HOUR = "15m", 4


def stretched(story: Story) -> Story:
    """So long that a week ago is in it."""
    return {series: re.sub(rf"x{LENGTH}$", "x1200", values) for series, values in story.items()}


def with_hr(samples: str, picks: str) -> Story:
    """Beside the other one an application that is scored at some times."""
    about = f'{METRIC},window="1h"'.replace("support-bot", "hr")
    story = with_series(stretched(calm()), samples, "rag_score_samples", about)
    return {**story, picked("score-1", "scored", application="hr"): picks}


GONE = Firing(
    "RagQualityMissing",
    {**HERE, "application": "hr"},
    "At this time a week ago (of a new one yesterday) 60 interactions of hr were scored within an "
    "hour; now none was picked for an hour, though others come: it is no longer logged, has "
    "another name, or is not sampled.",
    {"cause": "gone"},
)


def test_an_application_that_is_no_longer_logged_is_a_ticket(tmp_path: Path) -> None:
    """27 hours after its first score nothing of it comes any more; others go on."""
    story = with_hr(f"60x{27 * HOUR} 0x1200", f"0+15x{27 * HOUR} {15 * 27 * HOUR}x1200")
    moments = [(27 * 60 + 30, []), (29 * 60, [GONE]), (40 * 60, [GONE])]
    Stage(tmp_path, interval=STEP).tells(story, *moments)


def test_a_weekend_is_no_ticket(tmp_path: Path) -> None:
    """Scored on Friday at this time, and not last Saturday: nobody is missed."""
    story = of_hours((0, 24), (60, 144))
    Stage(tmp_path, **OF_A_WEEK).tells(story, *((60 * hour, []) for hour in (172, 180, 190)))


def of_hours(*parts: tuple[int, int]) -> Story:
    """``hr`` is scored so many times an hour, for so many hours, from Thursday 00:00 on.

    A value half an hour.
    """
    samples = " ".join(f"{each}x{hours * 2 - 1}" for each, hours in parts)
    picks, so_far = [], 0
    for each, hours in parts:
        picks.append(f"{so_far}+{each // 2}x{hours * 2 - 1}")
        so_far += each * hours
    return with_hr(f"{samples} 0x1200", f"{' '.join(picks)} {so_far}x1200")


#: Hours since that Thursday.
FRIDAY_EVENING, SATURDAY, MONDAY, WEEK = 42, 60, 105, 168
OF_A_WEEK: dict[str, Any] = {"interval": "30m", "alerts__window": "1h"}


def test_the_first_free_saturday_of_a_new_application_is_no_ticket(tmp_path: Path) -> None:
    """It came on Thursday: nobody knows yet whether it works at weekends."""
    story = of_hours((60, FRIDAY_EVENING), (0, MONDAY - FRIDAY_EVENING), (60, 9))
    hours = [FRIDAY_EVENING + 7, SATURDAY, SATURDAY + 12, SATURDAY + 30, MONDAY - 1, MONDAY + 1]
    Stage(tmp_path, **OF_A_WEEK).tells(story, *((60 * hour, []) for hour in hours))


def test_one_that_is_gone_after_the_weekend_is_a_ticket_on_monday(tmp_path: Path) -> None:
    """On Friday evening its logging broke: Saturday is as free as ever, Monday is not."""
    story = of_hours((60, 48), (0, 48), (60, WEEK + FRIDAY_EVENING - 96), (0, 96))
    saturday, monday = WEEK + SATURDAY, WEEK + MONDAY + 3
    Stage(tmp_path, **OF_A_WEEK).tells(story, (60 * saturday, []), (60 * monday, [GONE]))


def test_an_application_that_is_paused_is_not_missed(tmp_path: Path) -> None:
    """Nor is one while nothing comes in at all: that is told by itself."""
    story = with_hr(f"60x{27 * HOUR} 0x1200", f"0+15x{27 * HOUR} {15 * 27 * HOUR}x1200")
    paused = of("score-1", "rag_monitor_paused_since_timestamp_seconds", 'application="hr"')
    stage = Stage(tmp_path, interval=STEP)
    stage.tells({**story, paused: f"_x{27 * HOUR} {27 * 3600}x1200"}, (30 * 60, []))


def up_to(at: int, series: dict[str, str]) -> Story:
    """Counters and constants of a story, as they are from a step on: nothing is added."""
    found = {}
    for name, values in series.items():
        first, _, each = values.rpartition("x")[0].partition("+")
        last = float(first) + float(each or 0) * at
        found[name] = f"{first}+{each or 0}x{at} {last:g}x{1200 - at}"
    return found


def unpicked(why: str, at: int) -> Story:
    """Nothing of any application is picked from a step on, and what shows why."""
    story = stretched(calm())
    ends = ["rag_monitor_picks_total", "rag_monitor_interactions_total"]
    if why != "left_out":
        ends.append("rag_monitor_interactions_consumed_total")
    counted = {s: v for s, v in story.items() if s.startswith(tuple(ends))}
    story |= up_to(at, counted)
    for process in SCORERS:
        if why == "left_out":
            story[outcome(process, "over_budget", "usd_per_day")] = f"_x{at} 0+10x{1200 - at}"
        if why == "waits":
            waiting = of(process, "rag_monitor_interactions_waiting_for_money")
            story[waiting] = f"0x{at} 128x{1200 - at}"
    if why == "dead":
        scorers = {s: v for s, v in story.items() if 'pod="score-' in s}
        story |= {s: f"{v.rpartition('x')[0]}x{at} stale" for s, v in scorers.items()}
        story |= {of(process, "up"): f"1x{at} 0x{1200 - at}" for process in SCORERS}
    return story


@pytest.mark.parametrize(
    ("why", "told", "flags"),
    [
        ("left_out", {"RagMonitorBudgetExhausted"}, {}),
        (
            "waits",
            {"RagMonitorBudgetExhausted"},
            {"ingest__when_behind": "completeness"},
        ),
        ("dead", {"RagMonitorDown", "RagMonitorBlind"}, {}),
    ],
)
def test_what_stops_judging_of_all_makes_no_application_gone(
    tmp_path: Path, why: str, told: set[str], flags: dict[str, Any]
) -> None:
    """Its own alert is told for hours, and no application is said to be missing from the log."""
    stage = Stage(tmp_path, STEP, alerts__window="1h", **flags)
    found = stage.said(unpicked(why, 27 * HOUR), 26, 30, 34, unit="h")
    names = {at: {one["alertname"] for one in fired} for at, fired in found.items()}
    assert names == {26: set(), 30: told, 34: told}


def test_what_is_gone_while_there_is_no_money_is_told_once_there_is(tmp_path: Path) -> None:
    """The money of an evening hides it, and the next morning does not."""
    story = with_hr(f"60x{27 * HOUR} 0x1200", f"0+15x{27 * HOUR} {15 * 27 * HOUR}x1200")
    spent = outcome("score-1", "over_budget", "usd_per_day")
    story[spent] = f"_x{26 * HOUR} 0+10x{5 * HOUR} {50 * HOUR}x1200"
    found = Stage(tmp_path, STEP, alerts__window="1h").said(story, 30, 34, unit="h")
    gone = {at: [o.get("application") for o in f if "cause" in o] for at, f in found.items()}
    assert gone[34] == ["hr"]
    assert "hr" not in gone[30]


def test_who_is_counted_among_others_is_not_missed(tmp_path: Path) -> None:
    """The scorers have no label left for it, and the exporters name it."""
    story = with_hr("60x1200", "_x1200")
    story[picked("score-1", "scored", application="other")] = "0+15x1200"
    found = Stage(tmp_path, STEP, alerts__window="1h").said(story, 30, 48, unit="h")
    assert found == {30: [], 48: []}


def test_what_has_no_baseline_for_long_is_a_ticket(tmp_path: Path) -> None:
    """Longer than learning takes; what learns is none."""
    stage = Stage(tmp_path, alerts__unwatched="2h")
    story = with_series(calm(), constant(1), "rag_monitor_baseline_missing")
    unwatched = Firing(
        "RagQualityUnwatched",
        WATCHED,
        "faithfulness of support-bot has had no baseline for 2h (rag_monitor_baseline_missing is "
        "1): no alarm can open on it. It has too few values to learn from: set one, or watch "
        "another metric; judge llm@3f2a91.",
    )
    stage.tells(story, (100, []), (170, []), (190, [unwatched]))
    learned = with_series(calm(), f"1x150 0x{LENGTH}", "rag_monitor_baseline_missing")
    stage.tells(learned, (190, []), (400, []))
    # Reset two hours after it came: it learns anew, and nobody has to do anything yet.
    reset = with_series(calm(), "1x60 0x70 1x400", "rag_monitor_baseline_missing")
    stage.tells(reset, (200, []), (240, []), (250, []), (320, [unwatched]))


def test_a_judge_that_learned_in_an_incident_is_a_ticket(stage: Stage) -> None:
    """From when its baseline holds until somebody decides; one learned in peace is none."""
    name = "rag_monitor_baseline_learned_in_alarm"
    found = Firing(
        "RagQualityUnwatched",
        WATCHED,
        "The baseline of faithfulness of support-bot was learned while an alarm on it was open "
        "(rag_monitor_baseline_learned_in_alarm is 1): what is as bad as then opens no alarm. "
        "Freeze, set or reset it (rag-monitor baseline); judge llm@3f2a91.",
        {"cause": "learned_in_alarm"},
    )
    decided = with_series(calm(), f"0x99 1x200 0x{LENGTH}", name)
    stage.tells(decided, (150, []), (170, [found]), (290, [found]), (310, []))
    stage.tells(with_series(calm(), constant(0), name), (170, []), (290, []))


def thinned(share: str) -> Firing:
    """The ticket about too few."""
    return Firing(
        "RagMonitorBlind",
        HERE,
        f"{share} of what should be judged is (reading that is behind takes less, and so does a "
        "judge that fails): gauges have wide intervals, and alarms come late.",
        {"cause": "thinned"},
    )


def test_hardly_anything_sampled_is_a_ticket(stage: Stage) -> None:
    """A twentieth of the rate for an hour; a peak of half an hour is none."""
    story = {**calm()}
    for process in SCORERS:
        story[of(process, "rag_monitor_sampling_share")] = f"1x99 0.05x29 1x20 0.05x{LENGTH}"
    stage.tells(story, (128, []), (200, []), (215, [thinned("5%")]))


def test_one_of_a_thousand_is_a_ticket(stage: Stage) -> None:
    """Some scores are not none: it is no page, and not silent either."""
    story = without(calm(), 'outcome="unscorable"')
    for process in SCORERS:
        story[outcome(process, "scored")] = growing(0.01, 900)
        story[outcome(process, "not_sampled", "lag")] = growing(10)
    stage.tells(story, (470, [thinned("0.1%")]))


def test_a_judge_that_contradicts_itself_is_a_ticket(stage: Stage) -> None:
    """Where even the upper bound is low, of enough rechecks."""
    labels = 'kind="passage",judge="llm@3f2a91"'
    story = {**calm(), of("score-1", "rag_monitor_judge_agreement_interactions", labels): "120x480"}
    upper = of("score-1", "rag_monitor_judge_agreement_upper", labels)
    found = Firing(
        "RagMonitorJudgeDoubtful",
        {**SCORE, "kind": "passage", "judge": "llm@3f2a91"},
        "At most 45% of the verdicts of llm@3f2a91 on claims against the passage come out alike "
        "when they are asked for one by one (upper bound; below 80% is doubtful): what it says of "
        "the traffic is worth as little.",
        {"cause": "agreement"},
    )
    stage.fires({**story, upper: constant(0.45)}, 60, found)
    stage.fires({**story, upper: constant(0.85)}, 60)
    few = of("score-1", "rag_monitor_judge_agreement_interactions", labels)
    stage.fires({**story, upper: constant(0.45), few: constant(12)}, 60)


@pytest.mark.parametrize("kind", RESTS_ON)
def test_a_judge_that_guesses_one_kind_is_a_ticket(stage: Stage, kind: str) -> None:
    """It says what is worth nothing; of a model that guesses on the whole it is told already."""

    def guesses(process: str, kind: str, model: str, value: int) -> Story:
        labels = f'kind="{kind}",model="{model}"'
        return {of(process, "rag_monitor_judge_guesses_kind", labels): constant(value)}

    others = [guesses("score-1", each, "m", 0) for each in RESTS_ON if each != kind]
    story = {**calm(), **others[0], **others[1]}
    found = Firing(
        "RagMonitorJudgeDoubtful",
        {**SCORE, "kind": kind, "model": "m"},
        f"Whether the {kind} supports a claim, the judge m answers no better than a guesser on "
        "interactions with known verdicts (rag_monitor_judge_guesses_kind is 1, or was before a "
        "restart). Worth nothing: "
        f"{', '.join(RESTS_ON[kind])}. Other metrics may be sound. Try judge.pipeline pairs, or a "
        "stronger model.",
        {"cause": "canaries_of_a_kind"},
    )
    seen = guesses("score-1", kind, "m", 1)
    stage.fires({**story, **seen}, 60, found)
    stage.fires({**story, **guesses("score-1", kind, "m", 0)}, 60)
    guesser = of("score-2", "rag_monitor_judge_not_judging", 'model="m"')
    assert causes(stage, {**story, **seen, guesser: constant(1)}) == ["canaries"]
    other = of("score-2", "rag_monitor_judge_not_judging", 'model="n"')
    both = causes(stage, {**story, **seen, other: constant(1)})
    assert both == ["canaries", "canaries_of_a_kind"]


def test_a_restart_does_not_end_the_ticket_of_a_kind(stage: Stage) -> None:
    """Although nothing is said of the kind before its first canary; it ends when it is known."""
    about = 'model="openai/gpt-4o"'
    story = calm()
    for process in SCORERS:
        story[judge_unknown(process)] = "0x29 1x29 0x240"
        kind = of(process, "rag_monitor_judge_guesses_kind", f'kind="reference",{about}')
        story[kind] = "1x29 stale _x9 0x250"
    moments = stage.said(story, 24, 35, 55, 75)
    told = {at: [one["cause"] for one in moments[at]] for at in (24, 35, 55, 75)}
    assert told == {at: ["canaries_of_a_kind"] for at in (24, 35, 55)} | {75: []}


def causes(stage: Stage, story: Story) -> list[str]:
    """Those of the alerts of a story after an hour."""
    return sorted(alert["cause"] for alert in stage.said(story, 60)[60])


def audited(kappa: float, interactions: int, verdict: str = "response_by_passage") -> Story:
    """What people's audits say, on the pages of both exporters."""
    about = f'application="support-bot",judge="llm@3f2a91",verdict="{verdict}"'
    story = {**calm()}
    for process in EXPORTERS:
        story[of(process, "rag_monitor_audit_interactions", about)] = constant(interactions)
        for measure, upper in (("kappa", kappa), ("recall", 0.2)):
            labels = f'{about},measure="{measure}"'
            story[of(process, "rag_monitor_audit_agreement_upper", labels)] = constant(upper)
    return story


def test_a_judge_that_people_disagree_with_is_a_ticket(stage: Stage) -> None:
    """One of two exporters, where even the upper bound of kappa is low, on 50 audits or more."""
    found = Firing(
        "RagMonitorJudgeDoubtful",
        {
            **EXPORT,
            "application": "support-bot",
            "judge": "llm@3f2a91",
            "verdict": "response_by_passage",
        },
        "Audits of support-bot: on response_by_passage Cohen's kappa of llm@3f2a91 and people is "
        "at most 0.45 (upper bound; below 0.6 is doubtful). Its scores are as doubtful.",
        {"cause": "audits"},
    )
    stage.fires(audited(0.45, 50), 60, found)
    stage.fires(audited(0.65, 50), 60)
    stage.fires(audited(0.45, 49), 60)


def test_two_people_who_disagree_say_nothing_of_the_judge(stage: Stage) -> None:
    """Their agreement is that of the task."""
    stage.fires(audited(0.2, 500, "reviewers"), 60)


def test_the_least_kappa_is_a_setting(tmp_path: Path) -> None:
    """``alerts.audit_kappa``: 0.4 leaves a judge alone that 0.6 does not."""
    Stage(tmp_path, alerts__audit_kappa="0.4").fires(audited(0.45, 500), 60)


def test_a_judge_that_errs_otherwise_is_a_ticket(stage: Stage) -> None:
    """While the latest audits differ from those before; where they do not, nobody is told."""
    found = Firing(
        "RagMonitorJudgeDoubtful",
        WATCHED,
        "faithfulness of support-bot: the latest 50 audits show other errors of llm@3f2a91 than "
        "those before (rag_monitor_audit_judge_moved is 1). rag_score_corrected goes by all of "
        "them, and fits neither time.",
        {"cause": "audits_moved"},
    )
    story = with_series(calm(), "0x29 1x59 0x200", "rag_monitor_audit_judge_moved")
    stage.tells(story, (25, []), (32, []), (40, [found]), (100, []))


def with_budget(per_minute: float) -> Story:
    """Five dollars a day, spent so fast since midnight, which is minute 0."""
    story = {**calm()}
    for process in SCORERS:
        story[of(process, "rag_monitor_budget_usd_spent")] = growing(per_minute)
        story[of(process, "rag_monitor_budget_usd_left")] = f"5-{per_minute}x{LENGTH}"
        story[of(process, "rag_monitor_budget_usd_per_day")] = constant(5)
        story[of(process, DAY_END)] = constant(86_400)
    return story


def test_money_that_will_not_last_is_told_ahead(stage: Stage) -> None:
    """At the pace of the last hour; what lasts until midnight is no news."""
    ahead = Firing(
        "RagMonitorBudgetExhausted",
        SCORE,
        "At the pace of the last hour the day's money is spent in 6h 40m 0s; from then on nothing "
        "is judged until midnight (budget.timezone); a smaller sampling.rate makes it last.",
        {"cause": "forecast"},
    )
    stage.tells(with_budget(0.01), (5, []), (100, [ahead]))
    stage.tells(with_budget(0.0035), (100, []), (470, []))


def test_a_day_like_yesterday_is_no_news(tmp_path: Path) -> None:
    """Four dollars in office hours, of five a day: at noon the pace of the last hour is no news."""
    day = [4.0 * min(1.0, max(0.0, (quarter / 4 - 8) / 10)) for quarter in range(96)]
    both, more = ([*day, *(share * times for share in day)] for times in (1.0, 1.5))
    for spent, told in ((both, False), (more, True)):
        story = {}
        for process in SCORERS:
            left = [max(0.0, 5 - dollars) for dollars in spent]
            story[of(process, "rag_monitor_budget_usd_spent")] = " ".join(map(str, spent))
            story[of(process, "rag_monitor_budget_usd_left")] = " ".join(map(str, left))
            story[of(process, "rag_monitor_budget_usd_per_day")] = "5x200"
            story[of(process, DAY_END)] = "86400x95 172800x95"
        noon = 24 + 12
        found = Stage(tmp_path, "15m").said(story, noon, unit="h")[noon]
        names = [one["alertname"] for one in found if one.get("cause") == "forecast"]
        assert names == ["RagMonitorBudgetExhausted"] * told


def test_a_sum_that_dips_in_its_last_digit_is_no_restart(stage: Stage) -> None:
    """A rate of it would take it for all that was spent, and tell an end that is near."""
    story = with_budget(0.003)
    for process in SCORERS:
        values = [0.003 * minute - 1e-9 * (minute % 2) for minute in range(LENGTH)]
        story[of(process, "rag_monitor_budget_usd_spent")] = " ".join(f"{v:.12f}" for v in values)
    stage.tells(story, (300, []), (470, []))


#: A value each quarter of an hour. Stories begin on a Thursday.
OFFICE, FREE, ALL_DAY = ([0] * 32 + [60] * 40 + [0] * 24, [0] * 96, [60] * 96)
WEEK_OF_OFFICE = (OFFICE * 2 + FREE * 2 + OFFICE * 3) * 2


def unvalued(samples: list[int], since: int) -> Story:
    """Values of a metric within an hour and a day; missing since an hour of the story."""
    story = stretched(calm())
    story |= with_series({}, f"0x{since * HOUR} 1x1200", "rag_quality_missing")
    for window, length in (("1h", HOUR), ("24h", 24 * HOUR)):
        # Of four quarters each has as many as their hour.
        sums = [
            sum(samples[max(0, at - length + 1) : at + 1]) // HOUR for at in range(len(samples))
        ]
        labels = f'{METRIC},window="{window}"'
        story = with_series(story, " ".join(map(str, sums)), "rag_score_samples", labels)
    return story


def missed(story: Story, tmp_path: Path, *hours: int, **flags: Any) -> list[bool]:
    """By hour whether it is told that the metric has no value."""
    found = Stage(tmp_path, STEP, **flags).said(story, *hours, unit="h")
    return [any(one["alertname"] == "RagQualityMissing" for one in found[h]) for h in hours]


@pytest.mark.parametrize("windows", ["5m,1h,24h", "5m,1h"])
def test_references_of_office_hours_are_not_missed_when_nobody_works(
    tmp_path: Path, windows: str
) -> None:
    """At night, at a weekend like the last one, and early on the Monday after it."""
    nights = unvalued(OFFICE * 7, 138)
    assert missed(nights, tmp_path, 141, export__windows=windows) == [False]
    saturday, sunday, monday = 228, 252, 271
    weekend = missed(
        unvalued(WEEK_OF_OFFICE, 222), tmp_path, saturday, sunday, monday, export__windows=windows
    )
    assert weekend == [False] * 3


@pytest.mark.parametrize("windows", ["5m,1h,24h", "5m,1h"])
def test_what_has_no_value_any_more_is_missed_until_it_has_one(
    tmp_path: Path, windows: str
) -> None:
    """After two days, and after a week, it is as broken as in its first hour."""
    broken = unvalued(ALL_DAY * 7 + FREE * 5, 168)
    hours = [167, 170, 192, 215, 218, 230, 280]
    told = missed(broken, tmp_path, *hours, export__windows=windows)
    assert told == [False, True, True, True, True, True, True]


def test_references_that_end_on_friday_are_missed_on_monday(tmp_path: Path) -> None:
    """Saturday and Sunday had none, either: that does not excuse a Monday."""
    sunday, monday = 252, 274
    story = unvalued(WEEK_OF_OFFICE[: 9 * 96] + FREE * 4, 210)
    assert missed(story, tmp_path, sunday, monday) == [False, True]


@pytest.mark.parametrize("samples", ["_x191 0x95", "60x191 60x39 0x55"])
def test_what_never_lacked_values_at_night_is_missed(tmp_path: Path, samples: str) -> None:
    """There were some two nights ago, or nobody knows."""
    story = with_series(stretched(calm()), samples, "rag_score_samples", f'{METRIC},window="1h"')
    story = with_series(story, f"0x{68 * HOUR} 1x20", "rag_quality_missing")
    assert missed(story, tmp_path, 70) == [True]


def test_a_budget_that_is_spent_at_the_end_of_the_day_is_nobodys_work(tmp_path: Path) -> None:
    """Ten minutes before midnight nothing can be done, and nothing has to be."""
    story = {**calm(), outcome("score-1", "over_budget", "usd_per_day"): f"_x99 1+20x{LENGTH}"}
    story[of("score-1", DAY_END)] = constant(86_400)
    Stage(tmp_path, alerts__forecast="23h").tells(story, (105, []), (150, []))


def test_who_samples_nothing_of_one_application_is_not_blind(tmp_path: Path) -> None:
    """At night only that one has traffic: what the hash took of it nobody expects a score of."""
    apps = '[{"application": "chat", "sampling": {"rate": 0}}]'
    stage = Stage(tmp_path, sampling__rate="0.5", applications=apps)
    story = calm()
    for process in SCORERS:
        story[outcome(process, "scored")] = f"900+4.5x60 1170x{LENGTH - 61}"
        story[outcome(process, "unscorable", "no_contexts")] = f"98+0.5x60 128x{LENGTH - 61}"
        story[outcome(process, "not_sampled", "hash")] = f"100+5x{LENGTH}"
        story[outcome(process, "not_sampled", "filtered")] = f"0x60 0+5x{LENGTH - 61}"
        story[of(process, "rag_monitor_interactions_in_flight")] = constant(0)
    stage.tells(story, (50, []), (200, []), (470, []))


def test_who_samples_only_a_small_application_is_not_behind(tmp_path: Path) -> None:
    """The rest is of nobody's interest, and nothing is thinned."""
    apps = '[{"application": "bank", "sampling": {"rate": 1.0}}]'
    stage = Stage(tmp_path, sampling__rate="0", applications=apps)
    story = without(calm(), 'outcome="unscorable"')
    for process in SCORERS:
        story[of(process, "rag_monitor_interactions_consumed_total")] = growing(100, 1000)
        story[outcome(process, "scored")] = growing(0.1, 900)
        story[outcome(process, "not_sampled", "filtered")] = growing(99.9, 100)
    stage.tells(story, (200, []), (470, []))


def test_a_neighbour_with_a_similar_name_is_none_of_ours(stage: Stage) -> None:
    """Its exporter of Redis is down: that is somebody else's page."""
    other = 'up{job="rag-monitor-redis-exporter",namespace="rag",instance="r:1",pod="r"}'
    stage.fires({**calm(), other: constant(0)}, 30)


def test_staging_lags_beside_production(stage: Stage) -> None:
    """Its exporter may not look at its group; production's says nothing of it."""
    where = 'job="rag-monitor-score",namespace="staging",instance="s:1",pod="s"'
    topic = 'topic="rag.interactions.v1",partition="0"'
    late = Firing(
        "RagMonitorLagging",
        {"namespace": "staging", "job": "rag-monitor-score", "topic": "rag.interactions.v1"},
        "The oldest record of rag.interactions.v1 that is not done has waited for 20m 0s.",
        {"seen_by": "scorer"},
    )
    series = f"rag_monitor_consumer_lag_seconds{{{where},{topic}}}"
    stage.tells({**calm(), series: growing(60)}, (5, []), (20, [late]))


def test_staging_without_an_exporter_beside_production(stage: Stage) -> None:
    """Each of several monitors has its roles."""
    where = 'job="rag-monitor-score",namespace="staging",instance="s:1",pod="s"'
    story = {**calm(), f"up{{{where}}}": constant(1)}
    story[f"rag_monitor_interactions_in_flight{{{where}}}"] = constant(0)
    missed = Firing(
        "RagMonitorDown",
        {"namespace": "staging", "role": "export"},
        "Other processes of the monitor answer, but none of them has the role export "
        "(rag-monitor export, or run).",
        {"cause": "role_missing"},
    )
    stage.fires(story, 30, missed)
