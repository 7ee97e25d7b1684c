"""What a record carries, for the dead letters: its bytes, but for what is redacted.

The same texts become the same in an interaction and in a dead letter. The bytes around them stay as
they were, for a dead letter is there to say what was wrong with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from monitor.ingest.dead_letter_headers import ERROR, REDRIVE
from monitor.ingest.event_time import parse_timestamp
from monitor.ingest.redaction.redactor import Redactor, foreseen
from monitor.kafka.record import KafkaRecord

_PARTS = re.compile(r'"(?>(?:[^"\\]++|\\.)*)"|[{}\[\],:]|-?\d[\d.eE+\-]*+', re.DOTALL)
_HEX = "[0-9A-Fa-f]"
#: In a text of JSON: what can be read (group 1), or an escape that stands for no whole character.
#: Quotes and control characters stand in a text only where it is none.
_READABLE = re.compile(
    r'((?>(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]'
    rf"|\\u[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}}|\\u(?![Dd][89A-Fa-f]){_HEX}{{4}})+))"
    rf"|\\(?:u{_HEX}{{4}}|.)?",
    re.DOTALL,
)
#: Names and ids by their path, "" for any place in a list: an interaction keeps them as well.
_KEPT = frozenset({("interaction_id",), ("application",), ("retrieved_contexts", "", "id")})
_TIME = ("timestamp",)
_DEEPEST = max(map(len, _KEPT | {_TIME}))


class Payload(NamedTuple):
    """What of a record was not made by Kafka."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


# Six letters in a row, where each takes two bytes, or four.
_BY_TWO, _BY_FOUR = re.compile(rb"\0(?:[^\0]\0){5}"), re.compile(rb"\0{3}(?:[^\0]\0{3}){5}")
#: Encodings in which no word of ours looks as it does in UTF-8. What begins in the middle of a
#: character of the one is whole in the other.
_WIDE = {
    "utf-16-le": _BY_TWO,
    "utf-16-be": _BY_TWO,
    "utf-32-le": _BY_FOUR,
    "utf-32-be": _BY_FOUR,
}


def redacted(record: KafkaRecord, redactor: Redactor) -> Payload:
    """Key, value and headers with tokens; as they are where nothing is found.

    Raises ``MessageRejected`` where that fails.
    """
    if not redactor.is_on:
        return Payload(record.key, record.value, record.headers)
    with foreseen():
        headers = [
            (name, value if name.startswith((ERROR, REDRIVE)) else _bytes(value, redactor.text))
            for name, value in record.headers
        ]
        value = _bytes(record.value, lambda text: redacted_json(text, redactor))
        return Payload(_bytes(record.key, redactor.text), value, headers)


def redacted_json(text: str, redactor: Redactor) -> str:
    r"""JSON with tokens in its texts and keys, and in place of whole numbers that are values.

    What is no JSON is redacted as if all of it were text, escaped or not: nobody knows where its
    texts begin. What is not escaped there is left to the second look, at the whole: own patterns
    alone may hold on to where a text begins.

    >>> from monitor.ingest.redaction.redactor import RedactionRules
    >>> redactor = Redactor(RedactionRules(kinds=("email",)))
    >>> redacted_json('{"user_input":  "a\\u0040b.org", "interaction_id": "a@b.org"}', redactor)
    '{"user_input":  "<EMAIL:9e4577>", "interaction_id": "a@b.org"}'
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return redactor.text(_content(text, redactor, escaped_only=not redactor.has_own))
    return "".join(_pieces(text, redactor))


def _bytes(raw: bytes | None, clean: Callable[[str], str]) -> bytes | None:
    """Cleaned as UTF-8, in which bytes that are none stay; and first as what else it may be."""
    if raw is None:
        return None
    if b"\0" in raw:
        raw = _wide(raw, clean)
    return clean(raw.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _wide(raw: bytes, clean: Callable[[str], str]) -> bytes:
    """Cleaned in the encodings of two and four bytes that it may be in.

    Raises ``UnicodeError`` where it has letters of four bytes among what is no character.
    """
    is_read = False
    for encoding, letters in _WIDE.items():
        text = _text_in(raw, encoding, letters)
        if text is not None:
            is_read |= letters is _BY_FOUR
            found = clean(text)
            if found != text:
                rest = raw[len(text.encode(encoding, "surrogatepass")) :]
                raw = found.encode(encoding, "surrogatepass") + rest
    if not is_read and _BY_FOUR.search(raw):
        raise UnicodeError("neither UTF-32 nor anything else")
    return raw


def _text_in(raw: bytes, encoding: str, letters: re.Pattern[bytes]) -> str | None:
    """All whole characters; None where it is not in that encoding."""
    size = len(raw) - len(raw) % (4 if letters is _BY_FOUR else 2)
    # Noise has halves of characters, and no letters in a row.
    errors = "surrogatepass" if letters.search(raw) else "strict"
    try:
        return raw[:size].decode(encoding, errors)
    except UnicodeDecodeError:
        return None


class _JsonPlace:
    """Where in a JSON text the next part stands; wrong brackets do no harm."""

    def __init__(self) -> None:
        # Of every container that is open the key that we are at, "" in a list.
        self._keys: list[str] = []
        self._objects: list[bool] = []
        self._is_key = False

    @property
    def path(self) -> tuple[str, ...]:
        """Of a value; none of a key, nor where it is deeper than anything that is kept."""
        # Without a copy then: hostile records have a hundred thousand brackets in each other.
        is_far = self._is_key or len(self._keys) > _DEEPEST
        return () if is_far else tuple(self._keys)

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


def _pieces(text: str, redactor: Redactor) -> Iterator[str]:
    place, last = _JsonPlace(), 0
    for match in _PARTS.finditer(text):
        yield text[last : match.start()]
        last, part = match.end(), match[0]
        if part in "{}[],:":
            place.passed(part)
        elif not _is_kept(place.path, part):
            part = _clean(part, place, redactor)
        yield part
    yield text[last:]


def _is_kept(path: tuple[str, ...], part: str) -> bool:
    """Whether a name or id stands there, or a time that is one: anything may be in its place."""
    if path != _TIME:
        return path in _KEPT
    try:
        return parse_timestamp(json.loads(part)) is not None
    except ValueError:
        return False


def _clean(part: str, place: _JsonPlace, redactor: Redactor) -> str:
    """A text or a number, as it was written unless something is found in it."""
    if part[0] == '"':
        place.read(json.loads(part))
        return f'"{_content(part[1:-1], redactor)}"'
    try:
        number = json.loads(part)
    except ValueError:
        return part  # too long for a number, and for a value
    clean = redactor.value(number)
    return json.dumps(clean) if isinstance(clean, str) else part


def _content(raw: str, redactor: Redactor, *, escaped_only: bool = False) -> str:
    r"""What stands between two quotes, with tokens; half characters and wrong escapes stay.

    Half a character has no bytes in UTF-8, so it is never read: no dead letter could be written.

    >>> from monitor.ingest.redaction.redactor import RedactionRules
    >>> _content(r"\ud800 \q a\u0040b.org \n", Redactor(RedactionRules(kinds=("email",))))
    '\\ud800 \\q <EMAIL:9e4577> \\n'
    """

    def clean(match: re.Match[str]) -> str:
        if match[1] is None or (escaped_only and "\\" not in match[1]):
            return match[0]
        found = json.loads(f'"{match[1]}"')
        redacted = redactor.text(found)
        if redacted == found:
            return match[0]
        return json.dumps(redacted, ensure_ascii=False)[1:-1]

    return _READABLE.sub(clean, raw)
