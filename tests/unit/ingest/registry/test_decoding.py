"""What schemas make of payloads, and what is said of schemas that nobody can read."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import MessageRejected
from monitor.ingest.formats.schema_registry import Decode, decoded_by
from monitor.ingest.registry.decoding import UnreadableSchemaError, decode_by, message_indexes
from monitor.ingest.registry.schema import Schema
from tests.stages.registered import (
    JSON_SCHEMA,
    PASSAGE,
    PROTO,
    PROTO_PASSAGE,
    avro,
    avro_schema,
    protobuf,
    turn,
)

REFERS_TO_PASSAGE = (("rag.Passage", json.dumps(PASSAGE)),)
AVRO = Schema("AVRO", json.dumps(avro_schema(1)), REFERS_TO_PASSAGE)
PROTOBUF = Schema("PROTOBUF", PROTO, (("passage.proto", PROTO_PASSAGE),))


class Known:
    """Knows one schema."""

    def is_known(self, schema_id: int) -> bool:
        """It does."""
        return schema_id == 7

    def decode_of(self, schema_id: int) -> Decode:
        """That of the turn."""
        return decode_by(AVRO)

    async def fetched(self, schema_id: int) -> None:
        """There is nothing to fetch."""


def test_a_payload_that_is_cut_off_ends_too_early() -> None:
    """In words, and not by the name of an exception."""
    with pytest.raises(MessageRejected, match=r"does not fit it \(it ends too early\)"):
        decoded_by(Known(), b"\x00\x00\x00\x00\x07" + avro(turn(3))[:9])


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        (AVRO, avro(turn(3))),
        (PROTOBUF, protobuf(turn(3) | {"tenant": "acme"})),
        (Schema("JSON", JSON_SCHEMA), json.dumps(turn(3)).encode()),
    ],
    ids=["avro", "protobuf", "json"],
)
def test_a_turn_is_decoded_with_what_its_schema_refers_to(schema: Schema, payload: bytes) -> None:
    """Names are those of the schema, whatever case they have."""
    found = decode_by(schema)(payload)
    assert {key: found[key] for key in turn(3)} == turn(3)


def test_values_come_out_as_json_has_them() -> None:
    """Times, decimals and bytes: a mapping knows nothing of a schema's types."""
    kinds: dict[str, Any] = {
        "at": {"type": "long", "logicalType": "timestamp-millis"},
        "day": {"type": "int", "logicalType": "date"},
        "price": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        "raw": "bytes",
        "maybe": ["null", "double"],
        "tags": {"type": "map", "values": "string"},
    }
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    schema = {"type": "record", "name": "R", "fields": fields}
    out = BytesIO()
    record = {
        "at": datetime(2026, 11, 24, 12, tzinfo=UTC),
        "day": date(2026, 11, 24),
        "price": Decimal("1.50"),
        "raw": b"ab",
        "maybe": None,
        "tags": {"k": "v"},
    }
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
    assert decode_by(Schema("AVRO", json.dumps(schema)))(out.getvalue()) == {
        "at": "2026-11-24T12:00:00+00:00",
        "day": "2026-11-24",
        "price": "1.50",
        "raw": "YWI=",
        "maybe": None,
        "tags": {"k": "v"},
    }


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (Schema("AVRO", '{"type": "record"}'), "the schema (AVRO) cannot be read"),
        (Schema("AVRO", "no json"), "the schema (AVRO) cannot be read: JSONDecodeError"),
        (Schema("AVRO", json.dumps(avro_schema(1))), "the schema (AVRO) cannot be read"),
        (Schema("PROTOBUF", "message {"), "the schema (PROTOBUF) cannot be compiled"),
        (Schema("PROTOBUF", PROTO), "the schema (PROTOBUF) cannot be compiled"),
        (
            Schema("PROTOBUF", PROTO, (("../../evil.proto", "x"),)),
            "refers to a file outside of its folder",
        ),
        (
            Schema("PROTOBUF", PROTO, (("/tmp/evil.proto", "x"),)),
            "refers to a file outside of its folder",
        ),
    ],
)
def test_a_schema_that_nobody_can_read_is_said(schema: Schema, said: str) -> None:
    """Also one that refers to what did not come with it, or to files of ours."""
    with pytest.raises(UnreadableSchemaError) as caught:
        decode_by(schema)
    assert said in str(caught.value)


