"""What lacks: metrics without a baseline, and applications that have not enough for one."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from monitor.cli.baseline_lines import without_line
from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.commands import with_means, with_the_rest
from monitor.exporter.baselines.learning import Learner, LearningSettings, frozen
from monitor.exporter.baselines.unlearned import Row, without_baseline
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings
from monitor.records.control import BaselineRecord, MetricBaseline
from monitor.stats.baseline import NOTHING
from monitor.stats.period import DAY_S
from tests.stages.daily_exporter import METRICS, MORNING, PAIR, DailyExporter
from tests.stages.score_records import START, record


def steady(_day: int, _hour: int) -> float:
    """Nothing changes."""
    return 0.2


def lacking(exporter: DailyExporter) -> dict[str, Row]:
    """Of the only application."""
    return without_baseline(exporter.baselines, exporter.scores.watched(), math.inf).get(PAIR, {})


def test_a_rare_metric_is_named_with_its_values_and_what_it_takes() -> None:
    """A value in twelve: 16 a day, which the first days are too few of, and a week is enough."""
    exporter = DailyExporter().play(range(1), steady, rare=12, hours=range(6))
    found = lacking(exporter)
    assert {name: one["learns_from"] for name, one in found.items()} == dict.fromkeys(
        METRICS, "slots"
    )
    assert (found["faithfulness"]["values"], found["context_recall"]["values"]) == (48, 4)

    exporter = DailyExporter().play(range(3), steady, rare=12)
    ((name, one),) = lacking(exporter).items()
    assert (name, one["learns_from"], one["days"]) == ("context_recall", "days", 2)
    assert (one["values"], one["values_of_days"]) == (16, 32), "a day is kept here"
    said = without_line(name, one)
    assert "no baseline, and so no alarm: 16 values of late; " in said
    assert said.endswith("it takes 60 on 7 whole days, or 100 on fewer: 32 on 2 so far")
    assert lacking(exporter.play(range(3, 9), steady, rare=12)) == {}


def test_what_nobody_learns_is_to_be_set() -> None:
    """Beside a baseline that was frozen nothing is learned; beside one that was set it is."""
    exporter = DailyExporter().play(range(1), steady, rare=12)
    at_hand = exporter.baseline.model_copy(update={"origin": "frozen"})
    exporter.control.apply(at_hand.key.encode(), at_hand.to_json())
    assert lacking(exporter)["context_recall"]["learns_from"] is None
    assert without_line("context_recall", lacking(exporter)["context_recall"]).endswith(
        "set or freeze it, too"
    )
    exporter = DailyExporter()
    made = with_means(None, PAIR, {"faithfulness": 0.9}, MORNING)
    exporter.control.apply(made.key.encode(), made.to_json())
    found = lacking(exporter.play(range(1), steady, rare=12, hours=range(6)))
    assert {name: one["learns_from"] for name, one in found.items()} == {"context_recall": "slots"}


def test_a_week_of_few_is_enough_to_learn_from() -> None:
    """72 scores in nine days are fewer than 100, and yet it is time to publish."""
    drift = DriftDetectors(DriftSettings(METRICS, 1.0, None, NOTHING, DAY_S, 0))
    scores = ScoreAggregator({"9d": 9 * DAY_S}, DAY_S, drift=drift)
    baselines = Baselines(drift, Learner(LearningSettings(100, 0, METRICS, DAY_S)))
    due = []
    for number in range(72):
        now = MORNING + number * DAY_S // 8
        one = record(str(number + 1), now - START)
        scores.add(one, one.to_json())
        scores.advance(now)
        baselines.learn(scores.training_slots, now)
        (status,) = baselines.status()
        due.append(status.is_due)
    assert status.slots == 72
    assert due == [number >= 59 for number in range(72)]


def test_a_few_scores_are_not_frozen() -> None:
    """Of a metric with one value anything could be normal: no alarm would ever open."""
    exporter = DailyExporter().play(range(1), steady, rare=12)
    chosen = LearningSettings(1_000, 0)
    (found,) = frozen(exporter.scores.watched(), chosen, lambda _: True, MORNING + DAY_S)
    assert (found.slots, set(found.metrics)) == (192, {"faithfulness"})
    one = found.metrics["faithfulness"]
    assert one.frozen_from is not None
    assert one.frozen_until == found.effective_from
    assert 0.9 * DAY_S < (found.effective_from - one.frozen_from).total_seconds() < DAY_S
    (found,) = frozen(exporter.scores.watched(), chosen, lambda _: True, MORNING + 1.0)
    assert (found.slots, found.metrics) == (1, {})


def test_what_has_too_few_values_keeps_what_it_has() -> None:
    """With its own origin and time; what was provisional was never to stay."""
    exporter = DailyExporter().play(range(9), steady, rare=12)
    before, now = exporter.baseline, MORNING + 9 * DAY_S
    assert set(before.metrics) == set(METRICS)
    (made,) = frozen(exporter.scores.watched(), LearningSettings(80, 0), lambda _: True, now)
    assert set(made.metrics) == {"faithfulness"}
    found = with_the_rest(made, before, now)
    rare = before.metrics["context_recall"]
    assert found.metrics["context_recall"] == rare.model_copy(update={"origin": "learned"})
    at = datetime.fromtimestamp(now, UTC)
    own = made.metrics["faithfulness"].model_copy(
        update={"origin": "frozen", "effective_from": made.effective_from, "decided_at": at}
    )
    assert found.metrics["faithfulness"] == own
    provisional = before.model_copy(update={"provisional": True})
    assert set(with_the_rest(made, provisional, now).metrics) == {"faithfulness"}
    by_hand = with_means(before, PAIR, {"context_recall": 0.9}, now)
    kept = with_the_rest(made, by_hand.model_copy(update={"provisional": True}), now)
    assert kept.metrics["context_recall"].mean == 0.9
    assert with_the_rest(made, None, now).metrics == {"faithfulness": own}
    earlier = BaselineRecord.model_validate(
        {**before.model_dump(by_alias=True), "metrics": {"answered": MetricBaseline(mean=0.5)}}
    )
    answered = with_the_rest(made, earlier, now).metrics["answered"]
    assert (answered.origin, answered.effective_from) == ("learned", before.effective_from)
