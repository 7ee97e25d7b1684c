"""Which applications and judges are scored: by their records, and since when."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from monitor.config import Settings, load
from monitor.doctor.applications import (
    ReadScores,
    SeenApplication,
    Sightings,
    made,
    score_line,
    seen,
)
from monitor.exporter.period import first_bound
from monitor.records import Outcome
from monitor.records.control import BaselineRecord, MetricBaseline
from monitor.stats.period import DAY_S
from tests.stages.score_records import START, record

PAIR = ("bot", "offline@1")
DAY = START // DAY_S * DAY_S

#: As in the records here.
WATCHED = ("faithfulness",)


def settings(**flags: str) -> Settings:
    """Settings with these ones; ``__`` is a dot."""
    return load({}, flags={name.replace("__", "."): value for name, value in flags.items()})


def every(hours: float, days: float) -> list[float]:
    """Event times for so many days, the last of them at the end."""
    return [DAY + n * hours * 3_600 for n in range(round(days * 24 / hours))]


def sighted(times: list[float], *others: float) -> Sightings:
    """Records that are scored at these times, and ``others`` that are not."""
    return Sightings(times, min([*times, *others]), len(times) + len(others))


def only(
    pair: tuple[str, str], times: list[float], since: float | None, now: float
) -> SeenApplication:
    """Of one of which all records are scored."""
    return seen(pair, sighted(times), since, now)


def held(record_of: str = "bot", days: float = 0.0, **fields: Any) -> dict[str, BaselineRecord]:
    """A baseline by its key."""
    given = {"origin": "learned", "metrics": {"faithfulness": MetricBaseline(mean=0.9)}, **fields}
    at = datetime.fromtimestamp(DAY + days * DAY_S, UTC)
    one = BaselineRecord(application=record_of, judge="offline@1", effective_from=at, **given)
    return {one.key: one}


def test_a_score_record_says_of_whom_and_when() -> None:
    """One that teaches nothing is there, too; what cannot be read is counted elsewhere."""
    one = record("1", 60.0)
    assert score_line(one.to_json(), WATCHED) == (PAIR, START + 60.0, True, True)
    rare = ("faithfulness_of_nobody",)
    assert score_line(one.to_json(), rare) == (PAIR, START + 60.0, True, False)
    fields = json.loads(one.to_json())
    unscored = {"faithfulness": {"unscored": "no claims"}}
    forced = dict.fromkeys(("first_offset", "last_offset", "m", "q", "u")) | {"forced": True}
    changes: dict[str, Any]
    for changes in (
        {"scores": {}},
        {"scores": unscored},
        {"outcome": "over_budget"},
        {"outcome": "judge_failed"},
        {"sampling": fields["sampling"] | forced},
    ):
        line = json.dumps({**fields, **changes}).encode()
        assert score_line(line, WATCHED) == (PAIR, START + 60.0, False, False)
    assert score_line(json.dumps({**fields, "application": ["a"]}).encode(), WATCHED) is None
    deep = b'{"scores":' + b"[" * 200_000
    for value in (None, b"{", b"[]", b"{}", b'{"judge": 1}', deep):
        assert score_line(value, WATCHED) is None


def test_only_what_is_scored_counts() -> None:
    """What a spent budget leaves is neither judged nor silence."""
    of_day = 25
    found = ReadScores(DAY, (DAY, DAY + 3.0 * DAY_S), WATCHED)
    for number in range(round(3.4 * of_day)):
        one = record(str(number + 1), DAY - START + number * DAY_S / of_day)
        if number % of_day:
            one = one.model_copy(update={"outcome": Outcome.OVER_BUDGET, "scores": {}})
        found.add(one.to_json(), round(one.event_time.timestamp() * 1_000))
    assert found.share_scored == 1 / of_day
    (one_seen,) = made(found.by_pair, DAY, DAY + 3.4 * DAY_S, settings(), {})
    assert one_seen.per_day == pytest.approx(1.0)
    # It was there before what was read: its first records come at once, though none is scored.
    late = sighted([DAY + 20_000.0], *(DAY + n * 3_456.0 for n in range(20)))
    assert seen(PAIR, late, DAY - 60.0, DAY + 0.9 * DAY_S).scored_s is None


def test_the_share_of_scored_ones_is_that_of_whole_days() -> None:
    """Money may be spent in the first hour of each: a part of its hours says something else."""
    window = (DAY, DAY + 2.0 * DAY_S)
    for since, share in ((DAY, 0.5), (DAY + 0.5 * DAY_S, 0.25)):
        found = ReadScores(since, window, WATCHED)
        for number in range(8):  # within the window half of them are scored, and then none
            at = DAY + number * 0.5 * DAY_S
            outcome = Outcome.SCORED if number in (0, 2) else Outcome.OVER_BUDGET
            one = record(str(number), at - START).model_copy(update={"outcome": outcome})
            found.add(one.to_json(), round(at * 1_000))
        assert found.share_scored == share
    none = ReadScores(DAY, window, WATCHED)
    assert (none.share_scored, none.share_watched) == (None, 1.0)


def test_what_has_no_value_of_a_watched_metric_teaches_nothing() -> None:
    """It counts for the period, which goes by all that is scored."""
    found = ReadScores(DAY, (DAY, DAY + DAY_S), ("noise_sensitivity_relevant",))
    for number in range(20):
        one = record(str(number), DAY - START + number * 3_600.0)
        if number % 10 == 0:
            one = one.model_copy(update={"scores": {"noise_sensitivity_relevant": 0.1}})
        found.add(one.to_json(), round(one.event_time.timestamp() * 1_000))
    assert (found.share_scored, found.share_watched) == (1.0, 0.1)
    assert len(found.by_pair[PAIR].times) == 2


def test_of_a_part_it_is_the_pace_of_the_whole() -> None:
    """A fifth of a day's records was read."""
    times = [DAY + number * 17_280.0 for number in range(5)]
    found = seen(PAIR, sighted(times), DAY - 3_600.0, DAY + DAY_S - 3_600.0, 0.2)
    assert found.per_day == pytest.approx(25.0)


