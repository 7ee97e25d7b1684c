"""What the spans of one trace say: by every convention, and of two real frameworks."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import MessageRejected
from monitor.ingest.formats import chat
from monitor.ingest.formats.otlp import (
    MOST_SPANS,
    MOST_VALUES,
    Span,
    as_json,
    as_proto,
    json_spans,
    json_trace_ids,
    proto_spans,
    proto_trace_ids,
)
from monitor.ingest.formats.otlp_format import SPAN_FORMATS, SpanFormat
from monitor.ingest.formats.traces import (
    _ASKED,
    _text,
    answers,
    by_trace,
    interaction,
    links_elsewhere,
    overlooked,
    root_of,
)
from monitor.records import REDACTED_TEXT, Interaction, Source
from tests.stages import otlp_spans
from tests.stages.otlp_spans import FRAMEWORKS, TURNS, Json, made, rag_trace, recorded, span
from tests.stages.records import JSON_VALUES

SOURCE = Source(topic="spans", partition=1, offset=5)
KIND = "openinference.span.kind"
CHAIN: Json = {KIND: "CHAIN", "input.value": "q?", "output.value": "a."}


def told(whole: Json) -> Interaction:
    """The interaction of the one trace in a record; the same of both encodings."""
    by_json = _of(json_spans(otlp_spans.as_json(whole)))
    assert by_json == _of(proto_spans(otlp_spans.as_proto(whole)))
    return by_json


def _of(spans: list[Span]) -> Interaction:
    root = root_of(spans)
    assert root is not None
    assert answers(spans, root)
    return interaction(spans, root, SOURCE, root.ended_ns // 10**6).interaction


def refused(whole: Json) -> str:
    """What is said of a trace, or of a record of spans."""
    with pytest.raises(MessageRejected) as caught:
        told(whole)
    return str(caught.value)


def rejection(log_format: SpanFormat, value: bytes) -> str | None:
    """What is said of a value; None where it is an interaction."""
    try:
        log_format.decode(value, SOURCE, 0)
    except MessageRejected as error:
        return str(error)
    return None


def texts(found: Interaction) -> list[str]:
    """Of its passages."""
    return [passage.text for passage in found.retrieved_contexts]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_spans_of_a_real_framework_are_its_turns(framework: str) -> None:
    """All of them: question, answer, passages, and what was said of session, user and version."""
    traces = by_trace(json_spans(otlp_spans.as_json(recorded(framework))))
    assert len(traces) == TURNS
    for n, spans in enumerate(traces.values()):
        found = _of(spans)
        assert found.application == FRAMEWORKS[framework]
        assert (found.user_input, found.response) == (otlp_spans.question(n), otlp_spans.answer(n))
        assert texts(found) == [text for _, text in otlp_spans.passages(n)]
        chosen = {name: found.attributes.get(name) for name in ("session", "user", "deployment")}
        assert chosen == {"session": f"s-{n % 4}", "user": f"u-{n % 5}", "deployment": "7"}
        assert found.source.trace_id == found.interaction_id == spans[0].trace_id
    if framework == "langchain":
        named = {name: found.attributes[name] for name in ("tenant", "tags", "prompt_version")}
        assert named == {"tenant": "acme", "tags": ["beta"], "prompt_version": "v3"}
    else:
        assert found.attributes["model"] == "fake-one"
        assert [p.score for p in found.retrieved_contexts] == [1.0, 0.5]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_both_encodings_say_the_same_and_can_be_written_again(framework: str) -> None:
    """A trace is put on a record of its own, and read back."""
    whole = recorded(framework)
    of_json = json_spans(otlp_spans.as_json(whole))
    of_proto = proto_spans(otlp_spans.as_proto(whole))
    for one, other in zip(of_json, of_proto, strict=True):
        assert one.attributes == other.attributes
        assert one.resource == other.resource
        assert one.events == other.events
        same = ("trace_id", "span_id", "parent_id", "name", "started_ns", "ended_ns", "has_failed")
        assert [getattr(one, n) for n in same] == [getattr(other, n) for n in same]
    for again in (json_spans(as_json(of_json)), proto_spans(as_proto(of_proto))):
        assert [each.attributes for each in again] == [each.attributes for each in of_json]
        assert [each.resource for each in again] == [each.resource for each in of_json]


DOCUMENTS = [{"document": {"id": "d1", "content": "one", "score": 0.5}}]
FLAT: Json = {"document.id": "d1", "document.content": "one", "document.score": 0.5}
SAVED: Json = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "schema", "document", "Document"],
    "kwargs": {"id": "d1", "metadata": {}, "page_content": "one", "type": "Document"},
}
NODE: Json = {
    "node": {"id_": "d1", "metadata": {}, "text": "one", "class_name": "TextNode"},
    "score": 0.5,
    "class_name": "NodeWithScore",
}
RESOURCE: Json = {"node": {"id_": "d1", "text_resource": {"text": "one"}}, "score": 0.5}
MESSAGES = [{"role": "user", "parts": [{"type": "text", "content": "q?"}]}]
ANSWERS = [{"role": "assistant", "parts": [{"type": "text", "content": "a."}]}]


@pytest.mark.parametrize(
    ("retriever", "passages"),
    [
        ({KIND: "RETRIEVER", "retrieval.documents": json.dumps(DOCUMENTS)}, ["one"]),
        ({KIND: "RETRIEVER", "retrieval.documents": DOCUMENTS}, ["one"]),
        ({KIND: "RETRIEVER", "retrieval.documents.0.document.content": "one"}, ["one"]),
        ({KIND: "RETRIEVER", "retrieval.documents": [FLAT]}, ["one"]),
        ({KIND: "RETRIEVER", "retrieval.documents": json.dumps([FLAT])}, ["one"]),
        ({KIND: "RETRIEVER", "retrieval.documents": [json.dumps(FLAT)]}, ["one"]),
        ({KIND: "RETRIEVER", "retrieval.documents": ['{"months": 24}']}, ['{"months": 24}']),
        ({KIND: "RETRIEVER", "retrieval.documents": {"documents": DOCUMENTS}}, ["one"]),
        ({KIND: "RETRIEVER", "output.value": json.dumps([{"page_content": "one"}])}, ["one"]),
        ({KIND: "RERANKER", "output.value": json.dumps({"documents": [FLAT]})}, ["one"]),
        ({KIND: "RETRIEVER", "output.value": "[1, 2]"}, []),
        ({KIND: "RETRIEVER", "output.value": json.dumps({"documents": [SAVED]})}, ["one"]),
        ({KIND: "RETRIEVER", "output.value": json.dumps([NODE])}, ["one"]),
        ({KIND: "RETRIEVER", "output.value": json.dumps({"nodes": [NODE, NODE]})}, ["one"]),
        ({KIND: "RETRIEVER", "output.value": json.dumps({"nodes": [RESOURCE]})}, ["one"]),
        ({KIND: "RETRIEVER", "retrieval.documents": [NODE]}, ["one"]),
        (
            {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.retrieval.documents": json.dumps([{"id": "d1", "content": "one"}]),
            },
            ["one"],
        ),
        # Their texts need not be logged: then they are hidden to us, not absent.
        (
            {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.retrieval.documents": [{"id": "d1", "score": 0.9}],
            },
            [REDACTED_TEXT],
        ),
        ({KIND: "RETRIEVER"}, []),
    ],
    ids=[
        "json",
        "nested",
        "flat",
        "listed flat",
        "json flat",
        "json in a list",
        "a passage that is json",
        "within documents",
        "output",
        "output of a reranker",
        "another output",
        "saved by LangChain",
        "nodes of LlamaIndex",
        "nodes in an object",
        "a node with a resource",
        "nodes as documents",
        "genai",
        "genai without texts",
        "none",
    ],
)
def test_passages_by_every_convention(retriever: Json, passages: list[str]) -> None:
    """Structured, as JSON in a text, and flattened."""
    found = told(made(span(1, 1, None, CHAIN), span(1, 2, 1, retriever), span(1, 3, 1, _LLM)))
    assert texts(found) == passages


_LLM: Json = {KIND: "LLM", "llm.model_name": "m"}


@pytest.mark.parametrize(
    ("output", "names"),
    [
        ({"result": "a.", "source_documents": [SAVED]}, ["d1"]),
        ({"response": "a.", "source_nodes": [NODE], "metadata": {}}, ["d1"]),
        ({"answer": "a.", "context": [{"page_content": "one"}]}, [None]),
        ({"answer": "a.", "context": "one"}, []),
        ({"answer": "a.", "nodes": ["<NodeWithScore(node=TextNode(id_=d1), score=1.0)>"]}, []),
    ],
)
def test_a_chain_may_say_what_it_answered_from(output: Json, names: list[str | None]) -> None:
    """Where nobody has instrumented the retriever; what a retriever says goes before it."""
    chain = {KIND: "CHAIN", "input.value": "q?", "output.value": json.dumps(output)}
    found = told(made(span(1, 1, None, chain), span(1, 2, 1, _LLM)))
    assert [each.id for each in found.retrieved_contexts] == names
    assert found.response == "a."
    own = {KIND: "RETRIEVER", "retrieval.documents": [{"document": {"content": "x"}}]}
    assert texts(told(made(span(1, 1, None, chain), span(1, 2, 1, _LLM), span(1, 3, 1, own)))) == [
        "x"
    ]


def test_a_tool_that_lists_texts_is_named_where_there_are_no_passages() -> None:
    """It may have searched: that is for somebody to say."""
    tool = {KIND: "TOOL", "output.value": json.dumps([{"title": "T", "content": "one"}])}
    steps = [span(1, 1, None, CHAIN), span(1, 2, 1, tool, name="search"), span(1, 3, 1, _LLM)]
    spans = json_spans(otlp_spans.as_json(made(*steps)))
    assert overlooked(spans, spans[0]) == "search (TOOL)"
    assert texts(told(made(*steps))) == []
    own = {KIND: "RETRIEVER", "retrieval.documents": [{"document": {"content": "x"}}]}
    assert (
        overlooked(json_spans(otlp_spans.as_json(made(*steps, span(1, 4, 1, own)))), spans[0])
        is None
    )


def overlooks(*steps: Json) -> str | None:
    """The step that is told to be overlooked in a trace of these spans."""
    spans = json_spans(otlp_spans.as_json(made(*steps)))
    root = root_of(spans)
    assert root is not None
    return overlooked(spans, root)


def bomb(levels: int) -> str:
    """JSON in a text in JSON, each 150 objects deep, which no parser refuses."""
    text = '{"text": "P"}'
    for level in range(levels):
        text = json.dumps(text) if level else text
        text = '{"node":' * 150 + text + "}" * 150
    return f"[{text}]"


@pytest.mark.parametrize("attribute", ["output.value", "retrieval.documents"])
def test_a_document_nested_without_end_is_refused_by_its_place(attribute: str) -> None:
    """A record of 45 KB was an error of ours, whoever read its topic."""
    searched = span(1, 2, 1, {KIND: "RETRIEVER", attribute: bomb(7)})
    said = refused(made(span(1, 1, None, CHAIN), searched, span(1, 3, 1, _LLM)))
    assert f"{attribute} of span 0000000000000002" in said
    assert "a document in at most 8 objects" in said


def test_a_step_that_is_nested_without_end_is_no_list_of_documents() -> None:
    """A plan may be a tree: its trace is an interaction all the same."""
    output = json.dumps({"output": "a.", "nodes": json.loads(bomb(1))})
    chain = {KIND: "CHAIN", "input.value": "q?", "output.value": output}
    steps = span(1, 1, None, chain), span(1, 2, 1, _LLM)
    assert texts(told(made(*steps))) == []
    assert overlooks(*steps) is None


@pytest.mark.parametrize(
    ("output", "passages"),
    [
        (["one", "two"], ["one", "two"]),
        ([[SAVED, 0.8], ["two", 0.2]], ["one", "two"]),
        ([[SAVED], [{"page_content": "two"}]], ["one", "two"]),
        ({"output": [SAVED]}, ["one"]),
        ([SAVED, {"metadata": {}}], ["one", REDACTED_TEXT]),
        ([{"content": "one"}], ["one"]),
        ([], []),
        ({"documents": []}, []),
    ],
)
def test_outputs_of_a_retriever(output: Any, passages: list[str]) -> None:
    """Texts, pairs with a score, lists of lists; one without a text among others is hidden."""
    searched = span(1, 2, 1, {KIND: "RETRIEVER", "output.value": json.dumps(output)})
    steps = span(1, 1, None, CHAIN), searched, span(1, 3, 1, _LLM)
    assert texts(told(made(*steps))) == passages
    assert overlooks(*steps) is None


@pytest.mark.parametrize("kind", ["RETRIEVER", "RERANKER"])
@pytest.mark.parametrize(
    "output",
    [
        "Error: timeout",
        "[1, 2]",
        '{"a": "P"}',
        "[\"Document(page_content='P')\"]",
        '[{"role": "user", "content": "an earlier question"}]',
        '[{"metadata": {}}]',
    ],
)
def test_an_output_that_is_not_understood_is_told(kind: str, output: str) -> None:
    """It is not the same as nothing retrieved; also beside a retriever that is understood."""
    searched = span(1, 2, 1, {KIND: kind, "output.value": output}, name="search")
    own = {KIND: "RETRIEVER", "retrieval.documents.0.document.content": "x"}
    steps = span(1, 1, None, CHAIN), searched, span(1, 3, 1, _LLM)
    assert texts(told(made(*steps))) == []
    assert overlooks(*steps) == f"search ({kind})"
    assert overlooks(*steps, span(1, 4, 1, own)) == f"search ({kind})"


@pytest.mark.parametrize(
    "output",
    [
        {"context": [{"role": "user", "content": "earlier"}]},
        {"context": [{"type": "human", "content": "earlier"}]},
        {"context": [{**SAVED, "id": ["langchain", "schema", "messages", "HumanMessage"]}]},
        {"context": [{"content": "of a tool"}]},
        {"documents": [{"text": "generated draft"}]},
        {"nodes": [{"id": "plan", "text": "Step one"}]},
    ],
)
def test_what_is_no_document_is_no_passage(output: Json) -> None:
    """Turns of a chat, drafts and plans stand under the same names."""
    agent = {KIND: "AGENT", "input.value": "q?", "output.value": json.dumps(output | {"a": "a."})}
    said = {**_LLM, "output.value": "a."}
    assert texts(told(made(span(1, 1, None, agent), span(1, 2, 1, said)))) == []


def test_a_reranker_that_keeps_nothing_is_one() -> None:
    """The model saw no passage; nor what a chain lists beside a retriever that found none."""
    retrieved = span(1, 2, 1, {KIND: "RETRIEVER", "retrieval.documents": DOCUMENTS})
    kept = span(1, 3, 1, {KIND: "RERANKER", "output.value": "[]"})
    steps = span(1, 1, None, CHAIN), retrieved, span(1, 4, 1, _LLM)
    assert texts(told(made(*steps, kept))) == []
    output = json.dumps({"answer": "a.", "source_documents": [SAVED]})
    chain = {**CHAIN, "output.value": output}
    empty = span(1, 2, 1, {KIND: "RETRIEVER", "output.value": "[]"})
    assert texts(told(made(span(1, 1, None, chain), empty, span(1, 4, 1, _LLM)))) == []


def test_a_retriever_in_another_one_tells_each_passage_once() -> None:
    """It may have no ids."""
    inner = span(1, 3, 2, {KIND: "RETRIEVER", "output.value": '["one"]'})
    outer = span(1, 2, 1, {KIND: "RETRIEVER", "retrieval.documents": DOCUMENTS})
    assert texts(told(made(span(1, 1, None, CHAIN), outer, inner, span(1, 4, 1, _LLM)))) == ["one"]


def test_what_was_reranked_goes_before_what_was_retrieved() -> None:
    """It is what the model saw; of several retrievers each passage counts once."""
    other = {KIND: "RETRIEVER", "retrieval.documents": [*DOCUMENTS, {"document": {"content": "x"}}]}
    retrieved = {KIND: "RETRIEVER", "retrieval.documents": DOCUMENTS}
    steps = [span(1, 2, 1, retrieved), span(1, 3, 1, other), span(1, 4, 1, _LLM)]
    assert texts(told(made(span(1, 1, None, CHAIN), *steps))) == ["one", "x"]
    kept = {"reranker.output_documents.0.document.content": "x", KIND: "RERANKER"}
    assert texts(told(made(span(1, 1, None, CHAIN), *steps, span(1, 5, 1, kept)))) == ["x"]


@pytest.mark.parametrize(
    "model",
    [
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(MESSAGES),
            "gen_ai.output.messages": json.dumps(ANSWERS),
        },
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": MESSAGES,
            "gen_ai.output.messages": ANSWERS,
        },
        {
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "q?",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "a.",
        },
        {
            KIND: "LLM",
            "llm.input_messages.0.message.role": "system",
            "llm.input_messages.0.message.content": "Be kind.",
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.contents.0.message_content.text": "q?",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "a.",
        },
        {
            KIND: "LLM",
            "llm.input_messages": json.dumps([{"message.role": "user", "message.content": "q?"}]),
            "llm.output_messages": [
                {
                    "message.role": "assistant",
                    "message.contents": [{"message_content.text": "a."}],
                }
            ],
        },
        {KIND: "LLM", "input.value": '{"question": "q?"}', "output.value": '{"answer": "a."}'},
    ],
    ids=["genai json", "genai structured", "genai older", "openinference", "listed", "values"],
)
def test_question_and_answer_by_every_convention(model: Json) -> None:
    """Below a root of which no convention knows anything: a server's own span."""
    model = {**model, "gen_ai.request.model": "small"}
    found = told(made(span(1, 1, None, {"http.route": "/ask"}), span(1, 2, 1, model)))
    assert (found.user_input, found.response) == ("q?", "a.")
    assert found.attributes["model"] == "small"
    assert found.attributes["http.route"] == "/ask"


