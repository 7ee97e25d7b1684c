"""Histogram and box plot of each metric as PNG, by matplotlib (the extra ``plots``)."""

from __future__ import annotations

import importlib.util
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from unicodedata import east_asian_width

from monitor.errors import ConfigurationError
from monitor.evaluate.outcome import FileOutcome
from monitor.evaluate.plotted import MetricPlot, plots

#: Fonts that hold Chinese, Japanese or Korean, as systems name them; the first that is there.
CJK_FONTS: Final = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Microsoft YaHei",
    "SimHei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Arial Unicode MS",
)
_CJK = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_UNSAFE = re.compile(r"[^\w.-]+")
_LATIN: Final = "DejaVu Sans"
_BAR, _BOX, _MEAN = "#3b73b9", "#c9d8ec", "#b3261e"


def require_matplotlib(find: Callable[[str], object] = importlib.util.find_spec) -> None:
    """Raises ``ConfigurationError`` where ``find`` does not find it."""
    if find("matplotlib") is None:
        raise ConfigurationError(
            "--plots: needs matplotlib: pip install 'rag-monitor[plots]', or take --report, which "
            "needs nothing"
        )


def require_plots(folder: Path) -> None:
    """Raises ``ConfigurationError`` where matplotlib is missing, or the folder cannot be made."""
    require_matplotlib()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"--plots {folder}: {error.strerror}") from error


def write_plots(outcome: FileOutcome, folder: Path) -> Iterator[str]:
    """Write a PNG for each metric that has a value; says what was written, or may look wrong.

    Raises ``ConfigurationError`` where matplotlib or the folder is missing.
    """
    require_plots(folder)
    # It tells of each font that it takes in place of another.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    found = list(plots(outcome))
    names = _names(found)
    try:
        yield from (said := list(_fonts(outcome, found)))
        with warnings.catch_warnings():
            if said:  # once, and not of each letter on each plot
                warnings.filterwarnings("ignore", "Glyph ", UserWarning)
            for name, plot in zip(names, found, strict=True):
                _draw(plot, outcome.file, folder / name)
    except OSError as error:
        raise ConfigurationError(f"--plots {folder}: {error.strerror}") from error
    yield f"{folder}: {len(found)} plots written"


def fitting(name: str, most: int) -> str:
    """The name in one line, cut where it is wider than so many Latin letters.

    >>> fitting("客服机器人", 10), fitting("客服机器人与退货", 10), fitting("in.jsonl", 10)
    ('客服机器人', '客服机器…', 'in.jsonl')
    """
    name, wide = " ".join(name.split()), 0
    places = [wide := wide + (2 if east_asian_width(each) in "WF" else 1) for each in name]
    if wide <= most:
        return name
    return f"{name[: sum(place < most for place in places)]}…"


def _names(found: list[MetricPlot]) -> list[str]:
    """One a plot; with the application and a number where there are several of a metric."""
    groups = list(dict.fromkeys((plot.application, plot.judge) for plot in found))
    if len(groups) == 1:
        return [f"{plot.metric}.png" for plot in found]
    numbers = {pair: number for number, pair in enumerate(groups, 1)}
    return [
        f"{numbers[plot.application, plot.judge]}-{_UNSAFE.sub('_', plot.application)[:80]}-"
        f"{plot.metric}.png"
        for plot in found
    ]


def _fonts(outcome: FileOutcome, found: list[MetricPlot]) -> Iterator[str]:
    """Choose fonts that hold what is written; says so where none does."""
    import matplotlib

    written = f"{outcome.file} {' '.join(plot.application for plot in found)}"
    is_cjk = _CJK.search(written) is not None
    cjk = _cjk_fonts() if is_cjk else ()
    matplotlib.rcParams["font.family"] = [_LATIN, *cjk]
    matplotlib.rcParams["text.parse_math"] = False  # a dollar in a name begins no formula
    if is_cjk and not cjk:
        yield (
            "warning: no font here holds Chinese, so names in it are boxes on the plots: install "
            "one, such as fonts-noto-cjk, or take --report"
        )


def _cjk_fonts() -> Sequence[str]:
    """The first one that is there, also where it came after matplotlib had made its list."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    if chosen := _listed():
        return chosen
    for path in {*findSystemFonts()} - {font.fname for font in fontManager.ttflist}:
        with suppress(OSError, RuntimeError):  # no font, or one that it cannot read
            fontManager.addfont(path)
    return _listed()


def _listed() -> Sequence[str]:
    from matplotlib.font_manager import get_font_names

    there = set(get_font_names())
    return [name for name in CJK_FONTS if name in there][:1]


def _draw(plot: MetricPlot, file: str, target: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.6), dpi=120)
    FigureCanvasAgg(figure)
    # A layout that is worked out takes as long again as the drawing.
    margins = {"left": 0.12, "right": 0.97, "top": 0.86, "bottom": 0.12, "hspace": 0.1}
    bars, box = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1), gridspec_kw=margins)
    _histogram(bars, plot)
    _box(box, plot)
    better = f", {plot.better}" if plot.better else ""
    figure.suptitle(f"{plot.metric} ({plot.plain}{better})", fontsize=11)
    judge = plot.judge or "nobody"
    names = f"{fitting(file, 30)} · {fitting(plot.application, 46)}"
    bars.set_title(f"{names} · judged by {judge}", fontsize=8, loc="left")
    missing = f", {plot.missing:,} without a value" if plot.missing else ""
    box.set_xlabel(f"value; {plot.column.n:,} rows{missing}", fontsize=9)
    figure.savefig(target, format="png")


def _histogram(axes: Any, plot: MetricPlot) -> None:
    drawn = axes.bar(
        [low for low, _, _ in plot.bounds()],
        plot.counts,
        width=1 / len(plot.counts),
        align="edge",
        color=_BAR,
        edgecolor="white",
    )
    axes.bar_label(drawn, [f"{count:,}" if count else "" for count in plot.counts], fontsize=8)
    column = plot.column
    for value, style, name in ((column.mean, "-", "mean"), (column.median, "--", "median")):
        axes.axvline(value, color=_MEAN, linestyle=style, label=f"{name} {value:.3f}")
    axes.legend(fontsize=8)
    axes.set_ylabel("rows", fontsize=9)
    axes.margins(y=0.15)


def _box(axes: Any, plot: MetricPlot) -> None:
    column = plot.column
    shape = {
        "med": column.median,
        "q1": column.lower_quartile,
        "q3": column.upper_quartile,
        "whislo": plot.ends[0],
        "whishi": plot.ends[1],
        "mean": column.mean,
        "fliers": plot.outliers,
    }
    axes.bxp(
        [shape],
        orientation="horizontal",
        widths=0.6,
        showmeans=True,
        patch_artist=True,
        boxprops={"facecolor": _BOX},
        medianprops={"color": _MEAN, "linestyle": "--"},
        meanprops={"marker": "D", "markerfacecolor": _MEAN, "markeredgecolor": _MEAN},
        flierprops={"marker": "o", "markersize": 3},
    )
    axes.set_yticks([])
    axes.set_xlim(-0.02, 1.02)
