"""Native JSON v1: what is read, what is refused, and that nothing else can happen."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import MessageRejected
from monitor.ingest.formats.logged_interaction import MOST_PASSAGES
from monitor.ingest.formats.native import decode, logged_id
from monitor.ingest.formats.protocol import Decoded
from monitor.records import Interaction, Passage, Source
from tests.stages.records import JSON_VALUES, TEXTS

SOURCE = Source(topic="rag.interactions.v1", partition=3, offset=42)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOON_MS = 1_795_176_000_000
MARKER = "the patient's secret"
LEAST = {"user_input": "q", "response": "a", "retrieved_contexts": []}
FULL = {
    "interaction_id": "i-1",
    "timestamp": "2026-11-20T12:00:00Z",
    "application": "support-bot",
    "user_input": "Wie spät ist es?",
    "response": "现在十二点。",
    "retrieved_contexts": [
        "plain",
        {"id": "doc-7#3", "text": "…", "score": 0.83, "relevant": True, "more": 1},
    ],
    "reference": None,
    "attributes": {"tenant": "acme", "nested": {"deep": [1, None, "x"]}},
    "prompt_version": "v12",
}
REQUIRED = ("user_input", "response", "retrieved_contexts")


def read(value: object, broker_ms: int = NOON_MS) -> Decoded:
    """What a logged JSON value is decoded to."""
    return decode(json.dumps(value).encode(), SOURCE, broker_ms)


def refused(value: object) -> MessageRejected:
    """The error for a logged JSON value."""
    with pytest.raises(MessageRejected) as caught:
        read(value)
    return caught.value


def test_every_field_arrives() -> None:
    """Passages as texts or objects, unknown fields among the attributes."""
    assert read(FULL) == Decoded(
        Interaction(
            interaction_id="i-1",
            event_time=NOON,
            application="support-bot",
            user_input="Wie spät ist es?",
            response="现在十二点。",
            retrieved_contexts=(
                Passage(text="plain"),
                Passage(id="doc-7#3", text="…", score=0.83, relevant=True),
            ),
            reference=None,
            attributes={
                "prompt_version": "v12",
                "tenant": "acme",
                "nested": {"deep": [1, None, "x"]},
            },
            source=SOURCE,
        ),
        None,
    )


def test_the_least_that_is_an_interaction() -> None:
    """Without an id it is topic/partition/offset; without a time it is the broker's."""
    found, replaced = read(LEAST)
    assert found.interaction_id == "rag.interactions.v1/3/42"
    assert (found.event_time, replaced) == (NOON, "missing")
    assert (found.application, found.reference, found.attributes) == ("default", None, {})


@pytest.mark.parametrize(
    "field", ["interaction_id", "timestamp", "application", "reference", "attributes"]
)
def test_null_is_absent(field: str) -> None:
    """Loggers write null for what they do not have."""
    assert read({**LEAST, field: None}) == read(LEAST)


def test_a_whole_number_is_an_id_and_a_text_is_a_score() -> None:
    """Databases number rows and passages; both forms of an id are the same, also for sampling."""
    found = read(
        {
            **LEAST,
            "interaction_id": 42,
            "retrieved_contexts": [{"id": -7, "text": "x", "score": "0.7"}],
        }
    ).interaction
    assert found.interaction_id == "42"
    assert found.retrieved_contexts == (Passage(id="-7", text="x", score=0.7),)
    assert logged_id(b'{"interaction_id": 42}') == logged_id(b'{"interaction_id": "42"}') == "42"


def test_a_byte_order_mark_is_passed_over() -> None:
    """Some editors and .NET write one; it says nothing."""
    marked = b"\xef\xbb\xbf" + json.dumps({**LEAST, "interaction_id": "i"}).encode()
    assert decode(marked, SOURCE, NOON_MS) == read({**LEAST, "interaction_id": "i"})
    assert logged_id(marked) == "i"


