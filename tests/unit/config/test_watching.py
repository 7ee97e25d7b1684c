"""Settings of exported metrics, detectors and fixed baselines, and what is made of them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from monitor.app.scores import (
    aggregators,
    burst_allowance,
    fixed_baselines,
    most_series,
    segment_names,
)
from monitor.config import Settings, load
from monitor.config.names import MetricName
from monitor.errors import ConfigurationError
from monitor.exporter.scores.detectors import DriftSettings
from monitor.stats.baseline import Tolerance
from tests.stages.score_records import START, record

BASELINES = """
drift:
  baselines:
    - application: "support-*"
      judge: offline
      metrics:
        faithfulness: {mean: 0.9, segments: {acme: 0.8}}
    - application: support-bot
      judge: llm@7
      metrics: {faithfulness: 0.7, hallucination: 0.1}
    - application: "*"
      metrics: {noise_sensitivity_irrelevant: 0.2}
"""


def loaded(text: str, directory: Path) -> Settings:
    """The settings in ``text``."""
    file = directory / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return load({}, file)


def test_the_detectors_are_told_what_the_settings_say() -> None:
    """Durations in seconds; by default one false alarm a week over five metrics."""
    said = aggregators(Settings()).drift.settings
    noise = ("noise_sensitivity_relevant", "noise_sensitivity_irrelevant")
    watched = ("faithfulness", *noise, "answered", "retrieved")
    assert said == DriftSettings(watched, 1.0, None, Tolerance(share=0.1), 86_400, 60)
    assert set(watched) <= set(get_args(MetricName))


@pytest.mark.parametrize(
    ("application", "judge", "metric", "mean", "acme"),
    [
        ("support-bot", "offline@1", "faithfulness", 0.1, 0.2),
        ("support-bot", "llm@7", "hallucination", 0.1, 0.1),
        ("support-bot", "llm@8", "noise_sensitivity_irrelevant", 0.2, 0.2),
        ("shop", "offline@1", "noise_sensitivity_irrelevant", 0.2, 0.2),
    ],
)
def test_the_first_entry_that_matches_wins(
    application: str, judge: str, metric: str, mean: float, acme: float, tmp_path: Path
) -> None:
    """By name with stars, and judge with or without its version; inside, larger is worse."""
    fixed = fixed_baselines(loaded(BASELINES, tmp_path).drift.baselines)
    normal = fixed(application, judge)
    assert normal is not None
    assert normal.metrics[metric].of("") == pytest.approx(mean)
    assert normal.metrics[metric].of("acme") == pytest.approx(acme)


def test_nothing_matches_nothing(tmp_path: Path) -> None:
    """Where no entry matches, everything is to be learned; where one fixes all, nothing."""
    drift = aggregators(loaded(BASELINES.rpartition("    -")[0], tmp_path)).drift
    assert drift.fixed("shop", "offline@1") is None
    assert not drift.is_known("support-bot", "offline@1")
    only = BASELINES + "  metrics: [faithfulness]\n"
    assert aggregators(loaded(only, tmp_path)).drift.is_known("support-bot", "offline@1")


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ("{faithfulness: 1.5}", "drift.baselines.0.metrics.faithfulness.mean: found 1.5, exp"),
        ("{faith: 0.5}", "drift.baselines.0.metrics.faith: found 'faith', expected"),
        ("{}", "drift.baselines.0.metrics: found none, expected metric: mean"),
        ("{faithfulness: {}}", "drift.baselines.0.metrics.faithfulness.mean: missing"),
        (
            "{faithfulness: {mean: 0.5, segments: {acme: -1}}}",
            "drift.baselines.0.metrics.faithfulness.segments.acme: found -1, expected",
        ),
    ],
)
def test_a_wrong_baseline_is_shown_with_its_path(
    metrics: str, message: str, tmp_path: Path
) -> None:
    """Metrics are those of the catalogue, means between 0 and 1."""
    text = f"drift: {{baselines: [{{application: bot, metrics: {metrics}}}]}}"
    with pytest.raises(ConfigurationError) as caught:
        loaded(text, tmp_path)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("DRIFT__FALSE_ALARMS_PER_WEEK", "0", "drift.false_alarms_per_week: found '0', expected"),
        ("DRIFT__JUDGED_PER_WEEK", "inf", "drift.judged_per_week: found 'inf', expected"),
        ("DRIFT__TOLERATE", "2", "drift.tolerate: found '2', expected"),
        ("DRIFT__SETTLE", "soon", "drift.settle: found 'soon', expected a whole number"),
        ("DRIFT__LEARN_SLOTS", "0", "drift.learn_slots: found '0', expected"),
        ("DRIFT__METRICS", "faith", "drift.metrics.0: found 'faith', expected"),
        ("DRIFT__METRICS", "faithfulness,faithfulness", "drift.metrics: found ['faithfulness',"),
        ("EXPORT__METRICS", "", "export.metrics: found [], expected at least one"),
        ("EXPORT__SEGMENTS", "a,a", "export.segments: found ['a', 'a'], expected each once"),
    ],
)
def test_a_wrong_value_is_shown_with_its_path(name: str, value: str, message: str) -> None:
    """The path, what was found and what was expected."""
    with pytest.raises(ConfigurationError) as caught:
        load({f"RAG_MONITOR_{name}": value})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("flags", "segments"),
    [
        ({}, 0),
        ({"export.segment": "tenant"}, 21),
        ({"export.segment": "tenant", "export.segments": "acme,other"}, 2),
        ({"export.segment": "tenant", "export.segments": "[]"}, 0),
        ({"export.segments": "acme"}, 0),
        ({"applications": '[{"application": "a", "segment": "tenant"}]'}, 21),
    ],
)
def test_segments_have_series_where_records_have_segments(
    flags: dict[str, str], segments: int
) -> None:
    """The 20 most frequent and ``other``, or those that are named."""
    settings = load({}, flags=flags)
    found, applications, judges = most_series(settings)
    assert (applications, judges) == (21, 1)
    assert found.rolling == 17 * 5 * 3 * 21
    assert found.segments == segments * found.rolling
    assert found.drift == 4 * 5 * 21
    assert aggregators(settings).scores.has_segments == bool(segments)


def test_chosen_metrics_and_several_judges_count() -> None:
    """One metric of many; each application's own judge has series of its own."""
    own = '[{"application": "a", "judge": {"kind": "llm", "model": "x/y"}}]'
    flags = {"export.metrics": "faithfulness", "drift.metrics": "", "applications": own}
    found, _, judges = most_series(load({}, flags=flags))
    assert (found.rolling, found.drift, judges) == (5 * 1 * 3 * 21 * 2, 0, 2)


