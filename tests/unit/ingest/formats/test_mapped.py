"""JSON of other shapes: what a mapping reads, and what it says where a field is not there."""

from __future__ import annotations

import gzip
import json
import zlib
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.app.formats import log_format, topic_formats
from monitor.config import Settings
from monitor.config.mapping import LogMapping
from monitor.errors import MessageRejected
from monitor.ingest.formats import native
from monitor.ingest.formats.logged_interaction import MOST_PASSAGES
from monitor.ingest.formats.protocol import LogFormat
from monitor.records import Interaction, Passage, Source
from tests.stages.log_shapes import NOON_MS, SHAPES, LogShape
from tests.stages.records import JSON_VALUES

SOURCE = Source(topic="logs", partition=3, offset=42)
MARKER = "the patient's secret"
ZSTD = bytes.fromhex("28b52ffd")
LEAST = {"user_input": "q", "response": "a", "retrieved_contexts": "c"}


def mapped(mapping: dict[str, Any]) -> LogFormat:
    """The format of a mapping."""
    return log_format("json", LogMapping.model_validate(mapping), "ingest.mapping")


def read(mapping: dict[str, Any], record: Any) -> Interaction:
    """What a record is decoded to."""
    return mapped(mapping).decode(json.dumps(record).encode(), SOURCE, NOON_MS).interaction


def refused(mapping: dict[str, Any], record: Any) -> MessageRejected:
    """The error for a record."""
    with pytest.raises(MessageRejected) as caught:
        read(mapping, record)
    return caught.value


def rejection(log: LogFormat, value: bytes) -> MessageRejected | None:
    """What is said of a value; None where it is an interaction."""
    try:
        log.decode(value, SOURCE, NOON_MS)
    except MessageRejected as error:
        return error
    return None


def raising(record: Any) -> str:
    """A function of somebody who did not foresee this record."""
    raise KeyError(record["q"])


def shouting(record: Any) -> str:
    """A function of somebody."""
    return str(record["q"]).upper()


def exiting(record: Any) -> str:
    """A function that was a program once."""
    raise SystemExit(record["q"])


def of_none(_record: Any) -> None:
    """A function that finds nothing."""


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_six_shapes_are_read_as_their_native_twins(shape: LogShape) -> None:
    """All texts that decide a score are the same."""
    log = mapped(shape.mapping)
    for n in range(3):
        found = log.decode(shape.value(n), SOURCE, NOON_MS).interaction
        twin = native.decode(json.dumps(shape.native(n)).encode(), SOURCE, NOON_MS).interaction
        for name in ("user_input", "response", "reference"):
            assert getattr(found, name) == getattr(twin, name)
        assert [p.text for p in found.retrieved_contexts] == [
            p.text for p in twin.retrieved_contexts
        ]
        assert all(p.id is not None for p in found.retrieved_contexts) is shape.has_ids
        if "interaction_id" in shape.mapping:
            assert log.logged_id(shape.value(n)) == found.interaction_id


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_moved_field_is_named_with_its_path_and_with_what_is_there(shape: LogShape) -> None:
    """And it is no interaction with an empty text."""
    with pytest.raises(MessageRejected) as caught:
        mapped(shape.mapping).decode(shape.moved_value(1), SOURCE, NOON_MS)
    assert str(caught.value) == shape.error
    assert caught.value.cause == "missing_field"


@pytest.mark.parametrize(
    ("found", "passages"),
    [
        (["x", "y"], [("x", None), ("y", None)]),
        ([{"text": "x", "id": 7}, "y"], [("x", "7"), ("y", None)]),
        ({"d1": "x", "d2": "y"}, [("x", "d1"), ("y", "d2")]),
        ({"d1": {"text": "x"}, "d2": {"text": "y", "id": "own"}}, [("x", "d1"), ("y", "own")]),
        ({"id": 7, "text": "x", "title": "X"}, [("x", "7")]),
        ({"text": "x", "score": 0.5}, [("x", None)]),
        ({"text": "x", "other": "y"}, [("x", "text"), ("y", "other")]),
        ("one text", [("one text", None)]),
        ([], []),
        ({}, []),
    ],
)
def test_passages_of_any_shape(found: Any, passages: list[tuple[str, str | None]]) -> None:
    """Lists, objects by id, one object, one text; an empty one is none."""
    made = read(LEAST, {"q": "Q", "a": "A", "c": found}).retrieved_contexts
    assert [(each.text, each.id) for each in made] == passages


