"""A guessed mapping reads the log as its native twin; what is not found is a line to fill in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.app.formats import topic_formats
from monitor.cli.ingest import _proposed
from monitor.config import load
from monitor.errors import ConfigurationError
from monitor.kafka.record import Unreadable
from monitor.onboarding.guess import Guess, guessed
from monitor.onboarding.proposal import GuessedOf, proposal
from monitor.onboarding.recognition import recognised, unpacked
from monitor.onboarding.shapes import viewed
from monitor.records import Source
from tests.stages import otlp_spans
from tests.stages.log_shapes import NOON_MS, SHAPES, LogShape
from tests.stages.loop import Record
from tests.stages.records import JSON_VALUES

SOURCE = Source(topic="logs", partition=0, offset=0)
FLAT = {
    "name": "rag",
    "attributes.input.value": "How long?",
    "attributes.output.value": "24 months.",
    "attributes.retrieval.documents.0.document.content": "It lasts 24 months.",
    "attributes.retrieval.documents.0.document.id": "d1",
    "attributes.retrieval.documents.1.document.content": "Returning costs 5 euros.",
}


def guess_of(*records: dict[str, Any]) -> Guess:
    """What is guessed of these records."""
    return guessed(viewed([json.loads(json.dumps(record)) for record in records]))


def written(guess: Guess, tmp_path: Path) -> Path:
    """The proposal as a file."""
    file = tmp_path / "monitor.yaml"
    file.write_text(proposal(guess, GuessedOf("logs"), lambda text: text), encoding="utf-8")
    return file


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_six_shapes_are_guessed_without_help(shape: LogShape, tmp_path: Path) -> None:
    """The proposal is a file of settings, and reads every record as its native twin says."""
    records = [json.loads(shape.value(n)) for n in range(20)]
    settings = load({}, written(guess_of(*records), tmp_path))
    log = topic_formats(settings)["logs"]
    for n in range(20):
        found = log.decode(shape.value(n), SOURCE, NOON_MS).interaction
        native = shape.native(n)
        assert [each.text for each in found.retrieved_contexts] == native["retrieved_contexts"]
        assert (found.user_input, found.response) == (native["user_input"], native["response"])
        assert found.reference == native["reference"]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_what_a_mapping_has_is_in_the_guess(shape: LogShape) -> None:
    """Every field that somebody who knows the log would map."""
    found = guess_of(*[json.loads(shape.value(n)) for n in range(20)])
    known = set(shape.mapping) - {"parse", "timezone", "attributes"}
    assert known <= set(found.fields)
    assert found.missing == []
    assert found.needs_zone is ("timezone" in shape.mapping)


def test_names_with_dots_and_json_in_texts() -> None:
    """As flattened spans have them; JSON within them, too."""
    found = guess_of(FLAT, FLAT)
    assert found.unflatten == "@"
    assert found.fields["retrieved_contexts"].expression == "attributes.retrieval.documents"
    assert found.within["text"].expression == "document.content"
    nested = guess_of({"payload": json.dumps({"question": "q", "answer": "a", "docs": ["d"]})})
    assert nested.parse == ("payload",)
    assert nested.fields["user_input"].expression == "payload.question"


def test_what_is_not_found_is_a_line_to_fill_in(tmp_path: Path) -> None:
    """And the file says so when it is used as it is."""
    found = guess_of({"question": "q", "answer": "a", "zzz": ["d"]})
    assert found.missing == ["retrieved_contexts"]
    file = written(found, tmp_path)
    assert "retrieved_contexts:" in file.read_text()
    assert "NOT FOUND, fill in" in file.read_text()
    with pytest.raises(ConfigurationError, match="retrieved_contexts"):
        load({}, file)


def test_what_some_records_lack_is_marked() -> None:
    """With the number of those that have it."""
    with_one = {"question": "q", "answer": "a", "docs": ["d"], "ground_truth": "r"}
    without = {"question": "q", "answer": "a", "docs": ["d"]}
    text = proposal(guess_of(with_one, without, without), GuessedOf("logs"), lambda text: text)
    assert "reference?: ground_truth" in text
    assert 'in 1 of 3, like "r"' in text


def test_examples_are_redacted() -> None:
    """They are printed, and pasted where they should not be."""
    text = proposal(
        guess_of({"question": "me@x.org", "answer": "a"}), GuessedOf("logs"), lambda _: "<HIDDEN>"
    )
    assert "me@x.org" not in text
    assert "<HIDDEN>" in text


@given(st.lists(st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=5), max_size=4))
def test_any_records_have_a_guess(records: list[dict[str, Any]]) -> None:
    """Whatever they hold; and a proposal is always YAML."""
    import yaml

    found = guess_of(*records) if records else guessed(viewed([]))
    text = proposal(found, GuessedOf("logs"), lambda text: text)
    assert set(yaml.safe_load(text)["ingest"]) == {"format", "mapping"}


def test_formats_are_recognised() -> None:
    """Ours, spans, JSON of another shape, and what is no JSON, by its first bytes."""
    native = json.dumps({"user_input": "q", "response": "a", "retrieved_contexts": []}).encode()
    found = recognised([native, native, None, b'{"question": 1}'])
    assert (found.records, found.native, found.is_native) == (3, 2, True)
    assert recognised([b'{"resourceSpans": []}']).span_format == "otlp_json"
    spans = otlp_spans.as_proto(otlp_spans.made(*otlp_spans.rag_trace(1, 1)))
    assert recognised([spans, spans, b"\x1f\x8b"]).span_format == "otlp_proto"
    rest = recognised([b"\x00\x00\x00\x00\x07\x02", b"[]", b"{"])
    assert rest.framed == 1
    assert rest.others == {"JSON, and no object": 1, "JSON with a mistake in it": 1}


def gateway(n: int) -> dict[str, Any]:
    """What a gateway logs: names that say nothing without the one around them."""
    return {
        "requestId": f"r{n}",
        "client": {"app": {"name": "helpdesk"}, "version": "2.3.1"},
        "request": {
            "messages": [{"role": "user", "content": f"How long is item {n} under warranty?"}],
            "prompt": {"id": "kb", "version": 3 + n // 10},
        },
        "session": {"id": f"s{n // 3}"},
        "user": {"id": f"u{n % 5}"},
        "retrieval": {"hits": [{"_id": f"d{n}", "_source": {"title": "T", "body": "24 months."}}]},
        "response": {"choices": [{"message": {"role": "assistant", "content": f"{n} months."}}]},
    }


def test_names_are_read_with_the_one_around_them() -> None:
    """A session's or passage's id is no interaction's; a prompt's version no deployment's."""
    guess = guess_of(*map(gateway, range(20)))
    found = {name: place.expression for name, place in guess.fields.items()}
    assert found == {
        "user_input": "request.messages",
        "response": "response.choices[0].message",
        "retrieved_contexts": "retrieval.hits",
        "interaction_id": "requestId",
        "application": "client.app.name",
        "prompt_version": "request.prompt.version",
        "session": "session.id",
        "user": "user.id",
        "deployment": "client.version",
    }
    assert guess.within["id"].expression == "_id"


