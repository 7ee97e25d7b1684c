"""What the demo shows: what stands on the page, in words and as a picture."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from monitor.demo.bars import NO_DATA, bar, cell, course, said
from monitor.demo.schedule import Schedule
from monitor.demo.view import CHOSEN, View
from monitor.export.scrape import Gauge, Page
from monitor.metrics.catalogue import CATALOGUE

WINDOWS = ("15s", "1m")
MOVED = "noise_sensitivity_irrelevant"
URL = "http://127.0.0.1:1"
START = 1_000
PAGE = Page(
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
NOTHING = Page({}, {}, 0, 0, 0)


def view(seconds: float = 30.0, page: Page = PAGE) -> View:
    """The demo so many seconds after its start; the incident is from 24 s to 34 s."""
    found = View(Schedule(START, 24, 10), WINDOWS, url=URL, judge="offline, a lexical screen")
    found.look(page, START + seconds)
    return found


def shown(picture: View, width: int = 120, height: int = 60) -> str:
    """The picture as text."""
    file = io.StringIO()
    Console(file=file, width=width, height=height, color_system=None).print(picture)
    return file.getvalue()


def row(text: str, first: str) -> list[str]:
    """The words of the row that begins with these words."""
    (line,) = [
        line for line in text.splitlines() if line.split()[: len(first.split())] == first.split()
    ]
    return line.split()


def test_the_line_has_counts_and_both_gauges() -> None:
    """For a log: where we are, how much, and the gauges with bounds and number."""
    words = view(30.4).plain().split()
    assert words[:3] == ["30", "s", "incident"]
    assert words[3:7] == ["consumed", "600", "scored", "300"]
    line = view().plain()
    assert f"{MOVED}[15s] {said(PAGE.gauges[MOVED, '15s'])}" in line
    assert f"faithfulness[15s] {NO_DATA}" in line


def test_the_line_before_anything_was_scored() -> None:
    """No number is invented."""
    assert view(0.0, NOTHING).plain().count(NO_DATA) == 2


def test_a_gauge_in_words_has_its_bounds_and_its_number() -> None:
    """To three places."""
    assert said(Gauge(0.41, 0.3, 0.52, 80.4)) == "0.410 [0.300, 0.520] n=80"


@pytest.mark.parametrize(
    "gauge",
    [Gauge(None, 0.4, 0.6, 9.0), Gauge(0.5, None, 0.6, 9.0), Gauge(0.5, 0.4, None, 9.0), None],
)
def test_a_gauge_without_bounds_is_no_data(gauge: Gauge | None) -> None:
    """A number without its uncertainty is not shown: neither in words nor as a dot."""
    assert said(gauge) == cell(gauge).plain == NO_DATA
    assert "●" not in bar(gauge, 20, "").plain


@settings(max_examples=40)
@given(st.integers(80, 200), st.integers(24, 80))
def test_every_metric_is_on_any_terminal(width: int, height: int) -> None:
    """Those of the incident on a small one; no line is broken: that would tear the picture."""
    text = shown(view(), width, height)
    for metric in CATALOGUE if height >= 56 else CHOSEN:
        assert row(text, metric)
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


def test_who_judges_is_said() -> None:
    """Nobody should take the offline judge for a model."""
    assert "a lexical screen" in shown(view())
    assert "a lexical screen" in view().intro()
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
