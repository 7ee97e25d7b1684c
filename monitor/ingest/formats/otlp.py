"""OTLP: the spans in one record, as a collector's Kafka exporter writes them, JSON or protobuf.

Specification: opentelemetry.io/docs/specs/otlp, trace.proto 1.x. Both ways give the same spans;
attributes are read only of those that somebody asks for.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from pydantic_core import from_json

from monitor.errors import MessageRejected
from monitor.ingest.formats.first_bytes import BYTE_ORDER_MARK, looks_like
from monitor.ingest.formats.rejection import (
    missing_field,
    not_an_object,
    not_json,
    wrong_value,
)

_TRACE_ID, _SPAN_ID = 32, 16
_JSON_TRACE_ID = re.compile(rb'"traceId"\s*:\s*"([^"]*)"')
_HEX = re.compile(r"[0-9a-fA-F]+", re.ASCII)
_DEEPEST: Final = 20
#: Of one record: spans with what they stand in, and in protobuf the values of all attributes and
#: events. These may take two bytes each, and an object each; a collector sends 8,192 spans at once.
MOST_SPANS: Final = 20_000
MOST_VALUES: Final = 1_000_000
#: Of a span's flags: it is said whether the parent is remote, and it is.
_IS_REMOTE: Final = 0x300
_ERROR = 2

SpanAttributes = dict[str, Any]


class SpanEvent(NamedTuple):
    """Something that a span says has happened."""

    name: str
    attributes: SpanAttributes


class SpanLink(NamedTuple):
    """A span that a span names, which need not be of its trace; ids in hexadecimal digits."""

    trace_id: str
    span_id: str


class Encoded(NamedTuple):
    """A span as it came: its resource and itself, in the form of its format."""

    resource: Any
    span: Any


@dataclass(eq=False)
class Span:
    """One operation of a trace; times in epoch nanoseconds, 0 where none is said.

    ``size`` is its part of the record, in bytes. ``has_remote_parent``: another process is said to
    have begun what it belongs to.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    started_ns: int
    ended_ns: int
    has_remote_parent: bool
    has_failed: bool
    size: int
    encoded: Encoded
    _read: _SpanReader

    @cached_property
    def attributes(self) -> SpanAttributes:
        """By their names; raises ``MessageRejected`` where they are nested too deep."""
        return self._read.attributes(self.encoded.span)

    @cached_property
    def events(self) -> list[SpanEvent]:
        """In their order; raises ``MessageRejected``."""
        return self._read.events(self.encoded.span)

    @cached_property
    def links(self) -> list[SpanLink]:
        """In their order; what names no span is none. Raises ``MessageRejected``."""
        return self._read.links(self.encoded.span)

    @cached_property
    def resource(self) -> SpanAttributes:
        """Who sent it: ``service.name`` and others; raises ``MessageRejected``."""
        return self._read.attributes(self.encoded.resource)


class _SpanReader(NamedTuple):
    """How parts of a span are read of what one of the formats has parsed."""

    attributes: Callable[[Any], SpanAttributes]
    events: Callable[[Any], list[SpanEvent]]
    links: Callable[[Any], list[SpanLink]]


def json_spans(value: bytes) -> list[Span]:
    """The spans of a record of ``otlp_json``; raises ``MessageRejected``."""
    value = value.removeprefix(BYTE_ORDER_MARK)
    try:
        found = from_json(value, allow_inf_nan=True)
    except ValueError as error:
        if value[:1] == b"\n":
            raise not_json("it may be protobuf: set format: otlp_proto", b"{") from None
        raise not_json(str(error), value) from None
    if not isinstance(found, dict):
        raise not_an_object(found)
    if "resourceSpans" not in found:
        raise missing_field(
            "resourceSpans: found nothing, expected spans as the OpenTelemetry collector writes "
            "them; check ingest.format"
        )
    spans, left = [], _RecordBound(MOST_SPANS, "spans, with the scopes and resources around them")
    for at, resource in _items(found, "resourceSpans", ""):
        left.take()
        for scope_at, scope in _items(resource, "scopeSpans", at):
            left.take()
            for path, span in _items(scope, "spans", scope_at):
                left.take()
                spans.append(_json_span(span, resource, path))
    return _sized(spans, len(value))


