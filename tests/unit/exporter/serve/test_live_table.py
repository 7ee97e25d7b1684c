"""The table of applications and metrics holds the gauges' numbers, and their course."""

from __future__ import annotations

import re

import pytest

from monitor.app.scores import Aggregators, aggregators
from monitor.config import load
from monitor.exporter.baselines.baselines import learning_slots
from monitor.exporter.serve.alarm_page import BEYOND, UNWATCHED, calm_in_words
from monitor.exporter.serve.live_table import (
    MOST_LIVE_ROWS,
    POINTS,
    CoursePoint,
    drawing,
    live_rows,
    live_table,
)
from tests.stages.alarm_records import alarm
from tests.stages.score_records import START, record

FLAGS = {
    "export.windows": "10s,40s",
    "drift.period": "1m",
    "drift.learn_slots": "60",
    "drift.learn_for": "0s",
    "drift.learn_wait": "1s",
}


def filled() -> tuple[Aggregators, float]:
    """Fifty seconds of a bot that was right, and is half wrong since second 40."""
    found, now = aggregators(load({}, flags=FLAGS)), START + 50.0
    found.scores.advance(now)
    for n in range(50):
        each = record(str(n), n, 0.5 if n >= 40 else 1.0)
        found.scores.add(each, each.to_json())
    found.baselines.learn(found.scores.training_slots, now)
    return found, now


def test_the_last_point_is_the_gauge_and_the_course_its_windows_before() -> None:
    """Two points a window; nothing scored is a gap; learning as far as it is."""
    found, now = filled()
    rows = live_rows(found.scores, learning_slots(found.baselines), now)
    row = next(one for one in rows if one.row.metric == "faithfulness")
    gauges = {(one.key.metric, one.window): one.estimate.value for one in found.scores.estimates()}
    assert row.row.mean == gauges["faithfulness", "10s"] == pytest.approx(0.5)
    assert (row.window, len(row.course), row.learning) == ("10s", POINTS, (50, 60))
    assert row.course[-1] == CoursePoint(now, row.row.mean, row.row.lower, row.row.upper)
    right = [one.value for one in row.course if now - 40 < one.at <= now - 10]
    assert len(right) >= 3
    assert set(right) == {1.0}
    assert row.course[0].value is None
    assert row.course[0].at < now - 50


def test_a_page_shows_what_is_worse_with_its_alarm_and_values_for_readers() -> None:
    """Numbers with interval, a drawing, a table of its values, and links."""
    found, now = filled()
    rows = live_rows(found.scores, learning_slots(found.baselines), now)
    row = next(one for one in rows if one.row.metric == "faithfulness")
    record_ = alarm(application=row.application, metric="faithfulness", judge=row.judge)
    worse = row._replace(row=row.row._replace(is_worse=True), learning=None)
    page = str(live_table([worse], [record_], "/interactions"))
    assert '<strong>worse</strong><br><a href="/alarms/' in page
    assert "<b>50 %</b>" in page
    assert "application=bot&amp;metric=faithfulness&amp;order=worst" in page
    assert page.count("<polyline") == page.count("<polygon") == 1
    empty = sum(each.value is None for each in row.course)
    assert page.count("<td>nothing scored") == empty > 0
    assert len(re.findall(r'<th scope="row">\d\d:\d\d:\d\d</th>', page)) == POINTS


@pytest.mark.parametrize(
    ("metric", "lower", "upper", "state"),
    [
        ("noise_sensitivity_irrelevant", 0.26, 0.38, "beyond normal, no alarm"),
        ("noise_sensitivity_irrelevant", 0.14, 0.38, "as normal"),
        ("noise_sensitivity_irrelevant", 0.01, 0.05, "as normal"),
        ("faithfulness", 0.02, 0.15, "beyond normal, no alarm"),
        ("faithfulness", 0.26, 0.38, "as normal"),
    ],
)
def test_a_window_beyond_normal_is_not_called_normal(
    metric: str, lower: float, upper: float, state: str
) -> None:
    """Whatever the alarm says: it comes later, and ends before the window is over."""
    found, now = filled()
    row = live_rows(found.scores, {}, now)[0]
    shown = row.row._replace(metric=metric, normal=0.16, lower=lower, upper=upper, is_worse=False)
    page = str(live_table([row._replace(row=shown, learning=None)], [], "/interactions"))
    assert f'<td data-name="state">{state}</td>' in page
    assert (calm_in_words([shown]) == BEYOND) == (state != "as normal")
    assert calm_in_words([shown._replace(normal=None)]) == UNWATCHED


def test_a_name_is_text_and_no_more_rows_than_a_person_reads() -> None:
    """Markup of an application's name is shown, and what is left out is counted."""
    found, now = filled()
    rows = live_rows(found.scores, {}, now)
    evil = rows[0]._replace(application='<script>alert("1")</script>')
    page = str(live_table([evil] * (MOST_LIVE_ROWS + 3), [], "/interactions"))
    assert "<script>" not in page
    assert "and 3 more" in page


def test_gaps_end_a_line() -> None:
    """Nothing is drawn through what was not scored; a flat course stays in the drawing."""
    some, none = CoursePoint(0, 0.5, 0.5, 0.5), CoursePoint(1, None, None, None)
    found = drawing([some, some, none, some], 0.5)
    assert [line.count(",") for line in found.lines] == [2, 1]
    assert found.lines[1].startswith("120.0,")
    assert drawing([none], None).lines == ()