def test_question_and_answer_in_events() -> None:
    """As older instrumentations of GenAI log them."""

    def event(name: str, attributes: Json) -> Json:
        listed = [{"key": k, "value": otlp_spans.any_value(v)} for k, v in attributes.items()]
        return {"timeUnixNano": "5", "name": name, "attributes": listed}

    asked = event("gen_ai.user.message", {"content": "q?"})
    said = event("gen_ai.choice", {"index": 0, "message": '{"role": "assistant", "content": "a."}'})
    model = span(1, 1, None, {"gen_ai.operation.name": "chat"}, events=[asked, said])
    found = told(made(model))
    assert (found.user_input, found.response) == ("q?", "a.")


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ('{"input": "q?", "chat_history": []}', "q?"),
        ('{"messages": [["x", 1]], "question": "q?"}', "q?"),
        ('{"messages": [{"type": "human", "content": "q?"}]}', "q?"),
        ('{"query_bundle": {"query_str": "q?", "image_path": null}}', "q?"),
        ('["q?"]', "q?"),
        ("{not json", "{not json"),
    ],
)
def test_questions_within_what_frameworks_write(value: str, asked: str) -> None:
    """The likeliest field of an object, or the last turn of the user."""
    found = told(made(span(1, 1, None, {**CHAIN, "input.value": value}), span(1, 2, 1, _LLM)))
    assert found.user_input == asked


