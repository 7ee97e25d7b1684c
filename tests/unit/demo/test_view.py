"""What the demo shows: what stands on the page, in words and as a picture."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from monitor.demo.chronicle import Chronicle
from monitor.demo.drift_view import latest
from monitor.demo.schedule import Schedule, TrafficPace
from monitor.demo.view import View
from monitor.exporter.serve.scraped import DriftReading, Gauge, Learning, ScrapedPage
from monitor.metrics.catalogue import CATALOGUE
from monitor.status.bars import (
    NO_DATA,
    bar,
    cell,
    course,
    gauge_in_words,
    progress,
    rising,
    rising_scale,
)
from monitor.status.gauges import CHOSEN
from tests.stages.demo_alarms import alarm
from tests.stages.score_records import START

WINDOWS = ("15s", "1m")
MOVED = "noise_sensitivity_irrelevant"
URL = "http://127.0.0.1:1"
WATCHED = ("faithfulness", "noise_sensitivity_relevant", MOVED)
PAGE = ScrapedPage(
    gauges={
        (MOVED, "15s"): Gauge(0.41, 0.3, 0.52, 80.4),
        (MOVED, "1m"): Gauge(0.2, 0.15, 0.26, 240.0),
        ("faithfulness", "15s"): Gauge(None, None, None, 0.0),
    },
    outcomes={("scored", ""): 300, ("not_sampled", "hash"): 290, ("judge_failed", "deadline"): 7},
    consumed=600,
    in_flight=3,
    records_read=300,
)
LEARNING = PAGE._replace(learning=Learning(120, 200, False))
ALARMED = PAGE._replace(
    learning=Learning(200, 200, True),
    watched={
        "faithfulness": DriftReading(-0.3, 7.56, 0.94, False),
        "noise_sensitivity_relevant": DriftReading(None, 7.56, 0.05, False),
        MOVED: DriftReading(8.25, 7.56, 0.13, True),
    },
)
NOTHING = ScrapedPage({}, {}, 0, 0, 0)


def view(
    seconds: float = 30.0,
    page: ScrapedPage = PAGE,
    chronicle: Chronicle | None = None,
    run_for: float | None = None,
    sent: int | None = None,
) -> View:
    """The demo so many seconds after its start; the incident is from 24 s to 34 s."""
    found = View(
        Schedule(START, 24, 10),
        TrafficPace(20.0, run_for, sent),
        WINDOWS,
        chronicle or Chronicle(START),
        WATCHED,
        url=URL,
        judge="offline, a lexical check",
    )
    found.look(page, START + seconds)
    return found


def shown(picture: View, width: int = 120, height: int = 60) -> str:
    """The picture as text."""
    file = io.StringIO()
    Console(file=file, width=width, height=height, color_system=None).print(picture)
    return file.getvalue()


def told(*, closed: bool = False) -> Chronicle:
    """The chronicle of a demo whose alarm opened after 29 s."""
    chronicle = Chronicle(START)
    chronicle.look(ALARMED, START + 13.0)
    chronicle.apply(alarm("open", 29))
    if closed:
        chronicle.apply(alarm("closed", 29, closed_s=37))
    return chronicle


def row(text: str, first: str) -> list[str]:
    """The words of the row that begins with these words."""
    (line,) = [
        line for line in text.splitlines() if line.split()[: len(first.split())] == first.split()
    ]
    return line.split()


def watched_row(text: str, metric: str) -> list[str]:
    """The words of the row that holds a metric against its baseline."""
    (line,) = [x for x in text.splitlines() if x.startswith(f" {metric}") and "│" in x]
    return line.split()


def test_the_line_has_counts_and_both_gauges() -> None:
    """For a log: where we are, how much, and the gauges with bounds and number."""
    words = view(30.4).plain().split()
    assert words[:3] == ["30", "s", "incident"]
    assert words[3:7] == ["consumed", "600", "scored", "300"]
    line = view().plain()
    assert f"{MOVED}[15s] {gauge_in_words(PAGE.gauges[MOVED, '15s'])}" in line
    assert f"faithfulness[15s] {NO_DATA}" in line


def test_the_line_before_anything_was_scored() -> None:
    """No number is invented."""
    assert view(0.0, NOTHING).plain().count(NO_DATA) == 2


def test_a_gauge_in_words_has_its_bounds_and_its_number() -> None:
    """To three places."""
    assert gauge_in_words(Gauge(0.41, 0.3, 0.52, 80.4)) == "0.410 [0.300, 0.520] n=80"


@pytest.mark.parametrize(
    "gauge",
    [Gauge(None, 0.4, 0.6, 9.0), Gauge(0.5, None, 0.6, 9.0), Gauge(0.5, 0.4, None, 9.0), None],
)
def test_a_gauge_without_bounds_is_no_data(gauge: Gauge | None) -> None:
    """A number without its uncertainty is not shown: neither in words nor as a dot."""
    assert gauge_in_words(gauge) == cell(gauge).plain == NO_DATA
    assert "●" not in bar(gauge, 20, "").plain


@settings(max_examples=20, deadline=None)
@given(st.integers(80, 200), st.integers(24, 80))
def test_every_metric_is_on_any_terminal(width: int, height: int) -> None:
    """By name with its arrow, and no line is broken: that would tear the picture."""
    text = shown(view(30.0, ALARMED, told()), width, height)
    for name in CATALOGUE if height >= 72 else CHOSEN:
        arrow = {True: " ↑", False: " ↓", None: ""}[CATALOGUE[name].higher_is_better]
        assert row(text, f"{name}{arrow}")
    for name in WATCHED:
        assert watched_row(text, name)
    assert max(len(line) for line in text.splitlines()) <= width
    assert f"{URL}/metrics" in text


def test_the_outcomes_add_up_before_the_eye() -> None:
    """Every outcome with its reason, what is in flight, and the sum of it all."""
    text = shown(view())
    assert row(text, "judge_failed")[1:3] == ["deadline", "7"]
    assert row(text, "not_sampled")[1:3] == ["hash", "290"]
    assert row(text, "scored")[1] == "300"
    assert row(text, "in flight")[2] == "3"
    assert row(text, "= consumed")[2] == "600"
    assert sum(PAGE.outcomes.values()) + PAGE.in_flight == PAGE.consumed == 600


def test_rates_are_those_of_the_last_seconds() -> None:
    """From two scrapes; after a single one there is no rate."""
    first = PAGE._replace(consumed=500)
    picture = view(20.0, first)
    assert row(shown(picture), "= consumed")[3] == "–"
    picture.look(PAGE, START + 25.0)
    assert row(shown(picture), "= consumed")[3] == "20.0"


@pytest.mark.parametrize(
    ("seconds", "incident"), [(0, False), (23.9, False), (24, True), (33.9, True), (34, False)]
)
def test_the_incident_is_announced(seconds: float, incident: bool) -> None:
    """While it lasts, and not otherwise."""
    assert (" INCIDENT " in shown(view(seconds))) == incident
    assert (" incident " in view(seconds).plain()) == incident


@pytest.mark.parametrize(("width", "height"), [(200, 60), (80, 24)])
def test_a_pause_is_said(width: int, height: int) -> None:
    """On any terminal and in the line; where nothing is paused, nothing is said of it."""
    paused = view(page=PAGE._replace(paused=("*", "shop")))
    assert "judge    PAUSED (all, shop)" in shown(paused, width, height)
    assert "PAUSED *, shop" in paused.plain()
    assert "PAUSED" not in shown(view(), width, height) + view().plain()


@pytest.mark.parametrize(("width", "height"), [(200, 60), (80, 24)])
def test_traffic_that_is_not_read_in_time_is_said(width: int, height: int) -> None:
    """600 read at 20 a second are 30 s: with more to read the latest gauges stay empty. What is
    read a second is that of now: who has started late catches up."""
    for read_before, sent, said in (
        (550, None, "5.0 a second are read, 20 come; lower --rate"),
        (300, None, "30.0 a second are read, 20 come"),
        (550, 900, "5.0 a second are read, no more come"),
    ):
        late = view(35.0, PAGE._replace(consumed=read_before), sent=sent)
        late.look(PAGE, START + 45.0)
        assert f"15 s BEHIND: {said}  " in late.plain()
        assert f"15 s BEHIND: {said}  " in shown(late, width, height)
    assert "42 s BEHIND: nothing has been read yet" in view(42.0, NOTHING).plain()
    for other in (
        view(39.9),
        view(90.0, run_for=39.9),
        view(900.0, sent=600),
        view(90.0, PAGE._replace(paused=("*",))),
        view(30.0, NOTHING),
    ):
        assert "BEHIND" not in other.plain() + shown(other, width, height)


def test_who_judges_is_said() -> None:
    """Nobody should take the offline judge for a model."""
    assert "a lexical check" in shown(view())
    assert "a lexical check" in view().intro()
    assert f"{URL}/metrics" in view().intro()


@given(st.tuples(*[st.floats(0, 1)] * 3).map(sorted), st.integers(14, 40))
def test_the_bar_holds_the_estimate_within_its_interval(bounds: list[float], width: int) -> None:
    """One dot, line to both sides of it, and as wide as from 0 to 1."""
    lower, value, upper = bounds
    drawn = bar(Gauge(value, lower, upper, 9.0), width, "cyan").plain
    assert len(drawn) == width
    assert drawn.count("●") == 1
    step = 1 / (width - 1)
    assert abs(drawn.index("●") * step - value) <= step / 2 + 1e-9
    interval = drawn.strip("·").replace("●", "━")
    assert interval == "━" * len(interval)
    assert abs((len(interval) - 1) * step - (upper - lower)) <= step + 1e-9


@given(st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=30))
def test_a_course_rises_with_its_values(values: list[float | None]) -> None:
    """One character a value; a larger value is never lower, and none is blank, not zero."""
    drawn = course(values, [""] * len(values)).plain
    assert len(drawn) == len(values)
    levels = {value: char for value, char in zip(values, drawn, strict=True) if value is not None}
    assert [char == " " for char in drawn] == [value is None for value in values]
    assert [levels[value] for value in sorted(levels)] == sorted(levels.values())


@given(st.floats(0, 10), st.floats(3, 9), st.integers(12, 60))
def test_the_bar_reaches_the_threshold_exactly_when_the_evidence_does(
    evidence: float, threshold: float, width: int
) -> None:
    """All cells before the mark are full for an alarm, and one is empty otherwise."""
    drawn = rising(evidence, threshold, width, "").plain
    before, after = drawn.split("│")
    assert len(drawn) == width
    assert ("·" not in before) == (evidence >= threshold)
    assert evidence >= threshold or "█" not in after


@given(st.floats(3, 9), st.integers(12, 60), st.lists(st.floats(0, 12), min_size=2))
def test_more_evidence_is_never_a_shorter_bar(
    threshold: float, width: int, evidence: list[float]
) -> None:
    """It rises with the evidence; without any it is empty."""
    lengths = [rising(each, threshold, width, "").plain.count("█") for each in sorted(evidence)]
    assert lengths == sorted(lengths)
    assert "█" not in rising(None, threshold, width, "").plain


@given(st.none() | st.floats(3, 9), st.integers(12, 60))
def test_the_scale_is_as_wide_as_its_bar(threshold: float | None, width: int) -> None:
    """So that the columns stand under each other, and the threshold over its mark."""
    drawn = rising_scale(threshold, width)
    assert len(drawn) == width
    if threshold is not None:
        mark = rising(None, threshold, width, "").plain.index("│")
        assert abs(drawn.index(f"{threshold:.2f}") + 1 - mark) <= 2


@given(st.integers(0, 300), st.integers(1, 300), st.integers(1, 40))
def test_progress_is_full_when_all_is_there(done: int, of: int, width: int) -> None:
    """And not before; as wide as asked for."""
    drawn = progress(done, of, width).plain
    assert len(drawn) == width
    assert (drawn == "▒" * width) == (done >= of)


def test_learning_says_how_far_it_is() -> None:
    """In the picture and in the line; there is no evidence yet, and no number is invented."""
    text = shown(view(9.0, LEARNING))
    assert "learning baseline 120/200 ▒▒▒" in text
    assert "█" not in text
    assert view(9.0, LEARNING).plain().endswith("learning baseline 120/200")
    assert view(0.0, NOTHING).plain().endswith("learning baseline")


def test_an_alarm_is_a_word_and_a_sentence() -> None:
    """So that it is seen without colours, too; what has a baseline says what is normal."""
    text = shown(view(30.0, ALARMED, told()))
    assert watched_row(text, MOVED)[-4:] == ["≤", "0.13", "▲", "ALARM"]
    assert watched_row(text, "noise_sensitivity_relevant")[-2:] == ["no", "alarm"]
    assert row(text, "29 s") == ["29", "s", "▲", "ALARM", "it", "rose"]
    assert view(30.0, ALARMED).plain().endswith("evidence 8.2/7.56 ALARM")


@pytest.mark.parametrize("height", [24, 60])
def test_the_recovery_is_told(height: int) -> None:
    """Whatever else there is room for, and the alarm is none any more."""
    text = shown(view(40.0, ALARMED._replace(watched={}), told(closed=True)), 80, height)
    assert row(text, "37 s") == ["37", "s", "✓", "recovered:", "it", "rose"]
    assert "ALARM" not in text


def test_an_open_alarm_is_kept_before_anything_else() -> None:
    """Newer events do not push it out of a small picture."""
    chronicle = told()
    for second in range(30, 40, 2):
        chronicle.apply(alarm("open", second, metric="faithfulness"))
        chronicle.apply(alarm("closed", second, closed_s=second + 1, metric="faithfulness"))
    assert [event.at_s for event in latest(chronicle, 1)] == [29]
    assert [event.at_s for event in latest(chronicle, 3)] == [29, 38, 39]


@pytest.mark.parametrize("width", [40, 60, 79])
def test_a_narrow_terminal_shows_the_alarm_too(width: int) -> None:
    """No line is longer than it, and the word and its sentence are there."""
    text = shown(view(30.0, ALARMED, told()), width, 24)
    assert max(len(line) for line in text.splitlines()) <= width
    assert watched_row(text, "noi…irrelevant" if width < 54 else MOVED)[-2:] == ["▲", "ALARM"]
    assert "it rose" in text
