"""The tables of the page at ``/`` hold what the gauges hold."""

from __future__ import annotations

from datetime import UTC, datetime

from monitor.app.scores import aggregators
from monitor.config import load
from monitor.exporter.baselines.baselines import learning_slots
from monitor.exporter.baselines.unlearned import unlearned
from monitor.exporter.serve.score_tables import score_tables
from monitor.records.control import BaselineRecord
from tests.stages.score_records import START, at, record

FLAGS = {
    "export.windows": "10s,40s",
    "drift.period": "1m",
    "drift.learn_slots": "60",
    "drift.learn_for": "0s",
    "drift.learn_wait": "1s",
}


def test_a_table_has_the_estimates_of_its_window() -> None:
    """The shortest with five interactions, else the longest; learning as far as it is."""
    found, now = aggregators(load({}, flags=FLAGS)), START + 50.0
    found.scores.advance(now)
    for n in range(20):
        # Six of the bot's are of the last ten seconds; the shop has three, all older.
        late = record(str(n), 30 + n, 0.5)
        found.scores.add(late, late.to_json())
    for n in range(3):
        old = record(str(n), 20 + n, 1.0, application="shop")
        found.scores.add(old, old.to_json())
    found.baselines.learn(found.scores.training_slots, now)
    bot, shop = score_tables(found.scores, learning_slots(found.baselines), now)
    assert (bot.application, bot.window) == ("bot", "10s")
    assert (shop.application, shop.window) == ("shop", "40s")
    (row,) = bot.rows
    (estimate,) = [
        each.estimate
        for each in found.scores.estimates()
        if each.key.application == "bot"
        and each.window == "10s"
        and each.estimate.value is not None
    ]
    assert (row.metric, row.mean, row.samples) == ("faithfulness", 0.5, estimate.samples)
    assert (row.lower, row.upper) == (estimate.lower, estimate.upper)
    assert (row.normal, row.is_watched, row.is_worse) == (None, True, False)
    assert (bot.learning, shop.learning) == ((20, 60), (3, 60))


def test_what_has_no_baseline_is_learned_unless_people_have_decided() -> None:
    """Beside what is frozen nothing is; beside what is set first the rest is."""
    fields = {"application": "bot", "judge": "offline@1", "effective_from": datetime.now(UTC)}
    for origin, of_metric, learns in (("frozen", None, False), ("set", "set", True)):
        found = aggregators(load({}, flags=FLAGS))
        metric = {"mean": 0.9, "origin": of_metric}
        held = BaselineRecord.model_validate(
            fields | {"origin": origin, "metrics": {"answered": metric}}
        )
        found.baselines.hold(held)
        found.scores.advance(START + 50.0)
        for number in range(20):
            one = record(str(number), 30 + number, 0.5)
            found.scores.add(one, one.to_json())
        left = unlearned(found.baselines)
        (table,) = score_tables(found.scores, {}, START + 50.0, {}, left)
        assert [row.is_learned for row in table.rows] == [learns]


def test_what_is_worse_is_told_without_a_value_in_the_window() -> None:
    """The window that is shown has values of another metric alone."""
    found, now = aggregators(load({}, flags={**FLAGS, "drift.settle": "1s"})), START + 50.0
    metrics = {"faithfulness": {"mean": 0.9, "origin": "set"}}
    fields = {"application": "bot", "judge": "offline@1", "effective_from": at(0)}
    held = BaselineRecord.model_validate(fields | {"origin": "set", "metrics": metrics})
    found.baselines.hold(held)
    found.scores.advance(START + 1.0)
    for n in range(60):
        scores = {"faithfulness": 0.0} if n < 40 else {"answered": 1.0}
        one = record(str(n), 2 + 0.75 * n, scores=scores)
        found.scores.add(one, one.to_json())
        found.scores.advance(START + 2 + 0.75 * n)
    found.scores.advance(now)
    (table,) = score_tables(found.scores, {}, now)
    assert (table.window, table.worse) == ("10s", ["faithfulness"])
    assert [row.metric for row in table.rows] == ["answered"]