def test_the_name_of_a_prompt_is_no_question() -> None:
    """It has the prefix under which older conventions have the turns."""
    for more in ({"gen_ai.prompt.name": "support"}, {"gen_ai.prompt.version": "v12"}):
        found = told(made(span(1, 1, None, {**CHAIN, **more}), span(1, 2, 1, _LLM)))
        assert found.user_input == "q?"
    assert found.attributes["prompt_version"] == "v12"


def test_what_a_model_thinks_and_a_picture_are_no_text() -> None:
    """Only what is said counts, and what was asked in words."""
    asked = [
        {"role": "user", "parts": [{"type": "blob", "content": "iVBO"}, *MESSAGES[0]["parts"]]}
    ]
    thought = {"type": "reasoning", "content": "Maybe b."}
    said = [{"role": "assistant", "parts": [thought, *ANSWERS[0]["parts"]]}]
    model = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps(said),
    }
    found = told(made(span(1, 1, None, model)))
    assert (found.user_input, found.response) == ("q?", "a.")


def test_a_request_to_a_database_beside_the_chain_hides_it_not() -> None:
    """Below a server's span stand many others."""
    spans = [
        span(1, 1, None, {"http.route": "/ask"}),
        span(1, 2, 1, {"db.system": "redis"}),
        span(1, 3, 1, CHAIN),
        span(1, 4, 3, {**_LLM, "input.value": "Condense: q?", "output.value": "draft"}),
    ]
    found = told(made(*spans))
    assert (found.user_input, found.response) == ("q?", "a.")


