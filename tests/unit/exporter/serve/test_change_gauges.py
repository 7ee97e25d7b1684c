"""What changed, as gauges: of the alarms that are open, and of nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.serve.change_gauges import ENDED, INFO, MOST_CHARACTERS, TOGETHER
from monitor.exporter.serve.collector import QualityCollector
from monitor.records.alarm import AlarmRecord, SettledMean
from tests.stages.alarm_records import DETAILS, HEADLINE, SENTENCE, SINCE, alarm, segment
from tests.stages.promtool import promtool
from tests.stages.records import NOON, TEXTS
from tests.stages.score_records import PERIOD, START, WINDOWS, record

Samples = dict[str, list[tuple[dict[str, str], float]]]


def page(*alarms: AlarmRecord, ready: bool = True, most: int = 20) -> str:
    """The page of an exporter that has read these alarms, and scores of the applications."""
    names = dict.fromkeys([one.application for one in alarms])
    aggregator = ScoreAggregator(WINDOWS, PERIOD, most)
    for number, application in enumerate(names):
        for again in range(len(names) - number):  # the first has the most
            scored = record(str(10 * number + again), 0.0, application=application)
            aggregator.add(scored, scored.to_json())
    registry = CollectorRegistry()
    registry.register(
        QualityCollector(
            aggregator,
            lambda: START + 1,
            lambda: ready,
            alarms=lambda: {one.key: one for one in alarms},
        )
    )
    return generate_latest(registry).decode()


def changes(text: str) -> Samples:
    """The samples of the families on a page."""
    return {
        family.name: [(sample.labels, sample.value) for sample in family.samples]
        for family in text_string_to_metric_families(text)
        if family.name.startswith(("rag_drift_change", "rag_drift_segment"))
        or family.name in (TOGETHER, ENDED)
    }


def test_an_open_alarm_shows() -> None:
    """Its sentence, its estimated start and its segments, under the alarm's labels."""
    whose = {
        "metric": "noise_sensitivity_irrelevant",
        "application": "support-bot",
        "judge": "offline@3f2a91",
    }
    of_segments = {
        "within": (0.12, 0.12),
        "shift": (0.3 - 0.1, 0.3 - 0.1),
        "shift_lower": (0.2 - 0.1, 0.2 - 0.1),
        "shift_upper": (0.4 - 0.1, 0.4 - 0.1),
        "share": (0.6, 0.6),
        "stands_out": (1.0, 0.0),
    }
    assert changes(page(alarm())) == {
        "rag_drift_change_info": [
            ({**whose, "answer": SENTENCE, "headline": HEADLINE, "details": DETAILS}, 1.0)
        ],
        TOGETHER: [({**whose, "incident": f"{NOON:%Y-%m-%dT%H:%M:%SZ}"}, 1.0)],
        ENDED: [],
        "rag_drift_change_since_timestamp_seconds": [(whose, SINCE.timestamp())],
        **{
            f"rag_drift_segment_{name}": [
                ({**whose, "segment": segment}, value)
                for segment, value in zip(("acme", "bolt"), values, strict=True)
            ]
            for name, values in of_segments.items()
        },
    }


def test_a_segment_without_a_score_since_has_no_shift() -> None:
    """And where none differs from the others, none stands out."""
    silent = segment("acme").model_copy(update=dict.fromkeys(("value", "lower", "upper")))
    found = changes(page(alarm(segments=(silent, segment("bolt")), stands_out=None)))
    for name in ("shift", "shift_lower", "shift_upper"):
        assert [labels["segment"] for labels, _ in found[f"rag_drift_segment_{name}"]] == ["bolt"]
    for name in ("share", "within"):
        assert len(found[f"rag_drift_segment_{name}"]) == 2
    assert [value for _, value in found["rag_drift_segment_stands_out"]] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("fields", "ready"),
    [({"state": "closed", "closed_at": SINCE, "closed_because": "recovered"}, True), ({}, False)],
)
def test_nothing_else_shows(fields: dict[str, Any], ready: bool) -> None:
    """No alarm that has closed, and none before the replay; the families are declared still."""
    found = changes(page(alarm(**fields), ready=ready))
    assert len(found) == 10
    assert not any(found.values())


