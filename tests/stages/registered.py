"""Turns of ``log_shapes`` behind the id of a schema: in Avro, in Protobuf and in JSON."""

from __future__ import annotations

import json
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import fastavro
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_tools import protoc

from tests.stages.log_shapes import LoggedTurn

Json = dict[str, Any]
PASSAGE: Final = {
    "type": "record",
    "name": "Passage",
    "namespace": "rag",
    "fields": [{"name": "id", "type": "string"}, {"name": "body", "type": "string"}],
}
#: The second version has one field more, and refers to the passage by its name.
AVRO: Final = {
    "type": "record",
    "name": "Turn",
    "namespace": "rag",
    "fields": [
        {"name": "key", "type": "string"},
        {"name": "question", "type": "string"},
        {"name": "answer", "type": ["null", "string"], "default": None},
        {"name": "chunks", "type": {"type": "array", "items": "rag.Passage"}},
    ],
}
TENANT: Final = {"name": "tenant", "type": "string", "default": "none"}
PROTO_PASSAGE: Final = """
syntax = "proto3";
package rag;
message Passage { string id = 1; string body = 2; }
"""
#: Its turns are the second message of the file, and stand within it.
PROTO: Final = """
syntax = "proto3";
package rag;
import "passage.proto";
message Other { int64 n = 1; }
message Log {
  message Turn {
    string key = 1;
    string question = 2;
    string answer = 3;
    repeated Passage chunks = 4;
    string tenant = 5;
  }
}
"""
JSON_SCHEMA: Final = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"key": {"type": "string"}, "question": {"type": "string"}},
    }
)
MAPPING: Final = {
    "interaction_id": "key",
    "user_input": "question",
    "response": "answer",
    "retrieved_contexts": {"from": "chunks", "text": "body", "id": "id"},
}


def turn(n: int) -> Json:
    """The ``n``-th, as all three hold it."""
    logged = LoggedTurn(n)
    return {
        "key": f"{n}",
        "question": logged.question,
        "answer": logged.answer,
        "chunks": [{"id": name, "body": text} for name, text in logged.passages],
    }


def avro_schema(version: int) -> Json:
    """Of the first or the second version."""
    return AVRO if version == 1 else {**AVRO, "fields": [*AVRO["fields"], TENANT]}


def avro(found: Json, version: int = 1) -> bytes:
    """As Avro has it, without any header."""
    names: Json = {}
    fastavro.parse_schema(PASSAGE, named_schemas=names)
    out = BytesIO()
    schema = fastavro.parse_schema(avro_schema(version), named_schemas=names)
    fastavro.schemaless_writer(out, schema, found)
    return out.getvalue()


def protobuf(found: Json) -> bytes:
    """The indexes of the message, which is the first within the second, and itself."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("turn.proto", PROTO), ("passage.proto", PROTO_PASSAGE)):
            Path(folder, name).write_text(text, encoding="utf-8")
        out = Path(folder, "out")
        said = [f"-I{folder}", f"--descriptor_set_out={out}", "--include_imports", "turn.proto"]
        assert protoc.main(["protoc", *said]) == 0
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    message: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName("rag.Log.Turn"))
    encoded: bytes = message(**found).SerializeToString()
    return bytes([4, 2, 0]) + encoded


def framed(schema_id: int, payload: bytes) -> bytes:
    """Confluent's wire format."""
    return b"\x00" + schema_id.to_bytes(4, "big") + payload