@pytest.mark.parametrize("late_s", [0.0, 10 * 3_600.0, 23.8 * 3_600.0])
def test_a_first_day_need_not_be_whole(late_s: float) -> None:
    """Neither for the pace, nor for how long it has gone on."""
    times = [DAY + late_s + n * 4_320.0 for n in range(124)]  # 20 a day, 6.2 days
    now = times[-1] + 60.0
    found = only(PAIR, times, None, now)
    assert found.per_day == pytest.approx(20.0, rel=0.02)
    assert found.scored_s == now - times[0]
    left = found.left_s(7.0 * DAY_S)
    assert left == pytest.approx(0.85 * DAY_S, rel=0.01)


def test_what_was_there_before_is_not_known_to_have_begun() -> None:
    """Three a day: the first of what was read comes hours after its start, and is no begin."""
    times = every(8.0, 8.0)
    found = only(PAIR, times, DAY - 3_600.0, times[-1] + 60.0)
    assert (found.scored_s, round(found.per_day, 1)) == (None, 3.0)
    later = only(PAIR, times, DAY - 4.0 * DAY_S, times[-1] + 60.0)
    assert later.scored_s == times[-1] + 60.0 - times[0]


def test_of_an_hour_it_is_the_pace_of_a_day() -> None:
    """Where there are too many to read a day of them."""
    times = [DAY + n * 60.0 for n in range(60)]
    found = only(PAIR, times, DAY - 1.0, DAY + 3_600.0)
    assert found.per_day == pytest.approx(1_440.0, rel=0.01)


def test_who_has_ended_is_left_out() -> None:
    """A judge of before learns nothing any more; one that is seldom scored does."""
    before, now = [DAY + n * 3_600.0 for n in range(24)], DAY + 7.0 * DAY_S
    seldom = [DAY + n * 2.0 * DAY_S for n in range(3)]
    times = {PAIR: before, ("cat", "a@1"): seldom, ("try", "a@1"): [DAY + 3_600.0]}
    seen_of = {pair: sighted(found) for pair, found in times.items()}
    found = made(seen_of, None, now, settings(), {})
    assert [one.application for one in found] == ["cat"]


def test_a_weekend_is_no_end() -> None:
    """Of 60 hours; nor is a longer silence, while a baseline holds and no other judge has come."""
    week = [DAY + n * 3_600.0 for n in range(24 * 5)]
    end = week[-1]
    learns = made({PAIR: sighted(week)}, None, end + 60 * 3_600.0, settings(), {})
    assert [one.has_baseline for one in learns] == [False]
    after = end + 9.0 * DAY_S
    assert made({PAIR: sighted(week)}, None, after, settings(), {}) == []
    (one,) = made({PAIR: sighted(week)}, None, after, settings(), held())
    assert one.has_baseline
    both = {PAIR: sighted(week), ("bot", "offline@2"): sighted([end + 60.0])}
    found = made(both, None, end + 60 * 3_600.0, settings(), held())
    assert [one.judge for one in found] == ["offline@2"]


