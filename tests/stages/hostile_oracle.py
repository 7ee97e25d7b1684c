"""What must become of a record: worked out by other means than the monitor's own decoder.

``json.loads`` made as strict as RFC 8259 and the documented limits are, and then the rules of
native JSON v1, field by field.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

DEEPEST_JSON, DEEPEST_KEPT = 200, 20
LONGEST_NAME = 1_000
_FIELDS: tuple[str, ...] = ("interaction_id", "timestamp", "application", "user_input", "response")
_FIELDS += ("retrieved_contexts", "reference", "attributes")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}).([0-9]{2}:[0-9]{2}):([0-9]{2})(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})",
    re.DOTALL | re.IGNORECASE,
)
_SURROGATE = re.compile("[\ud800-\udfff]")


class Fate(NamedTuple):
    """An outcome with its reason, as the counter of interactions has them."""

    outcome: str
    reason: str = ""

    @property
    def is_dead(self) -> bool:
        """Whether there must be a dead letter."""
        return self.outcome == "dead_lettered"


SCORED = Fate("scored")
TOMBSTONE = Fate("unscorable", "tombstone")
NO_CLAIMS = Fate("unscorable", "no_claims")
NO_CONTEXTS = Fate("unscorable", "no_contexts")
TOO_LARGE = Fate("unscorable", "too_large")
INVALID_JSON = Fate("dead_lettered", "invalid_json")
NOT_AN_OBJECT = Fate("dead_lettered", "not_an_object")
MISSING_FIELD = Fate("dead_lettered", "missing_field")
WRONG_VALUE = Fate("dead_lettered", "wrong_value")
UNREADABLE_RECORD = Fate("dead_lettered", "unreadable_record")


def fate(value: bytes | None) -> Fate:
    """The fate of a record with this value, where the judge has something to say if it is read.

    >>> fate(None).reason, fate(b"{").reason, fate(b"[]").reason, fate(b"{}").reason
    ('tombstone', 'invalid_json', 'not_an_object', 'missing_field')
    """
    if value is None:
        return TOMBSTONE
    try:
        found = _strictly(value)
    except (ValueError, RecursionError):
        return INVALID_JSON
    if not isinstance(found, dict):
        return NOT_AN_OBJECT
    return next(_faults(found), SCORED)


def _strictly(value: bytes) -> Any:
    # One mark of the byte order is passed over, as many tools write it.
    text = value.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "strict")
    found = json.loads(text, object_pairs_hook=_members)
    _no_half_pairs(found)
    if _depth(found) > DEEPEST_JSON:
        raise ValueError("too deep")
    return found


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The last of a name stands; those before it must be JSON all the same."""
    for pair in pairs:
        _no_half_pairs(pair)
    return dict(pairs)


def _no_half_pairs(found: Any) -> None:
    """Look at the strings of a value, but for those of its objects, which have been looked at."""
    if isinstance(found, str) and _SURROGATE.search(found):
        raise ValueError("half a surrogate pair")
    if isinstance(found, list | tuple):
        for each in found:
            _no_half_pairs(each)


def _depth(found: Any) -> int:
    level, depth = [found], -1
    while level:
        depth += 1
        inner: list[Any] = []
        for each in level:
            inner += each.values() if isinstance(each, dict) else []
            inner += each if isinstance(each, list) else []
        level = inner
    return depth


def _faults(found: dict[str, Any]) -> Iterator[Fate]:
    """What is wrong with the fields, in their documented order."""
    if not _is_number_id(found.get("interaction_id")):
        yield from _name(found.get("interaction_id"))
    yield from _name(found.get("application"))
    yield from _text(found, "user_input")
    yield from _text(found, "response")
    yield from _contexts(found)
    yield from _unless(found.get("reference") is None or isinstance(found["reference"], str))
    yield from _unless(isinstance(found.get("attributes"), dict | None))
    others = [value for key, value in found.items() if key not in _FIELDS]
    yield from _unless(all(map(_is_tame, others)) and _is_tame(found.get("attributes")))
    yield from _unless(_is_time(found.get("timestamp")))


def _unless(right: bool) -> Iterator[Fate]:
    if not right:
        yield WRONG_VALUE


def _name(found: Any) -> Iterator[Fate]:
    yield from _unless(
        found is None or (isinstance(found, str) and 1 <= len(found) <= LONGEST_NAME)
    )


def _text(found: dict[str, Any], field: str) -> Iterator[Fate]:
    if field not in found:
        yield MISSING_FIELD
    else:
        yield from _unless(isinstance(found[field], str))


def _contexts(found: dict[str, Any]) -> Iterator[Fate]:
    if "retrieved_contexts" not in found:
        yield MISSING_FIELD
        return
    contexts = found["retrieved_contexts"]
    yield from _unless(isinstance(contexts, list | None))
    for passage in contexts or []:
        if isinstance(passage, dict):
            yield from _passage(passage)
        else:
            yield from _unless(isinstance(passage, str))


def _passage(passage: dict[str, Any]) -> Iterator[Fate]:
    name = passage.get("id")
    yield from _unless(isinstance(name, str | None) or _is_number_id(name))
    yield from _text(passage, "text")
    yield from _unless(_is_score(passage.get("score")))
    yield from _unless(isinstance(passage.get("relevant"), bool | None))


def _is_number_id(found: Any) -> bool:
    """Databases number their rows; true is no number, whatever Python says."""
    return isinstance(found, int) and not isinstance(found, bool) and abs(found) < 2**63


def _is_score(found: Any) -> bool:
    """Finite; a number as text is taken, since loggers write both."""
    if isinstance(found, bool):
        return False
    try:
        return found is None or math.isfinite(float(found))
    except (OverflowError, TypeError, ValueError):
        return False


def _is_tame(found: Any) -> bool:
    """What can be written as JSON again, and read by everyone."""
    return _depth(found) <= DEEPEST_KEPT and all(map(_is_plain, _leaves(found)))


def _leaves(found: Any) -> Iterator[Any]:
    if isinstance(found, dict | list):
        for each in found.values() if isinstance(found, dict) else found:
            yield from _leaves(each)
    else:
        yield found


def _is_plain(leaf: Any) -> bool:
    return not isinstance(leaf, int | float) or (math.isfinite(leaf) and abs(leaf) < 2**63)


def _is_time(found: Any) -> bool:
    """RFC 3339 with any one separator, or a number of milliseconds, however implausible."""
    if not isinstance(found, str):
        return isinstance(found, int | float | None) and not isinstance(found, bool)
    match = _TIME.fullmatch(found)
    if match is None:
        return False
    day, minute, second, _, zone = match.groups()
    try:
        datetime.fromisoformat(f"{day}T{minute}")
    except ValueError:
        return False
    # A leap second is a second; offsets are less than a day.
    return int(second) <= 60 and (zone in "Zz" or (zone[1:3] < "24" and zone[4:] < "60"))
