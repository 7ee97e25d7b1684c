"""Own health: names, labels and bounds that dashboards and rules rely on."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from monitor.telemetry import (
    ExporterTelemetry,
    LabelCap,
    ProcessTelemetry,
    ScorerTelemetry,
    new_registry,
)


@given(st.lists(st.text(max_size=3)), st.integers(0, 5))
def test_a_label_has_so_many_values_and_other(values: list[str], most: int) -> None:
    """The first distinct ones keep their name while they come, the rest share one."""
    cap = LabelCap(most)
    shown = [cap(value) for value in values]
    known = list(dict.fromkeys(values))[:most]
    assert shown == [value if value in known else "other" for value in values]


def test_applications_are_capped_on_the_page() -> None:
    """Traffic that makes up application names adds 20 label values, and one more."""
    registry = CollectorRegistry()
    telemetry = ScorerTelemetry(registry)
    for i in range(100):
        telemetry.observe_score("faithfulness", f"app-{i}", 0.5, "id")
    page = generate_latest(registry).decode()
    shown = set(re.findall(r'rag_interaction_score_count\{application="([^"]+)"', page))
    assert shown == {f"app-{i}" for i in range(20)} | {"other"}
    assert (
        registry.get_sample_value(
            "rag_interaction_score_count", {"metric": "faithfulness", "application": "other"}
        )
        == 80
    )


def test_a_rate_that_nobody_knows_is_no_number() -> None:
    """Applications with rates of their own: none of these is that of all traffic."""
    registry = CollectorRegistry()
    telemetry = ScorerTelemetry(registry)
    telemetry.show_sampling(0.5)
    assert registry.get_sample_value("rag_monitor_sampling_probability") == 0.5
    telemetry.show_sampling(None)
    assert math.isnan(registry.get_sample_value("rag_monitor_sampling_probability") or 0.0)


def test_a_name_that_comes_no_more_gives_up_its_place() -> None:
    """Names seen once do not hold the labels for ever; one that keeps coming gets one."""
    now = [0.0]
    registry = CollectorRegistry()
    telemetry = ScorerTelemetry(registry, lambda: now[0])

    def seen(application: str, times: int = 1) -> float | None:
        for _ in range(times):
            telemetry.observe_score("faithfulness", application, 0.5, "id")
        labels = {"metric": "faithfulness", "application": application}
        return registry.get_sample_value("rag_interaction_score_count", labels)

    for i in range(20):
        assert seen(f"once-{i}") == 1.0
    now[0] = 3_600.0
    assert seen("new", 5) is None
    for i in range(1, 20):
        seen(f"once-{i}")
    now[0] += 1.0
    assert seen("new") == 1.0
    assert seen("once-0") is None  # its series has ended, and none of its counts has moved
    assert seen("other") == 7.0
    assert seen("once-1") == 3.0
    now[0] += 3_601.0
    assert seen("once-0", 2) == 1.0  # it came once while it waited; now it begins at 0


def test_picks_end_with_the_label_of_their_application() -> None:
    """As scores do; what comes later begins at 0."""
    now = [0.0]
    registry = CollectorRegistry()
    telemetry = ScorerTelemetry(registry, lambda: now[0])

    def picked(application: str) -> float | None:
        telemetry.count_pick(application, "unscorable", "no_claims")
        labels = {"application": application, "outcome": "unscorable", "reason": "no_claims"}
        return registry.get_sample_value("rag_monitor_picks_total", labels)

    assert [picked(f"once-{i}") for i in range(20)] == [1.0] * 20
    now[0] = 3_601.0
    assert [picked("new") for _ in range(3)] == [None, None, 1.0]
    assert picked("once-0") is None


def test_names_seen_once_take_no_place_from_others() -> None:
    """However many, and even when all places are idle; nor are all of them remembered."""
    now = [0.0]
    cap = LabelCap(2, 10.0, lambda: now[0])
    assert [cap("a"), cap("b")] == ["a", "b"]
    for i in range(1_000):
        now[0] += 1.0
        assert cap(f"once-{i}") == "other"
    assert [cap("a"), cap("b")] == ["a", "b"]
    assert [cap("c") for _ in range(3)] == ["other", "other", "other"]  # nothing is idle
    now[0] += 11.0
    assert [cap("c"), cap("a"), cap("d"), cap("b")] == ["c", "other", "other", "b"]


@pytest.mark.parametrize(("length", "exemplars"), [(1, 1), (100, 1), (101, 0), (10_000, 0)])
@pytest.mark.parametrize("character", ["x", "中", "😀"])
def test_an_id_too_long_for_an_exemplar_is_left_out(
    length: int, exemplars: int, character: str
) -> None:
    """The score is counted all the same: 128 characters with its label are allowed, no more."""
    registry = CollectorRegistry()
    telemetry = ScorerTelemetry(registry)
    telemetry.observe_score("faithfulness", "bot", 0.35, character * length)
    samples = [sample for family in registry.collect() for sample in family.samples]
    assert sum(sample.exemplar is not None for sample in samples) == exemplars
    assert [s.value for s in samples if s.name == "rag_interaction_score_count"] == [1.0]


@pytest.mark.parametrize("score", [0.0, 0.1, 0.35, 1.0])
def test_a_score_lies_in_the_bucket_of_its_tenth(score: float) -> None:
    """Zero has a bucket of its own, because many scores are exactly 0."""
    registry = CollectorRegistry()
    ScorerTelemetry(registry).observe_score("faithfulness", "bot", score, "id")
    for tenth in range(11):
        labels = {"metric": "faithfulness", "application": "bot", "le": str(tenth / 10)}
        value = registry.get_sample_value("rag_interaction_score_bucket", labels)
        assert value == (score <= tenth / 10)


def test_every_metric_of_our_own_has_its_prefix_and_a_meaning() -> None:
    """``rag_monitor_``, but for the histogram of scores; and no series of creation times."""
    registry = CollectorRegistry()
    ProcessTelemetry(registry, "1")
    ScorerTelemetry(registry)
    ExporterTelemetry(registry)
    families = list(registry.collect())
    assert len(families) > 25
    assert {f.name for f in families if not f.name.startswith("rag_monitor_")} == {
        "rag_interaction_score"
    }
    assert [f.name for f in families if not f.documentation.endswith(".")] == []
    assert "_created" not in generate_latest(registry).decode()


def test_a_registry_belongs_to_one_process() -> None:
    """Two in one interpreter do not share counters; each has what the system says of it."""
    first, second = new_registry(), new_registry()
    ScorerTelemetry(first).consumed.inc()
    ScorerTelemetry(second)
    assert first.get_sample_value("rag_monitor_interactions_consumed_total") == 1
    assert second.get_sample_value("rag_monitor_interactions_consumed_total") == 0
    assert second.get_sample_value("process_start_time_seconds") is not None