def test_a_baseline_is_one_of_what_is_watched() -> None:
    """By the control topic or the configuration; the largest application stands first."""
    times = {PAIR: sighted(every(4.0, 3.0)), ("cat", "a@1"): sighted(every(1.0, 3.0))}
    now = DAY + 3.0 * DAY_S
    found = made(times, None, now, settings(), held())
    assert [(one.application, one.has_baseline) for one in found] == [("cat", False), ("bot", True)]
    other = settings(drift__metrics="answered")
    assert not any(one.has_baseline for one in made(times, None, now, other, held()))
    given = settings(
        drift__metrics="answered",
        drift__baselines='[{"application": "c*", "metrics": {"answered": 0.9}}]',
    )
    cat, bot = made(times, None, now, given, {})
    assert (cat.is_given, cat.has_baseline, bot.is_given) == (True, True, False)


@pytest.mark.parametrize(("reset_day", "anew_days"), [(8.0, 1.0), (8.99, 0.0), (3.0, 6.0)])
def test_after_a_reset_it_is_learned_from_what_came_then(
    reset_day: float, anew_days: float
) -> None:
    """It is not due, however long it has been scored; and it is no new application."""
    now = DAY + 9.0 * DAY_S - 60.0
    times = {PAIR: sighted([at for at in every(1.0, 9.0) if at < now])}
    (one,) = made(times, None, now, settings(), held(days=reset_day, metrics={}))
    assert (one.has_baseline, one.is_new) == (False, False)
    left = one.left_s(7.0 * DAY_S)
    assert left == pytest.approx((7.0 - anew_days) * DAY_S, abs=3_700.0)


@pytest.mark.parametrize("now", [2 * DAY_S + 60.0, 2.2 * DAY_S, 3 * DAY_S])
def test_money_that_is_spent_in_an_evening_is_for_a_day(now: float) -> None:
    """100 within ten minutes, then none until midnight, or on the whole day after it."""
    evening = Sightings([1.75 * DAY_S + 6.0 * n for n in range(100)], 1.75 * DAY_S, 100)
    spent = [(1.0 * DAY_S, 2.0 * DAY_S), (2.0 * DAY_S, 3.0 * DAY_S)]
    assert seen(PAIR, evening, None, now, spent=spent).per_day == pytest.approx(50.0)
    assert seen(PAIR, evening, None, now).per_day >= 80.0


def test_the_day_of_money_is_that_of_its_zone() -> None:
    """100 within two hours of a midnight in Los Angeles; refused from then on until the next."""
    begin = DAY + 8 * 3_600.0
    found = ReadScores(DAY, (DAY, DAY + DAY_S), WATCHED, ZoneInfo("America/Los_Angeles"))
    for number in range(720):
        one = record(str(number + 1), begin - START + 72.0 * number)
        if number >= 100:
            spent = {"outcome": Outcome.OVER_BUDGET, "reason": "usd_per_day", "scores": {}}
            one = one.model_copy(update=spent)
        found.add(one.to_json(), round(one.event_time.timestamp() * 1_000))
    for now in (begin + 14.0 * 3_600, begin + 23.0 * 3_600):
        (one_seen,) = made(found.by_pair, None, now, settings(), {}, spent=found.spent)
        assert one_seen.per_day == pytest.approx(100.0)


@pytest.mark.parametrize("timestamp_ms", [-1, 1_795_000_000_000_000, 2**63 - 1])
def test_a_refusal_at_no_time_is_of_no_day(timestamp_ms: int) -> None:
    """As of who writes microseconds; it is read, and not scored."""
    found = ReadScores(DAY, (DAY, DAY + DAY_S), WATCHED)
    found.add(b'{"outcome": "over_budget", "reason": "usd_per_day"}', timestamp_ms)
    assert (found.spent, found.number, found.share_scored) == (set(), 1, 0.0)


def test_a_first_part_is_a_bound() -> None:
    """The one that has any."""
    assert first_bound([0, 10, 20], [0, 5]) == 10