def test_places_within_passages() -> None:
    """Text, id, score and label wherever they stand; one object alone is one passage."""
    places = {"from": "c", "text": "doc.body", "id": "n", "score": "s", "relevant?": "label"}
    mapping = {**LEAST, "retrieved_contexts": places}
    one = {"doc": {"body": [{"type": "text", "text": "x"}]}, "n": 5, "s": "0.5", "label": True}
    whole = Passage(id="5", text="x", score=0.5, relevant=True)
    assert read(mapping, {"q": "Q", "a": "A", "c": [one]}).retrieved_contexts == (whole,)
    assert read(mapping, {"q": "Q", "a": "A", "c": one}).retrieved_contexts == (whole,)
    del one["label"]
    assert read(mapping, {"q": "Q", "a": "A", "c": [one]}).retrieved_contexts[0].relevant is None
    del one["n"]
    assert str(refused(mapping, {"q": "Q", "a": "A", "c": ["x", one]})) == (
        "retrieved_contexts.1.id (n): found nothing, expected a value; the passage has: doc, s"
    )


def test_no_passage_is_lost_by_a_projection() -> None:
    """JMESPath leaves out what has no value; here it is an error."""
    mapping = {**LEAST, "retrieved_contexts": "c[*].t"}
    assert "c[1] has: u" in str(refused(mapping, {"q": "Q", "a": "A", "c": [{"t": 1}, {"u": 2}]}))
    wanted = {**LEAST, "retrieved_contexts": "c[?t].t"}
    found = read(wanted, {"q": "Q", "a": "A", "c": [{"t": "x"}, {"u": "y"}]})
    assert [each.text for each in found.retrieved_contexts] == ["x"]


def test_chat_logs() -> None:
    """The last turn of the user, the answer behind it, parts joined; LangChain's messages, too."""
    turns = [
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": "older answer"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, "b"]},
        {"role": "assistant", "content": None, "parts": [{"type": "text", "content": "new"}]},
    ]
    mapping = {"user_input": "m", "response": "m", "retrieved_contexts?": "c"}
    found = read(mapping, {"m": turns})
    assert (found.user_input, found.response) == ("a\nb", "new")
    assert str(refused(mapping, {"m": turns[:3]})) == (
        "response (m): found no turn of the assistant behind the last one of the user, in 3; "
        "roles there: user, assistant"
    )
    assert "no turn of the user" in str(refused(mapping, {"m": turns[1:2]}))
    chain = [[{"lc": 1, "type": "human", "kwargs": {"content": "q", "type": "human"}}]]
    answer = {"type": "ai", "data": {"content": "a"}}
    split = {**mapping, "response": "out"}
    assert read(split, {"m": chain, "out": answer}).response == "a"


def test_ids_and_times_of_other_loggers() -> None:
    """Numbers are ids; seconds, nanoseconds, digits and times without an offset are times."""
    mapping = {**LEAST, "interaction_id": "id", "timestamp": "t"}
    record = {"q": "Q", "a": "A", "c": [], "id": 7}
    noon = NOON_MS // 1000
    for found in (noon, noon * 1000, noon * 10**9, str(noon), f"{noon}.5", "2026-11-20T12:00Z"):
        time = read(mapping, record | {"t": found}).event_time
        assert abs(time.timestamp() - noon) < 1
    assert read(mapping, record | {"t": noon}).interaction_id == "7"
    naive = record | {"t": "2026-11-20 13:00:00"}
    assert "mapping.timezone" in str(refused(mapping, naive))
    berlin = read({**mapping, "timezone": "Europe/Berlin"}, naive).event_time
    assert berlin == datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_functions() -> None:
    """Called with the record; one that raises is a letter of its own, without what it said."""
    here = f"{__name__}:"
    record = {"q": MARKER, "a": "A", "c": []}
    assert read({**LEAST, "user_input": f"{here}shouting"}, record).user_input == MARKER.upper()
    error = refused({**LEAST, "user_input": f"{here}raising"}, record)
    assert error.cause == "mapping_failed"
    assert str(error) == f"user_input ({here}raising): the function raised KeyError"
    error = refused({**LEAST, "user_input": f"{here}exiting"}, record)
    assert str(error) == f"user_input ({here}exiting): the function called sys.exit"
    nothing = refused({**LEAST, "user_input": f"{here}of_none"}, record)
    assert nothing.cause == "missing_field"
    of_jmespath = refused({**LEAST, "user_input": "join(' ', c)"}, record | {"c": [1]})
    assert of_jmespath.cause == "mapping_failed"
    assert "join() was given" in str(of_jmespath)
    moved = refused({**LEAST, "user_input": "join(' ', q.words)"}, {"q": {"text": "x"}})
    assert str(moved).endswith("and takes a list of texts; q has: text")