def test_plain_text_that_looks_like_json_is_text() -> None:
    """Where it is said to be plain: a structured answer is what the user saw."""
    plain = {"input.mime_type": "text/plain", "output.mime_type": "text/plain"}
    texts_ = {"input.value": '{"text": "x", "n": 1}', "output.value": '{"months": 24}'}
    found = told(made(span(1, 1, None, {**CHAIN, **plain, **texts_}), span(1, 2, 1, _LLM)))
    assert (found.user_input, found.response) == tuple(texts_.values())


def test_what_belongs_to_another_root_is_left_out() -> None:
    """A session that is one trace: its first question has its own passages."""

    def retrieved(text: str) -> Json:
        return {KIND: "RETRIEVER", "retrieval.documents.0.document.content": text}

    first = [span(1, 1, None, CHAIN), span(1, 2, 1, retrieved("one")), span(1, 3, 1, _LLM)]
    second = [span(1, 11, None, CHAIN), span(1, 12, 11, retrieved("two")), span(1, 13, 12, _LLM)]
    orphan = span(1, 20, 99, retrieved("of a step that did not come"))
    found = told(made(*first, *second, orphan))
    assert texts(found) == ["one", "of a step that did not come"]


@pytest.mark.parametrize(
    ("documents", "passages"),
    [
        ([{"document": "one"}], ["one"]),
        ([{"pageContent": "one", "id": [1]}], ["one"]),
        ([{"document": {"content": "one", "id": 7}}], ["one"]),
    ],
)
def test_documents_of_other_shapes(documents: Any, passages: list[str]) -> None:
    """An id that is none is left out."""
    step = {KIND: "RETRIEVER", "retrieval.documents": json.dumps(documents)}
    found = told(made(span(1, 1, None, CHAIN), span(1, 2, 1, step), span(1, 3, 1, _LLM)))
    assert texts(found) == passages
    assert found.retrieved_contexts[0].id in (None, "7")


