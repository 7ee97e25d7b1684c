"""What is no JSON is named by what it is, with what to do, and is never quoted."""

from __future__ import annotations

import base64
import bz2
import gzip
import json
import lzma
import pickle
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import MessageRejected
from monitor.ingest.formats.first_bytes import looks_like
from monitor.ingest.formats.native import decode
from monitor.records import Source

SOURCE = Source(topic="rag.interactions.v1", partition=3, offset=42)
MARKER = "the patient's secret"
FIELDS = {"user_input": MARKER, "response": "a", "retrieved_contexts": [], "seen": True}
TEXT = json.dumps(FIELDS)
JSON = TEXT.encode()
ROW = f'i-1,"{MARKER}","The warranty lasts 24 months.",1'
#: An Avro or Protobuf record: lengths and bytes in a row.
BINARY = b"\x0a\x14" + MARKER.encode() + b"\x12\x01a\xff"


def refusal(value: bytes) -> MessageRejected:
    """The error for these bytes."""
    with pytest.raises(MessageRejected) as caught:
        decode(value, SOURCE, 0)
    return caught.value


@pytest.mark.parametrize(
    ("value", "found", "mend"),
    [
        (gzip.compress(JSON, mtime=0), "gzip", "compression.type"),
        (zlib.compress(JSON), "zlib", "compression.type"),
        (bz2.compress(JSON), "bzip2", "compression.type"),
        (lzma.compress(JSON), "xz", "compression.type"),
        (struct.pack(">bI", 0, 7) + JSON, "Confluent's 5 bytes (schema id 7)", "to registry, and"),
        (struct.pack(">bI", 0, 100_042) + BINARY, "Avro or Protobuf behind", "to registry, and"),
        (TEXT.encode("utf-16"), "UTF-16", "as UTF-8"),
        (TEXT.encode("utf-16-le"), "UTF-16", "as UTF-8"),
        (TEXT.encode("utf-16-be"), "UTF-16", "as UTF-8"),
        (TEXT.encode("utf-32"), "UTF-32", "as UTF-8"),
        (TEXT.encode("utf-32-be"), "UTF-32", "as UTF-8"),
        (
            json.dumps({"user_input": "späte"}, ensure_ascii=False).encode("latin-1"),
            "not UTF-8",
            "",
        ),
        (str(FIELDS).encode(), "Python's own notation", "json.dumps"),
        (b'{"user_input": "a", "seen": True}', "Python's own notation", "json.dumps"),
        (b"Interaction(user_input='a', response='b')", "Python's own notation", "json.dumps"),
        (pickle.dumps(FIELDS), "pickle", "JSON encoder"),
        (base64.b64encode(JSON), "Base64", "the JSON itself"),
        (b"id,user_input,response\n" + ROW.encode(), "like CSV", "with names"),
        (ROW.replace(",", ";").encode(), "like CSV", "with names"),
        (ROW.replace(",", "\t").encode(), "like CSV", "with names"),
        (b"<interaction><user_input>a</user_input></interaction>", "XML", "JSON encoder"),
        (BINARY, "binary data, maybe Avro or Protobuf", "convert it to JSON"),
        (b"Obj\x01\x04\x14avro.codec", "Avro file", "convert it to JSON"),
        (b"\x83\xaauser_input\xa1a", "MessagePack", "convert it to JSON"),
        (b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap", "Java object", "JSON encoder"),
        (b"", "an empty value", "send no record"),
        (b" \n", "only white space", "send no record"),
        (JSON[:-5], "not JSON (EOF while parsing", "cuts it off"),
        (JSON + b"\n" + JSON, "not JSON (trailing characters", "one object a record"),
        (b"{user_input: a}", "not JSON (key must be a string", "JSON encoder"),
        (b"How long is the warranty?", "not JSON (expected value", "JSON encoder"),
    ],
)
def test_a_disguise_is_named_with_what_to_do(value: bytes, found: str, mend: str) -> None:
    """The cause stays what it is; the message says what the bytes are, and the mend."""
    error = refusal(value)
    said = str(error)
    assert (error.stage, error.cause) == ("decode", "invalid_json")
    assert said.startswith("record: ")
    assert found in said
    assert mend in said.rpartition(": ")[2]
    assert "\n" not in said
    assert MARKER not in said


@pytest.mark.parametrize(
    ("value", "mend"),
    [
        (json.dumps(TEXT).encode(), "it is encoded twice"),
        (json.dumps([FIELDS]).encode(), "each item as a record"),
        (b'"text"', "one object a record"),
    ],
)
def test_json_that_is_no_object_says_how_to_send_one(value: bytes, mend: str) -> None:
    """Twice through an encoder, or a whole list at once."""
    error = refusal(value)
    assert error.cause == "not_an_object"
    assert mend in str(error)
    assert MARKER not in str(error)


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes_have_a_name_or_none(value: bytes) -> None:
    """No bytes are an error of their own, and none stand in the name."""
    found = looks_like(value)
    assert found is None or all(part.isprintable() and part.isascii() for part in found)
