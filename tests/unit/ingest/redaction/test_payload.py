"""Dead letters: the same tokens as in the interaction, and all other bytes as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.config import Settings
from monitor.errors import MessageRejected
from monitor.ingest.formats import native
from monitor.ingest.redaction.payload import redacted, redacted_json
from monitor.ingest.redaction.redactor import Redactor, Rules
from monitor.records import Source
from tests.unit.ingest.letters import ORIGINAL, Record
from tests.unit.ingest.redaction.test_redactor import TEXTS

REDACTOR = Redactor(Rules(regions=Settings().redaction.regions))
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
    """Decoded again, the letter's value is the interaction that was judged."""
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
