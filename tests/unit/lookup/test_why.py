"""Why an interaction was judged, or was not: every end has its answer, in words and as data."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.lookup.findings import LookupFindings, PlacedInput, PlacedScore
from monitor.lookup.why import NEVER_SEEN, UNKNOWN, WAITING, answer, as_json, lines
from monitor.records import Outcome, Reason
from tests.stages.answers import answered, scored
from tests.stages.records import NOON

TOPIC = "rag.interactions.v1"
DEAD_LETTER = {
    "stage": "decode",
    "class": "wrong_value",
    "partition": 2,
    "offset": 7,
    "message": "response: expected a text",
    "attempts": 1,
    "first_failed_at": NOON.isoformat(),
}


def logged(**fields: Any) -> PlacedInput:
    """A record of the log that was read, whose hash takes it; but for ``fields``."""
    given = {
        "interaction": answered("a", offset=5),
        "committed": 9,
        "hash_value": 0.25,
        "rate": 0.5,
        **fields,
    }
    return PlacedInput(TOPIC, 0, 5, NOON.timestamp(), **given)


def found(*inputs: PlacedInput, **fields: Any) -> LookupFindings:
    """All that is known of ``a``."""
    return LookupFindings("a", inputs=inputs, searched=(TOPIC, "rag.scores.v1"), **fields)


async def test_a_score_record_says_how_it_was_sampled_and_judged() -> None:
    """With its hash where the log still has it, its weight, and what it cost."""
    record = await scored(answered("a", offset=5), rate=0.5)
    seen = found(logged(), scores=(PlacedScore(record, 1, 3),))
    said = answer(seen)
    data = as_json(seen, said)
    assert (said.outcome, said.reason) == (Outcome.SCORED, None)
    assert (data["hash"], data["weight"]) == (0.25, 2.0)
    assert data["score_record"] == {"partition": 1, "offset": 3}
    text = "\n".join(lines(seen, said))
    assert "sampled: its hash 0.2500 is below 0.5" in text
    assert "alone in its slot: it stands for 1/q = 2 interactions" in text
    assert "warranty" not in text, "why shows no texts"


async def test_without_the_log_its_hash_is_unknown() -> None:
    """The input topic keeps records for less time than the scores are kept."""
    record = await scored(answered("a", offset=5), rate=0.5)
    seen = found(scores=(PlacedScore(record, 0, 0),))
    assert answer(seen).data["hash"] is None
    assert "sampled: its hash was below 0.5" in "\n".join(answer(seen).facts)


async def test_the_latest_of_several_records_counts() -> None:
    """And the answer says that there are more."""
    first = await scored(answered("a", offset=5), judged_at=NOON)
    last = await scored(answered("a", offset=5, response="!"))
    seen = found(scores=(PlacedScore(last, 0, 1), PlacedScore(first, 0, 0)))
    said = answer(seen)
    assert (said.outcome, said.reason) == (Outcome.UNSCORABLE, "no_claims")
    assert "the response claims nothing" in said.sentence
    assert any("2 score records have this id" in fact for fact in said.facts)


@pytest.mark.parametrize(
    ("fields", "reason", "sentence"),
    [
        ({"hash_value": 0.5}, "hash", "0.5000 is not below sampling.rate 0.5"),
        ({"was_too_old": True}, "too_old", "no gauge looks back that far"),
        ({"held_back": "exclude.0"}, "filtered", "ingest.exclude.0 holds it back"),
        ({"rate": 0.0}, "filtered", "sampling.rate is 0"),
        ({"rate": 0.0, "dropped": Reason.HASH}, "hash", "sampling.rate is 0"),
        ({"of_offsets": 4}, "hash", "0.2500 is not below sampling.rate 0.5 / 4"),
        ({"of_offsets": 4, "held_back": "include"}, "filtered", "ingest.include holds it back"),
        ({"of_offsets": 4, "is_trace": True}, "slot", "0.2500 is not below sampling.rate 0.5 / 4"),
        (
            {"of_offsets": 4, "is_trace": True, "dropped": Reason.SLOT, "held_back": "include"},
            "slot",
            "0.2500 is not below sampling.rate 0.5 / 4",
        ),
        ({"of_offsets": 2, "hash_value": 0.2, "is_copy": True}, "duplicate", "an equal record"),
        ({"is_copy": True}, "duplicate", "an equal record comes before it"),
        ({"is_copy": True, "is_hidden": True}, "duplicate", "an equal record comes before it"),
        ({}, None, "is below sampling.rate 0.5, but no record is of it"),
    ],
)
def test_what_was_not_sampled_says_by_what(
    fields: dict[str, Any], reason: str | None, sentence: str
) -> None:
    """In the order in which the scorer asks."""
    said = answer(found(logged(**fields)))
    assert (said.outcome, said.reason) == (Outcome.NOT_SAMPLED, reason)
    assert sentence in said.sentence


@pytest.mark.parametrize(
    ("fields", "whose"),
    [({}, "rules tell interactions of its application apart"), ({"is_trace": True}, "a trace is")],
)
def test_a_block_whose_length_nobody_knows_is_named(fields: dict[str, Any], whose: str) -> None:
    """The limits set it: what is picked by its hash may have been left out by it."""
    said = answer(found(logged(of_offsets=None, **fields)))
    assert (said.outcome, said.reason) == (Outcome.NOT_SAMPLED, None)
    assert said.facts[0].startswith("its block may have been too long for its hash")
    assert whose in said.facts[0]


def test_a_pick_that_became_a_dead_letter_is_named_where_slots_decide() -> None:
    """No record stands for its slot then, whatever was counted as judged for this one too."""
    told = "or the pick of its slot became a dead letter: no record stands for the slot (slot)"
    assert answer(found(logged(has_slot=True))).facts[1] == told
    assert told not in answer(found(logged())).facts


@pytest.mark.parametrize("fields", [{"hash_value": 0.5}, {"was_too_old": True}, {"of_offsets": 4}])
def test_what_is_unread_will_end_so(fields: dict[str, Any]) -> None:
    """The same, ``once it is read``."""
    assert "once it is read" in answer(found(logged(committed=5, **fields))).sentence


def test_what_is_sampled_and_unread_waits() -> None:
    """With what is before it, and what is paused."""
    said = answer(found(logged(committed=3), paused=("shop until noon",)))
    assert said.outcome == WAITING
    assert "is at offset 3, 2 before it" in said.facts[0]
    assert "judging is paused: shop until noon" in said.facts


def test_whoever_may_not_ask_the_group_is_told_so() -> None:
    """Without its offsets nobody knows whether it was read."""
    assert answer(found(logged(committed=None))).outcome == UNKNOWN


async def test_another_one_of_its_slot_is_named() -> None:
    """Of its own there is no record: the pick stands for it."""
    record = await scored(answered("pick", offset=4))
    wide = record.sampling.model_copy(update={"first_offset": 4, "last_offset": 7, "m": 3})
    slot = PlacedScore(record.model_copy(update={"sampling": wide}), 0, 0)
    said = answer(found(logged(), slot=slot))
    assert (said.outcome, said.reason) == (Outcome.NOT_SAMPLED, "slot")
    assert "pick was judged for the slot of offsets 4 to 7, which has 3 interactions" in (
        said.sentence
    )
    expected = {"first_offset": 4, "last_offset": 7, "m": 3, "picked": "pick"}
    assert said.data["slot"] == expected
    # What is sent again, or hidden, joins no slot, wherever it stands.
    copy, hidden = logged(is_copy=True), logged(is_hidden=True)
    assert answer(found(copy, slot=slot)).reason == "duplicate"
    ended = answer(found(hidden, slot=slot))
    assert (ended.outcome, ended.reason) == (Outcome.UNSCORABLE, "redacted")
    both = answer(found(logged(), copy, slot=slot))
    assert both.reason == "slot"
    told = "2 logged records have this id; this is the last one; copies of it: 1 (duplicate)"
    assert told in both.facts


async def test_what_a_provider_refuses_is_said_in_words() -> None:
    """Its reason alone, ``auth``, tells little."""
    record = await scored(answered("a", offset=5))
    refused = record.model_copy(update={"outcome": Outcome.JUDGE_FAILED, "reason": "auth"})
    said = answer(found(scores=(PlacedScore(refused, 0, 0),)))
    assert said.sentence.endswith(": the provider refuses this key")


def test_a_dead_letter_is_the_answer_until_it_is_sent_back() -> None:
    """A redriven record is on its topic again, and unread."""
    said = answer(found(logged(), dead_letters=(DEAD_LETTER,)))
    assert (said.outcome, said.reason) == (Outcome.DEAD_LETTERED, "wrong_value")
    assert "dead-letters show 2/7" in said.facts[2]
    assert answer(found(logged(committed=5), dead_letters=(DEAD_LETTER,))).outcome == WAITING


def test_what_cannot_be_read_says_why() -> None:
    """Also without its dead letter, which the topic may have forgotten."""
    wrong = logged(interaction=None, error="response: expected a text", cause="decode/wrong_value")
    said = answer(found(wrong))
    assert said.outcome == Outcome.DEAD_LETTERED
    assert "response: expected a text" in said.sentence
    assert said.data["application"] is None


def test_what_was_never_seen_names_where_it_was_looked_for() -> None:
    """So that a topic that nobody looked at comes to mind."""
    said = answer(found())
    assert said.outcome == NEVER_SEEN
    assert TOPIC in said.sentence