def test_null_contexts_are_none_retrieved() -> None:
    """Null is an empty list; an absent field is an error."""
    assert read({**LEAST, "retrieved_contexts": None}) == read(LEAST)


def test_an_attribute_wins_over_an_unknown_field() -> None:
    """``attributes.tenant`` was put there on purpose."""
    found = read({**LEAST, "tenant": "field", "attributes": {"tenant": "attribute"}})
    assert found.interaction.attributes == {"tenant": "attribute"}


@pytest.mark.parametrize("field", REQUIRED)
def test_a_required_field_that_is_absent_is_named(field: str) -> None:
    """Never an empty string in its place."""
    error = refused({key: value for key, value in LEAST.items() if key != field})
    there = ", ".join(name for name in REQUIRED if name != field)
    assert str(error) == f"{field}: found nothing, expected a value; there: {there}"
    assert (error.stage, error.cause) == ("validate", "missing_field")


def test_all_that_is_missing_is_named_at_once_with_what_is_there() -> None:
    """Names and no values, so that one look shows which field is meant by which."""
    nested = {"input": {"messages": [MARKER]}, "docs": [{"page_content": MARKER}], "id": 1}
    assert str(refused(nested)) == (
        "user_input, response, retrieved_contexts: found nothing, expected a value; "
        "there: input, docs, id"
    )
    wrong = {"user_input": [MARKER], "answer": MARKER}
    assert str(refused(wrong)) == (
        "user_input: found a list of 1, expected a valid string; "
        "missing: response, retrieved_contexts"
    )
    assert refused(wrong).cause == "wrong_value"


@given(st.dictionaries(TEXTS | st.sampled_from(["+49 151 1234567", "a@b.org", "tel12345"]), TEXTS))
def test_names_that_are_there_are_bounded_and_are_names(fields: dict[str, str]) -> None:
    """A key that may be somebody's text, number or address is counted and not shown."""
    there = str(refused(fields)).partition("there: ")[2]
    shown = set(re.findall(r"[\w.+@-]+", there, re.ASCII))
    shown -= {"and", "more", "no", "field", "fields", *map(str, range(100))}
    assert all(re.fullmatch("[A-Za-z_][A-Za-z0-9_.-]{0,39}", name) for name in shown)
    assert shown <= {re.sub("[0-9]{5}.*", "", key) for key in fields}
    assert len(shown) <= 12


def test_a_record_of_many_fields_names_a_handful() -> None:
    """However long the names are, and however many."""
    many = {f"{'x' * 30}_{n}": 1 for n in range(2_000)}
    said = str(refused(many))
    assert said.endswith("_11 and 1988 more")
    assert len(said) < 550


