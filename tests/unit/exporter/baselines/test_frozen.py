"""What people froze: more is tolerated until days tell, and after a week its hours count."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

from monitor.exporter.baselines.days import frozen_with_hours, frozen_with_rhythm
from monitor.exporter.baselines.learning import LearningSettings, frozen, normal_of
from monitor.exporter.baselines.schedule import show
from monitor.records.control import BaselineRecord, DayRecord, MetricBaseline
from monitor.stats.baseline import PROVISIONAL, STANDARD_ERRORS, Tolerance
from monitor.stats.days import (
    HourSums,
    hour_spread,
    hour_sums,
    rhythm,
    summed,
    unseen_spread,
)
from monitor.stats.period import DAY_S
from monitor.telemetry.exporter import ExporterTelemetry
from tests.stages.daily_exporter import HOUR_S, METRICS, MORNING, PAIR, DailyExporter

TOLERANCE = Tolerance(share=0.1)
#: When it is frozen: at two in the afternoon of a second day, and in an hour of its bad ones.
FROZEN_AT = MORNING + DAY_S + 14 * HOUR_S


def bad_noons(_day: int, hour: int) -> float:
    """From ten to two twice as many are bad."""
    return 0.4 if 10 <= hour < 14 else 0.16


def at_two() -> DailyExporter:
    """Learned in a day; the next one is past its bad hours."""
    return DailyExporter().play(range(1), bad_noons).play(range(1, 2), bad_noons, hours=range(14))


def of_four_hours() -> tuple[DailyExporter, BaselineRecord]:
    """These are frozen."""
    exporter = at_two()
    return exporter, exporter.freeze(FROZEN_AT, 32)


def of_metric(record: BaselineRecord) -> MetricBaseline:
    """Of the one that is watched."""
    return record.metrics["faithfulness"]


def seen_s(found: MetricBaseline) -> float:
    """In how many seconds the scores came that were frozen."""
    assert found.frozen_from is not None
    assert found.frozen_until is not None
    return (found.frozen_until - found.frozen_from).total_seconds()


def test_hours_that_were_not_seen_are_tolerated() -> None:
    """As a provisional baseline that is learned; what is of a day is not, nor with no learn_for."""
    exporter, made = of_four_hours()
    found = of_metric(made)
    assert seen_s(found) == 3 * HOUR_S + 7 * 400.0
    assert (found.provisional, made.provisional, made.tolerates_more) == (True, False, True)
    held = normal_of(made).metrics["faithfulness"]
    unseen = unseen_spread(held.mean, seen_s(found))
    assert held.hour_spread == unseen > 0.0
    assert held.margin(TOLERANCE) == pytest.approx(
        STANDARD_ERRORS * held.se + PROVISIONAL * held.mean + unseen
    )
    for slots, for_s, least in ((300, DAY_S, DAY_S), (32, 0, 3 * HOUR_S)):
        chosen = LearningSettings(slots, 0, METRICS, for_s)
        (other,) = frozen(exporter.scores.watched(), chosen, lambda _: True, FROZEN_AT)
        assert seen_s(of_metric(other)) >= least
        assert not other.tolerates_more


def test_the_first_whole_day_ends_that_where_it_tells_how_far_hours_lie_apart() -> None:
    """The day on which it was frozen is none. Its mean, and what it was frozen from, stay."""
    exporter, made = of_four_hours()
    exporter.play(range(1, 2), bad_noons, hours=range(14, 24))
    assert exporter.baseline == made
    exporter.play(range(2, 3), bad_noons, steady=100)
    before, found = of_metric(made), exporter.metric()
    assert not exporter.baseline.tolerates_more
    assert found.effective_from is not None
    assert found.effective_from.timestamp() == MORNING + 3 * DAY_S
    changed = ("provisional", "hour_spread", "effective_from")
    kept = {name: getattr(before, name) for name in changed}
    assert found.model_copy(update=kept) == before
    assert found.hour_spread < before.hour_spread
    assert normal_of(exporter.baseline).metrics["faithfulness"].margin(TOLERANCE) == pytest.approx(
        max(2 * found.se, found.se + 0.1 * (1 - found.mean)) + found.hour_spread
    )


def test_few_days_that_tell_nothing_change_nothing() -> None:
    """Eight scores an hour: that its mean is as that of others may be chance."""
    exporter, made = of_four_hours()
    exporter.play(range(1, 2), bad_noons, hours=range(14, 24)).play(range(2, 8), bad_noons)
    assert (len(exporter.days()), exporter.baseline) == (6, made)


def test_a_day_that_is_not_over_tells_nothing() -> None:
    """Nor does one that is behind it: a record may say anything."""
    told, _ = of_four_hours()
    told.play(range(1, 2), bad_noons, hours=range(14, 24)).play(range(2, 3), bad_noons, steady=100)
    (day,) = told.days()
    for later in (date(2090, 1, 1), day.day + timedelta(1), date(9000, 1, 1)):
        exporter, made = of_four_hours()
        one = day.model_copy(update={"day": later})
        exporter.control.apply(one.key.encode(), one.to_json())
        exporter.play(range(1, 2), bad_noons, hours=range(14, 24))
        assert exporter.baseline == made, later


def test_a_gauge_says_so_until_then() -> None:
    """``rag_monitor_baseline_provisional`` is 1 from the freezing to the end of the first day."""
    registry = CollectorRegistry()
    telemetry = ExporterTelemetry(registry)
    exporter, _ = of_four_hours()
    found = list[float | None]()
    for days in (range(0), range(1, 2), range(2, 3)):
        hours, steady = (range(14, 24), 0) if 1 in days else (range(24), 100)
        exporter.play(days, bad_noons, hours=hours, steady=steady)
        show(exporter.baselines, exporter.scores, telemetry)
        labels = {"application": PAIR[0], "judge": PAIR[1]}
        found.append(registry.get_sample_value("rag_monitor_baseline_provisional", labels))
    assert found == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(("hour", "most"), [(12, 0.0), (3, 0.2)])
def test_hours_count_from_those_that_were_frozen(hour: int, most: float) -> None:
    """By a day with 600 scores an hour. Those of bad hours need no more, those of good ones do."""
    of_day = [hour_sums([(1.0, x) for x in of_mean(bad_noons(0, each))]) for each in range(24)]
    begin, end = (datetime.fromtimestamp(MORNING + at * HOUR_S, UTC) for at in (hour, hour + 1))
    made = MetricBaseline(mean=0.8, frozen_from=begin, frozen_until=end, provisional=True)
    found = frozen_with_hours(made, of_day, end)
    apart, mean = hour_spread(of_day, 1.0), summed(of_day).mean
    added = summed(of_day[hour : hour + 1]).mean - mean
    assert found.hour_spread == pytest.approx(max(0.0, apart - added), abs=0.01)
    assert (found.hour_spread > 0.0) == (most > 0.0)
    assert found.hour_spread <= most


def of_mean(mean: float) -> list[float]:
    """600 scores, 0 or 1."""
    return [1.0] * round(600 * mean) + [0.0] * round(600 * (1.0 - mean))


def test_seven_whole_days_tell_its_hours_and_its_level_stays() -> None:
    """The bad hours that were frozen have the mean that they had; all others a better one."""
    exporter, made = of_four_hours()
    exporter.play(range(1, 2), bad_noons, hours=range(14, 24)).play(range(2, 8), bad_noons)
    assert len(exporter.days()) == 6
    assert exporter.metric().days == 0
    exporter.play(range(8, 9), bad_noons)
    before, found = of_metric(made), exporter.metric()
    assert (found.days, found.origin, found.provisional) == (7, "frozen", False)
    assert found.decided_at == before.decided_at
    assert found.effective_from is not None
    assert found.effective_from.timestamp() == MORNING + 9 * DAY_S
    noon = sum(found.hours[10:14]) / 4
    assert found.mean + noon == pytest.approx(before.mean, abs=0.01)
    assert noon < -0.05, "in the direction of the metric: lower there"
    assert found.mean > before.mean + 0.05
    exporter.play(range(9, 11), bad_noons)
    assert exporter.metric() == found, "nothing is left to learn"


def test_what_an_earlier_version_froze_stays() -> None:
    """Nobody knows in which hours that was."""
    earlier, exporter = as_earlier(of_four_hours()[1]), at_two()
    exporter.control.apply(earlier.key.encode(), earlier.to_json())
    exporter.play(range(2, 11), bad_noons)
    assert exporter.metric() == of_metric(earlier)
    assert exporter.days() == []


def test_an_earlier_version_that_writes_it_again_leaves_it_as_it_was() -> None:
    """It reads no more than it knows, and writes that: what was frozen is written once more."""
    exporter, made = of_four_hours()
    earlier = as_earlier(made)
    exporter.control.apply(earlier.key.encode(), earlier.to_json())
    assert exporter.baseline == made
    exporter.look(FROZEN_AT + HOUR_S)
    assert exporter.published[-1] == made


def as_earlier(made: BaselineRecord) -> BaselineRecord:
    """What a version knows of it that does not know when it was frozen."""
    gone = {"frozen_from": None, "frozen_until": None, "provisional": False}
    old = of_metric(made).model_copy(update=gone)
    return made.model_copy(update={"metrics": {"faithfulness": old}})


def test_a_record_may_say_any_time() -> None:
    """Of 2,000 years, of none, or backwards: the exporter goes on, in time."""
    _, made = of_four_hours()
    long_ago, end = datetime(1, 1, 2, tzinfo=UTC), of_metric(made).frozen_until
    for begin, until in ((long_ago, end), (end, end), (end, long_ago), (None, end), (end, None)):
        other = {"frozen_from": begin, "frozen_until": until}
        metrics = {"faithfulness": of_metric(made).model_copy(update=other)}
        changed = made.model_copy(update={"metrics": metrics})
        exporter = at_two()
        exporter.control.apply(changed.key.encode(), changed.to_json())
        exporter.play(range(2, 9), bad_noons)
        assert exporter.metric().days == (7 if begin and until else 0)


def test_what_no_day_will_teach_is_not_provisional() -> None:
    """A metric that nobody watches; one that is rare is of the time between its own values."""
    exporter = DailyExporter().play(range(2), bad_noons, rare=12)
    slots, now = exporter.scores.watched(), MORNING + 2 * DAY_S
    chosen = LearningSettings(384, 0, ("context_recall",), DAY_S)
    (made,) = frozen(slots, replace(chosen, slots=30), lambda _: True, now)
    (whole,) = frozen(exporter.scores.watched(), chosen, lambda _: True, now)
    assert not of_metric(made).provisional
    assert not of_metric(whole).provisional
    assert set(whole.metrics) == {"faithfulness"}
    late = DailyExporter().play(range(1), bad_noons).play(range(1, 2), bad_noons, hours=range(12))
    late.play(range(1, 2), bad_noons, hours=range(12, 24), rare=1)
    (of_both,) = frozen(late.scores.watched(), chosen, lambda _: True, now)
    rare = of_both.metrics["context_recall"]
    assert seen_s(rare) < 0.5 * DAY_S < 0.95 * DAY_S < seen_s(of_metric(of_both))
    assert (rare.provisional, of_metric(of_both).provisional) == (True, False)


def test_days_before_it_was_frozen_say_nothing() -> None:
    """Those of the baseline that was learned before it are of another quality, perhaps."""
    exporter = DailyExporter().play(range(5), bad_noons)
    assert len(exporter.days()) == 4
    now = MORNING + 5 * DAY_S
    exporter.freeze(now, 32)
    exporter.play(range(5, 11), bad_noons)
    assert exporter.metric().days == 0
    exporter.play(range(11, 12), bad_noons)
    assert exporter.metric().days == 7
    assert len([day for day in exporter.days() if day.start >= now]) == 7


def test_the_error_is_that_of_the_level_the_hours_and_a_day() -> None:
    """SE, as the docstring has it, from days that lie apart; the segments move with the mean."""
    exporter, made = of_four_hours()
    exporter.play(range(2, 9), lambda day, hour: bad_noons(day, hour) * (0.5 + day % 2))
    before, days = of_metric(made), exporter.days()
    week = rhythm([read(day) for day in days])
    assert week is not None
    assert week.day_spread > 0.03
    by_hour = [summed(hour) for hour in zip(*[read(day) for day in days], strict=True)]
    at = exporter.metric().effective_from
    assert at is not None
    acme = before.model_copy(update={"segments": {"acme": before.mean - 0.1}, "dependence": 2.0})
    found = frozen_with_rhythm("faithfulness", acme, week, by_hour, at)
    assert found.segments["acme"] == pytest.approx(found.mean - 0.1)
    v = week.dependence_after(2.0)
    assert found.se == pytest.approx(
        math.sqrt(
            before.se**2 * v / 2.0 + v * week.se**2 * DAY_S / seen_s(before) + week.day_spread**2
        )
    )


def read(day: DayRecord) -> list[HourSums]:
    """The sums of its hours."""
    return [HourSums(*hour) for hour in day.metrics["faithfulness"]]
