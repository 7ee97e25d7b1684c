"""Records of the control topic: numbers that nothing can be computed with are no records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from monitor.control.decisions import next_decision
from monitor.errors import RecordSkipped
from monitor.exporter.baselines.days import frozen_with_rhythm, with_rhythm
from monitor.records import SamplingRecord
from monitor.records.control import (
    BaselineRecord,
    DayRecord,
    MetricBaseline,
    baseline_key,
    day_key,
    read_control_record,
)
from monitor.stats.days import (
    HourSums,
    hour_spread,
    hour_sums,
    is_better,
    rhythm,
    tell_hours,
)

PAIR = "bot", "offline@1"
DAY = date(2026, 11, 22)
NOTHING = (0, 0.0, 0.0, 0.0, 0.0, 0.0)
LEAST, MOST = 2.0**-60, 2.0**60
WEIGHTS = st.one_of(st.sampled_from((LEAST, 0.1, 1.0, 3.0, MOST)), st.floats(LEAST, MOST))
VALUES = st.one_of(st.sampled_from((0.0, 5e-324, 1 / 3, 1.0)), st.floats(0.0, 1.0))
HOURS = st.lists(st.tuples(WEIGHTS, VALUES), max_size=6).map(hour_sums)


def record(**fields: Any) -> Any:
    """A day record, as JSON."""
    told = {"schema": "rag.control/1", "kind": "day", "application": PAIR[0], "judge": PAIR[1]}
    return {**told, "day": DAY.isoformat(), "metrics": {}, **fields}


def read(told: Any, day: date = DAY) -> Any:
    """As it is read from the topic."""
    return read_control_record(day_key(*PAIR, day).encode(), json.dumps(told).encode())


@given(st.lists(HOURS, min_size=24, max_size=24), st.integers(1, 7))
def test_any_scores_make_a_record_that_can_be_learned_from(
    hours: Sequence[HourSums], copies: int
) -> None:
    """Whatever their weights are: it is read as it was written, and nothing overflows."""
    of_day: Any = tuple(tuple(hour) for hour in hours)
    made = DayRecord(application=PAIR[0], judge=PAIR[1], day=DAY, metrics={"faithfulness": of_day})
    found = read_control_record(made.key.encode(), made.to_json())
    assert found == made
    days = [[HourSums(*hour) for hour in made.metrics["faithfulness"]]] * copies
    rhythm(days)
    tell_hours(days[0], MOST)
    hour_spread(days[0], MOST)
    is_better(days[0][0], 0.5, MOST)


@pytest.mark.parametrize(
    "hour",
    [
        (1, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0, 1.0, 0.0, 1.0, 0.0, 0.0),
        (1, 1e200, 1e199, 1e308, 1e307, 1e306),
        (1, 1e-200, 1e-201, 1e-300, 0.0, 0.0),
        (1, 1.0, 2.0, 1.0, 2.0, 4.0),
        (2, 2.0, 1.0, 2.0, 1.0, 1.5),
        (2, 2.0, 1.0, 1.0, 0.5, 0.5),
        (2, 2.0, 1.0, 5.0, 2.0, 1.0),
        (10**400, 1.0, 0.5, 1.0, 0.5, 0.25),
        (1, 1.0, -0.5, 1.0, 0.5, 0.25),
    ],
)
def test_sums_of_no_scores_are_no_record(hour: tuple[Any, ...]) -> None:
    """A week of them is divided by their sum, and by its square."""
    read(record(metrics={"faithfulness": [NOTHING] * 23 + [(2, 2.0, 1.0, 2.0, 1.0, 1.0)]}))
    with pytest.raises(RecordSkipped) as refused:
        read(record(metrics={"faithfulness": [NOTHING] * 23 + [hour]}))
    assert refused.value.cause == "malformed"


def test_a_day_has_a_morrow() -> None:
    """What is learned from it holds from then on."""
    assert read(record(day="9000-01-01"), date(9000, 1, 1)).day.year == 9000
    with pytest.raises(RecordSkipped, match="no later than 9000-01-01"):
        read(record(day="9999-12-31"), date(9999, 12, 31))


@pytest.mark.parametrize(
    "metric",
    [
        {"se": 1e200},
        {"dependence": 1e200},
        {"hour_spread": 1e200},
        {"day_spread": 1e200},
        {"values": 10**400},
        {"spreads": {"acme": [0.5, 1e200]}},
    ],
)
def test_a_baseline_has_errors_that_have_squares(metric: dict[str, Any]) -> None:
    """Or it is none."""
    told: dict[str, Any] = {"schema": "rag.control/1", "kind": "baseline", "origin": "learned"}
    told |= {"application": PAIR[0], "judge": PAIR[1], "effective_from": "2026-11-22T00:00:00Z"}
    key = baseline_key(*PAIR).encode()
    for more, slots in (({}, 1_000), (metric, 1_000), ({}, 10**400)):
        metrics = {"faithfulness": {"mean": 0.9, **more}}
        value = json.dumps({**told, "slots": slots, "metrics": metrics}).encode()
        if not more and slots == 1_000:
            assert isinstance(read_control_record(key, value), BaselineRecord)
            continue
        with pytest.raises(RecordSkipped) as refused:
            read_control_record(key, value)
        assert refused.value.cause == "malformed"


LAST = "9999-12-31T23:59:59.999999Z"


@pytest.mark.parametrize(
    "fields",
    [
        {"reset_at": LAST},
        {"effective_from": LAST, "metrics": {}},
        {"effective_from": "0001-01-01T00:00:00+14:00"},
        {"learned_after": LAST},
        {"metrics": {"faithfulness": {"mean": 0.9, "decided_at": LAST}}},
    ],
)
def test_a_decision_can_be_followed_by_another(fields: dict[str, Any]) -> None:
    """What is reset, set or frozen next holds from a moment later on."""
    told: dict[str, Any] = {"schema": "rag.control/1", "kind": "baseline", "origin": "learned"}
    told |= {"application": PAIR[0], "judge": PAIR[1], "effective_from": "9000-01-01T00:00:00Z"}
    told |= {"metrics": {"faithfulness": {"mean": 0.9}}}
    key = baseline_key(*PAIR).encode()
    found = read_control_record(key, json.dumps(told).encode())
    assert isinstance(found, BaselineRecord)
    at = found.effective_from
    assert next_decision(found, at) >= at
    with pytest.raises(RecordSkipped, match="a time is from 2 to 9000"):
        read_control_record(key, json.dumps({**told, **fields}).encode())


@given(
    st.lists(HOURS, min_size=24, max_size=24),
    st.sampled_from((0.0, 1.0, MOST)),
    st.sampled_from((1.0, MOST)),
    st.sampled_from(("learned", "frozen")),
)
@example([hour_sums([(LEAST, 0.2), (LEAST, 0.4)])] * 24, 0.0, MOST, "frozen")
def test_what_is_refined_can_be_read(
    hours: Sequence[HourSums], error: float, dependence: float, origin: Any
) -> None:
    """Whatever of a record is accepted: the next one would else be written at each look."""
    at = datetime(2026, 11, 1, tzinfo=UTC)
    made = MetricBaseline(
        mean=0.9,
        se=error,
        spreads={"acme": (0.0, error), "": (1.0, error)},
        dependence=dependence,
        origin=origin,
        frozen_from=at,
        frozen_until=at + timedelta(hours=1),
    )
    found = rhythm([hours] * 7)
    refined = []
    if found is not None:
        refined.append(with_rhythm("faithfulness", made, found, at))
        refined.append(frozen_with_rhythm("faithfulness", made, found, hours, at))
    for one in refined:
        record = BaselineRecord(
            application=PAIR[0],
            judge=PAIR[1],
            origin="learned",
            effective_from=at,
            metrics={"faithfulness": one},
        )
        assert read_control_record(record.key.encode(), record.to_json()) == record


@pytest.mark.parametrize("u", [5e-324, 1e-200, 2.0**-61, 2.0**61])
def test_a_weight_has_a_square_and_an_inverse(u: float) -> None:
    """Of a pick, too."""
    slot = {"first_offset": 1, "last_offset": 1, "kind": "with_reference"}
    assert SamplingRecord.model_validate({**slot, "u": LEAST}).u == LEAST
    with pytest.raises(ValidationError, match="u"):
        SamplingRecord.model_validate({**slot, "u": u})
