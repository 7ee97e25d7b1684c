"""What decodes by a schema: Avro by fastavro, Protobuf by protoc and protobuf, JSON by itself.

Values come out as JSON has them: times as RFC 3339, bytes in Base64, decimals as texts. Of Protobuf
fields keep their own names, and those without a value have their default.
"""

from __future__ import annotations

import importlib.util
import json
import tempfile
from base64 import b64encode
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from pydantic_core import from_json

from monitor.ingest.formats.schema_registry import Decode
from monitor.ingest.registry.schema import Schema

_MAIN: Final = "__main__.proto"
#: Values of JSON's own types; first, since there may be millions of them.
_AS_THEY_ARE: Final = (str, int, float, type(None))
_NEEDED: Final = {"AVRO": "fastavro", "PROTOBUF": "grpc_tools"}


class UnreadableSchemaError(Exception):
    """Nobody can decode by this schema; its text says why, without any text of the schema."""


def decode_by(schema: Schema) -> Decode:
    """What decodes by it; raises ``UnreadableSchemaError``. Compiling one takes a while."""
    needed = _NEEDED.get(schema.type)
    if needed is not None and importlib.util.find_spec(needed) is None:
        raise UnreadableSchemaError(
            f"schemas of {schema.type} need the package {needed}, which is not installed; "
            'pip install "rag-monitor[registry]"'
        )
    try:
        match schema.type:
            case "AVRO":
                return _avro(schema)
            case "PROTOBUF":
                return _protobuf(schema)
            case "JSON":
                return lambda payload: from_json(payload, allow_inf_nan=False)
    except UnreadableSchemaError:
        raise
    except Exception as error:
        raise UnreadableSchemaError(
            f"the schema ({schema.type}) cannot be read: {type(error).__name__}"
        ) from error


def _avro(schema: Schema) -> Decode:
    import fastavro

    names: dict[str, Any] = {}
    for _, text in schema.references:
        fastavro.parse_schema(json.loads(text), named_schemas=names)
    parsed = fastavro.parse_schema(json.loads(schema.text), named_schemas=names)
    if _contains_itself(parsed, names, ()):
        # Its reader calls itself for each level, in C: a hostile record would end the process.
        raise UnreadableSchemaError("the schema (AVRO) contains itself, and is not decoded")

    if _has_empty_items(parsed, names):
        # Five bytes may hold a hundred million of them.
        raise UnreadableSchemaError(
            "the schema (AVRO) has an array of items that take no bytes, and is not decoded"
        )

    def decode(payload: bytes) -> Any:
        found = BytesIO(payload)
        record = fastavro.schemaless_reader(found, parsed, None)
        if found.read(1):
            raise ValueError("more bytes than the schema has fields")
        return plain(record)

    return decode


def _contains_itself(schema: Any, names: Mapping[str, Any], within: tuple[str, ...]) -> bool:
    """Whether a named type of a parsed schema stands within itself."""
    if isinstance(schema, str):
        if schema in within:
            return True
        return schema in names and _contains_itself(names[schema], names, within)
    if isinstance(schema, list):
        return any(_contains_itself(each, names, within) for each in schema)
    name, kind = schema.get("name"), schema.get("type")
    if kind in ("record", "error") and name is not None:
        if name in within:
            return True
        inner = (*within, name)
        return any(_contains_itself(each["type"], names, inner) for each in schema["fields"])
    below = [schema[key] for key in ("items", "values") if key in schema]
    if isinstance(kind, dict | list):
        below.append(kind)
    return any(_contains_itself(each, names, within) for each in below)


def _has_empty_items(schema: Any, names: Mapping[str, Any]) -> bool:
    """Whether an array of a parsed schema that does not contain itself has items of no bytes."""
    if isinstance(schema, str):
        return schema in names and _has_empty_items(names[schema], names)
    if isinstance(schema, list):
        return any(_has_empty_items(each, names) for each in schema)
    if "items" in schema and _takes_no_bytes(schema["items"], names):
        return True
    below = [schema[key] for key in ("items", "values", "type") if key in schema]
    below += [each["type"] for each in schema.get("fields", ())]
    return any(_has_empty_items(each, names) for each in below)


