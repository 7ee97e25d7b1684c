"""Names of applications and judges beyond a bound are summed up as ``other`` when they come.

Which ones is a function of the records that count: two exporters agree, whatever came in between.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from monitor.app.scores import aggregators
from monitor.config import load
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftKey
from monitor.exporter.scores.folding import Folded
from monitor.exporter.scores.folding_log import FoldingLog
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import ScoreRecord
from tests.stages.folding import judge, made, read, records
from tests.stages.page import live, page, score
from tests.stages.properties import costly
from tests.stages.score_records import FIRST, START, WINDOWS, record


@costly
@given(records(), st.integers(0, 260), st.randoms(use_true_random=False))
def test_no_order_and_no_look_changes_a_bit(
    pool: Sequence[ScoreRecord], now: int, rng: random.Random
) -> None:
    """Places are taken and lost in between; at the end each has what one look would give it."""
    plain = read(pool, now)
    twice = [*pool, *rng.sample(pool, len(pool) // 2)]
    found = live(made(), map(score, rng.sample(twice, len(twice))), now, rng)
    assert page(found, now) == page(plain, now)
    learned = [
        each.to_json() for each in plain.baselines.learn(plain.scores.training_slots, START + now)
    ]
    again = found.baselines.learn(found.scores.training_slots, START + now)
    assert [each.to_json() for each in again] == learned
    assert found.scores.folded == plain.scores.folded
    assert found.scores.state_objects <= _most_objects(found.scores)


def _most_objects(aggregator: ScoreAggregator) -> int:
    """Two named applications, the one of the settings, and the rest; two judges and the rest."""
    pairs = (2 + 1 + 1) * (2 * 2 - 1 + 1)
    segments = 7  # of the made records
    return pairs * (len(CATALOGUE) + segments + 1 + 1)


def many(applications: int, versions: int, count: int = 1_200) -> list[ScoreRecord]:
    """So many records of so many names, one a second."""
    return [
        record(
            str(i),
            i * 0.05,
            application=f"session-{i % applications}",
            judge=judge(i % versions),
            scores=dict.fromkeys(CATALOGUE, 0.5),
        )
        for i in range(count)
    ]


@pytest.mark.parametrize(("applications", "versions"), [(1_200, 1), (20, 400), (1_200, 400)])
def test_names_make_no_state_of_their_own(applications: int, versions: int) -> None:
    """As many series, segments, detectors and slots as with 20 applications and one judge."""
    few = read(many(20, 1), 61.0, made(20, 16)).scores
    found = read(many(applications, versions), 61.0, made(20, 16)).scores
    assert len(list(few.estimates())) > 500
    assert found.state_objects <= 1.5 * few.state_objects
    assert len(list(found.estimates())) <= 1.5 * len(list(few.estimates()))
    assert sum(found.folded[:2]) > 0
    assert few.folded[:2] == (0, 0)


def test_the_rest_is_a_mean_of_all_that_is_summed_up() -> None:
    """Of every folded application and judge, with the weights of their slots."""
    pool = [record(str(i), 1.0, 1.0, application="bot") for i in range(8)]
    pool += [record(str(10 + i), 1.0, i / 10, application=f"session-{i}") for i in range(10)]
    found = read(pool, 5.0, made(1))
    shown = {e.key.application: e.estimate for e in found.scores.estimates() if e.window == "10s"}
    assert shown.keys() == {"bot", "other"}
    assert shown["other"].samples == 10
    assert shown["other"].value == pytest.approx(0.45)


def test_judges_beyond_the_bound_are_summed_up_and_have_no_detector() -> None:
    """The one that judges most keeps its name and its detector; the others become one series."""
    pool = [record(str(i), i / 10, judge=judge(0 if i % 2 else i)) for i in range(100)]
    found = read(pool, 20.0)
    assert {e.key.judge for e in found.scores.estimates()} == {judge(0).label, "other"}
    assert found.drift.pairs() == {("bot", judge(0).label)}
    assert found.scores.judges() == [judge(0)]
    assert found.scores.folded == Folded(0, 49)


def test_a_neighbour_with_many_judges_takes_no_name_from_others() -> None:
    """Of an application whose judge has judged a few slots, and not just one."""
    pool = [record(str(i), i / 10, judge=judge(i)) for i in range(100)]
    pool += [record(str(200 + i), i, application="hr", judge=judge(999)) for i in range(4)]
    found = read(pool, 20.0)
    assert ("hr", judge(999).label) in found.drift.pairs()


def test_a_busy_application_is_not_pushed_out_by_names_seen_once() -> None:
    """Nor one that the settings name; and what comes later gets a place when others have gone."""
    found = made(1)
    read([record(str(i), 1.0, application="zoo") for i in range(10)], 5.0, found)
    read([record("50", 2.0, application="vip")], 5.0, found)
    read([record(str(i), 3.0, application=f"a{i}") for i in range(100, 400)], 5.0, found)
    assert found.scores.named() == {"vip"}  # one place, and it has one anyway
    found = made(2)
    read([record(str(i), 1.0, application="zoo") for i in range(10)], 5.0, found)
    read([record("50", 2.0, application="vip")], 5.0, found)
    read([record(str(i), 3.0, application=f"a{i}") for i in range(100, 400)], 5.0, found)
    assert found.scores.named() == {"vip", "zoo"}
    assert found.scores.folded == Folded(300, 0, "a100")
    later = [record(str(i), 130.0, application="new") for i in range(500, 503)]
    assert read(later, 140.0, found).scores.named() == {"new"}
    assert found.scores.folded == Folded(0, 0)


def test_what_loses_its_place_and_gets_it_back_has_its_evidence_again() -> None:
    """All of it: its slots are still there, and its baseline holds."""
    pool = [record(str(i), i * 1.0, 0.3, application="zoo") for i in range(6)]
    more = [record(str(10 + i), 7.0, application="bot") for i in range(9)]
    again = [record(str(30 + i), 8.0, 0.3, application="zoo") for i in range(20)]
    found = read(pool, 10.0, made(1))
    assert {pair[0] for pair in found.drift.pairs()} == {"zoo"}
    read(more, 10.0, found)
    assert {pair[0] for pair in found.drift.pairs()} == {"bot"}
    read(again, 10.0, found)
    assert {pair[0] for pair in found.drift.pairs()} == {"zoo"}
    assert page(found, 15.0) == page(read([*again, *pool, *more], 10.0, made(1)), 15.0)


def test_the_settings_name_applications_that_always_have_a_place() -> None:
    """Those that stand there in full, whatever they are named for."""
    flags = {
        "applications": [{"application": ["bot", "shop-*"]}],
        "objectives": [
            {"metric": "faithfulness", "window": "1h", "bound": 0.9, "application": "hr"}
        ],
        "drift.baselines": [{"application": "it", "metrics": {"faithfulness": 0.9}}],
        "export.top_k": 1,
    }
    loaded = load({}, flags=flags)
    assert loaded.named_applications == {"bot", "hr", "it"}
    found = aggregators(loaded).scores
    for i, name in enumerate(["bot", "hr", "it", "zoo", "zoo", "zoo"]):
        each = record(str(i), 1.0, application=name)
        found.add(each, each.to_json())
    found.advance(START + 5.0)
    assert found.named() == {"bot", "hr", "it"}


def test_an_application_that_is_called_other_has_no_detector() -> None:
    """Its scores are counted with the rest; evidence of the rest cannot be told apart."""
    found = read([record(str(i), 1.0, application="other") for i in range(5)], 5.0)
    assert found.drift.pairs() == set()
    assert [e.key.application for e in found.scores.estimates()] == ["other"] * len(WINDOWS)
    assert found.scores.folded == Folded(0, 0)


def test_it_is_said_when_it_begins_grows_tenfold_and_ends() -> None:
    """With the field and what to do; not with every record."""
    found = made(1)
    log = FoldingLog(lambda: found.scores.folded)
    with capture_logs() as lines:
        for i in range(30):
            read([record(str(i), 1.0, application=f"session-{i}")], 5.0, found)
            log.look()
        read([], 200.0, found)
        log.look()
    assert [(line["event"], line["number"]) for line in lines] == [
        ("applications_folded", 1),
        ("applications_folded", 10),
        ("applications_folded", 0),
    ]
    assert "export.top_k" in lines[0]["what"]
    assert lines[0]["example"].startswith("session-")


def test_a_reset_baseline_of_what_is_folded_teaches_nobody() -> None:
    """Only what has detectors is learned of."""
    pool = [record(str(i), i / 10, application="bot") for i in range(16)]
    pool += [record(str(20 + i), i / 10, application="zoo") for i in range(5)]
    found = read(pool, 20.0, made(1))
    learned = found.baselines.learn(found.scores.training_slots, START + 20.0)
    assert [each.key for each in learned] == [f"baseline/bot/{FIRST.label}"]
    assert {key for key, _ in found.drift.watched()} == {
        DriftKey("faithfulness", "bot", FIRST.label)
    }
