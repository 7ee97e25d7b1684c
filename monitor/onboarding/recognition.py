"""Which format a handful of records has, before any setting says so. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from pydantic_core import from_json

from monitor.errors import MessageRejected
from monitor.ingest.formats import native
from monitor.ingest.formats.first_bytes import BYTE_ORDER_MARK, looks_like
from monitor.ingest.formats.otlp import has_protobuf, proto_spans
from monitor.ingest.formats.rejection import not_unpacked
from monitor.ingest.formats.schema_registry import schema_id
from monitor.kafka.record import KafkaRecord, Unreadable
from monitor.onboarding.file_row import FileRow
from monitor.records import Source

_NOWHERE = Source(topic="", partition=0, offset=0)
_OTLP = "resourceSpans"


class Recognised(NamedTuple):
    """How many of so many ``records`` are native or OTLP, and those that are JSON ``objects``.

    OTLP in JSON and, in ``protobuf``, the other way. ``framed`` are behind the id of a schema.
    ``others``: what the rest seems to be.
    """

    records: int
    native: int
    otlp: int
    protobuf: int
    framed: int
    objects: list[dict[str, Any]]
    others: Counter[str]

    @property
    def is_native(self) -> bool:
        """Whether it is our own format: most of them are."""
        return self.native > self.records / 2

    @property
    def is_registered(self) -> bool:
        """Whether a schema registry knows what most of them are."""
        return self.framed > self.records / 2

    @property
    def span_format(self) -> Literal["otlp_json", "otlp_proto"] | None:
        """How spans are logged; None where something else is."""
        if self.otlp > self.records / 2:
            return "otlp_json"
        return "otlp_proto" if self.protobuf > self.records / 2 else None


def unpacked(records: Iterable[KafkaRecord]) -> tuple[list[KafkaRecord], list[str]]:
    """The records that have values, and what is to be said of those that nobody can read."""
    found, unread = [], Counter[str]()
    for record in records:
        if isinstance(record, Unreadable):
            unread[str(not_unpacked(record))] += 1
        elif isinstance(record, FileRow) and record.fault is not None:
            unread[record.fault] += 1
        else:
            found.append(record)
    return found, [f"{count} × {what}" for what, count in unread.items()]


def recognised(values: Iterable[bytes | None]) -> Recognised:
    """Each by itself; a tombstone is none."""
    found = Recognised(0, 0, 0, 0, 0, [], Counter())
    count = natives = spans = protobuf = framed = 0
    for value in values:
        if value is None:
            continue
        count += 1
        record = _parsed(value)
        if _has_schema_id(value):
            framed += 1
            continue
        if record is None and _is_protobuf(value):
            protobuf += 1
            continue
        if not isinstance(record, dict):
            found.others[_seems(value, record)] += 1
            continue
        natives += _is_native(value)
        spans += _OTLP in record
        found.objects.append(record)
    return found._replace(
        records=count, native=natives, otlp=spans, protobuf=protobuf, framed=framed
    )


def _parsed(value: bytes) -> Any:
    try:
        return from_json(value.removeprefix(BYTE_ORDER_MARK), allow_inf_nan=False)
    except ValueError:
        return None


def _is_native(value: bytes) -> bool:
    try:
        native.decode(value, _NOWHERE, 0)
    except MessageRejected:
        return False
    return True


def _has_schema_id(value: bytes) -> bool:
    try:
        schema_id(value)
    except MessageRejected:
        return False
    return True


def _is_protobuf(value: bytes) -> bool:
    """Whether it is spans in protobuf; unknown without the package that reads them."""
    if not has_protobuf():
        return False
    try:
        return bool(proto_spans(value))
    except MessageRejected:
        return False


def _seems(value: bytes, record: Any) -> str:
    if record is not None:
        return "JSON, and no object"
    seems = looks_like(value)
    return seems[0] if seems else "JSON with a mistake in it"
