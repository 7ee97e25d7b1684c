"""Dead letters: the same tokens as in the interaction, and all other bytes as they were."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.config import Settings
from monitor.errors import MessageRejected
from monitor.ingest.formats import native
from monitor.ingest.redaction.payload import redacted, redacted_json
from monitor.ingest.redaction.redactor import RedactionRules, Redactor
from monitor.records import Source
from tests.stages.dead_letters import ORIGINAL, Record
from tests.stages.redaction import TEXTS

REDACTOR = Redactor(RedactionRules(regions=Settings().redaction.regions))
SOURCE = Source(topic="t", partition=0, offset=0)
TOKEN = REDACTOR.text("bob@example.com")
CARD, PHONE = REDACTOR.text("4111111111111111"), REDACTOR.text("13800138000")
NAMES = st.sampled_from(["id", "user_input", "interaction_id", "bob@example.com", "x"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.just(4111111111111111),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
LOGGED = st.fixed_dictionaries(
    {
        "interaction_id": TEXTS.filter(bool),
        "user_input": TEXTS,
        "response": TEXTS,
        "retrieved_contexts": st.lists(
            TEXTS | st.fixed_dictionaries({"id": TEXTS, "text": TEXTS}), max_size=2
        ),
        "reference": TEXTS | st.none(),
        "attributes": st.dictionaries(NAMES, VALUES, max_size=3),
    }
)


@settings(deadline=None)
@given(LOGGED, st.booleans())
def test_letter_and_interaction_agree(logged: dict[str, Any], ascii_only: bool) -> None:
    """Decoded again, the dead letter's value is the interaction that was judged."""
    line = json.dumps(logged, ensure_ascii=ascii_only)
    clean = redacted_json(line, REDACTOR).encode(errors="surrogatepass")
    try:
        judged = native.decode(line.encode(errors="surrogatepass"), SOURCE, 0).interaction
    except MessageRejected:
        return  # half a character
    assert native.decode(clean, SOURCE, 0).interaction == REDACTOR.interaction(judged)


@pytest.mark.parametrize(
    ("line", "clean"),
    [
        ('{ "a" :\t"bob\\u0040example.com", "n": 1.50e3 }', f'{{ "a" :\t"{TOKEN}", "n": 1.50e3 }}'),
        ('{"interaction_id":"bob@example.com"}', '{"interaction_id":"bob@example.com"}'),
        ('{"a":{"interaction_id":"bob@example.com"}}', f'{{"a":{{"interaction_id":"{TOKEN}"}}}}'),
        ('{"retrieved_contexts":[{"id":"a@b.org"}]}', '{"retrieved_contexts":[{"id":"a@b.org"}]}'),
        ('{"bob@example.com": [1, true]}', f'{{"{TOKEN}": [1, true]}}'),
        ('["bob@example.com"', f'["{TOKEN}"'),
        ("bob@example.com", TOKEN),
        ('{"interaction_id":"bob@example.com",', f'{{"interaction_id":"{TOKEN}",'),
        ('{"a":"bob@example.com\\q"}', f'{{"a":"{TOKEN}\\q"}}'),
        ('{"a": 0.4111111111111111}', '{"a": 0.4111111111111111}'),
        ("[" * 5_000 + "1", "[" * 5_000 + "1"),
        ('{"timestamp":"2026-11-20T12:00:00Z"}', '{"timestamp":"2026-11-20T12:00:00Z"}'),
        ('{"timestamp":"bob@example.com"}', f'{{"timestamp":"{TOKEN}"}}'),
        ('{"a":4111111111111111.0}', f'{{"a":"{CARD}"}}'),
        ('{"a":4.111111111111111e15}', f'{{"a":"{CARD}"}}'),
        # Cut, or wrong: what stands behind an escape begins there.
        (r'{"a":"x\n13800138000', rf'{{"a":"x\n{PHONE}'),
        (r'{"a":"x\u0040 \q\n13800138000", "b":1', rf'{{"a":"x\u0040 \q\n{PHONE}", "b":1'),
        (r'{"a":"C:\Users\n13800138000"}', rf'{{"a":"C:\Users\n{PHONE}"}}'),
        (r'{"a":"C:\users\n13800138000"}', rf'{{"a":"C:\users\n{PHONE}"}}'),
    ],
)
def test_bytes_around_stay(line: str, clean: str) -> None:
    """White space, escapes and numbers; ids stay where an interaction keeps them."""
    assert redacted_json(line, REDACTOR) == clean


