"""Spans of two real frameworks, and made ones; cut, shuffled and doubled as collectors do.

``tests/data/otlp`` was recorded by its ``record_spans.py`` (which no test runs): LangChain and
LlamaIndex with a fake model and a retriever in memory, by the OpenInference instrumentations.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

Json = dict[str, Any]
FOLDER: Final = Path(__file__).parent.parent / "data" / "otlp"
FRAMEWORKS: Final = {"langchain": "langchain-bot", "llama_index": "llama-bot"}
#: Turns that each of them has recorded.
TURNS: Final = 12


def question(n: int) -> str:
    """The ``n``-th turn's, as it was recorded."""
    return f"How many months does the warranty of item {n} last?"


def answer(n: int) -> str:
    """Every third one is wrong."""
    return f"The warranty of item {n} lasts {n + 12 if n % 3 else n + 13} months."


def passages(n: int) -> list[tuple[str, str]]:
    """Ids and texts."""
    return [
        (f"kb-{n}#1", f"Item {n} has a warranty of {n + 12} months."),
        (f"kb-{n}#2", "Returning an item costs 5 euros."),
    ]


def recorded(framework: str) -> Json:
    """What the framework's spans were exported as, in OTLP/JSON."""
    found: Json = json.loads((FOLDER / f"{framework}.json").read_text(encoding="utf-8"))
    return found


def moved(whole: Json, now_ns: int) -> Json:
    """The same, with the end of the last span now."""
    whole = copy.deepcopy(whole)
    latest = max(int(span["endTimeUnixNano"]) for _, span in each_span(whole))
    for _, span in each_span(whole):
        for name in ("startTimeUnixNano", "endTimeUnixNano"):
            span[name] = str(int(span[name]) + now_ns - latest)
    return whole


def copied(whole: Json, n: int) -> Json:
    """The same traces with other ids."""
    again = copy.deepcopy(whole)
    for _, span in each_span(again):
        span["traceId"] = f"{n:02x}{span['traceId'][2:]}"
    return again


def each_span(whole: Json) -> list[tuple[Json, Json]]:
    """Each span behind its resource."""
    return [
        (resource["resource"], span)
        for resource in whole["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def cut(whole: Json, most: int, random: Random) -> list[Json]:
    """Records of up to so many spans, of several traces each, shuffled; a tenth stands there twice.

    Spans of a trace stay within three records of one another.
    """
    spans = each_span(whole)
    order = sorted(range(len(spans)), key=lambda n: n + random.uniform(0, 2 * most))
    shuffled = [spans[n] for n in order for _ in range(1 + (random.random() < 0.1))]
    return [record_of(shuffled[n : n + most]) for n in range(0, len(shuffled), most)]


def record_of(spans: Iterable[tuple[Json, Json]]) -> Json:
    """One record."""
    return {
        "resourceSpans": [
            {"resource": resource, "scopeSpans": [{"spans": [{**span}]}]}
            for resource, span in spans
        ]
    }


def as_json(whole: Json) -> bytes:
    """As ``otlp_json``."""
    return json.dumps(whole).encode()


def as_proto(whole: Json) -> bytes:
    """As ``otlp_proto``."""
    whole = copy.deepcopy(whole)
    for _, span in each_span(whole):
        for each in (span, *span.get("links", ())):
            for name in ("traceId", "spanId", "parentSpanId"):
                if name in each:
                    each[name] = _base64(each[name])
    encoded: bytes = ParseDict(whole, TracesData()).SerializeToString()
    return encoded


def _base64(digits: str) -> str:
    from base64 import b64encode

    return b64encode(bytes.fromhex(digits)).decode()


def native(n: int, application: str, *, ids: bool = True) -> Json:
    """The same turn as our own JSON; LangChain's instrumentation logs no ids of passages."""
    return {
        "application": application,
        "user_input": question(n),
        "response": answer(n),
        "retrieved_contexts": [
            {"id": name, "text": text} if ids else {"text": text} for name, text in passages(n)
        ],
    }


def span(
    trace: int,
    number: int,
    parent: int | None,
    attributes: Mapping[str, Any],
    *,
    name: str = "step",
    begin_ns: int = 0,
    **more: Any,
) -> Json:
    """One made span; times rise with its number, and a parent ends after its children."""
    made: Json = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(begin_ns + number),
        "endTimeUnixNano": str(begin_ns + 1_000 - number),
        "attributes": [{"key": key, "value": any_value(each)} for key, each in attributes.items()],
    }
    if parent is not None:
        made["parentSpanId"] = f"{parent:016x}"
    return made | more


def any_value(found: Any) -> Json:
    """As OTLP has it."""
    if isinstance(found, bool):
        return {"boolValue": found}
    if isinstance(found, int):
        return {"intValue": str(found)}
    if isinstance(found, float):
        return {"doubleValue": found}
    if isinstance(found, list):
        return {"arrayValue": {"values": [any_value(each) for each in found]}}
    if isinstance(found, dict):
        listed = [{"key": key, "value": any_value(each)} for key, each in found.items()]
        return {"kvlistValue": {"values": listed}}
    return {"stringValue": found}


def resource(service: str = "bot", **more: str) -> Json:
    """Who sends."""
    found = {"service.name": service, **more}
    return {"attributes": [{"key": key, "value": any_value(each)} for key, each in found.items()]}


def made(*spans: Json, service: str = "bot") -> Json:
    """One record of made spans."""
    return record_of((resource(service), each) for each in spans)


def rag_trace(trace: int, n: int, begin_ns: int = 0) -> list[Json]:
    """A chain with a retriever and a model, children first, as they end."""
    documents = {
        f"retrieval.documents.{k}.document.{field}": value
        for k, (name, text) in enumerate(passages(n))
        for field, value in (("id", name), ("content", text))
    }
    kind, begins = "openinference.span.kind", begin_ns
    asked = {kind: "RETRIEVER", "input.value": question(n), **documents}
    return [
        span(trace, 2, 1, asked, begin_ns=begins),
        span(trace, 3, 1, {kind: "LLM", "llm.model_name": "m"}, begin_ns=begins),
        span(
            trace,
            1,
            None,
            {kind: "CHAIN", "input.value": question(n), "output.value": answer(n)},
            begin_ns=begins,
        ),
    ]