def test_a_filter_that_nothing_matches_is_said_with_its_place() -> None:
    """Not that the record is an empty list."""
    place = "run.steps[?name=='x'].output | [0]"
    said = str(refused({**LEAST, "response": place}, {"q": "q", "run": {"steps": [{}] * 3}}))
    assert said.endswith("run.steps is a list of 3, none matches the filter")


@pytest.mark.parametrize(
    ("pack", "name"),
    [(gzip.compress, "gzip"), (zlib.compress, "zlib"), (lambda _: ZSTD + bytes(80), "zstd")],
)
def test_compressed_bytes_in_base64_are_no_text(pack: Callable[[bytes], bytes], name: str) -> None:
    """As an answer or a passage they would be judged; a long text without blanks is one."""
    packed = b64encode(pack(" ".join(map(str, range(99))).encode())).decode()
    record = {"q": "q", "a": "a", "c": ["c"]}
    of_passage = "retrieved_contexts.1", "c", ["c", packed]
    for field, key, value in (("response", "a", packed), of_passage):
        error = refused(LEAST, record | {key: value})
        assert str(error).startswith(f"{field} ({key}): found a text of {len(packed)} characters")
        assert f"compressed bytes in base64 ({name})" in str(error)
    for text in ("eJ" + "x" * 80, "H4sI" + "x" * 20, "H4sI is how it begins, " * 5):
        assert read(LEAST, record | {"a": text}).response == text


def test_attributes() -> None:
    """Chosen ones, those of an object, and all the rest: what no expression reads."""
    record = {"q": "Q", "a": "A", "c": [], "x": 1, "y": {"z": 2}, "v": "v12"}
    chosen = {**LEAST, "prompt_version": "v", "attributes": {"z": "y.z", "gone?": "y.q"}}
    assert read(chosen, record).attributes == {"prompt_version": "v12", "z": 2}
    assert read({**LEAST, "attributes": "y"}, record).attributes == {"z": 2}
    rest = {**LEAST, "prompt_version": "v", "attributes": "*"}
    assert read(rest, record).attributes == {"x": 1, "y": {"z": 2}, "prompt_version": "v12"}
    assert "attributes.z (y.q)" in str(refused({**LEAST, "attributes": {"z": "y.q"}}, record))
    assert "expected an object" in str(refused({**LEAST, "attributes": "x"}, record))


def test_what_may_be_absent() -> None:
    """Where it is marked, and there alone; null is absent."""
    record = {"q": "Q", "a": "A", "c": None, "r": None}
    marked = {"user_input": "q", "response": "a", "retrieved_contexts?": "c", "reference?": "r"}
    found = read(marked, record)
    assert (found.retrieved_contexts, found.reference) == ((), None)
    unmarked = {**marked, "reference": "r"}
    del unmarked["reference?"]
    assert "reference (r): found nothing" in str(refused(unmarked, record))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"q": 5, "a": "A", "c": []}, "user_input (q): found a number, expected a valid string"),
        (
            {"q": "Q", "a": "A", "c": [5]},
            "retrieved_contexts.0 (c): found a number, expected a text or",
        ),
        ({"q": "Q", "a": "A", "c": 5}, "retrieved_contexts (c): found a number, expected a list"),
        ({"q": "Q", "a": "A", "c": [{"body": "x"}]}, "retrieved_contexts.0.text: found nothing"),
        ([], "record: found an empty list, expected a JSON object"),
    ],
)
def test_what_is_of_the_wrong_kind(record: Any, said: str) -> None:
    """Named by its field and by where it was looked for."""
    assert said in str(refused(LEAST, record))


def test_too_many_passages_and_deep_nesting_are_refused() -> None:
    """Before an object is made of each; and JSON in JSON without an end is no JSON."""
    many = {"q": "Q", "a": "A", "c": [""] * (MOST_PASSAGES + 1)}
    assert "at most 100000 passages" in str(refused(LEAST, many))
    deep = {**LEAST, "attributes": "*"}
    nested: Any = "x"
    for _ in range(30):
        nested = [nested]
    assert "at most 20 levels" in str(refused(deep, {"q": "Q", "a": "A", "c": [], "d": nested}))
    with pytest.raises(MessageRejected) as caught:
        mapped(LEAST).decode(b'{"q":' + b"[" * 100_000, SOURCE, NOON_MS)
    assert caught.value.cause == "invalid_json"


