"""What JMESPath cannot gather is put right before it: JSON in a text, and flattened names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json

from monitor.errors import MessageRejected
from monitor.ingest.formats.first_bytes import looks_like
from monitor.ingest.formats.rejection import described, listed, missing_field, named, wrong_value

#: As deep as attributes may be.
_DEEPEST = 20
_POSITION = re.compile("[0-9]{1,9}", re.ASCII)


class Step(NamedTuple):
    """Names on the way to a place, () being the record itself; ``?``: it may be absent."""

    path: tuple[str, ...]
    is_optional: bool = False

    def __str__(self) -> str:
        return ".".join(self.path) or "the record"


class Reshaping(NamedTuple):
    """``parse``: texts that are JSON; ``unflatten``: an object of names with dots in them."""

    parse: Sequence[Step] = ()
    unflatten: Step | None = None

    def applied(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record, changed in place or another one; raises ``MessageRejected``.

        A text that stands within flattened names is parsed after them.
        """
        later = [step for step in self.parse if not _parsed(record, step)]
        if self.unflatten is not None:
            record = _unflattened(record, self.unflatten)
        for step in later:
            if not _parsed(record, step) and not step.is_optional:
                raise _absent("parse", step, record)
        return record


def _parsed(record: dict[str, Any], step: Step) -> bool:
    """Whether something is there; what is no text is as it should be already."""
    *way, last = step.path
    parent = _at(record, way)
    if not isinstance(parent, dict) or parent.get(last) is None:
        return False
    if isinstance(parent[last], str):
        parent[last] = _json(parent[last], step)
    return True


def _json(text: str, step: Step) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        seems = looks_like(text.encode(errors="replace"))
        why = f"it seems to be {seems[0]}" if seems else str(error)
        raise wrong_value(f"parse {step}", text, f"JSON in it ({why})") from None


def _unflattened(record: dict[str, Any], step: Step) -> dict[str, Any]:
    found = _at(record, step.path)
    if found is None:
        if step.is_optional:
            return record
        raise _absent("unflatten", step, record)
    if not isinstance(found, dict):
        raise wrong_value(f"unflatten {step}", found, "an object")
    whole = unflattened(found)
    if not step.path:
        return whole
    parent = _at(record, step.path[:-1])
    parent[step.path[-1]] = whole
    return record


def unflattened(flat: dict[str, Any]) -> dict[str, Any]:
    """Names with dots as objects within each other; numbers as positions in a list.

    A name whose beginning is a value already stays as it is.

    >>> unflattened({"docs.0.text": "a", "docs.1.text": "b", "n": 1, "n.of": 2})
    {'n': 1, 'n.of': 2, 'docs': [{'text': 'a'}, {'text': 'b'}]}
    """
    tree: dict[str, Any] = {}
    for key in sorted(flat, key=lambda each: each.count(".")):
        parts = key.split(".")
        if len(parts) > _DEEPEST:
            raise wrong_value(f"unflatten {named(key)}", key, f"at most {_DEEPEST} names with dots")
        if len(parts) == 1 or not _put(tree, parts, flat[key]):
            tree[key] = flat[key]
    return {key: _listed(value) for key, value in tree.items()}


class _Branch(dict[str, Any]):
    """An object that was made of names; what was logged as an object is none."""


def _put(tree: dict[str, Any], parts: Sequence[str], value: Any) -> bool:
    """Whether there was a place for it."""
    node = tree
    for part in parts[:-1]:
        below = node.get(part)
        if below is None and part not in node:
            below = node[part] = _Branch()
        if not isinstance(below, _Branch):
            return False
        node = below
    node[parts[-1]] = value
    return True


def _listed(value: Any) -> Any:
    if not isinstance(value, _Branch):
        return value
    if value and all(map(_POSITION.fullmatch, value)):
        return [_listed(value[key]) for key in sorted(value, key=int)]
    return {key: _listed(each) for key, each in value.items()}


def _at(record: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(record, dict):
            return None
        record = record.get(name)
    return record


def _absent(what: str, step: Step, record: dict[str, Any]) -> MessageRejected:
    way: list[str] = []
    place: Any = record
    for name in step.path:
        below = place.get(name) if isinstance(place, dict) else None
        if below is None:
            break
        way.append(name)
        place = below
    return missing_field(f"{what} {step}: found nothing, expected a value; {there(way, place)}")


def there(way: Sequence[str] | str, place: Any) -> str:
    """What stands where a path ends: the names of an object's fields, or what else it is.

    >>> there("a.b", {"x": 1}), there([], {"x": 1}), there("a", [1])
    ('a.b has: x', 'the record has: x', 'a is a list of 1')
    """
    where = way if isinstance(way, str) else ".".join(way)
    where = where or "the record"
    if isinstance(place, dict):
        return f"{where} has: {listed(place, len(place))}"
    return f"{where} is {described(place)}"