@pytest.mark.parametrize(
    "value",
    [
        {"intValue": "1" * 5_000},
        {"doubleValue": 10**400},
        {"arrayValue": {"values": 5}},
        {"kvlistValue": {"values": "x"}},
        {"intValue": True},
    ],
)
def test_a_strange_value_of_an_attribute_is_none(value: Json) -> None:
    """And no error of ours."""
    root = span(1, 1, None, CHAIN)
    root["attributes"].append({"key": "x", "value": value})
    spans = json_spans(otlp_spans.as_json(made(root, span(1, 2, 1, _LLM))))
    assert spans[0].attributes["x"] in (None, [], {})


def test_lists_within_objects_within_objects_are_looked_at_once() -> None:
    """Not twice at each level: the event loop waits for it."""
    looked: list[Any] = []

    def read(found: Any, path: str) -> Any:
        looked.append(found)
        return chat.question(found, path)

    value: Any = [0, 0]
    for _ in range(7):
        value = {"input": value}
    assert _text(value, _ASKED, read) is None
    assert len(looked) == 8


def test_compressed_bytes_in_base64_are_no_answer() -> None:
    """They are refused, and not judged."""
    packed = b64encode(gzip.compress(b"How long is the warranty?" * 3)).decode()
    said = refused(made(span(1, 1, None, {**CHAIN, "output.value": packed}), span(1, 2, 1, _LLM)))
    assert "looks like compressed bytes in base64 (gzip)" in said


def test_hidden_documents_are_counted_each() -> None:
    """Without ids and texts nobody knows that they are the same."""
    step = {KIND: "RETRIEVER", "retrieval.documents": [{"document": {"score": 0.5}}] * 3}
    found = told(made(span(1, 1, None, CHAIN), span(1, 2, 1, step), span(1, 3, 1, _LLM)))
    assert texts(found) == [REDACTED_TEXT] * 3


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        (
            '[{"document": {"content": "one"}}, null]',
            "retrieved_contexts (retrieval.documents of span 0000000000000002).1: found null, "
            "expected a text or an object",
        ),
        ("[7]", "of span 0000000000000002).0: found a number"),
        (
            '{"hits": 1}',
            "of span 0000000000000002): found an object of 1 field, expected a list of documents",
        ),
    ],
)
def test_what_is_no_document_is_refused_with_its_span(documents: str, said: str) -> None:
    """And not left out, as if less had been retrieved."""
    step = {KIND: "RETRIEVER", "retrieval.documents": documents}
    spans = [span(1, 1, None, CHAIN), span(1, 2, 1, step), span(1, 3, 1, _LLM)]
    assert said in refused(made(*spans))


def ended(number: int, parent: int | None, end: int, attributes: Json) -> Json:
    """A made span that ends then."""
    return span(1, number, parent, attributes, endTimeUnixNano=str(end))


def model(asked: str, said: str) -> Json:
    """A call of one."""
    return {KIND: "LLM", "input.value": asked, "output.value": said}


SEARCH: Json = {KIND: "RETRIEVER", "input.value": "rewritten", "retrieval.documents": DOCUMENTS}


