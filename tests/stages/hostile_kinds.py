"""The kinds of hostile records, each with the fate that the monitor owes it."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.servers.kafka_topics import Record
from tests.stages.hostile import (
    Kind,
    any_of,
    bit_flipped,
    changed,
    fixed,
    framed,
    nested,
    scribble,
    truncated,
    with_fields,
    with_member,
    without,
)
from tests.stages.hostile_oracle import (
    INVALID_JSON,
    LONGEST_NAME,
    MISSING_FIELD,
    NO_CLAIMS,
    NO_CONTEXTS,
    NOT_AN_OBJECT,
    SCORED,
    TOMBSTONE,
    TOO_LARGE,
    UNREADABLE_RECORD,
    WRONG_VALUE,
)
from tests.stages.plain import WARRANTY, encoded, interaction

MB = 1_000_000
#: What the topic of the dead letters takes; between the large records and the largest one.
MOST_DEAD_LETTER_BYTES = 6 * MB
DEEP = 50_000
_LONG_NUMBER = "9" * 5_000
_TEXT = encoded(interaction("coded", attributes={"tenant": "ä"})).decode()

DAMAGED = (
    Kind("truncated", INVALID_JSON, changed(truncated), 500),
    Kind("bit_flipped", None, changed(bit_flipped), 700),
    Kind("random_bytes", None, changed(lambda rng, _: rng.randbytes(rng.randrange(1, 300))), 240),
    Kind("scribble", None, changed(scribble), 150),
    Kind("empty", INVALID_JSON, fixed(b"")),
    Kind("white_space", INVALID_JSON, fixed(b" ", b"\n\t \r\n", b" " * 10_000)),
    Kind("two_objects", INVALID_JSON, changed(lambda _, value: value + b"\n" + value)),
    Kind("trailing", INVALID_JSON, changed(lambda _, value: value + b" x")),
    Kind("trailing_comma", INVALID_JSON, changed(lambda _, value: value[:-1] + b",}")),
    Kind("python", INVALID_JSON, fixed(repr(interaction("x")).encode())),
    Kind("control", INVALID_JSON, with_member(b'"x": "\x00"', b'"x": "\n"')),
)

ENCODINGS = (
    Kind("byte_order_mark", SCORED, fixed(b"\xef\xbb\xbf" + _TEXT.encode())),
    Kind("two_marks", INVALID_JSON, fixed(b"\xef\xbb\xbf" * 2 + _TEXT.encode())),
    Kind("utf_16", INVALID_JSON, fixed(_TEXT.encode("utf-16"), _TEXT.encode("utf-16-le"))),
    Kind("utf_32", INVALID_JSON, fixed(_TEXT.encode("utf-32-le"))),
    Kind("latin_1", INVALID_JSON, fixed(_TEXT.encode("latin-1"))),
    Kind("overlong", INVALID_JSON, with_member(b'"x": "\xc0\xaf"')),
    Kind("half_pair", INVALID_JSON, with_member(r'"x": "\ud800"', r'"x": "\udc00\ud800"')),
    Kind("half_pair_in_key", INVALID_JSON, with_member(r'"\ud83d": 1')),
    Kind("half_pair_hidden", INVALID_JSON, with_member(r'"x": "\ud800", "x": 1')),
    Kind("raw_half_pair", INVALID_JSON, with_member(b'"x": "\xed\xa0\x80"')),
    Kind("whole_pair", SCORED, with_member(r'"x": "\ud83d\ude00\u0000"')),
)

SHAPES = (
    Kind("null", NOT_AN_OBJECT, fixed(b"null", b" null\n")),
    Kind("array", NOT_AN_OBJECT, fixed(b"[]", b'[{"user_input": "x"}]')),
    Kind("number", NOT_AN_OBJECT, fixed(b"0", b"-1.5e3", b"NaN", b"-Infinity")),
    Kind("string", NOT_AN_OBJECT, fixed(b'"text"', '"文"'.encode())),
    Kind("boolean", NOT_AN_OBJECT, fixed(b"true", b"false")),
    Kind("deep_lists", INVALID_JSON, fixed(b"[" * DEEP + b"]" * DEEP), 60),
    Kind("deep_objects", INVALID_JSON, fixed(b'{"x":' * DEEP + b"1" + b"}" * DEEP), 30),
    Kind("deep_unclosed", INVALID_JSON, fixed(b'{"x":' * DEEP), 30),
    Kind("deep_field", INVALID_JSON, with_member(f'"x": {"[" * DEEP}{"]" * DEEP}'), 60),
    Kind("deep_21", WRONG_VALUE, with_fields(x=nested(21))),
    Kind("deep_20", SCORED, with_fields(x=nested(20))),
)

NUMBERS = (
    Kind("long_number", INVALID_JSON, with_member(f'"x": {_LONG_NUMBER}')),
    Kind("long_number_id", INVALID_JSON, with_member(f'"interaction_id": {_LONG_NUMBER}')),
    Kind("long_number_time", INVALID_JSON, with_member(f'"timestamp": {_LONG_NUMBER}')),
    Kind("long_fraction", SCORED, with_member(f'"x": 0.{_LONG_NUMBER}')),
    Kind("65_bits", WRONG_VALUE, with_member(f'"x": {2**63}', f'"x": -{2**64}')),
    Kind("exponent", WRONG_VALUE, with_member('"x": 1e400', '"x": -1E99999999999')),
    Kind("tiny_exponent", SCORED, with_member('"x": 1e-99999999999')),
    Kind("nan", WRONG_VALUE, with_member('"x": NaN', '"attributes": {"a": [NaN]}')),
    Kind("infinity", WRONG_VALUE, with_member('"x": Infinity', '"x": [-Infinity]')),
    Kind("nan_text", WRONG_VALUE, with_member('"response": NaN')),
    Kind(
        "nan_score",
        WRONG_VALUE,
        with_member('"retrieved_contexts": [{"text": "x", "score": NaN}]'),
    ),
    Kind("twice", SCORED, with_member(f'"response": "{WARRANTY}"')),
    Kind("twice_wrong_last", WRONG_VALUE, with_member('"response": 5')),
    Kind("twice_right_last", SCORED, with_member('"x": NaN, "x": 1')),
)

_NO_TEXT: tuple[Any, ...] = (5, True, [], {}, 0.5, ["x"], {"text": "x"})
_NO_NAME: tuple[Any, ...] = (*_NO_TEXT, "x" * (LONGEST_NAME + 1))
_NO_ID: tuple[Any, ...] = (*(each for each in _NO_NAME if each != 5), 2**63, 5.0)
_NO_LIST: tuple[Any, ...] = (5, True, "text", {}, [5], [None], [[]], [True])
_NO_PASSAGE: tuple[Any, ...] = (
    {"text": 5},
    {"text": None},
    {"text": "x", "id": True},
    {"text": "x", "id": 5.0},
    {"text": "x", "score": "high"},
    {"text": "x", "score": True},
    {"text": "x", "score": []},
    {"text": "x", "relevant": 1},
    {"text": "x", "relevant": "yes"},
)
_NO_TIME: tuple[Any, ...] = (
    True,
    [],
    {},
    "noon",
    "",
    "2026-11-20",
    "2026-11-20T12:00:00",
    "1795176000000",
)
#: Seconds for milliseconds, before and after every calendar, yesterday's century.
STRANGE_TIMES = (0, -1, 1_795_176_000, 10**18, -(10**30), 1e300, "1969-01-01T00:00:00Z")

FIELDS = (
    *(Kind(f"no_{x}", MISSING_FIELD, without(x)) for x in ("user_input", "response")),
    Kind("no_contexts_field", MISSING_FIELD, without("retrieved_contexts")),
    Kind("no_passage_text", MISSING_FIELD, any_of("retrieved_contexts", [[{}], [{"id": "x"}]])),
    Kind("wrong_user_input", WRONG_VALUE, any_of("user_input", (*_NO_TEXT, None))),
    Kind("wrong_response", WRONG_VALUE, any_of("response", (*_NO_TEXT, None))),
    Kind("wrong_reference", WRONG_VALUE, any_of("reference", _NO_TEXT)),
    Kind("wrong_interaction_id", WRONG_VALUE, any_of("interaction_id", _NO_ID)),
    Kind("wrong_application", WRONG_VALUE, any_of("application", (*_NO_NAME, ""))),
    Kind("wrong_contexts", WRONG_VALUE, any_of("retrieved_contexts", _NO_LIST)),
    Kind("wrong_passage", WRONG_VALUE, any_of("retrieved_contexts", [[x] for x in _NO_PASSAGE])),
    Kind("wrong_attributes", WRONG_VALUE, any_of("attributes", (5, True, "text", []))),
    Kind("wrong_timestamp", WRONG_VALUE, any_of("timestamp", _NO_TIME)),
    Kind("strange_timestamp", SCORED, any_of("timestamp", STRANGE_TIMES)),
    Kind("nan_timestamp", SCORED, with_member('"timestamp": NaN', '"timestamp": 1e999')),
    Kind("number_id", SCORED, any_of("interaction_id", [42, -1, 2**63 - 1])),
    Kind("null_id", SCORED, with_fields(interaction_id=None)),
    Kind("empty_id", WRONG_VALUE, with_fields(interaction_id="")),
    Kind("strange_id", SCORED, any_of("interaction_id", ["/", "a\nb", "😀" * LONGEST_NAME, " "])),
    Kind("strange_application", SCORED, any_of("application", ["other", 'a"\\\n', "😀", " "])),
    Kind("nulls", SCORED, with_fields(application=None, attributes=None, reference=None)),
    Kind("dunder", SCORED, with_fields(__class__=1, __dict__={}, model_config=2, model_extra=3)),
    Kind("score_as_text", SCORED, with_fields(retrieved_contexts=[{"text": "x", "score": "0.5"}])),
    Kind("no_claims", NO_CLAIMS, any_of("response", ["", " … ", "\u200b", "?" * 10_000])),
    Kind("no_contexts", NO_CONTEXTS, with_fields(retrieved_contexts=[], reference=None)),
)

_BROKEN = b'{"user_input": "broken'
_MANY = tuple((f"h{i}", b"x" * 20) for i in range(1_000))
# Kafka and its client take headers without a value, though the shape of a record does not say so.
_NULL_HEADER: Any = (("nothing", None), ("", b""), ("twice", b"1"), ("twice", b"2"))

FRAMES = (
    Kind("null_key", SCORED, framed(key=None)),
    Kind("empty_key", SCORED, framed(key=b"")),
    Kind("binary_key", SCORED, framed(key=b"\xff\x00\xfe")),
    Kind("null_key_broken", INVALID_JSON, framed(_BROKEN, key=None)),
    Kind("empty_key_broken", INVALID_JSON, framed(_BROKEN, key=b"")),
    Kind("binary_key_broken", INVALID_JSON, framed(_BROKEN, key=b"\xff\x00\xfe")),
    Kind("large_key_broken", INVALID_JSON, framed(_BROKEN, key=b"k" * 100_000), 20),
    Kind("tombstone", TOMBSTONE, framed(None)),
    Kind("tombstone_null_key", TOMBSTONE, framed(None, key=None)),
    Kind("null_header", SCORED, framed(headers=_NULL_HEADER)),
    Kind("null_header_broken", INVALID_JSON, framed(_BROKEN, headers=_NULL_HEADER)),
    Kind("many_headers", SCORED, framed(headers=_MANY), 20),
    Kind("many_headers_broken", INVALID_JSON, framed(_BROKEN, headers=_MANY), 20),
    Kind("epoch_broken", INVALID_JSON, framed(_BROKEN, timestamp_ms=0)),
    Kind("epoch", SCORED, framed(timestamp_ms=0)),
)


def _words(rng: Random, count: int) -> str:
    return " ".join(rng.choices(["warranty", "months", "24", "lasts", "the", "screen"], k=count))


def _large(size: int) -> bytes:
    """A broken record that no codec makes smaller: brokers limit what is left after that."""
    return _BROKEN + Random(size).randbytes(size - len(_BROKEN))


def _long_claim(rng: Random, name: str) -> Record:
    return Record(encoded(interaction(name, response=_words(rng, 20_000) + ".")))


SIZES = (
    Kind("5_mb", SCORED, with_fields(attributes={"log": "x" * 5 * MB}), 4),
    Kind("5_mb_broken", INVALID_JSON, fixed(_large(5 * MB)), 4),
    Kind("5_mb_invalid", WRONG_VALUE, with_fields(user_input=["x" * 5 * MB]), 4),
    Kind("7_mb_broken", INVALID_JSON, fixed(_large(7 * MB)), 2, kept=False),
    Kind("1_mb_context", SCORED, with_fields(retrieved_contexts=[WARRANTY, "x" * MB]), 4),
    Kind("10_000_passages", SCORED, with_fields(retrieved_contexts=[WARRANTY] * 10_000), 4),
    Kind("100_000_fields", SCORED, with_fields(**{f"f{i}": i for i in range(100_000)}), 3),
    Kind("long_claim", SCORED, _long_claim, 20),
    Kind("endless_claims", TOO_LARGE, with_fields(response=f"{WARRANTY} " * 20_000), 4),
)

KINDS = (*DAMAGED, *ENCODINGS, *SHAPES, *NUMBERS, *FIELDS, *FRAMES, *SIZES)
GOOD = Kind("good", SCORED, with_fields())
#: Its header's name is no UTF-8, and the client can give nothing of it; written by other means.
UNREADABLE = Kind("unreadable", UNREADABLE_RECORD, fixed(b""))
