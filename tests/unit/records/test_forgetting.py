"""What is to be forgotten is known by its fingerprint, and only the numbers of a record stay."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.control.forgotten import ForgottenTexts
from monitor.control.state import ControlState, WrittenAt
from monitor.records.control import FORGOTTEN, ForgottenRecord, Removed, read_control_record
from monitor.records.forgetting import ForgettingRequest, without_texts
from tests.stages.audits import judged
from tests.stages.records import NOON

SALT = "5a" * 16


def asked(value: str, attribute: str = "", application: str = "") -> ForgottenRecord:
    """The record of a request."""
    request = ForgettingRequest(value, attribute, application)
    return ForgottenRecord(
        salt=SALT,
        fingerprint=request.fingerprint(SALT),
        attribute=attribute,
        application=application,
        forgotten_at=NOON,
    )


def holding(*records: ForgottenRecord) -> ForgottenTexts:
    """After these, as they come from the topic."""
    texts = ForgottenTexts()
    state = ControlState({FORGOTTEN: texts.apply})
    for one in records:
        assert state.apply(one.key.encode(), one.to_json()) is None
    return texts


@pytest.mark.parametrize(
    ("record", "attributes", "is_forgotten"),
    [
        (asked("1"), {}, True),
        (asked("2"), {}, False),
        (asked("1", application="bot"), {}, True),
        (asked("1", application="another"), {}, False),
        (asked("ann", "user_id"), {"user_id": "ann"}, True),
        (asked("42", "user_id"), {"user_id": 42}, True),
        (asked("ann", "user_id"), {"user_id": "bob"}, False),
        (asked("ann", "user_id"), {"name": "ann"}, False),
        (asked("ann", "user_id"), {}, False),
        (asked("1", "user_id"), {}, False),  # not the id of the interaction
        (asked("true", "user_id"), {"user_id": True}, True),
        (asked("True", "user_id"), {"user_id": True}, False),
        (asked("3.5", "user_id"), {"user_id": 3.5}, True),
        (asked("null", "user_id"), {"user_id": None}, False),
        (asked("ann", "user_id"), {"user_id": ["ann"]}, False),
    ],
)
def test_who_is_meant(
    record: ForgottenRecord, attributes: dict[str, Any], *, is_forgotten: bool
) -> None:
    """The id or an attribute, of one application or of all; the request itself says the same."""
    found = judged(1, attributes=attributes)
    assert (holding(record).kind_of(found) is not None) == is_forgotten


def test_the_record_names_nobody() -> None:
    """Whoever reads the topic learns the attribute, and no value."""
    record = asked("ann@example.org", "user_id")
    assert b"ann" not in record.to_json() + record.key.encode()
    assert read_control_record(record.key.encode(), record.to_json()) == record
    other = ForgettingRequest("ann@example.org", "user_id").fingerprint("a5" * 16)
    assert other != record.fingerprint


def test_a_tombstone_ends_it() -> None:
    """And only that one."""
    first, second = asked("1"), asked("2")
    texts = holding(first, second, first)
    assert texts.salt == SALT
    texts.apply(Removed(first.key), WrittenAt())
    assert texts.kind_of(judged(1)) is None
    assert texts.kind_of(judged(2)) is not None
    texts.apply(Removed(second.key), WrittenAt())
    assert texts.salt is None


def test_only_numbers_stay() -> None:
    """Scores, verdicts, weights and ids of passages; no word of any text, and no hash of one."""
    before = judged(1, attributes={"user_id": "ann"}, segment="ann")
    after = without_texts(before, "user_id")
    kept = after.to_json().decode()
    for word in ("warranty", "euros", "ann", "sha256"):
        assert word in before.to_json().decode() or word == "sha256"
        assert word not in kept
    for field in ("scores", "verdicts", "outcome", "key", "event_time", "source", "judge"):
        assert getattr(after, field) == getattr(before, field)
    assert after.interaction == {"retrieved_contexts": [{"id": "kb-1"}, {"id": "kb-2"}]}
    assert after.sampling.model_copy(update={"segments": {}}) == before.sampling.model_copy(
        update={"segments": {}}
    )
    assert without_texts(before).segment == "ann"  # forgotten by its id: no person was named


@pytest.mark.parametrize("value", [True, 3.5, 42])
def test_a_segment_of_a_number_goes_too(value: float) -> None:
    """It is made of the value, as Python writes it."""
    found = judged(1, attributes={"user_id": value}, segment=f"user_id={value}")
    assert without_texts(found, "user_id").segment == ""
