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
from matplotlib.font_manager import FontManager, fontManager, get_font_names, json_dump

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
    kept = tmp_path / f"fontlist-v{FontManager.__version__}.json"
    json_dump(fontManager, kept)
    fonts = json.loads(kept.read_text())
    files = {font["fname"] for font in fonts["ttflist"] if font["name"] in CJK_FONTS}
    fonts["ttflist"] = [font for font in fonts["ttflist"] if font["fname"] not in files]
    kept.write_text(json.dumps(fonts))
    told = subprocess.run(
        [sys.executable, "-W", "error", "-c", _DRAW, str(tmp_path)],
        env={**os.environ, "MPLCONFIGDIR": str(tmp_path)},
        check=True,
        text=True,
        capture_output=True,
    ).stdout
    assert "1 plots written" in told
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