def test_question_and_answer_are_of_one_call_of_a_model() -> None:
    """The first that ends after retrieval: before it a query is rewritten, after it titles are."""
    root = ended(1, None, 900, {"http.route": "/ask"})
    rewrites = ended(2, 1, 100, model("Rewrite: q?", "rewritten"))
    searches, replies = ended(3, 1, 200, SEARCH), ended(4, 1, 300, model("q?", "a."))
    titles = ended(5, 1, 400, model("Name this talk", "Warranty"))
    for spans in (
        [root, searches, replies, titles],
        [root, rewrites, searches, replies],
        [root, rewrites, searches, replies, titles],
    ):
        found = told(made(*spans))
        assert (found.user_input, found.response) == ("q?", "a.")
    silent = ended(4, 1, 300, {KIND: "LLM", "output.value": "a."})
    assert told(made(root, rewrites, searches, silent)).user_input == "rewritten"


def test_a_prompt_that_holds_the_passages_is_no_question() -> None:
    """The retriever was asked for less; without its query the prompt is all there is."""
    text = "The warranty lasts 24 months from the day of delivery."
    root = ended(1, None, 900, {"http.route": "/ask"})
    found = {KIND: "RETRIEVER", "retrieval.documents.0.document.content": text}
    searches = ended(2, 1, 100, found | {"input.value": "warranty?"})
    replies = ended(3, 1, 200, model(f"Answer by this.\n{text}\nHow long?", "a."))
    assert told(made(root, searches, replies)).user_input == "warranty?"
    without = ended(2, 1, 100, found)
    assert told(made(root, without, replies)).user_input.endswith("How long?")


@pytest.mark.parametrize("holding", [{KIND: "LLM"}, SEARCH])
def test_of_chains_side_by_side_one_holds_the_model(holding: Json) -> None:
    """Below a request a guard stands beside the chain that answers; else the last one to end."""
    root = ended(1, None, 900, {"http.route": "/ask"})
    guard = ended(2, 1, 800, {KIND: "CHAIN", "input.value": "ok?", "output.value": "yes"})
    chain = ended(3, 1, 700, CHAIN)
    inner = ended(4, 3, 600, holding)
    model_ = ended(5, 3, 650, _LLM)
    found = told(made(root, guard, chain, inner, model_))
    assert (found.user_input, found.response) == ("q?", "a.")
    beside = ended(5, 1, 650, _LLM)
    assert told(made(root, guard, chain, beside)).response == "yes"


def test_steps_side_by_side_are_not_the_answer() -> None:
    """Of a root that says nothing: the model's word goes before that of any step."""
    root = span(1, 1, None, {KIND: "CHAIN", "input.value": "q?"})
    steps = [span(1, n, 1, {KIND: "CHAIN", "output.value": f"step {n}"}) for n in (2, 3)]
    model = span(1, 4, 3, {**_LLM, "output.value": "a."})
    assert told(made(root, *steps, model)).response == "a."
    assert told(made(root, *steps, span(1, 4, 3, _LLM))).response == "step 3"


def test_an_error_names_the_field_and_what_is_there() -> None:
    """Never a text."""
    secret = {KIND: "CHAIN", "input.value": "the patient's secret"}
    said = refused(made(span(1, 1, None, secret, name="ask"), span(1, 2, 1, _LLM)))
    assert said == (
        "response: found no output in the root span 0000000000000001 (CHAIN), in a chain or agent "
        "below, nor in a model's span; 2 spans, kinds there: CHAIN, LLM"
    )
    said = refused(made(span(1, 1, None, {}, name="POST /ask"), span(1, 2, 1, _LLM)))
    assert "in the root span 0000000000000001 (no kind)" in said
    assert said.endswith("kinds there: LLM, no kind")


def test_the_application_is_the_service_or_the_project() -> None:
    """What an SDK writes that was told no name is none."""
    spans = [span(1, 1, None, CHAIN), span(1, 2, 1, _LLM)]
    assert told(made(*spans, service="unknown_service:python")).application == "default"
    whole = otlp_spans.record_of(
        (otlp_spans.resource("unknown_service", **{"openinference.project.name": "p"}), each)
        for each in spans
    )
    assert told(whole).application == "p"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b'{"records": []}', "resourceSpans: found nothing, expected spans as the OpenTelemetry"),
        (b"[]", "record: found an empty list, expected a JSON object"),
        (b"\x0a\x05abcde", "set format: otlp_proto"),
        (
            json.dumps(made({"traceId": "xyz"})).encode(),
            "resourceSpans.0.scopeSpans.0.spans.0.traceId: found a text of 3 characters, expected "
            "32 hexadecimal digits, not all of them 0",
        ),
        (
            json.dumps({"resourceSpans": [{"scopeSpans": {"a": 1}}]}).encode(),
            "resourceSpans.0.scopeSpans: found an object of 1 field, expected a list",
        ),
    ],
)
def test_what_is_said_of_json_that_holds_no_spans(value: bytes, said: str) -> None:
    """Where, what was found, what was expected."""
    with pytest.raises(MessageRejected) as caught:
        json_spans(value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b'{"resourceSpans": []}', "set format: otlp_json"),
        (b"\xff\xff\xff", "(TracesData of OTLP): check ingest.format"),
        (b"\x1f\x8b\x08\x00", "found gzip"),
    ],
)
def test_what_is_said_of_bytes_that_are_no_protobuf(value: bytes, said: str) -> None:
    """The other encoding is named."""
    with pytest.raises(MessageRejected) as caught:
        proto_spans(value)
    assert said in str(caught.value)
    assert caught.value.cause == "invalid_protobuf"


