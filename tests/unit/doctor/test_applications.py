"""Which applications and judges are scored: by their records, and since when."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from monitor.config import Settings, load
from monitor.doctor.applications import made, pace_since, scored_by, seen
from monitor.doctor.judging import first_bound
from monitor.records.control import BaselineRecord, MetricBaseline
from monitor.stats.period import DAY_S
from tests.stages.score_records import START, record

PAIR = ("bot", "offline@1")
DAY = START // DAY_S * DAY_S


def settings(**flags: str) -> Settings:
    """Settings with these ones; ``__`` is a dot."""
    return load({}, flags={name.replace("__", "."): value for name, value in flags.items()})


def every(hours: float, days: float) -> list[float]:
    """Event times for so many days, the last of them at the end."""
    return [DAY + n * hours * 3_600 for n in range(round(days * 24 / hours))]


def test_a_score_record_says_of_whom_and_when() -> None:
    """One without any value teaches nothing, and what cannot be read is counted elsewhere."""
    one = record("1", 60.0)
    assert scored_by(one.to_json()) == (PAIR, START + 60.0)
    fields = json.loads(one.to_json())
    assert scored_by(json.dumps({**fields, "scores": {}}).encode()) is None
    unscored = {"faithfulness": {"unscored": "no claims"}}
    assert scored_by(json.dumps({**fields, "scores": unscored}).encode()) is None
    assert scored_by(json.dumps({**fields, "application": ["a"]}).encode()) is None
    deep = b'{"scores":' + b"[" * 200_000
    for value in (None, b"{", b"[]", b"{}", b'{"judge": 1}', deep):
        assert scored_by(value) is None


@pytest.mark.parametrize("late_s", [0.0, 10 * 3_600.0, 23.8 * 3_600.0])
def test_a_first_day_need_not_be_whole(late_s: float) -> None:
    """Neither for the pace, nor for how long it has gone on."""
    times = [DAY + late_s + n * 4_320.0 for n in range(124)]  # 20 a day, 6.2 days
    now = times[-1] + 60.0
    found = seen(PAIR, times, None, now)
    assert found is not None
    assert found.per_day == pytest.approx(20.0, rel=0.02)
    assert found.scored_s == now - times[0]
    left = found.left_s(7.0 * DAY_S)
    assert left == pytest.approx(0.85 * DAY_S, rel=0.01)


def test_what_was_there_before_is_not_known_to_have_begun() -> None:
    """Three a day: the first of what was read comes hours after its start, and is no begin."""
    times = every(8.0, 8.0)
    found = seen(PAIR, times, DAY - 3_600.0, times[-1] + 60.0)
    assert found is not None
    assert (found.scored_s, round(found.per_day, 1)) == (None, 3.0)
    later = seen(PAIR, times, DAY - 4.0 * DAY_S, times[-1] + 60.0)
    assert later is not None
    assert later.scored_s == times[-1] + 60.0 - times[0]


def test_of_an_hour_it_is_the_pace_of_a_day() -> None:
    """Where there are too many to read a day of them."""
    times = [DAY + n * 60.0 for n in range(60)]
    found = seen(PAIR, times, DAY - 1.0, DAY + 3_600.0)
    assert found is not None
    assert found.per_day == pytest.approx(1_440.0, rel=0.01)


def test_who_has_ended_is_left_out() -> None:
    """A judge of before learns nothing any more; one that is seldom scored does."""
    before, now = [DAY + n * 3_600.0 for n in range(24)], DAY + 7.0 * DAY_S
    seldom = [DAY + n * 2.0 * DAY_S for n in range(3)]
    tried = {("try", "a@1"): [DAY + 3_600.0]}
    found = made({PAIR: before, ("cat", "a@1"): seldom, **tried}, None, now, settings(), {})
    assert [one.application for one in found] == ["cat"]


def test_a_baseline_is_one_of_what_is_watched() -> None:
    """By the control topic or the configuration; the largest application stands first."""
    times = {PAIR: every(4.0, 3.0), ("cat", "a@1"): every(1.0, 3.0)}
    held = BaselineRecord(
        application="bot",
        judge="offline@1",
        origin="learned",
        effective_from=datetime.fromtimestamp(DAY, UTC),
        metrics={"faithfulness": MetricBaseline(mean=0.9)},
    )
    now = DAY + 3.0 * DAY_S
    found = made(times, None, now, settings(), {held.key: held})
    assert [(one.application, one.has_baseline) for one in found] == [("cat", False), ("bot", True)]
    other = settings(drift__metrics="answered")
    assert not any(one.has_baseline for one in made(times, None, now, other, {held.key: held}))
    given = settings(
        drift__metrics="answered",
        drift__baselines='[{"application": "c*", "metrics": {"answered": 0.9}}]',
    )
    cat, bot = made(times, None, now, given, {})
    assert (cat.is_given, cat.has_baseline, bot.is_given) == (True, True, False)


def test_a_pace_is_of_the_time_that_it_is_of() -> None:
    """Less than a day tells none."""
    assert pace_since(17, 2.0 * DAY_S, 2.85 * DAY_S) is None
    assert pace_since(124, 0.0, 6.2 * DAY_S) == pytest.approx(20.0)
    assert first_bound([0, 10, 20], [0, 5]) == 10
