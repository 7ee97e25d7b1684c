"""Score records: what is written can be read, and what cannot be read is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from monitor.errors import RecordSkipped
from monitor.records import (
    Outcome,
    SamplingRecord,
    ScoreRecord,
    Source,
    Usage,
    read_score_record,
)
from tests.stages.records import JUDGE, NOON, forced, score_records

RECORD = ScoreRecord(
    application="bot",
    interaction_id="i/1",
    event_time=NOON,
    judged_at=NOON,
    source=Source(topic="t", partition=0, offset=7),
    judge=JUDGE,
    sampling=SamplingRecord(first_offset=7, last_offset=7, kind="with_reference"),
    scores={"faithfulness": 0.5},
    outcome=Outcome.SCORED,
)


def changed(**fields: Any) -> bytes:
    """The line of ``RECORD`` with other top-level fields."""
    return json.dumps({**json.loads(RECORD.to_json()), **fields}).encode()


def weighed(**fields: Any) -> bytes:
    """The line of ``RECORD`` with another sampling."""
    sampling = {**json.loads(RECORD.to_json())["sampling"], **fields}
    return changed(sampling=sampling)


@given(score_records())
def test_written_and_read_is_the_same(record: ScoreRecord) -> None:
    """Round trip: an equal record and the same bytes, on one line."""
    line = record.to_json()
    assert b"\n" not in line
    assert read_score_record(line) == record
    assert read_score_record(line).to_json() == line


def test_texts_stay_readable_in_the_line() -> None:
    """Raw UTF-8 and the key ``schema`` first: no escapes for Chinese."""
    line = RECORD.model_copy(update={"segment": "客户"}).to_json()
    assert line.startswith(b'{"schema":"rag.score/1",')
    assert "客户".encode() in line


def test_the_key_is_application_and_id() -> None:
    """The Kafka key is ``application/interaction_id``."""
    assert RECORD.key == "bot/i/1"


@pytest.mark.parametrize("schema", ["rag.score/1", "rag.score/1.1", "rag.score/1.20"])
def test_fields_that_are_not_known_are_left_out(schema: str) -> None:
    """At any depth, of this minor version or a newer one: an upgrade begins with any process."""
    judge = {**json.loads(RECORD.to_json())["judge"], "colour": "blue"}
    sampling = {**json.loads(RECORD.to_json())["sampling"], "news": [1]}
    line = changed(schema=schema, news={"a": 1}, judge=judge, sampling=sampling)
    assert read_score_record(line) == RECORD


def test_what_of_a_newer_minor_schema_cannot_be_read_is_skipped() -> None:
    """Under its own cause: it is not broken."""
    with pytest.raises(RecordSkipped, match="is newer") as caught:
        read_score_record(changed(schema="rag.score/1.1", outcome="fine"))
    assert caught.value.cause == "newer_minor"


@pytest.mark.parametrize("schema", ["rag.score/2", "rag.score/2.0", "rag.score/17.3"])
def test_a_newer_major_schema_is_skipped(schema: str) -> None:
    """Its numbers may mean something else; one such record must not end who reads it."""
    with pytest.raises(RecordSkipped, match="upgrade rag-monitor") as caught:
        read_score_record(changed(schema=schema))
    assert caught.value.cause == "newer_schema"


def test_nobody_makes_a_record_with_fields_that_are_not_known() -> None:
    """Only reading lets them through."""
    with pytest.raises(ValidationError):
        ScoreRecord.model_validate({**json.loads(RECORD.to_json()), "news": 1})


@pytest.mark.parametrize(
    "schema", ["", "rag.score", "rag.score/", "rag.score/²", "rag.score/" + "9" * 5000, "x/2", 1]
)
def test_a_schema_that_is_none_is_malformed(schema: object) -> None:
    """Neither newer nor ours: one bad line, not the end of the process."""
    with pytest.raises(RecordSkipped) as caught:
        read_score_record(changed(schema=schema))
    assert caught.value.cause == "malformed"


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (changed(outcome="fine"), "outcome"),
        (changed(event_time="2026-11-20T12:00:00"), "event_time"),
        (changed(scores={"faithfulness": float("nan")}), "scores.faithfulness"),
        (changed(scores={"faithfulness": 1.5}), "scores.faithfulness"),
        (changed(scores={"faithfulness": -0.1}), "scores.faithfulness"),
        (changed(scores={"faithfulness": None}), "scores.faithfulness"),
        (weighed(m=0), "sampling.m"),
        (weighed(m=-1), "sampling.m"),
        (weighed(q=0.0), "sampling.q"),
        (weighed(q=-0.5), "sampling.q"),
        (weighed(q=2.0), "sampling.q"),
        (weighed(u=0.0), "sampling.u"),
        (weighed(u=float("inf")), "sampling.u"),
        (weighed(q=5e-324), "sampling"),
        (weighed(signal=float("-inf")), "sampling.signal"),
        (weighed(m=10**300), "sampling"),
        (weighed(expected={"faithfulness": [float("nan"), 0.0]}), "sampling.expected"),
        (weighed(segments={"acme": 0}), "sampling.segments.acme"),
        (weighed(segments={"acme": 3, "": -3}), "sampling.segments"),
        (weighed(segments={"acme": 10**400}), "sampling.segments.acme"),
        (weighed(forced=True), "sampling"),
        (weighed(m=None), "sampling"),
        (weighed(first_offset=None), "sampling"),
        (weighed(first_offset=-(10**30)), "sampling.first_offset"),
        (weighed(last_offset=10**400), "sampling.last_offset"),
        (b"", "record"),
        (b"[]", "record"),
        (b"\xff", "record"),
    ],
)
def test_a_line_that_would_spoil_the_sums_is_left_out(line: bytes, path: str) -> None:
    """No NaN, no weight that is not positive and finite; the message says where."""
    with pytest.raises(RecordSkipped, match=f"^score record: {path}") as caught:
        read_score_record(line)
    assert caught.value.cause == "malformed"


@given(st.binary(max_size=40) | score_records().map(ScoreRecord.to_json), st.data())
def test_reading_any_bytes_says_nothing_else(line: bytes, data: st.DataObject) -> None:
    """Whatever stands on the topic, the reader gets a record or a skip."""
    at = data.draw(st.integers(0, len(line)))
    spoilt = line[:at] + data.draw(st.binary(max_size=3)) + line[at + 1 :]
    try:
        found = read_score_record(spoilt)
    except RecordSkipped:
        return
    assert read_score_record(found.to_json()) == found


def test_a_forced_pick_has_no_slot() -> None:
    """Null in all of offsets, m, q and u, or in none of them."""
    sampling = forced("with_reference")
    assert (sampling.first_offset, sampling.m, sampling.q, sampling.u) == (None,) * 4
    with pytest.raises(ValidationError, match="every record but a forced one"):
        SamplingRecord(first_offset=1, last_offset=1, kind="with_reference", forced=True)


@given(st.lists(st.builds(Usage, calls=st.integers(0, 9), prompt_tokens=st.integers(0, 99))))
def test_usage_adds_up(parts: list[Usage]) -> None:
    """The sum of usages is the sum of each field."""
    total = sum(parts, Usage(completion_tokens=3, usd=0.5))
    assert total == Usage(
        calls=sum(part.calls for part in parts),
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        completion_tokens=3,
        usd=0.5,
    )