def test_a_passage_needs_a_text() -> None:
    """The path goes into the list."""
    error = refused({**LEAST, "retrieved_contexts": ["x", {"id": "doc-7"}]})
    assert str(error) == ("retrieved_contexts.1.text: found nothing, expected a value; there: id")
    assert error.cause == "missing_field"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"user_input": None}, "user_input: found null, expected a valid string"),
        ({"response": 5}, "response: found a number, expected a valid string"),
        ({"response": [MARKER]}, "response: found a list of 1, expected a valid string"),
        (
            {"response": {MARKER: 1}},
            "response: found an object of 1 field, expected a valid string",
        ),
        ({"reference": False}, "reference: found false, expected a valid string"),
        ({"retrieved_contexts": MARKER}, "retrieved_contexts: found a text of 20 characters"),
        ({"retrieved_contexts": ["x", 5]}, "retrieved_contexts.1: found a number, expected"),
        (
            {"retrieved_contexts": [{"text": "x", "score": MARKER}]},
            "retrieved_contexts.0.score: found a text of 20 characters",
        ),
        (
            {"retrieved_contexts": [{"text": "x", "relevant": 1}]},
            "retrieved_contexts.0.relevant: found a number",
        ),
        (
            {"retrieved_contexts": [""] * (MOST_PASSAGES + 1)},
            "retrieved_contexts: found a list of 100001, expected at most 100000 passages",
        ),
        (
            {"retrieved_contexts": [{"text": "x", "score": True}]},
            "retrieved_contexts.0.score: found true, expected a finite number",
        ),
        (
            {"retrieved_contexts": [{"text": "x", "id": 7.0}]},
            "retrieved_contexts.0.id: found a number, expected a text or an integer",
        ),
        ({"interaction_id": False}, "interaction_id: found false, expected a text of 1 to 1,000"),
        ({"interaction_id": 42.0}, "interaction_id: found a number, expected a text of 1 to 1,000"),
        ({"interaction_id": 2**63}, "interaction_id: found an integer of more than 64 bits"),
        ({"interaction_id": ""}, "interaction_id: found a text of 0 characters"),
        ({"interaction_id": "x" * 1001}, "interaction_id: found a text of 1001 characters"),
        ({"application": ""}, "application: found a text of 0 characters"),
        ({"timestamp": "noon"}, "timestamp: found a text of 4 characters, expected RFC 3339"),
        ({"timestamp": True}, "timestamp: found true, expected RFC 3339"),
        ({"attributes": [MARKER]}, "attributes: found a list of 1"),
        (
            {"attributes": {"x": float("nan")}},
            "attributes: found an object of 1 field, expected finite",
        ),
        ({"cost": float("inf")}, "cost: found a number, expected finite numbers"),
        ({"n": 2**63}, "n: found an integer of more than 64 bits, expected integers of at most"),
    ],
)
def test_a_wrong_value_is_described_and_not_quoted(fields: dict[str, Any], message: str) -> None:
    """The path, what was found and what was expected; texts by their length alone."""
    error = refused({**LEAST, **fields})
    assert str(error).startswith(message)
    assert (error.stage, error.cause) == ("validate", "wrong_value")
    assert MARKER not in str(error)


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b'{"user_input": "\xff"}', "invalid_json"),
        (b'{"user_input": "\\ud800"}', "invalid_json"),
        (b"[" * 10_000, "invalid_json"),
        (b'{"x": ' + b"9" * 5_000 + b"}", "invalid_json"),
        (b"[]", "not_an_object"),
        (b'"text"', "not_an_object"),
        (b"null", "not_an_object"),
        (b"3", "not_an_object"),
    ],
)
def test_what_is_no_json_object_is_refused_at_decoding(value: bytes, cause: str) -> None:
    """The message names the record, because there is no field to name."""
    with pytest.raises(MessageRejected, match=r"^record: ") as caught:
        decode(value, SOURCE, NOON_MS)
    assert (caught.value.stage, caught.value.cause) == ("decode", cause)


def test_as_many_passages_as_may_be_are_read() -> None:
    """Each as it was logged, in order."""
    logged = [f"F{i}" for i in range(MOST_PASSAGES)]
    found = read({**LEAST, "retrieved_contexts": logged}).interaction.retrieved_contexts
    assert [one.text for one in found] == logged


@pytest.mark.parametrize(("levels", "taken"), [(20, True), (21, False)])
def test_nesting_has_a_limit(levels: int, taken: bool) -> None:
    """Twenty levels of nesting are kept; one more could not be written again by everyone."""
    nested: Any = 1
    for _ in range(levels):
        nested = [nested]
    value = {**LEAST, "nested": nested}
    if taken:
        assert read(value).interaction.attributes == {"nested": nested}
    else:
        assert "nested: found a list of 1, expected at most 20 levels" in str(refused(value))


@pytest.mark.parametrize(
    ("seconds", "replaced"), [(0, None), (-8 * 86_400, "implausible"), (301, "implausible")]
)
def test_an_implausible_time_is_replaced_and_said(seconds: int, replaced: str | None) -> None:
    """Seven days back and five minutes ahead of the broker's time, no more."""
    found = read({**LEAST, "timestamp": NOON_MS + 1000 * seconds})
    assert found.timestamp_replaced == replaced
    assert found.interaction.event_time == NOON


