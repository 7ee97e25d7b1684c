"""Records of the control topic: numbers that nothing can be computed with are no records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from monitor.errors import RecordSkipped
from monitor.records import SamplingRecord
from monitor.records.control import (
    BaselineRecord,
    DayRecord,
    baseline_key,
    day_key,
    read_control_record,
)
from monitor.stats.days import HourSums, hour_spread, hour_sums, is_better, rhythm, tell_hours

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
    told = {"schema": "rag.control/1", "kind": "baseline", "origin": "learned"}
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


@pytest.mark.parametrize("u", [5e-324, 1e-200, 2.0**-61, 2.0**61])
def test_a_weight_has_a_square_and_an_inverse(u: float) -> None:
    """Of a pick, too."""
    slot = {"first_offset": 1, "last_offset": 1, "kind": "with_reference"}
    assert SamplingRecord.model_validate({**slot, "u": LEAST}).u == LEAST
    with pytest.raises(ValidationError, match="u"):
        SamplingRecord.model_validate({**slot, "u": u})
