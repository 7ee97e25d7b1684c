"""Calibrations between exporter and scorer: learned from slots with a signal, and read again."""

from __future__ import annotations

import json
import random

import pytest

from monitor.control.calibrations import Calibrations
from monitor.errors import RecordSkipped
from monitor.exporter.baselines.learning import Learner, LearningSettings
from monitor.exporter.scores.observation import Observation
from monitor.exporter.scores.steps import at_once
from monitor.exporter.scores.training_slots import TrainingSlots
from monitor.records import ScoreRecord
from monitor.records.control import CalibrationRecord, calibration_key, read_control_record
from monitor.scorer.picking import signalled
from monitor.stats.selection import Selection
from tests.stages.candidates import candidate_of
from tests.stages.control import applied
from tests.stages.score_records import FIRST, START, record

LEARNING = LearningSettings(40, 0, ("faithfulness",))


def with_signals(count: int, signals: int) -> list[ScoreRecord]:
    """Records of which the first ``signals`` have one: 1 where the answer is half wrong."""
    found = []
    for i in range(count):
        wrong = i % 4 == 0
        made = record(str(i), float(i), 0.5 if wrong else 1.0)
        signal = (1.0 if wrong else 0.0) if i < signals else None
        sampling = made.sampling.model_copy(update={"signal": signal})
        found.append(made.model_copy(update={"sampling": sampling}))
    return found


def learned(records: list[ScoreRecord], now: float = 1_000.0) -> list[CalibrationRecord]:
    """What an exporter would publish."""
    selection = Selection()
    for each in records:
        selection.add(candidate_of(each, each.to_json()))
    training_slots = TrainingSlots(lambda *_pair: False, selection.counted)
    for candidate in selection.counted():
        if isinstance(candidate.payload, Observation):
            training_slots.apply(candidate, candidate.payload, +1)
    found = at_once(Learner(LEARNING).results(training_slots, START + now))
    taught = [at_once(each.taught()) for each in found]
    return [each.calibration for each in taught if each is not None and each.calibration]


def test_it_is_learned_from_the_first_slots_in_any_order() -> None:
    """The same bytes, whoever learns: later slots have no say."""
    records = with_signals(60, 60)
    (found,) = learned(records)
    assert (found.application, found.judge, found.slots) == ("bot", FIRST.label, 40)
    assert found.edges == (0.0,)
    low, high = found.expected["faithfulness"]
    assert 0 < low < 0.1 < high < 0.5, "larger is worse, drawn to the mean"
    random.Random(3).shuffle(records)
    assert [one.to_json() for one in learned(records)] == [found.to_json()]
    assert learned(with_signals(60, 60)[:40]) == [found]


@pytest.mark.parametrize(("signals", "number"), [(0, 0), (19, 0), (20, 1)])
def test_half_of_the_slots_need_a_signal(signals: int, number: int) -> None:
    """Those from before there were blocks have none."""
    assert len(learned(with_signals(40, signals))) == number


def test_nothing_is_learned_too_early() -> None:
    """Before there are enough slots, the same as for the baseline."""
    assert learned(with_signals(39, 39)) == []


def test_the_scorer_reads_what_the_exporter_writes() -> None:
    """From then on a risky member is likelier, and known to be; a tombstone ends it."""
    (found,) = learned(with_signals(40, 40))
    held, key = Calibrations(), found.key.encode()
    assert applied(held, key, found.to_json()) is None
    assert applied(held, b"baseline/bot/x", b"{") is None, "others read those"
    calibration = held.of("bot", FIRST.label)
    assert calibration is not None
    safe, risky = (signalled("i", "s", z, calibration) for z in (0.0, 1.0))
    assert safe.expected["faithfulness"] < risky.expected["faithfulness"]
    assert held.of("bot", "other@1") is None
    assert applied(held, key, None) is None
    assert held.of("bot", FIRST.label) is None


@pytest.mark.parametrize(
    "change",
    [
        {"edges": [0.5, 0.5]},
        {"spreads": [1.0]},
        {"spreads": [1.0, -1.0]},
        {"expected": {"faithfulness": [0.1, 1.5]}},
        {"judge": "other@1"},
        {"schema": "rag.alarm/1"},
    ],
)
def test_a_wrong_shape_is_left_out_and_said(change: dict[str, object]) -> None:
    """By the scorer and by the exporter; what held goes on to hold."""
    (found,) = learned(with_signals(40, 40))
    held, key = Calibrations(), calibration_key("bot", FIRST.label).encode()
    applied(held, key, found.to_json())
    broken = json.dumps({**json.loads(found.to_json()), **change}).encode()
    skipped = applied(held, key, broken)
    assert skipped is not None
    assert skipped.cause == "malformed"
    with pytest.raises(RecordSkipped):
        read_control_record(key, broken)
    assert held.of("bot", FIRST.label) is not None


def test_a_newer_schema_is_left_out_and_unknown_fields_are_none() -> None:
    """The calibration that held goes on to hold; of a newer minor one what is known is read."""
    (found,) = learned(with_signals(40, 40))
    held, key = Calibrations(), calibration_key("bot", FIRST.label).encode()
    fields = json.loads(found.to_json())
    minor = {**fields, "schema": "rag.control/1.3", "extra": 1}
    assert applied(held, key, json.dumps(minor).encode()) is None
    skipped = applied(held, key, json.dumps({**fields, "schema": "rag.control/2"}).encode())
    assert skipped is not None
    assert skipped.cause == "newer_schema"
    assert held.of("bot", FIRST.label) is not None