def only_known_errors(value: bytes, broker_ms: int) -> None:
    """Decode; an interaction that comes out can be written and read again."""
    try:
        interaction = decode(value, SOURCE, broker_ms).interaction
    except MessageRejected:
        return
    assert Interaction.model_validate_json(interaction.model_dump_json()) == interaction


BROKER_TIMES = st.integers(-(2**63), 2**63 - 1)


@given(st.binary(), BROKER_TIMES)
def test_any_bytes_are_read_or_refused(value: bytes, broker_ms: int) -> None:
    """Never another error: it would stop the partition for good."""
    only_known_errors(value, broker_ms)


@given(st.data(), st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=4)), max_size=4))
def test_any_damaged_record_is_read_or_refused(
    data: st.DataObject, damages: list[tuple[int, bytes]]
) -> None:
    """A valid record with some bytes replaced, inserted or cut out."""
    value = json.dumps(FULL, ensure_ascii=data.draw(st.booleans())).encode()
    for at, put in damages:
        value = value[:at] + put + value[at + data.draw(st.integers(0, 6)) :]
    only_known_errors(value, NOON_MS)


@given(
    st.dictionaries(st.sampled_from([*FULL, "extra"]), JSON_VALUES | st.just(float("nan"))),
    st.sets(st.sampled_from(REQUIRED), max_size=1),
)
def test_any_json_in_any_field_is_read_or_refused(
    fields: dict[str, object], absent: set[str]
) -> None:
    """Every field with any value, also with one field missing."""
    value = {key: value for key, value in {**FULL, **fields}.items() if key not in absent}
    only_known_errors(json.dumps(value).encode(), NOON_MS)


def written(value: Any, draw: st.DrawFn) -> str:
    """JSON of the value with keys in any order, any escapes and any white space."""
    space = draw(st.sampled_from(["", " ", "\n\t"]))
    if isinstance(value, dict):
        items = draw(st.permutations(list(value.items())))
        pairs = [f"{written(k, draw)}{space}:{written(v, draw)}" for k, v in items]
        return "{" + f"{space},".join(pairs) + space + "}"
    if isinstance(value, list):
        return "[" + f",{space}".join(written(each, draw) for each in value) + "]"
    if isinstance(value, str):
        return '"' + "".join(escaped(char, draw) for char in value) + '"'
    return json.dumps(value)


def escaped(char: str, draw: st.DrawFn) -> str:
    """A character as it is or as an escape, as far as JSON allows."""
    whole = json.dumps(char, ensure_ascii=False)[1:-1]
    units = char.encode("utf-16-be")
    hexed = "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
    return draw(st.sampled_from([whole, hexed]))


@st.composite
def logged_twice(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """One interaction, written in two ways, with its time in two forms."""
    fields: dict[str, Any] = {
        **LEAST,
        "user_input": draw(TEXTS),
        "response": draw(TEXTS),
        "retrieved_contexts": draw(st.lists(TEXTS, max_size=2)),
        "attributes": draw(st.dictionaries(TEXTS, TEXTS, max_size=2)),
        "extra": draw(st.none() | TEXTS),
    }
    milliseconds = draw(st.integers(-1000, 1000))
    moment = NOON + timedelta(milliseconds=milliseconds)
    zone = timezone(timedelta(minutes=draw(st.integers(-720, 720))))
    forms: list[object] = [
        NOON_MS + milliseconds,
        moment.astimezone(zone).isoformat(),
        moment.isoformat().replace("+00:00", "Z"),
    ]
    first, second = (
        written({**fields, "timestamp": draw(st.sampled_from(forms))}, draw).encode()
        for _ in range(2)
    )
    return first, second


@given(logged_twice())
def test_how_a_record_was_written_does_not_matter(pair: tuple[bytes, bytes]) -> None:
    """Key order, escapes, white space and the form of the time: equal interactions."""
    first, second = pair
    assert decode(first, SOURCE, NOON_MS) == decode(second, SOURCE, NOON_MS)
