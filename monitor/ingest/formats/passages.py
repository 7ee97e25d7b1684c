"""Retrieved passages of whatever shape a log gives them, as objects with the native names."""

from __future__ import annotations

from typing import Any

from monitor.errors import MessageRejected
from monitor.ingest.formats.chat import plain_text
from monitor.ingest.formats.logged_interaction import MOST_PASSAGES
from monitor.ingest.formats.mapping import PassagePlaces, Place
from monitor.ingest.formats.rejection import wrong_value

FIELD = "retrieved_contexts"
_WHOLE = "the passage"
_NATIVE = frozenset({"id", "text", "score", "relevant"})
_EXPECTED = "a list of texts or objects, an object of texts by id, or one text"


def passages(found: Any, places: PassagePlaces) -> list[Any]:
    """One object a passage; [] where there may be none, and are none.

    A list of texts or of objects; an object: one passage if it has a text where texts stand, else
    passages by their ids; one text: one passage. Raises ``MessageRejected``.
    """
    path = f"{FIELD} ({places.of.text})"
    if found is None:
        return []
    if isinstance(found, str):
        return [{"text": found, **places.of_one_text}]
    if isinstance(found, dict):
        return _of_object(found, places, path)
    if not isinstance(found, list):
        raise wrong_value(path, found, _EXPECTED)
    _not_too_many(found, path)
    return [_passage(each, places, f"{FIELD}.{n}") for n, each in enumerate(found)]


def _not_too_many(found: list[Any] | dict[str, Any], path: str) -> None:
    if len(found) > MOST_PASSAGES:
        raise wrong_value(path, found, f"at most {MOST_PASSAGES} passages")


def _of_object(found: dict[str, Any], places: PassagePlaces, path: str) -> list[Any]:
    if _is_native(found) if places.text is None else _has(found, places.text):
        return [_passage(found, places, FIELD)]
    _not_too_many(found, path)
    # An own place of the id goes before the name under which a passage stands.
    return [
        {"id": key, **_passage(each, places, f"{FIELD}.{n}")}
        for n, (key, each) in enumerate(found.items())
    ]


def _is_native(found: dict[str, Any]) -> bool:
    """Whether it is one passage with our own names: no passage has the id ``id``."""
    return "id" in found or ("text" in found and found.keys() <= _NATIVE)


def _has(found: dict[str, Any], place: Place) -> bool:
    try:
        return place.value(found, FIELD) is not None
    except MessageRejected:
        return False


def _passage(each: Any, places: PassagePlaces, path: str) -> dict[str, Any]:
    if isinstance(each, str):
        return {"text": each}
    if not isinstance(each, dict):
        raise wrong_value(f"{path} ({places.of.text})", each, "a text or an object")
    if places.text is None:
        return each
    text = places.text.value(each, f"{path}.text", _WHOLE)
    made = {"text": plain_text(text, f"{path}.text ({places.text.text})")}
    for name in ("id", "score", "relevant"):
        place: Place | None = getattr(places, name)
        if place is not None:
            made[name] = place.value(each, f"{path}.{name}", _WHOLE)
    return made
