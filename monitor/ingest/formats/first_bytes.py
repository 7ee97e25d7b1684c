"""What a value that is no JSON looks like by its first bytes, and what the sender does about it.

Nothing of the value is quoted: it is traffic. Only a value that could not be parsed comes here.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
#: As much as a name for it needs.
_LOOKED_AT = 1_000
_UNPACKED = "send JSON as it is and let the producer compress (compression.type), which is undone"
_AS_JSON = "write the value with a JSON encoder, in UTF-8"
_CONVERTED = "convert it to JSON before it is logged"
_REGISTERED = "set ingest.format to registry, and ingest.registry.url"
_COMPRESSED = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\xff\x06\x00\x00sNaPpY", "snappy"),
    (b"\x82SNAPPY\x00", "snappy"),
    (b"\x78\x01", "zlib"),
    (b"\x78\x5e", "zlib"),
    (b"\x78\x9c", "zlib"),
    (b"\x78\xda", "zlib"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
)
_FILES = (
    (b"Obj\x01", "an Avro file", _CONVERTED),
    (b"PAR1", "a Parquet file", _CONVERTED),
    (b"PK\x03\x04", "a zip archive", _CONVERTED),
    (b"\xac\xed\x00\x05", "a serialised Java object", _AS_JSON),
)
#: In Base64: as gzip, zstd and zlib begin; a text of fewer characters is none of them.
_PACKED = ("H4sI", "KLUv", "eA", "eF", "eJ", "eN")
_LEAST_PACKED = 60
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+=*")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
#: A text that begins as JSON does, with two bytes or four to a character.
_WIDE = re.compile(rb"[\s{\[]\x00|\x00[\s{\[]\x00|\x00\x00\x00[\s{\[]")
#: What JSON has in double quotes, Python writes in single ones; or a class with its fields.
_PYTHON = re.compile(r"\s*(?:\[\s*)?\{\s*'|\s*[A-Z]\w*\([a-z_]+=")
_PYTHON_WORDS = re.compile(r"\s*\{.*:\s*(?:None|True|False)\s*[,}\]]", re.DOTALL)
_BASE64_OBJECT = re.compile(rb"\s*(?:eyJ|ewog|ewo)[A-Za-z0-9+/_=\s-]+\Z")
_SEPARATORS = ",;\t"


def looks_like(value: bytes) -> tuple[str, str] | None:
    r"""What the value seems to be, and what to do; None where it may be JSON with a mistake.

    >>> looks_like(b"\x1f\x8b\x08")[0], looks_like(b"\x00\x00\x00\x00\x07{}")[0]
    ('gzip', "JSON behind Confluent's 5 bytes (schema id 7)")
    >>> looks_like(b'{"user_input": ')
    """
    if not value.strip():
        return "an empty value" if not value else "only white space", (
            "send no record where there is nothing to log"
        )
    return _of_bytes(value) or _of_text(value)


def packed_as(text: str) -> str | None:
    """What has compressed a text that is bytes in Base64; None where it may be words.

    >>> from base64 import b64encode
    >>> said = b"How long is the warranty of item 7? It lasts 24 months."
    >>> packed_as(b64encode(zlib.compress(said)).decode())
    'zlib'
    >>> packed_as("eJust a text that begins alike, of more than so many characters.")
    """
    if len(text) < _LEAST_PACKED or not text.startswith(_PACKED) or not _BASE64.fullmatch(text):
        return None
    head = b64decode(text[:_LEAST_PACKED], altchars=b"-_" if {"-", "_"} & set(text) else None)
    name = next((name for begin, name in _COMPRESSED if head.startswith(begin)), None)
    if name != "zlib":
        return name
    try:
        zlib.decompressobj().decompress(head)
    except zlib.error:
        return None
    return name


def _of_bytes(value: bytes) -> tuple[str, str] | None:
    for begin, name in _COMPRESSED:
        if value.startswith(begin):
            return name, _UNPACKED
    for begin, name, mend in _FILES:
        if value.startswith(begin):
            return name, mend
    if value.startswith(_UTF_16) or _WIDE.match(value):
        return "text in UTF-16 or UTF-32", "encode the JSON as UTF-8"
    if value[0] == 0 and len(value) > 5:
        return _behind_confluent(value)
    if value[0] == 0x80 and value[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a Python pickle", _AS_JSON
    if 0x81 <= value[0] <= 0x8F and (0xA1 <= value[1:2][0] <= 0xBF if value[1:2] else False):
        return "MessagePack", _CONVERTED
    return None


def _behind_confluent(value: bytes) -> tuple[str, str]:
    """Magic byte 0 and the id of a schema in four bytes, as a registry's serialisers write."""
    schema = int.from_bytes(value[1:5], "big")
    if value[5:].lstrip().startswith(b"{"):
        mend = _REGISTERED
        return f"JSON behind Confluent's 5 bytes (schema id {schema})", mend
    what = f"Avro or Protobuf behind Confluent's 5 bytes (schema id {schema})"
    return what, _REGISTERED


def _of_text(value: bytes) -> tuple[str, str] | None:
    try:
        text = value.decode("utf-8")[:_LOOKED_AT]
    except UnicodeDecodeError as error:
        return _not_utf_8(value, error.start)
    if any(ord(sign) < 32 and sign not in "\t\n\r\f" for sign in text[:16]):
        return "binary data, maybe Avro or Protobuf", _CONVERTED
    if _PYTHON.match(text) or _PYTHON_WORDS.match(text):
        return "Python's own notation", "write the value with json.dumps in place of str or repr"
    if _BASE64_OBJECT.match(value[:_LOOKED_AT]):
        return "JSON in Base64", "send the JSON itself"
    if text.lstrip()[:1] in '{["':
        return None
    if text.lstrip().startswith("<"):
        return "XML or HTML", _AS_JSON
    first = text.lstrip().partition("\n")[0]
    if max(map(first.count, _SEPARATORS)) >= 2:
        return "text with separators, like CSV", "write one JSON object a record, with names"
    return None


def _not_utf_8(value: bytes, at: int) -> tuple[str, str]:
    if value.lstrip()[:1] in (b"{", b"["):
        return f"text that is not UTF-8 at byte {at}", "encode the JSON as UTF-8"
    return "binary data, maybe Avro or Protobuf", _CONVERTED