def json_trace_ids(value: bytes) -> set[str] | None:
    """The traces of a record of ``otlp_json``, unparsed; None where that cannot be seen so.

    Links name traces of other records.
    """
    if b'"links"' in value:
        return None
    found = {each.decode("ascii", "replace") for each in _JSON_TRACE_ID.findall(value)}
    is_plain = all(len(each) == _TRACE_ID and _HEX.fullmatch(each) for each in found)
    return {each.lower() for each in found} if is_plain else None


class _RecordBound:
    """How many more of something a record may have."""

    def __init__(self, most: int, what: str) -> None:
        self._most, self._left, self._what = most, most, what

    def take(self, number: int = 1) -> None:
        """So many; raises ``MessageRejected`` where it has too many."""
        self._left -= number
        if self._left < 0:
            raise MessageRejected(
                f"record: expected at most {self._most:,} {self._what}",
                stage="validate",
                cause="wrong_value",
            )


def _items(parent: Mapping[str, Any], name: str, where: str) -> Iterator[tuple[str, Any]]:
    """The objects of a list, each with its path; there may be none."""
    path = f"{where}.{name}" if where else name
    found = parent.get(name)
    if found is None:
        return
    if not isinstance(found, list):
        raise wrong_value(path, found, "a list")
    for number, each in enumerate(found):
        if not isinstance(each, dict):
            raise wrong_value(f"{path}.{number}", each, "an object")
        yield f"{path}.{number}", each


def _json_span(found: dict[str, Any], resource: dict[str, Any], path: str) -> Span:
    status = found.get("status")
    code = status.get("code") if isinstance(status, dict) else None
    flags = found.get("flags")
    parent = found.get("parentSpanId")
    return Span(
        trace_id=_json_id(found.get("traceId"), _TRACE_ID, f"{path}.traceId"),
        span_id=_json_id(found.get("spanId"), _SPAN_ID, f"{path}.spanId"),
        parent_id=_json_id(parent, _SPAN_ID, f"{path}.parentSpanId") if parent else None,
        name=found["name"] if isinstance(found.get("name"), str) else "",
        started_ns=_nanoseconds(found, "startTimeUnixNano", path),
        ended_ns=_nanoseconds(found, "endTimeUnixNano", path),
        has_remote_parent=isinstance(flags, int) and flags & _IS_REMOTE == _IS_REMOTE,
        has_failed=code in (_ERROR, "STATUS_CODE_ERROR"),
        size=0,
        encoded=Encoded(resource.get("resource") or {}, found),
        _read=_JSON,
    )


def _json_id(found: Any, digits: int, path: str) -> str:
    """In hexadecimal digits, or in Base64, as protobuf's own JSON has it; not all of them 0."""
    text = _digits(found, digits)
    if text is None:
        raise wrong_value(path, found, f"{digits} hexadecimal digits, not all of them 0")
    return text


def _digits(found: Any, digits: int) -> str | None:
    """An id as hexadecimal digits; None where it is none."""
    if not isinstance(found, str):
        return None
    is_hex = len(found) == digits and _HEX.fullmatch(found)
    text = found.lower() if is_hex else _of_base64(found)
    return text if len(text) == digits and text.strip("0") else None


def _of_base64(text: str) -> str:
    try:
        return b64decode(text, validate=True).hex()
    except ValueError:
        return ""


def _nanoseconds(found: Mapping[str, Any], name: str, path: str) -> int:
    value = found.get(name, 0)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**64:
        raise wrong_value(f"{path}.{name}", value, "epoch nanoseconds")
    return value


def _json_attributes(holder: Any) -> SpanAttributes:
    return _json_pairs(holder.get("attributes") if isinstance(holder, dict) else None, 0)


