"""The page at ``/``: what is paused, waited for, judged and alarming, for people."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from html.parser import HTMLParser

import pytest
from prometheus_client import CollectorRegistry

from monitor.exporter.scores.detectors import DriftKey
from monitor.exporter.scores.outlook import Outlook
from monitor.exporter.serve.alarm_page import CALM, STILL_TO_READ, UNTOLD, UNWATCHED
from monitor.exporter.serve.front_page import (
    MOST_ROWS,
    MOST_TABLES,
    Front,
    front_page,
)
from monitor.exporter.serve.missing import MissingMetric
from monitor.exporter.serve.score_tables import BEYOND_NORMAL, ScoreRow, ScoreTable
from monitor.judge.limits.budget import BudgetStatus, over_budget
from monitor.judge.observers import CountedCalls
from monitor.judge.pipeline.complaints import ReplyTally
from monitor.records import Usage
from monitor.records.control import PauseRecord
from monitor.records.outcome import RecentOutcomes
from monitor.telemetry import ScorerTelemetry
from tests.stages.alarm_records import alarm

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOW = datetime(2026, 11, 20, 11, tzinfo=UTC)


class Read(HTMLParser):
    """What a reader is told: the text below each heading, and what is loaded or linked."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sections: dict[str, str] = {}
        self.links: list[str | None] = []
        self.open: list[str] = []
        self.text = self.heading = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Every element but the empty ones is closed in order."""
        if tag not in ("meta", "wbr"):
            self.open.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]
        if tag == "h2":
            self.heading = ""

    def handle_endtag(self, tag: str) -> None:
        """The innermost one."""
        assert self.open.pop() == tag
        if tag in ("li", "tr", "p", "h3"):
            self.sections[self.heading] = self.sections.get(self.heading, "") + "\n"
        if tag in ("th", "td"):
            self.sections[self.heading] += " "

    def handle_data(self, data: str) -> None:
        """Below the last heading."""
        if self.open and self.open[-1] == "h2":
            self.heading = data
        elif self.heading and data.strip():
            self.sections[self.heading] = self.sections.get(self.heading, "") + data


def read(
    front: Front, waiting: dict[str, str] | None = None, stuck: dict[str, float] | None = None
) -> Read:
    """The page, read back."""
    page = front_page(front, waiting or {}, stuck or {}, NOW)
    assert page.startswith('<!doctype html>\n<html lang="en">')
    found = Read(page)
    assert found.open == []
    return found


def test_a_process_that_is_well_says_so() -> None:
    """Nothing paused, waited for, stuck or open; it links to the other pages, and nowhere else."""
    found = read(Front("1.2.3", ["score"], (), {"gpt": "judging"}, ()))
    assert found.sections["Pauses"].strip() == "Nothing is paused."
    assert found.sections["This process"].strip() == "It is ready, and nothing is stuck."
    assert found.sections["Judge"].split() == ["gpt:", "judging"]
    assert found.sections["Alarms"].strip() == "No alarm is open."
    assert found.links == ["/alarms", "/metrics", "/readyz", "/healthz"]


def test_what_is_paused_stands_there_with_its_end() -> None:
    """By its own time, or by a command."""
    paused = (PauseRecord(application="bot", until=NOON), PauseRecord())
    said = read(Front("1", paused=paused)).sections["Pauses"]
    assert "Paused: bot, until 2026-11-20T12:00:00+00:00" in said
    assert "Paused: all applications, until rag-monitor resume" in said


def test_a_judge_is_not_said_to_judge_what_is_paused() -> None:
    """All of it, or what one application sends; with the end, and no alarm is promised of it."""
    judges, bot = {"gpt": "judging", "slow": "waiting"}, PauseRecord(application="bot", until=NOON)
    by_hand = "Paused by hand: bot, until 2026-11-20T12:00:00+00:00"
    said = read(Front("1", ["score"], [bot], judges, ())).sections
    first, gpt, slow = said["Judge"].strip().splitlines()
    assert (first, gpt) == (by_hand, "gpt: judging, but not applications that are paused by hand")
    assert slow.startswith("slow: waiting")
    assert slow.endswith("but not applications that are paused by hand")
    assert "none opens where judging is paused" in said["Alarms"]
    said = read(Front("1", ["score"], [PauseRecord(), bot], judges, ())).sections
    first, *rest = said["Judge"].strip().splitlines()
    assert first == "Paused by hand: all applications, until rag-monitor resume"
    nothing = "asked nothing, since all applications are paused by hand"
    assert rest == [f"gpt: {nothing}", f"slow: {nothing}"]
    more = read(Front("1", paused=[bot, PauseRecord(application="z")], judges=judges)).sections
    assert more["Judge"].strip().splitlines()[0] == f"{by_hand}; and 1 more, see above"


@pytest.mark.parametrize("paused", [(), [PauseRecord()]])
@pytest.mark.parametrize("state", ["stopped", "circuit_open"])
def test_what_is_wrong_with_a_judge_is_said_while_it_is_paused_too(
    state: str, paused: list[PauseRecord]
) -> None:
    """Resuming would not help."""
    said = read(Front("1", ["score"], paused, {"gpt": state})).sections["Judge"]
    assert f"gpt: {state}: its provider " in said


def test_the_day_s_money_is_part_of_what_a_judge_does() -> None:
    """One that could judge does not where it is spent; one that could not stays what it is."""
    found = {name: over_budget(name) for name in ("judging", "waiting", "stopped")}
    assert found == {"judging": "over_budget", "waiting": "over_budget", "stopped": "stopped"}
    front = Front("1", ["score"], judges=found, budget=BudgetStatus(0.0012, 5.0, "Europe/Berlin"))
    said = read(front).sections["Judge"]
    assert "over_budget: today's money is spent" in said
    assert "Money: 0.0012 of 5.00 USD are left today (Europe/Berlin)" in said


def test_what_is_wrong_with_a_judge_s_replies_is_said() -> None:
    """How many were refused, and mostly why; since the start."""
    telemetry = ScorerTelemetry(CollectorRegistry())
    tally = ReplyTally()
    counted = CountedCalls(telemetry, tally=tally)
    for _ in range(5):
        counted.call_finished("verify_claims", 0.1, Usage(calls=1), None)
    for task, kind in (("verify_claims", "keys"), ("verify_claims", "cut"), ("extract", "keys")):
        counted.refused(task, kind, "unknown keys: r1")
    front = Front("1", ["score"], judges={"gpt": "judging"}, refused=tally.in_words())
    said = read(front).sections["Judge"]
    most = "most often the reply has other keys than asked (keys), since the start"
    assert f"Refused: 3 of 5 replies were refused; {most}" in said
    assert "Refused" not in read(Front("1", ["score"], judges={})).sections["Judge"]


def test_what_is_not_known_is_not_called_well() -> None:
    """Pauses that cannot be read, and what only another role knows."""
    sections = read(Front("1", paused=None)).sections
    assert "Not known" in sections["Pauses"]
    assert "see the pages of the scorers" in sections["Judge"]
    assert "see the page of the exporter" in sections["Alarms"]


def test_a_process_that_starts_promises_nothing() -> None:
    """There may be pauses that it has not read yet, and its judge is asked nothing yet."""
    front = Front("1", ["score"], judges={"gpt": "judging"}, pauses_read=False)
    said = read(front, {"consumer": "start"}).sections
    assert "Not known yet" in said["Pauses"]
    assert "gpt: judging, as far as this process, which waits, can" in said["Judge"]
    known = Front("1", paused=[PauseRecord()], pauses_read=False)
    assert "Paused: all applications" in read(known).sections["Pauses"]


def test_that_no_alarm_is_open_is_said_only_once_all_are_read() -> None:
    """An exporter in its replay knows of none yet; one that it has read already is told."""
    replay = {"alarms": "replay of t"}
    front = Front("1", ["export"], alarms=(), scores=list, alarms_read=False)
    found = read(front, replay)
    assert found.sections["Alarms"].strip() == STILL_TO_READ
    assert "/alarms" not in found.links  # the status is left out for the same reason
    known = read(front._replace(alarms=[alarm()]), replay)
    assert known.sections["Alarms"].strip() == f"Open: {alarm().answer}"
    done = read(front._replace(alarms_read=True))
    assert done.sections["Alarms"].strip() == "No alarm is open."


def test_a_metric_without_a_value_is_named_among_the_alarms() -> None:
    """It cannot open one; the row says how many values were to be expected."""
    key = DriftKey("faithfulness", "bot <b>", "llm@1")
    gone = MissingMetric(key, "1h", 100.0, 80.0)
    found = read(Front("1", ["export"], (), None, (), missing=lambda: [gone]))
    assert found.sections["Alarms"].strip() == f"No value: {gone}"


def test_what_it_waits_for_and_what_is_stuck_is_named() -> None:
    """With the reason, and for how long."""
    said = read(Front("1"), {"consumer": "partitions of t"}, {"exporter": 61.2})
    assert "consumer: partitions of t" in said.sections["This process"]
    assert "exporter, for 61 s" in said.sections["This process"]


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", '"><img src=x>', "&lt;b&gt;"])
def test_names_are_text(evil: str) -> None:
    """Whatever an application is called, it is shown as it is, and opens no element."""
    front = Front(evil, ["score"], (PauseRecord(application=evil),), {evil: evil}, ())
    found = read(front, {evil: evil}, {evil: 1.0})
    assert f"Paused: {evil}, until" in found.sections["Pauses"]
    assert evil in found.sections["Judge"]
    assert found.links == ["/metrics", "/readyz", "/healthz"]  # alarms are not known yet


def test_rows_end_somewhere() -> None:
    """How many more there are is said."""
    paused = [PauseRecord(application=f"a{number}") for number in range(MOST_ROWS + 7)]
    said = read(Front("1", paused=paused)).sections["Pauses"]
    assert said.count(", until") == MOST_ROWS
    assert "and 7 more" in said


ROW = ScoreRow("faithfulness", 0.9, 0.85, 0.93, 1200.4, 0.92, is_watched=True, is_worse=True)


@pytest.mark.parametrize(("normal", "state"), [(0.94, BEYOND_NORMAL), (0.92, "no alarm")])
def test_a_number_beyond_normal_is_found_below(normal: float, state: str) -> None:
    """At the top stands that there is one, without an alarm: its row says that it is this one."""
    row = ROW._replace(normal=normal, is_worse=False)
    tables = [ScoreTable("bot", "llm@1", "5m", [row], None)]
    page = front_page(Front("1", ["export"], scores=lambda: tables), {}, {}, NOW)
    said = " ".join(Read(page).sections["Scores"].split())
    assert f"1,200 ≥ {normal:.3f} {state}" in said


def test_an_alarm_whose_record_is_still_to_come_is_told() -> None:
    """Its detector sees it a moment before it is written: neither top nor list call that calm.

    Nor where the metric has no value in the window that is shown.
    """
    calm = ROW._replace(metric="hallucination", is_worse=False)
    tables = [ScoreTable("bot", "llm@1", "5m", [calm], None, worse=[ROW.metric])]
    front = Front("1", ["export"], alarms=(), scores=lambda: tables)
    page = front_page(front, {}, {}, NOW)
    assert UNTOLD in page
    told = "Worse: faithfulness of bot (llm@1), and no alarm is known of it yet"
    assert Read(page).sections["Alarms"].strip() == told
    written = alarm(metric=ROW.metric, application="bot", judge="llm@1")
    page = front_page(front._replace(alarms=[written]), {}, {}, NOW)
    assert UNTOLD not in page
    assert Read(page).sections["Alarms"].strip() == f"Open: {written.answer}"


def test_scores_stand_there_with_bounds_number_and_what_is_normal() -> None:
    """For each application and metric; learning with its progress; the open alarm is set off."""
    low = ROW._replace(metric="hallucination", normal=None, is_worse=False)
    tables = [
        ScoreTable("bot", "llm@1", "5m", [ROW], None),
        ScoreTable("shop", "offline@2", "24h", [low], (118, 1000)),
        ScoreTable("mute", "llm@1", "24h", [], None),
        ScoreTable(
            "owl",
            "offline@2",
            "24h",
            [low],
            (40, 1000),
            Outlook(60, True, None, is_week_over=True, is_unlikely=True),
        ),
    ]
    page = front_page(Front("1", ["export"], scores=lambda: tables), {}, {}, NOW)
    said = [line.split() for line in Read(page).sections["Scores"].strip().splitlines()]
    assert ["bot"] in said
    assert ["faithfulness", "↑", "0.900", "0.850–0.930", "1,200", "≥", "0.920", "worse"] in said
    assert ["hallucination", "↓", "0.900", "0.850–0.930", "1,200", "learning"] in said
    words = " ".join(word for line in said for word in line)
    assert "judged by llm@1; the last 5m" in words
    assert (
        "offline@2, a lexical check; the last 24h; the baseline is being learned: 118 of" in words
    )
    assert words.count("at this pace") == 1
    assert (
        "40 of 1,000, or 60 and at least a week, no alarm until then; at this pace it comes late "
        "or never"
    ) in words
    assert "No metric has a value." in words
    assert page.count("<strong>worse</strong>") == 1
    assert '<meta http-equiv="refresh" content="3">' in page


SOON = 1_800_000_000.0


@pytest.mark.parametrize(
    ("outlook", "said"),
    [
        (Outlook(60, True, None, False, False), "or 60 and at least a week, no alarm"),
        (Outlook(60, True, SOON, False, False), "or a week (over on 2027-01-15 08:00 UTC), no"),
        (Outlook(60, True, None, True, False), "or 60, since a week is over, no alarm until then"),
        (Outlook(60, None, SOON, False, False), "or perhaps 60 and at least a week, no alarm"),
        (Outlook(60, False, SOON, False, False), "learned: 40 of 1,000, no alarm until then"),
    ],
)
def test_a_day_is_named_only_where_a_baseline_comes_on_it(outlook: Outlook, said: str) -> None:
    """Where answers lack, nobody knows when they come."""
    tables = [ScoreTable("owl", "offline@2", "24h", [ROW], (40, 1000), outlook)]
    page = front_page(Front("1", ["export"], scores=lambda: tables), {}, {}, NOW)
    words = " ".join(Read(page).sections["Scores"].split())
    assert said in words
    assert ("over on" in words) == ("over on" in said)


def test_what_nobody_learns_is_not_said_to_be_learning() -> None:
    """After ``freeze`` a metric with too few values has none, until somebody sets it."""
    row = ROW._replace(normal=None, is_worse=False, is_learned=False)
    tables = [ScoreTable("bot", "llm@1", "5m", [row], None)]
    page = front_page(Front("1", ["export"], scores=lambda: tables), {}, {}, NOW)
    assert "no baseline: set or freeze it" in page
    assert "learning" not in page


def test_calm_is_said_only_where_something_is_watched() -> None:
    """Without a baseline nothing can be worse than it."""
    pages = []
    calm = ROW._replace(is_worse=False)
    for row in (calm, calm._replace(normal=None)):
        tables = [ScoreTable("bot", "llm@1", "5m", [row], None)]
        front = Front("1", ["export"], alarms=(), scores=partial(list, tables))
        pages.append(front_page(front, {}, {}, NOW))
    assert [CALM in page for page in pages] == [True, False]
    assert UNWATCHED in pages[1]


def test_without_scores_the_page_says_why() -> None:
    """Another role, a replay that is not over, or nothing to score."""
    assert "see the page of the exporter" in read(Front("1")).sections["Scores"]
    nothing = Front("1", ["export"], scores=list)
    assert "nothing was scored within the horizon" in read(nothing).sections["Scores"]
    waits = read(nothing, {"exporter": "replay of t"}).sections["Scores"]
    assert "this process still waits" in waits


def test_tables_end_somewhere() -> None:
    """How many more there are is said."""
    tables = [ScoreTable(f"a{n}", "j", "5m", [ROW], None) for n in range(MOST_TABLES + 3)]
    said = read(Front("1", scores=lambda: tables)).sections["Scores"]
    assert said.count("judged by") == MOST_TABLES
    assert "and 3 more applications or judges" in said


def test_how_interactions_ended_lately_is_said() -> None:
    """The commonest first, with its reason."""
    ended = {("scored", ""): 7, ("not_sampled", "hash"): 1234}
    sections = read(Front("1", outcomes=RecentOutcomes(5, ended))).sections
    said = sections["Interactions of the last 5 minutes"].strip().splitlines()
    assert said == ["1,234 not_sampled (hash)", "7 scored"]
    none = read(Front("1", outcomes=RecentOutcomes(5, {}))).sections
    assert none["Interactions of the last 5 minutes"].strip() == "None has ended."
    assert "see the pages of the scorers" in read(Front("1")).sections["Interactions"]
