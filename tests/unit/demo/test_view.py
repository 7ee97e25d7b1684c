"""What the demo shows: what stands on the page, in words and as a picture."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from monitor.demo import view
from monitor.export.scrape import Gauge, Page
from monitor.metrics.catalogue import CATALOGUE

WINDOWS = ("15s", "1m")
MOVED = "noise_sensitivity_irrelevant"
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


def shown(page: Page, phase: str = "incident", judge: str = "offline@1", width: int = 200) -> str:
    """The picture as text."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(view.picture(page, 30.0, phase, WINDOWS, "http://127.0.0.1:1", judge))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def row(text: str, first: str) -> list[str]:
    """The cells of the row that begins with a word."""
    (line,) = [line for line in text.splitlines() if line.strip("│┃ ").startswith(first)]
    return [cell.strip() for cell in line.strip("│┃").split("│")]


def test_the_line_has_counts_and_both_gauges() -> None:
    """For a log: where we are, how much, and the gauges with bounds and number."""
    assert view.plain(PAGE, 30.4, "incident", WINDOWS) == (
        "   30 s  incident  consumed 600  scored 300"
        f"  {MOVED}[15s] 0.410 (0.300–0.520, n=80)  faithfulness[15s] no data yet"
    )


def test_the_line_before_anything_was_scored() -> None:
    """No number is invented."""
    line = view.plain(Page({}, {}, 0, 0, 0), 0.0, "before", WINDOWS)
    assert "consumed 0  scored 0" in line
    assert line.count("no data yet") == 2


@pytest.mark.parametrize(
    "gauge",
    [Gauge(None, 0.4, 0.6, 9.0), Gauge(0.5, None, 0.6, 9.0), Gauge(0.5, 0.4, None, 9.0), None],
)
def test_a_gauge_without_bounds_is_no_data(gauge: Gauge | None) -> None:
    """A number without its uncertainty is not shown."""
    assert view.said(gauge) == "no data yet"


def test_the_picture_has_every_metric_in_every_window() -> None:
    """With interval and number, or that there is no data yet."""
    text = shown(PAGE)
    assert row(text, MOVED)[2:] == ["0.410 (0.300–0.520, n=80)", "0.200 (0.150–0.260, n=240)"]
    for metric in CATALOGUE:
        if metric != MOVED:
            assert row(text, f"{metric} ")[2:] == ["no data yet", "no data yet"]


def test_the_outcomes_add_up_before_the_eye() -> None:
    """Every outcome with its reason and rate, what is in flight, and the sum of it all."""
    text = shown(PAGE)
    assert row(text, "judge_failed") == ["judge_failed", "deadline", "7", "0.2"]
    assert row(text, "not_sampled") == ["not_sampled", "hash", "290", "9.7"]
    assert row(text, "scored") == ["scored", "–", "300", "10.0"]
    assert row(text, "in flight")[2] == "3"
    assert row(text, "consumed")[2] == "600" == str(300 + 290 + 7 + 3)


@pytest.mark.parametrize("phase", ["before", "incident", "after"])
def test_the_incident_is_announced(phase: str) -> None:
    """While it lasts, and not otherwise."""
    assert ("INCIDENT" in shown(PAGE, phase)) == (phase == "incident")


@pytest.mark.parametrize(("judge", "screen"), [("offline@1", True), ("llm@1", False)])
def test_a_lexical_screen_is_called_one(judge: str, screen: bool) -> None:
    """Nobody should take the offline judge for a model."""
    assert ("a lexical screen, not a model" in shown(PAGE, judge=judge)) == screen
    assert judge in shown(PAGE, judge=judge)


@given(st.tuples(*[st.floats(0, 1)] * 3).map(sorted))
def test_the_bar_holds_the_estimate_within_its_interval(bounds: list[float]) -> None:
    """One dot, line to both sides of it, and as wide as from 0 to 1."""
    lower, value, upper = bounds
    page = PAGE._replace(gauges={(MOVED, "15s"): Gauge(value, lower, upper, 9.0)})
    bar = row(shown(page), MOVED)[1]
    assert len(bar) == view.BAR
    assert bar.count("●") == 1
    assert abs(bar.index("●") / (view.BAR - 1) - value) <= 0.5 / (view.BAR - 1) + 1e-9
    drawn = bar.strip("·").replace("●", "━")
    assert drawn == "━" * len(drawn)
    assert abs((len(drawn) - 1) / (view.BAR - 1) - (upper - lower)) <= 1 / (view.BAR - 1) + 1e-9


def test_a_gauge_without_data_has_an_empty_bar() -> None:
    """No dot at zero."""
    assert row(shown(PAGE), "faithfulness")[1] == "·" * view.BAR