def test_the_example_of_the_page_on_drift_loads(tmp_path: Path) -> None:
    """And fixes what it says, for the judge that it names."""
    page = (Path(__file__).parents[3] / "docs/drift.md").read_text(encoding="utf-8")
    settings = loaded(page.partition("```yaml\n")[2].partition("```")[0], tmp_path)
    fixed = fixed_baselines(settings.drift.baselines)
    assert fixed("support-bot", "offline@1") is None
    normal = fixed("support-bot", "llm@3f2a91")
    assert normal is not None
    assert normal.metrics["faithfulness"].of("") == pytest.approx(0.07)
    assert normal.metrics["noise_sensitivity_irrelevant"].of("acme") == 0.08


def test_the_segments_of_an_application_have_a_name() -> None:
    """That of its entry; of all that can be meant where rules decide; none without segments."""
    some = [{"attribute": "tier", "equals": "gold"}]
    entries = [
        {"application": "a", "segment": "model"},
        {"application": ["b", "c"], "when": some, "segment": "tier"},
        {"application": "c", "segment": None},
    ]
    flags = {"export.segment": "tenant", "applications": entries}
    name = segment_names(load({}, flags=flags))
    assert [name(each) for each in "abcd"] == ["model", "tier or tenant", "tier", "tenant"]
    assert segment_names(load({}))("a") is None


@pytest.mark.parametrize(("flag", "value"), [("per_day", "0s"), ("times", "1")])
def test_bursts_can_be_switched_off(flag: str, value: str) -> None:
    """By either; by default they are on."""
    assert load({}).drift.burst.per_day_s == 3_600
    assert burst_allowance(load({})) is not None
    off = load({}, flags={f"drift.burst.{flag}": value})
    assert off.drift.burst.per_day_s == 0
    assert burst_allowance(off) is None


@pytest.mark.parametrize(
    ("flag", "value"),
    [("per_day", "2d"), ("per_day", "soon"), ("per_day", "0"), ("times", "0"), ("times", "65")],
)
def test_a_burst_that_makes_no_sense_is_named(flag: str, value: str) -> None:
    """With its path."""
    with pytest.raises(ConfigurationError, match=rf"drift\.burst\.{flag}"):
        load({}, flags={f"drift.burst.{flag}": value})


def test_what_is_watched_is_what_is_learned_from() -> None:
    """Records without a value of it are no lesson, though they count for the gauges."""
    for watched, learned_of in (("faithfulness", 1), ("noise_sensitivity_relevant", 0)):
        scores = aggregators(load({}, flags={"drift.metrics": watched})).scores
        one = record("1", 0.0, 0.9)
        scores.add(one, one.to_json())
        scores.advance(START + 60.0)
        assert len(scores.training_slots) == learned_of