@given(JSON_VALUES, st.sampled_from(SHAPES))
def test_anything_is_an_interaction_or_refused(value: Any, shape: LogShape) -> None:
    """No other error, and none that quotes a text."""
    log, raw = mapped(shape.mapping), json.dumps(value).encode()
    error = rejection(log, raw)
    expected = ("missing_field", "wrong_value", "not_an_object", "mapping_failed")
    assert error is None or error.cause in expected


@given(st.data(), st.sampled_from(SHAPES))
def test_one_field_of_another_kind_is_refused_without_a_word_of_a_text(
    data: st.DataObject, shape: LogShape
) -> None:
    """Whatever stands in the place of a field."""
    record = json.loads(shape.value(1))
    key = data.draw(st.sampled_from(sorted(record)))
    record[key] = data.draw(st.sampled_from([MARKER, {MARKER: MARKER}, [MARKER], 5, True, [[]]]))
    assert MARKER not in str(rejection(mapped(shape.mapping), json.dumps(record).encode()))


def test_each_topic_has_its_format() -> None:
    """Sources by topic; the topics of ``kafka.topics.interactions`` by the short form."""
    mapping = {"user_input": "q", "response": "a", "retrieved_contexts": "c"}
    settings = Settings.model_validate(
        {
            "kafka": {"topics": {"interactions": "plain"}},
            "ingest": {"sources": [{"topic": "logs", "format": "json", "mapping": mapping}]},
        }
    )
    assert settings.kafka.topics.interactions == ("plain", "logs")
    formats = topic_formats(settings)
    assert formats["plain"] is native
    assert formats.has_readable_id("logs", b'{"q": 1}')
    record = json.dumps({"q": "Q", "a": "A", "c": []}).encode()
    assert formats["logs"].decode(record, SOURCE, NOON_MS).interaction.user_input == "Q"


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_one_turn_of_somebody_else_is_no_question(role: str) -> None:
    """As in a list: the error names the place. That of the user is one."""
    mapping = {"user_input": "m", "response": "a", "retrieved_contexts": "c"}
    record = {"m": {"role": role, "content": "x"}, "a": "a", "c": "c"}
    said = str(refused(mapping, record))
    assert said.startswith("user_input (m): found no turn of the user, in 1; roles there: ")
    assert read(mapping, record | {"m": {"role": "user", "content": "x"}}).user_input == "x"
    assert read(mapping, record | {"m": {"type": "text", "content": "x"}}).user_input == "x"


@pytest.mark.parametrize("role", ["user", "system", "human"])
def test_one_turn_of_somebody_else_is_no_answer(role: str) -> None:
    """Also where the role is a type, as LangChain writes it."""
    mapping = {"user_input": "q", "response": "m", "retrieved_contexts": "c"}
    for name in ("role", "type"):
        record = {"q": "q", "m": {name: role, "content": "x"}, "c": "c"}
        said = str(refused(mapping, record))
        assert said.startswith("response (m): found no turn of the assistant")
        assert read(mapping, record | {"m": {name: "ai", "content": "x"}}).response == "x"


@pytest.mark.parametrize("each", [{}, {"role": "user", "content": "q"}])
def test_parts_and_turns_are_bounded(each: dict[str, str]) -> None:
    """Two million empty ones took ten seconds."""
    mapping = {"user_input": "q", "response": "a", "retrieved_contexts": "c"}
    for name, other in (("q", "a"), ("a", "q")):
        said = str(refused(mapping, {name: [each] * 10_001, other: "x", "c": "c"}))
        assert "found a list of 10001, expected at most 10,000 turns or parts" in said


def test_a_wrong_field_of_a_passage_is_named_by_its_own_expression() -> None:
    """And not by that of the list."""
    places = {"from": "hits", "text": "body", "score": "sim"}
    mapping = {"user_input": "q", "response": "a", "retrieved_contexts": places}
    said = str(refused(mapping, {"q": "q", "a": "a", "hits": [{"body": "x", "sim": "high"}]}))
    assert said.startswith("retrieved_contexts.0.score (sim): ")
