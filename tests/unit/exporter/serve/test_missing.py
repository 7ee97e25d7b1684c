"""A metric with a baseline that has no value any more is told, and what was never usual is not."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain

import pytest

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.commands import with_the_rest
from monitor.exporter.baselines.learning import Learner, LearningSettings
from monitor.exporter.scores.aggregator import SeriesEstimate, SeriesKey
from monitor.exporter.scores.detectors import DriftDetectors, DriftKey
from monitor.exporter.serve.missing import MissingMetric, missing_metrics
from monitor.records.control import BaselineRecord, MetricBaseline
from monitor.stats.estimate import Estimate
from tests.stages.incident import SETTINGS

WINDOWS = {"5m": 300, "1h": 3_600, "24h": 86_400}
PAIR = "bot", "llm@1"
KEY = DriftKey("faithfulness", *PAIR)


def samples(metric: str, **by_window: float) -> list[SeriesEstimate]:
    """How many interactions have a value, by window."""
    return [
        SeriesEstimate(
            SeriesKey(metric, *PAIR), name.strip("_"), Estimate(0.5, 0.4, 0.6, number, 0.0)
        )
        for name, number in by_window.items()
    ]


def told(
    of_all: dict[str, float], of_it: dict[str, float], learned: float = 0.0
) -> MissingMetric | None:
    """Whether it is missing."""
    estimates = chain(samples("answered", **of_all), samples("faithfulness", **of_it))
    found = dict(missing_metrics(estimates, [KEY], WINDOWS, lambda _key: learned))
    return found[KEY]


def test_no_value_for_an_hour_is_told() -> None:
    """Four in five had one, so 80 were to be expected of 100; the sentence says so."""
    found = told(
        {"_5m": 10.0, "_1h": 100.0, "_24h": 2_000.0}, {"_5m": 0.0, "_1h": 0.0, "_24h": 1_600.0}
    )
    assert found == MissingMetric(KEY, "1h", 100.0, 80.0)
    assert str(found) == (
        "faithfulness of bot has no value within 1h, where 100 interactions were scored and about "
        "80 should have one; judge llm@1"
    )


@pytest.mark.parametrize(
    ("of_all", "of_it"),
    [
        ((10.0, 100.0, 2_000.0), (0.0, 1.0, 1_600.0)),  # one value is one
        ((10.0, 24.0, 2_000.0), (0.0, 0.0, 1_600.0)),  # 19 to be expected: too few to tell
        ((10.0, 100.0, 2_000.0), (0.0, 0.0, 100.0)),  # one in twenty has a reference: 5 expected
        ((0.0, 0.0, 2_000.0), (0.0, 0.0, 1_600.0)),  # nothing is scored: others tell of that
        ((60.0, 60.0, 60.0), (0.0, 0.0, 0.0)),  # it never had one here, and nothing was learned
    ],
)
def test_what_chance_or_silence_explains_is_not_told(
    of_all: tuple[float, ...], of_it: tuple[float, ...]
) -> None:
    """Of a short window nothing is said at all."""
    names = ("_5m", "_1h", "_24h")
    assert told(dict(zip(names, of_all, strict=True)), dict(zip(names, of_it, strict=True))) is None


def test_it_is_still_told_when_the_longest_window_has_none() -> None:
    """Then the share is that of the baseline."""
    none = {"_5m": 0.0, "_1h": 0.0, "_24h": 0.0}
    found = told({"_5m": 10.0, "_1h": 100.0, "_24h": 2_000.0}, none, learned=0.5)
    assert found is not None
    assert (found.window, found.expected) == ("1h", 50.0)


def test_what_the_windows_are_too_short_for_is_seen_in_the_longest() -> None:
    """As in the demo."""
    found = missing_metrics(
        chain(samples("answered", _15s=30.0, _5m=300.0), samples("faithfulness", _15s=0.0, _5m=0)),
        [KEY],
        {"15s": 15, "5m": 300},
        lambda _key: 1.0,
    )
    assert [one.window for _, one in found if one is not None] == ["5m"]


def test_a_baseline_says_how_often_there_was_a_value_at_least() -> None:
    """The error of n values is at least 1/n; what is set by hand says nothing."""
    baselines = Baselines(DriftDetectors(SETTINGS), Learner(LearningSettings(1_000, 0)))
    assert baselines.learned_share(KEY) == 0.0
    record = BaselineRecord(
        application=PAIR[0],
        judge=PAIR[1],
        origin="learned",
        effective_from=datetime(2026, 11, 1, tzinfo=UTC),
        slots=1_000,
        metrics={
            "faithfulness": MetricBaseline(mean=0.9, se=0.002),
            "answered": MetricBaseline(mean=0.9),
        },
    )
    baselines.hold(record)
    assert baselines.learned_share(KEY) == pytest.approx(0.5)
    assert baselines.learned_share(KEY._replace(metric="answered")) == 0.0
    assert baselines.learned_share(KEY._replace(metric="retrieved")) == 0.0
    few = record.model_copy(
        update={
            "origin": "frozen",
            "metrics": {"faithfulness": MetricBaseline(mean=0.9, se=0.002, values=700)},
        }
    )
    baselines.hold(with_the_rest(few, record, datetime(2026, 11, 2, tzinfo=UTC).timestamp()))
    assert baselines.learned_share(KEY) == pytest.approx(0.7)
