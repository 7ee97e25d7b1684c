"""Objectives in the settings: whose they are, and which of them could never be evaluated."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.app.scores import most_series, promises
from monitor.app.topics import keep_seconds, topic_specs
from monitor.config import Settings, load
from monitor.errors import ConfigurationError
from monitor.exporter.serve.objectives import Objective
from monitor.stats.period import DAY_S, HorizonSpan

FAITHFUL = {"metric": "faithfulness", "window": "1h", "bound": 0.9}
QUIET = {"metric": "hallucination", "window": "5m", "bound": 0.05, "minimum_samples": 5}


def loaded(objectives: Any, applications: Any = (), **flags: Any) -> Settings:
    """Settings with these entries, from the environment."""
    environ = {
        "RAG_MONITOR_OBJECTIVES": json.dumps(objectives),
        "RAG_MONITOR_APPLICATIONS": json.dumps(applications),
    }
    return load(environ, flags={key.replace("__", "."): value for key, value in flags.items()})


def test_an_objective_is_for_all_applications_unless_it_names_some() -> None:
    """Patterns as elsewhere; the window may be spelled in another unit."""
    hour = {**FAITHFUL, "window": "60m", "bound": 0.8, "application": ["bank-?", "shop"]}
    of = promises(loaded([hour, FAITHFUL, QUIET]))
    quiet = Objective("hallucination", "5m", 0.05, 5)
    assert list(of("bank-1")) == list(of("shop")) == [Objective("faithfulness", "1h", 0.8), quiet]
    assert list(of("bank-12")) == [Objective("faithfulness", "1h", 0.9), quiet]


def test_the_entry_of_an_application_goes_first() -> None:
    """What it says nothing about, the shared ones do; an entry with rules promises nothing."""
    part = {"application": "bot", "when": [{"attribute": "tenant", "equals": "acme"}]}
    own = {"application": "bot", "objective": {**FAITHFUL, "bound": 0.99}}
    of = promises(loaded([FAITHFUL, QUIET], [part, own]))
    assert [one.bound for one in of("bot")] == [0.99, 0.05]
    assert [one.bound for one in of("shop")] == [0.9, 0.05]


def test_one_by_number_from_the_environment() -> None:
    """As any other list of sections."""
    parts = {"METRIC": "faithfulness", "WINDOW": "1h", "BOUND": "0.9", "APPLICATION": "a,b"}
    found = load({f"RAG_MONITOR_OBJECTIVES__0__{key}": value for key, value in parts.items()})
    assert found.objectives[0].application == ("a,b",)


def test_their_series_are_counted() -> None:
    """Three gauges for each metric and window that one application can have an objective for."""
    own = {"application": "bot", "objective": [{**QUIET, "window": "24h"}, FAITHFUL]}
    several = [{**FAITHFUL, "application": "a"}, FAITHFUL, QUIET]
    found, applications, judges = most_series(loaded(several, [own], export__top_k=4))
    assert (applications, judges) == (5, 1)
    assert found.objectives == 3 * 3 * 5


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        ([{"metric": "faithfulness", "bound": 0.9}], "objectives.0.window: missing"),
        (
            [FAITHFUL, {**QUIET, "window": "2h"}],
            "objectives.1.window: found '2h', expected one of export.windows: 5m, 1h, 24h; or add",
        ),
        ([{**QUIET, "window": "soon"}], "objectives.0.window: found 'soon', expected a whole num"),
        ([{**QUIET, "metric": "faith"}], "objectives.0.metric: found 'faith', expected"),
        ([{**QUIET, "bound": 2}], "objectives.0.bound: found 2, expected"),
        ([{**QUIET, "minimum_samples": 0}], "objectives.0.minimum_samples: found 0, expected"),
        ([{**QUIET, "application": []}], "objectives.0.application: found [], expected at least"),
        ([{**QUIET, "application": ["a", ""]}], "objectives.0.application: found an empty name"),
        ([{**QUIET, "limit": 1}], "objectives.0.limit: unknown setting, expected metric, w"),
        ([FAITHFUL, {**FAITHFUL, "application": "a"}], "objectives.1: never reached, objectives.0"),
        ([FAITHFUL, {**FAITHFUL, "window": "60m"}], "objectives.1: never reached, objectives.0"),
    ],
)
def test_a_wrong_objective_is_said_with_its_path(objectives: Any, message: str) -> None:
    """By its number, and what to do."""
    with pytest.raises(ConfigurationError) as refused:
        loaded(objectives)
    assert message in str(refused.value)


@pytest.mark.parametrize(("window", "days"), [("7d", 8), ("1w", 8), ("28d", 29)])
def test_little_traffic_has_objectives_of_a_week(window: str, days: int) -> None:
    """Where it is exported; the scores are kept for it and a day, however short the period is."""
    objective = {**FAITHFUL, "window": f"{days - 1}d"}
    found = loaded([objective], export__windows=f"5m,1h,24h,{window}")
    (promised,) = promises(found)("bot")
    assert (promised.window, promised.minimum_samples) == (window, 30)
    assert keep_seconds(found, HorizonSpan(DAY_S)) == days * DAY_S
    scores = next(one for one in topic_specs(found) if one.name == found.kafka.topics.scores)
    assert scores.configs["retention.ms"] == str(57 * DAY_S * 1000)


def test_a_metric_without_gauges_cannot_be_promised() -> None:
    """Neither for all applications nor for one."""
    said = "metric: hallucination is not among export.metrics: faithfulness"
    entry = {"application": "bot", "objective": QUIET}
    for objectives, applications, path in (
        ([QUIET], (), "objectives.0"),
        ([], [entry], "applications.0.objective"),
    ):
        with pytest.raises(ConfigurationError, match=f"{path}.{said}"):
            loaded(objectives, applications, export__metrics="faithfulness")


def test_a_part_of_an_application_can_promise_nothing() -> None:
    """Gauges are about whole applications; and one metric and window has one bound."""
    rules = [{"attribute": "tenant", "equals": "acme"}]
    entry = {"application": "bot", "when": rules, "objective": QUIET}
    with pytest.raises(ConfigurationError, match=r"applications.0.objective: .* all of an applica"):
        loaded([], [entry])
    twice = {"application": "bot", "objective": [FAITHFUL, {**FAITHFUL, "window": "60m"}]}
    with pytest.raises(ConfigurationError, match="faithfulness with window 60m twice"):
        loaded([], [twice])
