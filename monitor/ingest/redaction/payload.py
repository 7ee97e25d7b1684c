"""What a record carries, for the dead letters: its bytes, but for what is redacted.

The same texts become the same in an interaction and in a letter. The bytes around them stay as they
were, for a letter is there to say what was wrong with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from monitor.ingest.letter import ERROR, REDRIVE
from monitor.ingest.redaction.redactor import Redactor
from monitor.kafka.record import KafkaRecord

_PARTS = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|-?\d[\d.eE+\-]*+', re.DOTALL)
_INTEGER = re.compile(r"-?\d{1,40}")
#: Names and ids by their path, "" for any place in a list: an interaction keeps them as well.
_KEPT = frozenset(
    {("interaction_id",), ("application",), ("timestamp",), ("retrieved_contexts", "", "id")}
)


class Payload(NamedTuple):
    """What of a record was not made by Kafka."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


def redacted(record: KafkaRecord, redactor: Redactor) -> Payload:
    """Key, value and headers with tokens; as they are where nothing is found."""
    if not redactor.is_on:
        return Payload(record.key, record.value, record.headers)
    headers = [
        (name, said if name.startswith((ERROR, REDRIVE)) else _plain(said, redactor))
        for name, said in record.headers
    ]
    value = record.value
    if value is not None:
        text = redacted_json(value.decode(errors="surrogateescape"), redactor)
        value = text.encode(errors="surrogateescape")
    return Payload(_plain(record.key, redactor), value, headers)


def redacted_json(text: str, redactor: Redactor) -> str:
    r"""JSON with tokens in its texts and keys, and in place of whole numbers that are values.

    What is no JSON is redacted as a plain text besides: nobody knows where its texts begin.

    >>> from monitor.ingest.redaction.redactor import Rules
    >>> redactor = Redactor(Rules(kinds=("email",)))
    >>> redacted_json('{"user_input":  "a\\u0040b.org", "interaction_id": "a@b.org"}', redactor)
    '{"user_input":  "<EMAIL:9e4577>", "interaction_id": "a@b.org"}'
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return redactor.text("".join(_pieces(text, redactor, frozenset())))
    return "".join(_pieces(text, redactor, _KEPT))


def _plain(raw: bytes | None, redactor: Redactor) -> bytes | None:
    if raw is None:
        return None
    text = raw.decode(errors="surrogateescape")
    return redactor.text(text).encode(errors="surrogateescape")


class _Place:
    """Where in a JSON text the next part stands; wrong brackets do no harm."""

    def __init__(self) -> None:
        # Of every container that is open the key that we are at, "" in a list.
        self._keys: list[str] = []
        self._objects: list[bool] = []
        self._is_key = False

    def is_one_of(self, paths: frozenset[tuple[str, ...]]) -> bool:
        """Whether a value at one of these paths is next; of a key it never is."""
        # Before a copy is made: hostile records have a hundred thousand brackets in each other.
        at_most = max(map(len, paths), default=0)
        return not self._is_key and len(self._keys) <= at_most and tuple(self._keys) in paths

    def passed(self, sign: str) -> None:
        """A bracket, comma or colon."""
        if sign in "{[":
            self._keys.append("")
            self._objects.append(sign == "{")
        elif sign in "}]" and self._keys:
            self._keys.pop()
            self._objects.pop()
        opens = sign in "{," and bool(self._objects)
        self._is_key = opens and self._objects[-1]

    def read(self, text: str) -> None:
        """A text: a key where one is due."""
        if self._is_key:
            self._keys[-1] = text


def _pieces(text: str, redactor: Redactor, kept: frozenset[tuple[str, ...]]) -> Iterator[str]:
    place, last = _Place(), 0
    for match in _PARTS.finditer(text):
        yield text[last : match.start()]
        last, part = match.end(), match[0]
        if part in "{}[],:":
            place.passed(part)
        elif not place.is_one_of(kept):
            part = _clean(part, place, redactor)
        yield part
    yield text[last:]


def _clean(part: str, place: _Place, redactor: Redactor) -> str:
    """A text or a number, as it was written unless something is found in it."""
    if part[0] != '"':
        clean = redactor.text(part) if _INTEGER.fullmatch(part) else part
        return part if clean == part else json.dumps(clean)
    try:
        found = str(json.loads(part, strict=False))
    except ValueError:
        return part  # a wrong escape: the plain text is redacted later
    place.read(found)
    clean = redactor.text(found)
    return part if clean == found else json.dumps(clean, ensure_ascii=False)
