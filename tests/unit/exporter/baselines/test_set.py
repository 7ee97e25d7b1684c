"""A baseline that somebody sets: that metric, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Generator
from datetime import UTC, datetime

import pytest

from monitor.exporter.baselines.bad_times import AlarmSpan
from monitor.exporter.baselines.commands import with_means
from monitor.exporter.baselines.learning import normal_of
from monitor.exporter.scores.detectors import DriftKey, DriftState, Normal
from monitor.exporter.scores.steps import at_once
from monitor.records.control import BaselineRecord, MetricBaseline, baseline_key
from monitor.records.keyed import Keyed
from monitor.stats.baseline import Baseline
from monitor.stats.period import DAY_S
from tests.stages.daily_exporter import HOUR_S, METRICS, MORNING, PAIR, DailyExporter

FAITHFULNESS, RECALL = (DriftKey(name, *PAIR) for name in METRICS)


def steady(_day: int, _hour: int) -> float:
    """Nothing changes."""
    return 0.2


def worse_at_last(_day: int, hour: int) -> float:
    """Bad from six in the evening on."""
    return 0.9 if hour >= 18 else 0.2


def state(exporter: DailyExporter, key: DriftKey, now: float) -> DriftState:
    """Of one detector."""
    return next(one for one in exporter.drift.states(now) if one.key == key)


def set_by_hand(exporter: DailyExporter, now: float, **means: float) -> BaselineRecord:
    """As ``baseline set`` does it."""
    before = exporter.baselines.records().get(baseline_key(*PAIR))
    made = with_means(before, PAIR, means, now)
    exporter.control.apply(made.key.encode(), made.to_json())
    return made


def test_the_others_keep_margin_alarm_and_evidence() -> None:
    """Also those of a provisional baseline: only what was set has a baseline of its own."""
    exporter = DailyExporter().play(range(1), worse_at_last, rare=1, hours=range(22))
    now = MORNING + 22 * HOUR_S
    before = exporter.baseline
    assert before.provisional
    recall, faithfulness = (state(exporter, key, now) for key in (RECALL, FAITHFULNESS))
    assert recall.alarm
    set_by_hand(exporter, now, faithfulness=0.9)
    assert state(exporter, RECALL, now) == recall
    assert state(exporter, FAITHFULNESS, now) != faithfulness
    assert exporter.metric("context_recall") == before.metrics["context_recall"]
    assert (exporter.baseline.provisional, exporter.baseline.origin) == (True, "learned")
    assert state(exporter, FAITHFULNESS, now).baseline == pytest.approx(0.9)
    assert normal_of(exporter.baseline).metrics["context_recall"].provisional


def test_the_others_are_learned_and_refined_and_what_was_set_stays() -> None:
    """When the day is full, and after the week; a reset forgets all of it."""
    exporter = DailyExporter().play(range(1), steady, rare=1, hours=range(22))
    assert exporter.baseline.provisional
    set_by_hand(exporter, MORNING + 22 * HOUR_S, faithfulness=0.9)
    exporter.play(range(1, 3), steady, rare=1)
    assert (exporter.baseline.origin, exporter.baseline.provisional) == ("learned", False)
    assert (exporter.metric().mean, exporter.metric().origin) == (0.9, "set")
    assert exporter.metric("context_recall").hour_spread < 0.1, "the hours of a day were seen"
    exporter.play(range(3, 10), steady, rare=1)
    assert [exporter.metric(name).days for name in METRICS] == [0, 7]
    assert exporter.metric().mean == 0.9
    reset = exporter.baseline.model_copy(update={"metrics": {}})
    exporter.control.apply(reset.key.encode(), reset.to_json())
    exporter.play(range(10, 12), steady, rare=1)
    assert exporter.metric().origin is None


def test_what_is_set_first_stops_no_learning() -> None:
    """It holds at once, and the others get what they would have got: also after a reset."""
    exporter, plain = DailyExporter(), DailyExporter().play(range(3), steady, rare=1)
    set_by_hand(exporter, MORNING, faithfulness=0.9)
    exporter.play(range(3), steady, rare=1)
    assert exporter.metric() == MetricBaseline(mean=0.9, origin="set", effective_from=at(0))
    assert exporter.metric("context_recall") == plain.metric("context_recall")
    kinds = [each.provisional for each in exporter.published if isinstance(each, BaselineRecord)]
    assert kinds == [True, False]

    reset = exporter.baseline.model_copy(update={"metrics": {}, "effective_from": at(3 * DAY_S)})
    exporter.control.apply(reset.key.encode(), reset.to_json())
    set_by_hand(exporter, MORNING + 3 * DAY_S + HOUR_S, faithfulness=0.7)
    exporter.play(range(3, 6), lambda _day, _hour: 0.5, rare=1)
    assert exporter.metric().mean == 0.7
    assert exporter.metric("context_recall").mean == pytest.approx(0.5, abs=0.1)


def test_nothing_is_learned_where_all_watched_metrics_are_set() -> None:
    """Nor beside an earlier record, which says of all its metrics together that they were set."""
    exporter = DailyExporter()
    set_by_hand(exporter, MORNING, faithfulness=0.9, context_recall=0.8)
    exporter.play(range(2), steady, rare=1)
    earlier = DailyExporter()
    made = BaselineRecord(
        application=PAIR[0],
        judge=PAIR[1],
        origin="set",
        effective_from=at(0),
        metrics={"faithfulness": MetricBaseline(mean=0.9)},
    )
    earlier.control.apply(made.key.encode(), made.to_json())
    earlier.play(range(2), steady, rare=1)
    assert exporter.published == earlier.published == []
    set_by_hand(earlier, MORNING + 2 * DAY_S, context_recall=0.8)
    assert earlier.baseline.effective_from == at(0)
    assert earlier.metric() == MetricBaseline(mean=0.9)


def test_what_is_set_while_is_learned_is_not_written_over() -> None:
    """A look takes its steps, and a decision is read between two of them."""
    now = MORNING + DAY_S + HOUR_S
    exporter = DailyExporter().play(range(1), steady, rare=1, hours=range(10))
    exporter.published.clear()
    for hour in range(10, 24):
        exporter.add(0, hour, steady, rare=1)
    exporter.scores.advance(now)
    steps = exporter.baselines.learned_in_steps(exporter.scores.training_slots, now)

    def interrupted() -> Generator[None, None, list[Keyed]]:
        yield next(steps)
        set_by_hand(exporter, now, faithfulness=0.9)
        return (yield from steps)

    assert not [one for one in at_once(interrupted()) if isinstance(one, BaselineRecord)]
    exporter.look(now + HOUR_S)
    assert (exporter.metric().mean, exporter.baseline.provisional) == (0.9, False)
    assert exporter.metric("context_recall").origin is None


@pytest.mark.parametrize("is_fixed", [False, True])
def test_an_alarm_on_what_was_decided_holds_back_no_other(is_fixed: bool) -> None:
    """Nor does it say that the others, or itself, were learned in a bad time."""

    def alarms(metric: str, _application: str) -> list[AlarmSpan]:
        since = MORNING + 2 * HOUR_S
        one = AlarmSpan(PAIR[1], since, math.inf, is_unheard=False)
        return [one] if metric == "faithfulness" else []

    fixed = Normal({"faithfulness": Baseline(0.01, 0.0, {})}) if is_fixed else None
    exporter = DailyExporter(alarms_of=alarms, fixed=fixed)
    if not is_fixed:
        set_by_hand(exporter, MORNING, faithfulness=0.99)
    exporter.play(range(1), steady, rare=1).play(range(1, 2), steady, rare=1, hours=range(2))
    assert not exporter.baseline.provisional
    assert {one.learned_in_alarm_of for one in exporter.baseline.metrics.values()} == {None}
    held = DailyExporter(alarms_of=alarms).play(range(2), steady, rare=1)
    assert held.baseline.provisional


def test_another_exporter_publishes_the_same() -> None:
    """One that comes later, with the same records, has the same baseline: byte by byte."""
    first = DailyExporter().play(range(1), steady, rare=1, hours=range(22))
    made = set_by_hand(first, MORNING + 22 * HOUR_S, faithfulness=0.9)
    first.play(range(1), steady, rare=1, hours=range(22, 24)).play(range(1, 3), steady, rare=1)
    second = DailyExporter()
    second.control.apply(made.key.encode(), made.to_json())
    second.play(range(3), steady, rare=1)
    assert second.baseline.to_json() == first.baseline.to_json()


def at(seconds: float) -> datetime:
    """A moment of these days."""
    return datetime.fromtimestamp(MORNING + seconds, UTC)