@pytest.mark.parametrize("schema", [AVRO, PROTOBUF], ids=["avro", "protobuf"])
@given(st.binary(max_size=60))
def test_any_payload_is_decoded_or_raises(schema: Schema, payload: bytes) -> None:
    """And nothing hangs or ends the process."""
    try:
        found = _DECODES[schema.type](payload)
    except Exception:  # noqa: BLE001 - whatever a library raises is a dead letter
        return
    assert isinstance(found, dict)


_DECODES = {schema.type: decode_by(schema) for schema in (AVRO, PROTOBUF)}


@pytest.mark.parametrize(
    "schema",
    [
        {"fields": [{"name": "next", "type": ["null", "N"]}]},
        {"fields": [{"name": "all", "type": {"type": "array", "items": "N"}}]},
        {
            "fields": [
                {
                    "name": "m",
                    "type": {
                        "type": "record",
                        "name": "M",
                        "fields": [{"name": "n", "type": {"type": "map", "values": "N"}}],
                    },
                }
            ]
        },
    ],
)
def test_a_schema_that_contains_itself_is_refused(schema: dict[str, Any]) -> None:
    """Its reader has no bound for levels: a record of a few kilobytes would end the process."""
    whole = {"type": "record", "name": "N", **schema}
    with pytest.raises(UnreadableSchemaError, match="contains itself"):
        decode_by(Schema("AVRO", json.dumps(whole)))


def test_the_same_type_twice_side_by_side_is_read() -> None:
    """That is no circle."""
    pair = {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}
    fields = [{"name": "a", "type": pair}, {"name": "b", "type": {"type": "array", "items": "P"}}]
    schema = {"type": "record", "name": "R", "fields": fields}
    out = BytesIO()
    found = {"a": {"x": 1}, "b": [{"x": 2}]}
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), found)
    assert decode_by(Schema("AVRO", json.dumps(schema)))(out.getvalue()) == found


def test_what_is_behind_the_fields_of_a_schema_is_an_error() -> None:
    """A record of another schema may begin alike."""
    with pytest.raises(ValueError, match="more bytes"):
        decode_by(AVRO)(avro(turn(1)) + b"x")


@given(st.lists(st.integers(0, 300), min_size=1, max_size=20))
def test_message_indexes_are_read_back(indexes: list[int]) -> None:
    """As they are written: a count and each, in zigzag encoding; 0 alone is the first message."""

    def varint(number: int) -> bytes:
        number, out = number << 1, b""
        while number > 0x7F:
            out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
        return out + bytes([number])

    written = varint(len(indexes)) + b"".join(map(varint, indexes))
    assert message_indexes(written + b"rest") == (tuple(indexes), len(written))


_NOTHING = {"type": "record", "name": "Z", "fields": [{"name": "n", "type": "null"}]}


@pytest.mark.parametrize(
    "items", ["null", {"type": "fixed", "name": "F", "size": 0}, _NOTHING, {"type": "null"}]
)
def test_an_array_of_items_without_a_byte_is_refused(items: Any) -> None:
    """Five bytes of a record may say that there are ten million of them."""
    array = {"type": "array", "items": items}
    for kind in (array, ["null", array], {"type": "map", "values": array}):
        schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}
        with pytest.raises(UnreadableSchemaError, match="items that take no bytes"):
            decode_by(Schema("AVRO", json.dumps(schema)))
    fine = {"type": "array", "items": ["null", "string"]}
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": fine}]}
    assert decode_by(Schema("AVRO", json.dumps(schema)))(bytes([2, 0, 0])) == {"a": [None]}