def test_an_id_that_records_share_is_none_of_an_interaction() -> None:
    """Of two places with a name of one, that which tells records apart; builds may be numbers."""
    records = [
        {"question": "Q", "answer": "A", "contexts": ["c"], "id": n // 5, "event_id": n, "build": 7}
        for n in range(20)
    ]
    guess = guess_of(*records)
    assert guess.fields["interaction_id"].expression == "event_id"
    assert guess.fields["deployment"].expression == "build"


def test_what_no_client_unpacks_is_said_and_not_guessed_from() -> None:
    """Its value is not known: it is not an empty one."""
    large = Unreadable("logs", 0, 7, 0, "RecordTooLarge")
    read = Record(8, value=b"{}")
    records, said = unpacked([large, read, large])
    assert records == [read]
    assert said == [
        "2 × record: the client does not unpack a record of more than ingest.max_record_bytes "
        "(RecordTooLarge); it stays on its topic"
    ]


def test_where_most_stand_behind_a_schema_the_registry_is_asked_for() -> None:
    """One stray record in JSON does not make a topic of it."""
    found = recognised([b"\x00\x00\x00\x00\x07\x02abc"] * 9 + [b'{"question": "q"}'])
    text, notes = _proposed(load({}), found, GuessedOf("logs"))
    assert text == ""
    assert "9 of 10 records follow the id of a schema" in notes[-1]


@pytest.mark.parametrize(
    ("path", "name", "command"),
    [
        ("a b/log.jsonl", "log.jsonl", "ingest try 'a b/log.jsonl' --config"),
        ("-", "standard input", "ingest try FILE --config"),
        (None, "logs", "ingest try --topic logs --config"),
    ],
)
def test_the_proposal_says_what_it_was_guessed_from(
    path: str | None, name: str, command: str
) -> None:
    """A file or a topic, and how what becomes of it is seen."""
    of = GuessedOf("logs", path)
    text = proposal(guess_of({"question": "q", "answer": "a"}), of, lambda text: text)
    assert text.startswith(f"# Guessed from 1 records of {name}. Look")
    assert command in text.splitlines()[1]
    assert "    interactions: logs\n" in text


def test_a_step_on_the_way_is_no_answer() -> None:
    """The record's own answer goes before it, and the step that generates before one that seeks."""
    steps = [
        {"name": "rewrite", "input": "q", "output": "rewritten"},
        {"name": "search", "output": [{"content": "p"}]},
        {"name": "generate", "output": "the answer"},
    ]
    record = {"question": {"text": "q"}, "run": {"steps": steps}, "answer": {"text": "a"}}
    guess = guess_of(record)
    assert guess.fields["response"].expression == "answer.text"
    assert guess.fields["user_input"].expression == "question.text"
    del record["answer"]
    found = guess_of(record).fields["response"].expression
    assert found == "run.steps[?name=='generate'].output | [0]"


def test_what_repeats_is_no_id() -> None:
    """Also where nothing else has a name of one; the file says so."""
    records = [
        {"question": f"Q{n}", "answer": "A", "contexts": ["c"], "trace_id": "t1"} for n in range(20)
    ]
    guess = guess_of(*records)
    assert "interaction_id" not in guess.fields
    text = proposal(guess, GuessedOf("logs"), lambda text: text)
    assert "# trace_id is none, its values repeat (1 distinct); without one: topic" in text
    for n, record in enumerate(records):
        record["trace_id"] = f"t{min(n, 18)}"
    assert guess_of(*records).fields["interaction_id"].expression == "trace_id"


def test_a_time_with_a_sign_before_its_name_is_one() -> None:
    """As Logstash and Elasticsearch call it."""
    found = guess_of({"question": "q", "answer": "a", "@timestamp": "2026-11-20T12:00:00Z"})
    assert found.fields["timestamp"].expression == '"@timestamp"'


def test_a_question_is_never_marked_as_absent(tmp_path: Path) -> None:
    """Of a mixed log the file says what becomes of the rest; and what the mark on passages does."""
    whole = {"question": "q", "answer": "a", "docs": ["It lasts 24 months."]}
    file = written(guess_of(whole, whole, {"event": "login"}), tmp_path)
    text = file.read_text()
    assert text.count("# 1 of 3 have no such field, and would be dead letters") == 2
    assert "# 1 of 3 have no such field: with the ? they count as nothing" in text
    assert "    user_input: question" in text
    assert "    retrieved_contexts?: docs" in text
    load({}, file)


PASSAGES = ["It lasts 24 months.", "Returning costs 5 euros."]
#: Logs of products, as they write them: what holds question, answer and passages, and their text.
PRODUCTS: dict[str, tuple[dict[str, Any], tuple[str, str, str, str | None]]] = {
    "haystack": (
        {
            "data": {"text_embedder": {"text": "Q"}, "prompt_builder": {"question": "Q"}},
            "result": {
                "llm": {"replies": ["A"], "meta": [{"model": "m"}]},
                "retriever": {"documents": [{"id": "d1", "content": each} for each in PASSAGES]},
            },
        },
        (
            "data.prompt_builder.question",
            "result.llm.replies",
            "result.retriever.documents",
            "content",
        ),
    ),
    "a table": (
        {"user_question": "Q", "bot_answer": "A", "context_1": PASSAGES[0], "context_2": "x"},
        ("user_question", "bot_answer", "[context_1, context_2]", None),
    ),
    "dify": (
        {
            "query": "Q",
            "answer": "A",
            "metadata": {"retriever_resources": [{"position": 1, "content": PASSAGES[0]}]},
        },
        ("query", "answer", "metadata.retriever_resources", "content"),
    ),
    "flowise": (
        {"text": "A", "question": "Q", "sourceDocuments": [{"pageContent": PASSAGES[0]}]},
        ("question", "text", "sourceDocuments", "pageContent"),
    ),
    "ragflow": (
        {"data": {"question": "Q", "answer": "A", "reference": {"chunks": [{"content": "c"}]}}},
        ("data.question", "data.answer", "data.reference.chunks", "content"),
    ),
    "bedrock": (
        {
            "input": {"text": "Q"},
            "output": {"text": "A"},
            "retrievalResults": [{"content": {"text": each}} for each in PASSAGES],
        },
        ("input.text", "output.text", "retrievalResults", "content.text"),
    ),
    "chinese": (
        {
            "问题": "Q",
            "回答": "A",
            "上下文": [{"内容": each} for each in PASSAGES],
            "参考答案": "R",
        },
        ('"问题"', '"回答"', '"上下文"', '"内容"'),
    ),
}


@pytest.mark.parametrize("product", PRODUCTS)
def test_logs_of_products_are_guessed(product: str, tmp_path: Path) -> None:
    """Each as its product writes it; the file is read as it is, and reads the record."""
    record, expected = PRODUCTS[product]
    guess = guess_of(*[record] * 3)
    found = [guess.fields[n].expression for n in ("user_input", "response", "retrieved_contexts")]
    text = guess.within.get("text")
    assert (*found, text and text.expression) == expected
    log = topic_formats(load({}, written(guess, tmp_path)))["logs"]
    read = log.decode(json.dumps(record).encode(), SOURCE, NOON_MS).interaction
    assert (read.user_input, read.response) == ("Q", "A")
    assert read.retrieved_contexts


def test_a_right_answer_is_no_answer() -> None:
    """A log of questions to be asked has none, and says so."""
    for name in ("golden_answer", "expected_answer", "参考答案"):
        guess = guess_of({"question": "Q", name: "A", "contexts": ["c"]})
        assert guess.missing == ["response"]
        assert guess.fields["reference"].expression.strip('"') == name


def test_columns_with_numbers_may_be_empty() -> None:
    """Shorter rows have fewer passages; where all have all, one that is moved is an error."""
    full = {"question": "Q", "answer": "A", "context1": "c", "context2": "d"}
    assert guess_of(full, full).fields["retrieved_contexts"].expression == "[context1, context2]"
    short = guess_of(full, {**full, "context2": ""}).fields["retrieved_contexts"]
    assert (short.expression, short.found) == ("[context1, context2] | [?@]", 2)