def _takes_no_bytes(schema: Any, names: Mapping[str, Any]) -> bool:
    if isinstance(schema, list):
        return False  # it says at least which of them it is
    if isinstance(schema, str):
        return schema == "null" or (schema in names and _takes_no_bytes(names[schema], names))
    kind = schema.get("type")
    if kind in ("record", "error"):
        return all(_takes_no_bytes(each["type"], names) for each in schema["fields"])
    if kind == "fixed":
        return bool(schema.get("size") == 0)
    return kind == "null" or (isinstance(kind, dict) and _takes_no_bytes(kind, names))


def plain(found: Any) -> Any:
    """As a value of JSON's types.

    >>> plain({"d": Decimal("1.50"), "b": b"a", "t": date(2026, 1, 2)})
    {'d': '1.50', 'b': 'YQ==', 't': '2026-01-02'}
    """
    if isinstance(found, _AS_THEY_ARE):
        return found
    if isinstance(found, Mapping):
        return {str(key): plain(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [plain(value) for value in found]
    if isinstance(found, bytes | bytearray):
        return b64encode(found).decode()
    if isinstance(found, datetime | date | time):
        return found.isoformat()
    return str(found) if isinstance(found, Decimal | UUID) else found


def _protobuf(schema: Schema) -> Decode:
    from google.protobuf.json_format import MessageToDict

    messages = _messages(schema)
    classes: dict[tuple[int, ...], Any] = {}

    def decode(payload: bytes) -> Any:
        indexes, begin = message_indexes(payload)
        message = classes.get(indexes)
        if message is None:
            message = classes[indexes] = messages(indexes)
        found = message.FromString(payload[begin:])
        return MessageToDict(
            found, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )

    return decode


def _messages(schema: Schema) -> Any:
    """The class of a message by its place in the file: of those within messages of several."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    files = descriptor_pb2.FileDescriptorSet.FromString(_compiled(schema))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    main = pool.FindFileByName(_MAIN)
    (described,) = (file for file in files.file if file.name == _MAIN)

    def of(indexes: tuple[int, ...]) -> Any:
        name, listed = [], described.message_type
        for index in indexes:
            name.append(listed[index].name)
            listed = listed[index].nested_type
        descriptor = main.message_types_by_name[name[0]]
        for each in name[1:]:
            descriptor = descriptor.nested_types_by_name[each]
        return message_factory.GetMessageClass(descriptor)

    of((0,))
    return of


def _compiled(schema: Schema) -> bytes:
    """Descriptors of its file and all that it imports."""
    from grpc_tools import protoc

    known = Path(protoc.__file__).parent / "_proto"
    with tempfile.TemporaryDirectory(prefix="rag-monitor-schema-") as folder:
        for name, text in (*schema.references, (_MAIN, schema.text)):
            file = (Path(folder) / name).resolve()
            if not file.is_relative_to(Path(folder).resolve()):
                raise UnreadableSchemaError("the schema refers to a file outside of its folder")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        out = Path(folder) / "descriptors"
        code = protoc.main(
            [
                "protoc",
                f"-I{folder}",
                f"-I{known}",
                f"--descriptor_set_out={out}",
                "--include_imports",
                _MAIN,
            ]
        )
        if code:
            raise UnreadableSchemaError("the schema (PROTOBUF) cannot be compiled")
        return out.read_bytes()


def message_indexes(payload: bytes) -> tuple[tuple[int, ...], int]:
    """Which message of the file a payload is, and where it begins.

    >>> message_indexes(bytes([0, 9])), message_indexes(bytes([4, 2, 0, 9]))
    (((0,), 1), ((1, 0), 3))
    """
    count, at = _varint(payload, 0)
    if count == 0:
        return (0,), at
    if not 0 < count <= 20:
        raise ValueError("no list of message indexes")
    indexes = []
    for _ in range(count):
        index, at = _varint(payload, at)
        indexes.append(index)
    return tuple(indexes), at


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    """A number in zigzag encoding, and where the next one begins."""
    number = shift = 0
    while True:
        byte = payload[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        if shift > 35:
            raise ValueError("no varint")
