"""What is said of a record that is no interaction: where, what was found, what was expected.

A name of a field is named, a value never is: texts are described by their length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from monitor.errors import MessageRejected
from monitor.ingest.formats.first_bytes import looks_like, packed_as
from monitor.kafka.bounds import MOST_HEADERS, MOST_RECORDS
from monitor.kafka.record import Unreadable
from monitor.records import Reason

LARGEST_INTEGER = 2**63
UNKNOWN = "an unknown field"
#: Names in one message, and how many are looked at for them: an object may have a million.
_MOST_NAMES, _MOST_LOOKED_AT = 12, 200
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,39}", re.ASCII)
#: A telephone number, an account, an id: no name of a field.
_NUMBER = re.compile(r"[0-9]{5}")
_NOWHERE: Mapping[str, str] = MappingProxyType({})
_INTERACTION = "a JSON object in UTF-8"
#: What is left unread on purpose, by the error that stands for it.
_BOUNDS = {
    "BatchTooLarge": f"a batch of more than kafka.max_read_bytes, or than {MOST_RECORDS} records",
    "RecordTooLarge": "a record of more than ingest.max_record_bytes",
    "TooManyHeaders": f"a record with more than {MOST_HEADERS} headers",
}


def named(key: str) -> str:
    """An unknown field's name, unless it may be a text that somebody used as a key.

    >>> named("prompt_version"), named("Is it safe?"), named("tel_4915112345678")
    ('prompt_version', 'an unknown field', 'an unknown field')
    """
    return key if _NAME.fullmatch(key) and not _NUMBER.search(key) else UNKNOWN


def listed(names: Iterable[str], number: int) -> str:
    """The names of an object's ``number`` fields, as far as they can be shown.

    >>> listed(["id", "my question?"], 2), listed([], 0), listed(["what now?"], 1)
    ('id and 1 more', 'no field', '1 field')
    """
    shown = [each for each in map(named, islice(names, _MOST_LOOKED_AT)) if each != UNKNOWN]
    shown = shown[:_MOST_NAMES]
    more = number - len(shown)
    if shown:
        return ", ".join(shown) + (f" and {more} more" if more else "")
    return "no field" if not more else f"{more} field{'s' * (more > 1)}"


def rejected(
    error: ValidationError, value: bytes, places: Mapping[str, str] = _NOWHERE
) -> MessageRejected:
    """The error of a record with this value; all fields that are missing stand in it.

    ``places`` tells where fields were looked for that have other names in the log.
    """
    errors = error.errors(include_url=False)
    first = errors[0]
    if first["type"] == "json_invalid":
        return not_json(first["msg"], value)
    if not first["loc"]:
        return not_an_object(first["input"])
    if first["type"] == "missing":
        return missing_field(_missing(errors))
    return MessageRejected(_wrong(errors, places), stage="validate", cause="wrong_value")


def missing_field(said: str) -> MessageRejected:
    """The error of a field that is not there."""
    return MessageRejected(said, stage="validate", cause="missing_field")


def wrong_value(path: str, found: Any, expected: str) -> MessageRejected:
    """The error of a field that is not what was expected."""
    said = f"{path}: found {described(found)}, expected {expected}"
    return MessageRejected(said, stage="validate", cause="wrong_value")


def not_json(why: str, value: bytes) -> MessageRejected:
    """The error of a value that no JSON can be read from; ``why`` as the parser says it."""
    return MessageRejected(_not_json(why, value), stage="decode", cause="invalid_json")


def not_an_object(found: Any) -> MessageRejected:
    """The error of JSON that is something else than one object."""
    said = f"record: {_not_an_object(found)}"
    return MessageRejected(said, stage="decode", cause="not_an_object")


def refuse_packed(fields: Mapping[str, Any], places: Mapping[str, str] = _NOWHERE) -> None:
    """Raise ``MessageRejected`` where a text of an interaction is compressed bytes in Base64.

    ``fields`` as ``LoggedInteraction`` takes them; the judge would be asked about such a text.
    """
    texts = [(name, fields.get(name)) for name in ("user_input", "response", "reference")]
    found = fields.get("retrieved_contexts")
    for n, each in enumerate(found if isinstance(found, list) else ()):
        text = each.get("text") if isinstance(each, dict) else each
        texts.append((f"retrieved_contexts.{n}", text))
    for path, text in texts:
        name = packed_as(text) if isinstance(text, str) else None
        if name is not None:
            at = places.get(path.partition(".")[0])
            raise wrong_value(
                f"{path} ({at})" if at else path,
                text,
                f"words: it looks like compressed bytes in base64 ({name}), unpack it before it is "
                "logged",
            )


def not_unpacked(record: Unreadable) -> MessageRejected:
    """The error of what no client unpacks, or ours leaves unread on purpose."""
    what, stays = "record", "it stays on its topic"
    if record.last_offset > record.offset:
        what = f"{record.records} records, offsets {record.offset} to {record.last_offset}"
        stays = "they stay on their topic"
    bound = _BOUNDS.get(record.error)
    why = f"the client does not unpack {bound}" if bound else "the client cannot unpack it"
    return MessageRejected(
        f"{what}: {why} ({record.error}); {stays}", stage="decode", cause=Reason.UNREADABLE
    )


def internal_error(error: Exception, *, stage: str) -> MessageRejected:
    """A bug of ours: a dead letter, and not our end."""
    return MessageRejected(
        f"internal error: {type(error).__name__}", stage=stage, cause=Reason.INTERNAL
    )


def _not_json(message: str, value: bytes) -> str:
    if found := looks_like(value):
        what, mend = found
        return f"record: found {what}, expected {_INTERACTION}: {mend}"
    why = message.removeprefix("Invalid JSON: ")
    mend = "write it with a JSON encoder"
    if why.startswith("trailing characters") and value.lstrip().startswith(b"{"):
        mend = "send one object a record"
    elif why.startswith("EOF"):
        mend = "look for what cuts it off"
    return f"record: not JSON ({why}), expected {_INTERACTION}: {mend}"


def _not_an_object(found: Any) -> str:
    mend = "send one object a record"
    if isinstance(found, str) and found.lstrip().startswith("{"):
        mend = "it is encoded twice, encode it once"
    elif isinstance(found, list):
        mend = "send each item as a record of its own"
    return f"found {described(found)}, expected a JSON object: {mend}"


def _missing(errors: Sequence[Any]) -> str:
    """All missing fields beside the first one, and the names of those that are there."""
    first = errors[0]
    there: Mapping[str, Any] = first["input"] if isinstance(first["input"], Mapping) else {}
    paths = _all_missing(errors) if len(first["loc"]) == 1 else [_path(first["loc"])]
    return f"{', '.join(paths)}: found nothing, expected a value; there: " + listed(
        there, len(there)
    )


def _wrong(errors: Sequence[Any], places: Mapping[str, str]) -> str:
    first = errors[0]
    expected = first["msg"].removeprefix("Input should be ")
    top, *below = first["loc"]
    # Of a passage each field may have a place of its own.
    inner = places.get(f"{top}.{below[-1]}") if below else None
    place = inner or places.get(str(top))
    path = _path(first["loc"]) + (f" ({place})" if place else "")
    said = f"{path}: found {described(first['input'])}, expected {expected}"
    if absent := _all_missing(errors):
        said += f"; missing: {', '.join(absent)}"
    return said


def _all_missing(errors: Sequence[Any]) -> list[str]:
    """The fields of the interaction itself that are not there."""
    return [_path(e["loc"]) for e in errors if e["type"] == "missing" and len(e["loc"]) == 1]


def _path(loc: Sequence[str | int]) -> str:
    return ".".join(str(part) for part in loc)


def described(found: Any) -> str:
    """A value without its content.

    >>> described("secret"), described([1, 2]), described(True), described(None)
    ('a text of 6 characters', 'a list of 2', 'true', 'null')
    """
    if isinstance(found, str):
        return f"a text of {len(found)} characters"
    if isinstance(found, bytes):
        return f"{len(found)} bytes"
    if isinstance(found, list):
        return f"a list of {len(found)}" if found else "an empty list"
    if isinstance(found, dict):
        return (
            f"an object of {len(found)} field{'s' * (len(found) > 1)}"
            if found
            else "an empty object"
        )
    if isinstance(found, int) and abs(found) >= LARGEST_INTEGER:
        return "an integer of more than 64 bits"
    if isinstance(found, int | float) and not isinstance(found, bool):
        return "a number"
    return "null" if found is None else str(found).lower()