def _json_pairs(pairs: Any, depth: int) -> SpanAttributes:
    if not isinstance(pairs, list):
        return {}
    return {
        pair["key"]: _json_value(pair.get("value"), depth)
        for pair in pairs
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def _json_value(found: Any, depth: int) -> Any:
    _not_too_deep(depth)
    if not isinstance(found, dict):
        return None
    for name, value in found.items():
        if name == "intValue":
            return int(value) if _is_integer(value) else None
        if name == "doubleValue":
            return _finite(value)
        if name == "arrayValue":
            each = value.get("values") if isinstance(value, dict) else None
            listed = each if isinstance(each, list) else ()
            return [_json_value(one, depth + 1) for one in listed]
        if name == "kvlistValue":
            each = value.get("values") if isinstance(value, dict) else None
            return _json_pairs(each, depth + 1)
        if name in ("stringValue", "boolValue", "bytesValue"):
            return value
    return None


def _is_integer(value: Any) -> bool:
    """Of 64 bits at most, as a number or its text: a longer text would take long to read."""
    if isinstance(value, str):
        digits = value.removeprefix("-")
        return len(digits) < 20 and digits.isascii() and digits.isdigit()
    return isinstance(value, int) and not isinstance(value, bool)


def _finite(value: Any) -> float | None:
    """None for what JSON has no number for, like NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _json_events(span: Any) -> list[SpanEvent]:
    found = span.get("events")
    return [
        SpanEvent(str(each.get("name") or ""), _json_attributes(each))
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict)
    ]


def _json_links(span: Any) -> list[SpanLink]:
    found = span.get("links")
    named = (
        (_digits(each.get("traceId"), _TRACE_ID), _digits(each.get("spanId"), _SPAN_ID))
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict)
    )
    return [SpanLink(trace, span_id) for trace, span_id in named if trace and span_id]


def _not_too_deep(depth: int) -> None:
    if depth > _DEEPEST:
        raise MessageRejected(
            f"an attribute of a span: expected at most {_DEEPEST} levels of nesting",
            stage="validate",
            cause="wrong_value",
        )


def as_json(spans: Iterable[Span]) -> bytes:
    """Spans of ``otlp_json`` as a record of their own."""
    listed = [
        {"resource": span.encoded.resource, "scopeSpans": [{"spans": [span.encoded.span]}]}
        for span in spans
    ]
    return json.dumps({"resourceSpans": listed}, ensure_ascii=False).encode(errors="replace")


def has_protobuf() -> bool:
    """Whether the packages of the extra ``otlp`` are there, which ``proto_spans`` needs."""
    try:
        return importlib.util.find_spec("opentelemetry.proto.trace") is not None
    except ModuleNotFoundError:
        return False


def proto_spans(value: bytes) -> list[Span]:
    """The spans of a record of ``otlp_proto``; raises ``MessageRejected``.

    Needs the packages of the extra ``otlp``.
    """
    found = _proto_record(value)
    values = _ProtoValues(_RecordBound(MOST_VALUES, "values of attributes and events"))
    read = _SpanReader(values.attributes, values.events, values.links)
    spans = [
        _proto_span(span, resource.resource, f"resource_spans.{n}.scope_spans.{m}.spans.{k}", read)
        for n, resource in enumerate(found.resource_spans)
        for m, scope in enumerate(resource.scope_spans)
        for k, span in enumerate(scope.spans)
    ]
    return _sized(spans, len(value))


def proto_trace_ids(value: bytes) -> set[str] | None:
    """The traces of a record of ``otlp_proto``, without making spans; None where one is no id."""
    try:
        found = _proto_record(value)
    except MessageRejected:
        return None
    ids = {s.trace_id for r in found.resource_spans for c in r.scope_spans for s in c.spans}
    is_plain = all(2 * len(each) == _TRACE_ID and any(each) for each in ids)
    return {each.hex() for each in ids} if is_plain else None


def _proto_record(value: bytes) -> Any:
    """The message in a record, of no more spans than there may be; raises ``MessageRejected``."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    try:
        found = TracesData.FromString(value)
    except DecodeError:
        raise _not_protobuf(value) from None
    if value and not found.resource_spans:
        raise _not_protobuf(value)
    left = _RecordBound(MOST_SPANS, "spans, with the scopes and resources around them")
    left.take(len(found.resource_spans))
    for resource in found.resource_spans:
        left.take(len(resource.scope_spans))
        for scope in resource.scope_spans:
            left.take(len(scope.spans))
    return found


def _not_protobuf(value: bytes) -> MessageRejected:
    if value.lstrip()[:1] == b"{":
        seems, mend = "JSON", "set format: otlp_json"
    else:
        known = looks_like(value)
        seems, mend = known[0] if known else "something else", "check ingest.format"
    said = f"record: found {seems}, expected spans in protobuf (TracesData of OTLP): {mend}"
    return MessageRejected(said, stage="decode", cause="invalid_protobuf")


def _proto_span(found: Any, resource: Any, path: str, read: _SpanReader) -> Span:
    return Span(
        trace_id=_proto_id(found.trace_id, _TRACE_ID, f"{path}.trace_id"),
        span_id=_proto_id(found.span_id, _SPAN_ID, f"{path}.span_id"),
        parent_id=found.parent_span_id.hex() or None,
        name=found.name,
        started_ns=found.start_time_unix_nano,
        ended_ns=found.end_time_unix_nano,
        has_remote_parent=found.flags & _IS_REMOTE == _IS_REMOTE,
        has_failed=found.status.code == _ERROR,
        size=0,
        encoded=Encoded(resource, found),
        _read=read,
    )


def _proto_id(found: bytes, digits: int, path: str) -> str:
    if not _is_id(found, digits):
        raise wrong_value(path, found, f"{digits // 2} bytes, not all of them 0")
    return found.hex()


def _is_id(found: bytes, digits: int) -> bool:
    return 2 * len(found) == digits and any(found)


class _ProtoValues:
    """Values of protobuf's messages, of one record all together so many as are ``left``."""

    def __init__(self, left: _RecordBound) -> None:
        self._left = left

    def attributes(self, holder: Any) -> SpanAttributes:
        return self._pairs(holder.attributes, 0)

    def events(self, span: Any) -> list[SpanEvent]:
        self._left.take(len(span.events))
        return [SpanEvent(each.name, self.attributes(each)) for each in span.events]

    def links(self, span: Any) -> list[SpanLink]:
        self._left.take(len(span.links))
        ids = ((each.trace_id, each.span_id) for each in span.links)
        return [
            SpanLink(t.hex(), s.hex())
            for t, s in ids
            if _is_id(t, _TRACE_ID) and _is_id(s, _SPAN_ID)
        ]

    def _pairs(self, pairs: Any, depth: int) -> SpanAttributes:
        self._left.take(len(pairs))
        return {pair.key: self._value(pair.value, depth) for pair in pairs}

    def _value(self, found: Any, depth: int) -> Any:
        _not_too_deep(depth)
        kind = found.WhichOneof("value")
        if kind is None:
            return None
        value = getattr(found, kind)
        if kind == "double_value":
            return _finite(value)
        if kind == "array_value":
            self._left.take(len(value.values))
            return [self._value(each, depth + 1) for each in value.values]
        if kind == "kvlist_value":
            return self._pairs(value.values, depth + 1)
        return b64encode(value).decode() if kind == "bytes_value" else value


def as_proto(spans: Iterable[Span]) -> bytes:
    """Spans of ``otlp_proto`` as a record of their own."""
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, TracesData

    listed = [
        ResourceSpans(
            resource=span.encoded.resource, scope_spans=[ScopeSpans(spans=[span.encoded.span])]
        )
        for span in spans
    ]
    encoded: bytes = TracesData(resource_spans=listed).SerializeToString()
    return encoded


_JSON = _SpanReader(_json_attributes, _json_events, _json_links)


def _sized(spans: list[Span], size: int) -> list[Span]:
    """Each with its part of the record."""
    part = math.ceil(size / max(1, len(spans)))
    for span in spans:
        span.size = part
    return spans