def test_nesting_is_bounded() -> None:
    """A hostile attribute is a dead letter, and no overflow of the stack."""
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    said = refused(made(span(1, 1, None, {**CHAIN, "deep": deep}), span(1, 2, 1, _LLM)))
    assert "at most 20 levels of nesting" in said


@given(st.binary(max_size=200))
def test_any_bytes_are_spans_or_refused(value: bytes) -> None:
    """Nothing else is raised."""
    for log_format in SPAN_FORMATS.values():
        assert rejection(log_format, value) != ""


@given(st.dictionaries(st.sampled_from(["attributes", "events", "name", "flags"]), JSON_VALUES))
def test_any_span_is_read_or_refused(strange: Json) -> None:
    """Whatever stands where attributes, events, name and flags stand."""
    whole = made({**span(1, 1, None, CHAIN), **strange}, span(1, 2, 1, _LLM))
    assert rejection(SPAN_FORMATS["otlp_json"], otlp_spans.as_json(whole)) != ""


def test_rag_traces_of_the_stage_are_as_recorded() -> None:
    """What other tests make is read as they mean it."""
    found = told(made(*rag_trace(1, 4)))
    assert (found.user_input, found.response) == (otlp_spans.question(4), otlp_spans.answer(4))
    assert texts(found) == [text for _, text in otlp_spans.passages(4)]


_TOOL: Json = {"type": "tool_call", "id": "1", "name": "search", "arguments": {"q": "x"}}


@pytest.mark.parametrize(
    "said",
    [
        {"llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search"},
        {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [_TOOL]}])},
        {"gen_ai.response.finish_reasons": ["tool_calls"]},
        {"gen_ai.completion.0.finish_reason": "tool_calls"},
    ],
)
def test_a_model_that_only_asks_for_a_tool_answers_nobody(said: Json) -> None:
    """Where each call is a trace of its own; with an answer it is an interaction all the same."""
    model = {KIND: "LLM", "input.value": "q?", **said}
    for spans in (
        json_spans(otlp_spans.as_json(made(span(1, 1, None, model)))),
        proto_spans(otlp_spans.as_proto(made(span(1, 1, None, model)))),
    ):
        assert not answers(spans, spans[0])
    assert told(made(span(1, 1, None, CHAIN), span(1, 2, 1, model))).response == "a."


def test_a_model_that_says_nothing_at_all_is_an_error() -> None:
    """What it said may have been hidden, or stand where nobody looks: that is not passed over."""
    assert refused(made(span(1, 1, None, {KIND: "LLM", "input.value": "q?"}))).startswith(
        "response: found no output"
    )


def linked(trace: int, number: int) -> Json:
    """A link of a span."""
    return {"links": [{"traceId": f"{trace:032x}", "spanId": f"{number:016x}"}]}


FINDS: Json = {KIND: "RETRIEVER", "retrieval.documents.0.document.content": "one"}


@pytest.mark.parametrize("from_search", [False, True])
@pytest.mark.parametrize("number", [1, 20])
def test_what_was_retrieved_below_a_root_of_its_own_is_linked(
    number: int, *, from_search: bool
) -> None:
    """In either direction, and whichever root began first; without a link it is of nobody here."""
    to, back = (None, linked(1, 10)) if from_search else (linked(1, number), None)

    def found(to: Json | None, back: Json | None) -> list[str]:
        chain = [span(1, 10, None, CHAIN, **(to or {})), span(1, 11, 10, _LLM)]
        job = [span(1, number, None, {}, **(back or {})), span(1, number + 1, number, FINDS)]
        lone = span(1, number, None, FINDS, **(back or {}))
        below = texts(told(made(*job, *chain)))
        assert texts(told(made(lone, *chain))) == below
        return below

    assert found(to, back) == ["one"]
    assert found(None, None) == []


def test_a_link_to_the_next_question_brings_none_of_its_passages() -> None:
    """One turn links to another one: a model is below it."""
    later = [span(1, 7, None, CHAIN, **linked(1, 1)), span(1, 8, 7, FINDS), span(1, 9, 7, _LLM)]
    assert texts(told(made(span(1, 1, None, CHAIN), span(1, 2, 1, _LLM), *later))) == []


def both_ways(job: list[Json]) -> list[list[str]]:
    """The passages where a question links to the first of these spans, and that links back."""
    first, *more = job
    chain, model = span(1, 1, None, CHAIN), span(1, 2, 1, _LLM)
    to = linked(1, int(first["spanId"], 16))
    whole = [chain | to, model, first, *more], [chain, model, first | linked(1, 1), *more]
    return [texts(told(made(*each))) for each in whole]


def test_a_linked_search_may_stand_in_a_chain_and_rewrite_the_question() -> None:
    """LangChain's retrieval is a chain; a model below a retriever answers nobody."""
    search = {KIND: "CHAIN", "input.value": "s", "output.value": "docs"}
    asks = {KIND: "LLM", "input.value": "rewrite: q?", "output.value": "rewritten"}
    within = [span(1, 20, None, search), span(1, 21, 20, FINDS), span(1, 22, 21, asks)]
    assert both_ways(within) == [["one"], ["one"]]
    lone = [span(1, 20, None, FINDS), span(1, 21, 20, asks)]
    assert both_ways(lone) == [["one"], ["one"]]


