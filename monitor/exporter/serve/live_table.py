"""The table of applications and metrics: now, its course, what is normal, how sure that is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from monitor.exporter.scores.aggregator import ScoreAggregator, SeriesKey
from monitor.exporter.scores.detectors import DriftKey
from monitor.exporter.serve.score_tables import (
    BEYOND_NORMAL,
    Pair,
    ScoreRow,
    ScoreTable,
    score_tables,
)
from monitor.exporter.serve.templates import PAGES
from monitor.metrics.catalogue import CATALOGUE
from monitor.records.alarm import AlarmRecord

#: More than so many rows tell a person nothing.
MOST_LIVE_ROWS: Final = 40
#: Points of a course, two in each window: it goes back by twelve windows, as far as records count.
POINTS: Final = 24
#: Of the drawing, in its own units.
WIDTH, HEIGHT = 120.0, 28.0


class CoursePoint(NamedTuple):
    """The estimate of the window that ended then (epoch seconds); None where nothing was scored."""

    at: float
    value: float | None
    lower: float | None
    upper: float | None


class LiveRow(NamedTuple):
    """One metric of an application and judge; ``evidence`` is a share of what opens an alarm."""

    application: str
    judge: str
    window: str
    row: ScoreRow
    evidence: float | None
    learning: tuple[int, int] | None
    course: tuple[CoursePoint, ...]


def live_rows(
    aggregator: ScoreAggregator, learning: Mapping[Pair, tuple[int, int]], now: float
) -> list[LiveRow]:
    """What is worse first, then by evidence; of each application what is watched, if anything is.

    ``now`` in epoch seconds; the aggregates are brought up to it.
    """
    aggregator.advance(now)
    drift = aggregator.drift
    shares = {
        state.key: state.evidence / state.threshold
        for state in (drift.states(now) if drift is not None else ())
        if state.evidence is not None and state.threshold > 0
    }
    found = [
        LiveRow(
            table.application,
            table.judge,
            table.window,
            row,
            shares.get(DriftKey(row.metric, table.application, table.judge)),
            table.learning if row.normal is None and row.is_watched else None,
            (),
        )
        for table in score_tables(aggregator, learning, now)
        for row in _shown(table)
    ]
    found.sort(
        key=lambda one: (
            not one.row.is_worse,
            not one.row.is_beyond,
            -(one.evidence or 0.0),
            one.application,
        )
    )
    shown = [one._replace(course=_course(aggregator, one, now)) for one in found[:MOST_LIVE_ROWS]]
    return shown + found[MOST_LIVE_ROWS:]


def _shown(table: ScoreTable) -> Sequence[ScoreRow]:
    watched = [row for row in table.rows if row.is_watched]
    return watched or table.rows


def _course(aggregator: ScoreAggregator, row: LiveRow, now: float) -> tuple[CoursePoint, ...]:
    """The same estimate as that of now, of windows that ended before."""
    key = SeriesKey(row.row.metric, row.application, row.judge)
    length = aggregator.windows[row.window]
    step = min(length / 2, (now - aggregator.horizon_start(now)) / POINTS)
    points = []
    for back in range(POINTS - 1, 0, -1):
        end = now - back * step
        found = aggregator.estimate_between(key, end - length, end)
        values = (None, None, None) if found is None else (found.value, found.lower, found.upper)
        points.append(CoursePoint(end, *values))
    return (*points, CoursePoint(now, row.row.mean, row.row.lower, row.row.upper))


class _CourseDrawing(NamedTuple):
    """A course as coordinates of an SVG: lines of the mean, areas of the interval, the normal."""

    lines: tuple[str, ...]
    bands: tuple[str, ...]
    last: tuple[float, float]
    normal: float | None


def drawing(course: Sequence[CoursePoint], normal: float | None) -> _CourseDrawing:
    """Between the least and the most that it shows; a gap where nothing was scored.

    >>> found = drawing([CoursePoint(0, 0.0, 0.0, 0.5), CoursePoint(1, 0.5, 0.0, 1.0)], None)
    >>> found.lines
    ('0.0,26.0 120.0,14.0',)
    """
    bounds = [x for point in course for x in (point.lower, point.upper) if x is not None]
    bounds += [] if normal is None else [normal]
    least, most = min(bounds, default=0.0), max(bounds, default=1.0)
    span = max(most - least, 0.02)

    def y(value: float) -> float:
        return round(HEIGHT - 2 - (value - least) / span * (HEIGHT - 4), 1)

    def x(index: int) -> float:
        return round(index * WIDTH / max(1, len(course) - 1), 1)

    lines, bands = [], []
    for run in _runs(course):
        lines.append(" ".join(f"{x(i)},{y(value)}" for i, value, _, _ in run))
        there = [f"{x(i)},{y(upper)}" for i, _, _, upper in run]
        back = [f"{x(i)},{y(lower)}" for i, _, lower, _ in reversed(run)]
        bands.append(" ".join(there + back))
    last = course[-1].value if course else None
    place = (WIDTH, y(least if last is None else last))
    return _CourseDrawing(tuple(lines), tuple(bands), place, None if normal is None else y(normal))


def _runs(course: Sequence[CoursePoint]) -> list[list[tuple[int, float, float, float]]]:
    """What hangs together: place, mean and bounds of each."""
    found: list[list[tuple[int, float, float, float]]] = [[]]
    for index, (_, value, lower, upper) in enumerate(course):
        if value is None or lower is None or upper is None:
            found.append([])
        else:
            found[-1].append((index, value, lower, upper))
    return [run for run in found if run]


class _LiveCells(NamedTuple):
    application: str
    judge: str
    metric: str
    name: str
    plain: str
    mean: str
    interval: str
    window: str
    normal: str
    evidence: str
    samples: str
    state: str
    is_worse: bool
    alarm: str
    drawing: _CourseDrawing
    course: Sequence[tuple[str, str]]


def live_table(rows: Sequence[LiveRow], alarms: Collection[AlarmRecord], answers: str) -> Markup:
    """The rows as HTML; ``answers`` is where single ones are shown."""
    keys = {
        (one.metric, one.application, one.judge): one.key for one in alarms if one.state == "open"
    }
    shown = [_page_row(one, keys) for one in rows[:MOST_LIVE_ROWS]]
    template, more = PAGES.get_template("live_table.html"), max(0, len(rows) - MOST_LIVE_ROWS)
    return Markup(template.render(rows=shown, more=more, answers=answers, size=(WIDTH, HEIGHT)))


def _page_row(one: LiveRow, keys: Mapping[tuple[str, str, str], str]) -> _LiveCells:
    row, known = one.row, CATALOGUE[one.row.metric]
    sign = "≥" if known.higher_is_better else "≤"
    return _LiveCells(
        one.application,
        one.judge,
        row.metric,
        row.metric.replace("_", " "),
        known.plain,
        percent(row.mean),
        f"{100 * row.lower:.0f}–{100 * row.upper:.0f}",
        one.window,
        "" if row.normal is None else f"{sign} {percent(row.normal)}",
        "" if one.evidence is None else f"{100 * max(0.0, one.evidence):.0f} %",
        f"{row.samples:,.0f}",
        _state(one),
        row.is_worse,
        keys.get((row.metric, one.application, one.judge), ""),
        drawing(one.course, row.normal),
        [(_time(point.at), _in_words(point)) for point in one.course],
    )


def _state(one: LiveRow) -> str:
    """In words; without an alarm the window may still lie beyond what is normal.

    It does before there is evidence enough for one, and when one has just ended.
    """
    row = one.row
    if row.is_worse:
        return "worse"
    if one.learning is not None:
        return "learning {:,} of {:,}".format(*one.learning)
    if row.normal is None:
        return "not watched"
    return BEYOND_NORMAL if row.is_beyond else "as normal"


def percent(value: float) -> str:
    """A share for people; of small ones one digit more.

    >>> percent(0.345), percent(0.0123), percent(0.0)
    ('34 %', '1.2 %', '0 %')
    """
    return f"{100 * value:.1f} %" if 0 < value < 0.0995 else f"{100 * value:.0f} %"


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"


def _in_words(point: CoursePoint) -> str:
    if point.value is None or point.lower is None or point.upper is None:
        return "nothing scored"
    return f"{percent(point.value)} ({100 * point.lower:.0f}–{100 * point.upper:.0f})"
