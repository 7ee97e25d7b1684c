"""Plots as PNG: whatever a file and its applications are called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font_names

from monitor.config.evaluating import RiskSettings
from monitor.evaluate.outcome import FileOutcome
from monitor.evaluate.png import CJK_FONTS, fitting, write_plots
from monitor.evaluate.summary import Summary
from tests.stages.score_records import record
from tests.tools import requires_tool


@pytest.mark.parametrize("name", ["costs $\\frac{$ more", "价格 $5_a 与 $\\sqrt{", "客服" * 40])
def test_any_name_can_be_drawn(name: str, tmp_path: Path) -> None:
    """A dollar begins no formula: that ended in a traceback, after all rows had been paid."""
    summary = Summary()
    summary.add(record("1", 0, application=name))
    said = list(write_plots(FileOutcome("$\\frac{$.jsonl", summary, [], RiskSettings()), tmp_path))
    assert said[-1].endswith("plots written")
    assert list(tmp_path.glob("*.png"))


#: Draws plots of an application with a Chinese name, and prints what is said.
_DRAW = """
import sys
from pathlib import Path
from monitor.config.evaluating import RiskSettings
from monitor.evaluate.outcome import FileOutcome
from monitor.evaluate.png import write_plots
from monitor.evaluate.summary import Summary
from tests.stages.score_records import record
from tests.tools import requires_tool
summary = Summary()
summary.add(record("1", 0, application="价格"))
print(*write_plots(FileOutcome("in.jsonl", summary, [], RiskSettings()), Path(sys.argv[1])))
"""


def test_a_font_that_was_installed_later_is_found(tmp_path: Path) -> None:
    """As the warning says: matplotlib keeps the list that it made when it was first used."""
    if not set(CJK_FONTS) & set(get_font_names()):
        requires_tool("a Chinese font", "none", "apt-get install fonts-wqy-zenhei")
    environment = {**os.environ, "MPLCONFIGDIR": str(tmp_path)}

    def said(code: str) -> str:
        command = [sys.executable, "-W", "error", "-c", code, str(tmp_path)]
        return subprocess.run(
            command, env=environment, check=True, text=True, capture_output=True
        ).stdout

    said("import matplotlib.font_manager")
    (kept,) = tmp_path.glob("fontlist-*.json")
    fonts = json.loads(kept.read_text())
    files = {font["fname"] for font in fonts["ttflist"] if font["name"] in CJK_FONTS}
    fonts["ttflist"] = [font for font in fonts["ttflist"] if font["fname"] not in files]
    kept.write_text(json.dumps(fonts))
    assert "1 plots written" in (told := said(_DRAW))
    assert "warning" not in told


@pytest.mark.filterwarnings("ignore:Glyph :UserWarning")  # where no font has it a box is as wide
@pytest.mark.parametrize("letter", ["W", "m", "客", "字"])
def test_a_long_name_ends_within_the_picture(letter: str) -> None:
    """Of the widest letters, too, there are fewer than the title has room for."""
    figure = Figure(figsize=(7.0, 4.6), dpi=120)
    FigureCanvasAgg(figure)
    title = figure.text(0.12, 0.5, fitting(letter * 200, 46), fontsize=8)
    assert title.get_text().endswith("…")
    assert title.get_window_extent().x1 < 0.9 * figure.bbox.x1