def test_for_five_minutes_an_end_is_told() -> None:
    """Where the mean is now, in the series that messages take their words from; then nothing."""
    now = SettledMean(value=0.08, lower=0.06, upper=0.11, n=30)
    for ago_s, is_told in ((1, True), (299, True), (301, False)):
        closed_at = datetime.fromtimestamp(START + 1 - ago_s, UTC)
        because = {"state": "closed", "closed_at": closed_at, "closed_because": "recovered"}
        found = changes(page(alarm(**because, recovered=now)))
        if not is_told:
            assert not any(found.values())
            continue
        ((labels, _),) = found[INFO]
        assert "back at 8 % (6–11 %)" in labels["headline"]
        assert ", back at 0.08 (0.06–0.11, n = 30): " in labels["answer"]
        shown = {name: len(values) for name, values in found.items() if values}
        assert shown == {INFO: 1, TOGETHER: 1, ENDED: 1}
        assert found[ENDED][0][1] == closed_at.timestamp()


@pytest.mark.parametrize(
    ("because", "said"),
    [
        ("new_baseline", "another baseline holds"),
        ("not_watched", "it is not scored, or not watched, any more"),
        ("threshold_raised", "its threshold was raised"),
        ("evidence_expired", "its evidence became too old"),
    ],
)
def test_an_end_that_is_no_recovery_is_told_as_what_it_is(because: str, said: str) -> None:
    """Else the message of the end would say *resolved*, and what it was."""
    closed_at = datetime.fromtimestamp(START, UTC)
    found = changes(page(alarm(state="closed", closed_at=closed_at, closed_because=because)))
    ((labels, _),) = found[INFO]
    assert labels["headline"].endswith(said)
    assert "%" not in labels["headline"]
    assert len(found[ENDED]) == 1


def test_applications_that_fell_ill_together_say_how_many() -> None:
    """Of each alarm; a metric that nobody here knows is told by its name."""
    ill = [alarm(application=name) for name in ("a", "b")]
    found = changes(page(*ill, alarm(application="b", metric="of another program")))
    assert [value for _, value in found[TOGETHER]] == [2.0, 2.0, 2.0]
    assert any("b: of another program 8 %" in labels["headline"] for labels, _ in found[INFO])


def test_only_applications_with_a_name_show() -> None:
    """As for all gauges: beyond ``export.top_k`` there are no labels from traffic."""
    found = changes(page(alarm(application="shop"), alarm(application="hr"), most=1))
    assert [labels["application"] for labels, _ in found["rag_drift_change_info"]] == ["shop"]


@given(answer=TEXTS, names=st.lists(TEXTS, max_size=4))
def test_any_text_comes_through(answer: str, names: list[str]) -> None:
    """Whatever stands on the topic, the page can be read, and no series is there twice."""
    record_ = alarm(segments=tuple(map(segment, names))).model_copy(update={"answer": answer})
    found = changes(page(record_))
    ((labels, _),) = found["rag_drift_change_info"]
    assert labels["answer"] == answer
    segments = [labels["segment"] for labels, _ in found["rag_drift_segment_within"]]
    assert segments == [*dict.fromkeys(names)]


def test_a_sentence_has_an_end() -> None:
    """Another program may have written a novel to the topic."""
    found = changes(page(alarm().model_copy(update={"answer": "x" * 5_000})))
    assert found["rag_drift_change_info"][0][0]["answer"] == "x" * MOST_CHARACTERS


def test_promtool_approves_of_an_open_alarm() -> None:
    """``promtool check metrics`` finds no fault with the page."""
    found = promtool("check", "metrics", text=page(alarm()))
    assert (found.returncode, found.stdout + found.stderr) == (0, "")
