"""Plots as PNG: whatever a file and its applications are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from monitor.config.evaluating import RiskSettings
from monitor.evaluate.outcome import FileOutcome
from monitor.evaluate.png import fitting, write_plots
from monitor.evaluate.summary import Summary
from tests.stages.score_records import record


@pytest.mark.parametrize("name", ["costs $\\frac{$ more", "价格 $5_a 与 $\\sqrt{", "客服" * 40])
def test_any_name_can_be_drawn(name: str, tmp_path: Path) -> None:
    """A dollar begins no formula: that ended in a traceback, after all rows had been paid."""
    summary = Summary()
    summary.add(record("1", 0, application=name))
    said = list(write_plots(FileOutcome("$\\frac{$.jsonl", summary, [], RiskSettings()), tmp_path))
    assert said[-1].endswith("plots written")
    assert list(tmp_path.glob("*.png"))


@pytest.mark.parametrize("letter", ["W", "m", "客", "字"])
def test_a_long_name_ends_within_the_picture(letter: str) -> None:
    """Of the widest letters, too, there are fewer than the title has room for."""
    figure = Figure(figsize=(7.0, 4.6), dpi=120)
    FigureCanvasAgg(figure)
    title = figure.text(0.12, 0.5, fitting(letter * 200, 46), fontsize=8)
    assert title.get_text().endswith("…")
    assert title.get_window_extent().x1 < 0.9 * figure.bbox.x1