def test_links_are_followed_by_way_of_a_job() -> None:
    """From one root to the next, in one direction."""
    chain, model = span(1, 1, None, CHAIN), span(1, 2, 1, _LLM)
    job, search = span(1, 20, None, {}), span(1, 30, None, FINDS)
    on = [chain | linked(1, 20), model, job | linked(1, 30), search]
    back = [chain, model, job | linked(1, 1), search | linked(1, 20)]
    assert [texts(told(made(*each))) for each in (on, back)] == [["one"], ["one"]]
    other = [chain | linked(1, 20), model, job, search | linked(1, 20)]
    assert texts(told(made(*other))) == []
    assert overlooks(*other) == "step (RETRIEVER) below another root"


def test_a_search_of_the_next_question_is_not_of_this_one() -> None:
    """It links back to what was said before; only a retriever that this one names counts."""
    chain, model = span(1, 1, None, CHAIN), span(1, 2, 1, _LLM)
    later, finds, says = span(1, 7, None, CHAIN), span(1, 8, 7, FINDS), span(1, 9, 7, _LLM)
    assert texts(told(made(chain, model, later, finds | linked(1, 1), says))) == []
    assert texts(told(made(chain | linked(1, 8), model, later, finds, says))) == ["one"]


@pytest.mark.parametrize(
    ("links", "is_elsewhere"),
    [
        (linked(2, 1), True),
        (linked(1, 2), False),
        ({"links": [{"traceId": "", "spanId": ""}]}, False),
    ],
)
def test_a_link_to_another_trace_is_seen(links: Json, *, is_elsewhere: bool) -> None:
    """By both encodings; one that names no span is none."""
    whole = made(span(1, 1, None, CHAIN, **links), span(1, 2, 1, _LLM))
    for spans in (json_spans(otlp_spans.as_json(whole)), proto_spans(otlp_spans.as_proto(whole))):
        assert links_elsewhere(spans, spans[0]) is is_elsewhere


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_traces_in_a_record_are_known_before_it_is_read(framework: str) -> None:
    """The same as those of its spans, by both encodings."""
    whole = recorded(framework)
    value, binary = otlp_spans.as_json(whole), otlp_spans.as_proto(whole)
    expected = {each.trace_id for each in json_spans(value)}
    assert len(expected) == TURNS
    assert json_trace_ids(value) == proto_trace_ids(binary) == expected


def test_where_ids_are_not_plain_the_record_is_read() -> None:
    """Links name other traces; ids may be in Base64, or none at all."""
    linked = made(span(1, 1, None, CHAIN, links=[{"traceId": f"{2:032x}", "spanId": f"{1:016x}"}]))
    assert json_trace_ids(otlp_spans.as_json(linked)) is None
    assert proto_trace_ids(otlp_spans.as_proto(linked)) == {f"{1:032x}"}
    base64 = otlp_spans.as_json(made(span(1, 1, None, CHAIN))).replace(
        f"{1:032x}".encode(), b"AAAAAAAAAAAAAAAAAAAAAQ=="
    )
    assert json_trace_ids(base64) is None
    assert len(json_spans(base64)) == 1
    assert proto_trace_ids(b"{}") is None


def _message(field: int, body: bytes) -> bytes:
    """A field of a protobuf message that is a message."""
    size, digits = len(body), b""
    while size > 127:
        digits, size = digits + bytes([size & 127 | 128]), size >> 7
    return bytes([field << 3 | 2]) + digits + bytes([size]) + body


_IDS = _message(1, bytes([1] * 16)) + _message(2, bytes([2] * 8))
_LIST = _message(1, b"a") + _message(2, _message(5, b"\x0a\x00" * (MOST_VALUES + 1)))


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (b"\x0a\x00" * (MOST_SPANS + 1), "spans"),
        (_message(1, b"\x12\x00" * MOST_SPANS), "spans"),
        (_message(1, _message(2, b"\x12\x00" * MOST_SPANS)), "spans"),
        (_message(1, _message(2, _message(2, _IDS + b"\x4a\x00" * (MOST_VALUES + 1)))), "values"),
        (_message(1, _message(2, _message(2, _IDS + b"\x5a\x00" * (MOST_VALUES + 1)))), "values"),
        (_message(1, _message(2, _message(2, _IDS + _message(9, _LIST)))), "values"),
    ],
    ids=["resources", "scopes", "spans", "attributes", "events", "items"],
)
def test_empty_messages_are_bounded(value: bytes, what: str) -> None:
    """They take two bytes each, and an object each: 16 MB of them took up to 46 s."""
    with pytest.raises(MessageRejected, match=f"at most .* {what}"):
        assert [(one.attributes, one.events) for one in proto_spans(value)]


def test_spans_in_json_are_bounded_alike() -> None:
    """A record of either encoding has no more."""
    many = made(*[span(1, 1, None, {})] * 2)
    many["resourceSpans"] *= MOST_SPANS // 3
    with pytest.raises(MessageRejected, match="at most 20,000 spans"):
        json_spans(otlp_spans.as_json(many))