@pytest.mark.parametrize("half", [r"\ud800", r"\udc80", r"\udfff\ud83d"])
def test_half_a_character_stays_as_it_was_escaped(half: str) -> None:
    """It has no bytes of its own: read and written out, it would make the letter impossible."""
    value = rf'{{"user_input": "{half} bob@example.com", "{half}": "\ud83d\ude00 13800138000"}}'
    clean = redacted(Record(value=value.encode()), REDACTOR).value
    assert clean is not None
    assert clean.decode() == rf'{{"user_input": "{half} {TOKEN}", "{half}": "😀 {PHONE}"}}'


def test_a_number_that_is_a_value_becomes_a_text() -> None:
    """In JSON a token needs quotes."""
    clean = redacted_json('{"attributes": {"card": 4111111111111111}}', REDACTOR)
    assert json.loads(clean)["attributes"] == {"card": REDACTOR.text("4111111111111111")}


def test_key_and_headers_are_redacted() -> None:
    """But for those of the monitor; a byte that is no UTF-8 stays what it is."""
    headers = (*ORIGINAL, ("user", b"bob@example.com"), ("x-redrive.topic", b"bob@example.com"))
    record = Record(key=b"bob@example.com", value=b"\xff bob@example.com", headers=headers)
    clean = redacted(record, REDACTOR)
    assert clean.key == TOKEN.encode()
    assert clean.value == b"\xff " + TOKEN.encode()
    assert list(clean.headers) == [
        *ORIGINAL,
        ("user", TOKEN.encode()),
        ("x-redrive.topic", b"bob@example.com"),
    ]


@pytest.mark.parametrize("redactor", [REDACTOR, Redactor(None)])
def test_what_holds_nothing_stays_as_it_was(redactor: Redactor) -> None:
    """Also a record without key and value."""
    for record in (Record(), Record(key=None, value=None), Record(value=b"\xff\x00{")):
        found = redacted(record, redactor)
        assert (found.key, found.value, list(found.headers)) == (
            record.key,
            record.value,
            list(record.headers),
        )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("cut", [0, 1])
def test_other_encodings_hide_nothing(encoding: str, cut: int) -> None:
    """In value, key and header; as JSON, and cut within a character."""
    line = '{"a": "\\u0062ob@example.com", "b": "用户@例子.中国, 4111111111111111", "c": 1}'
    raw = line.encode(encoding)
    record = Record(key=raw, value=raw[: len(raw) - cut], headers=(("user", raw),))
    clean = redacted(record, REDACTOR)
    for found in (clean.key, clean.value, dict(clean.headers)["user"]):
        assert found is not None
        text = found.decode(encoding, "ignore")
        assert re.findall("<([A-Z]+):[0-9a-f]{6}>", text) == ["EMAIL", "EMAIL", "CARD"]
        assert not [secret for secret in ("example.com", "例子", "4111") if secret in text]


@pytest.mark.parametrize("before", [b"\x00\x01\x02", b"\xff\x00\x01\x02"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_letters_of_two_bytes_are_read_wherever_they_begin(before: bytes, encoding: str) -> None:
    """Behind a frame of even or odd length."""
    raw = before + 'x {"a": "bob@example.com"}'.encode(encoding) + b"\xff\xd8\xd8"
    clean = redacted(Record(value=raw), REDACTOR).value
    assert clean is not None
    assert TOKEN in clean.replace(b"\0", b"").decode(errors="replace")
    assert b"example" not in clean.replace(b"\0", b"")


def test_letters_of_four_bytes_that_cannot_be_read_go_nowhere() -> None:
    """Behind something that is no character: said without the text."""
    raw = b"\xff\xff\xff\xff" + "bob@example.com".encode("utf-32-le")
    with pytest.raises(MessageRejected) as caught:
        redacted(Record(value=raw), REDACTOR)
    assert str(caught.value).startswith("redaction: UnicodeError at payload.py:")


def test_a_value_in_another_encoding_without_secrets_stays() -> None:
    """To the byte, as do noise and text with a zero in it."""
    noise = bytes(Random(1).randrange(256) for _ in range(5_000))
    for value in (noise, b"a\0b", "warranty lasts".encode("utf-16"), "a\0b".encode("utf-32")):
        assert redacted(Record(value=value), REDACTOR).value == value


def test_what_fails_is_named_without_the_text() -> None:
    """A pattern whose name has no bytes fails where it finds something: nothing is returned."""
    redactor = Redactor(RedactionRules(patterns={"\ud800": "C-[0-9]+"}))
    assert redacted(Record(value=b"C-"), redactor).value == b"C-"
    with pytest.raises(MessageRejected) as caught:
        redacted(Record(value=b'{"user_input": "C-4711"}'), redactor)
    assert (caught.value.stage, caught.value.cause) == ("redact", "redaction_failed")
    assert str(caught.value).startswith("redaction: UnicodeEncodeError at redactor.py:")
    assert "4711" not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__suppress_context__) == (None, True)
