"""Where values stand in a handful of records of unknown shape, as expressions. Pure.

JSON within texts and names with dots are put right first, as a mapping's ``parse`` and
``unflatten`` would.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import from_json

from monitor.errors import MessageRejected
from monitor.ingest.formats.reshaping import Reshaping, Step

#: Levels of names, and names of one object, that are looked at.
_DEEPEST, _MOST_NAMES = 6, 200
#: An object is taken for flattened from so many names with dots on.
_FLAT = 3
#: In lists of steps or spans: the fields by which one of them is told from the others.
_TELLING: Final = ("name", "type", "run_type", "kind")
#: What a message says, in an object with a role.
_SAID: Final = frozenset({"content", "parts", "text"})
#: An expression, the names on the way, a value, and whose words it is, if it says so.
_Sighting = tuple[str, tuple[str, ...], Any, str | None]
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NUMBERED = re.compile(r"(.*?\D)[_ -]?(\d{1,3})", re.ASCII)
_WORD = re.compile(r"[\w .:/-]{1,60}")


@dataclass
class FoundPlace:
    """One expression: in how many records it has a value, and these values.

    ``roles``: of whom it is the content of a message, in each of them.
    """

    expression: str
    names: tuple[str, ...]
    values: list[Any] = field(default_factory=list)
    roles: list[str | None] = field(default_factory=list)


@dataclass(frozen=True)
class LogView:
    """Records put right, what that took, and every place that they have."""

    parse: tuple[str, ...]
    unflatten: str | None
    records: Sequence[dict[str, Any]]
    places: Sequence[FoundPlace]


def viewed(records: Sequence[dict[str, Any]]) -> LogView:
    """All places of records, which are changed by it."""
    parse, unflatten = _json_texts(records), _flat(records)
    if parse or unflatten is not None:
        records = _put_right(records, parse, unflatten)
        more = [path for path in _json_texts(records) if path not in parse]
        if more:
            parse = (*parse, *more)
            records = _put_right(records, tuple(more), None)
    places: dict[str, FoundPlace] = {}
    for record in records:
        for expression, names, value, role in _places(record):
            found = places.setdefault(expression, FoundPlace(expression, names))
            found.values.append(value)
            found.roles.append(role)
    return LogView(tuple(map(_marked(records), parse)), unflatten, records, list(places.values()))


def _put_right(
    records: Sequence[dict[str, Any]], parse: Sequence[str], unflatten: str | None
) -> list[dict[str, Any]]:
    steps = tuple(Step(tuple(path.split(".")), is_optional=True) for path in parse)
    flat = None
    if unflatten is not None:
        way = () if unflatten == "@" else tuple(unflatten.split("."))
        flat = Step(way, is_optional=True)
    made = []
    for record in records:
        try:
            made.append(Reshaping(steps, flat).applied(record))
        except MessageRejected:  # a text that is no JSON in this record alone
            made.append(record)
    return made


def _marked(records: Sequence[dict[str, Any]]) -> Any:
    """``path?`` where some records lack it."""

    def mark(path: str) -> str:
        there = sum(_at(record, path.split(".")) is not None for record in records)
        return path if there == len(records) else f"{path}?"

    return mark


def _json_texts(records: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Paths of texts that hold an object or a list as JSON, nearly wherever they are."""
    seen: Counter[str] = Counter()
    held: Counter[str] = Counter()
    for record in records:
        for way, value in _objects(record):
            for key, text in value.items():
                if isinstance(text, str) and "." not in key:
                    path = ".".join((*way, key))
                    seen[path] += 1
                    held[path] += _holds_json(text)
    return tuple(path for path, n in held.items() if n and n >= 0.9 * seen[path])


def _holds_json(text: str) -> bool:
    if text.strip()[:1] not in ("{", "["):
        return False
    try:
        return isinstance(from_json(text, allow_inf_nan=False), dict | list)
    except ValueError:
        return False


def _flat(records: Sequence[dict[str, Any]]) -> str | None:
    """The path of the object that has most names with dots; ``@`` is the record."""
    dotted: Counter[str] = Counter()
    for record in records:
        for way, value in _objects(record):
            names = sum("." in key and not key.startswith(".") for key in value)
            if names >= _FLAT:
                dotted[".".join(way) or "@"] += names
    return dotted.most_common(1)[0][0] if dotted else None


def _objects(
    record: dict[str, Any], way: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Objects that names alone lead to."""
    yield way, record
    if len(way) < _DEEPEST:
        for key, value in _first(record):
            if isinstance(value, dict) and "." not in key:
                yield from _objects(value, (*way, key))


def _first(record: dict[str, Any]) -> list[tuple[str, Any]]:
    return list(record.items())[:_MOST_NAMES]


def _places(
    value: dict[str, Any], before: str = "", names: tuple[str, ...] = ()
) -> Iterator[_Sighting]:
    """Every expression that finds something, with the names on the way to it."""
    if len(names) >= _DEEPEST:
        return
    yield from _numbered(value, before, names)
    role = value.get("role", value.get("type"))
    for key, found in _first(value):
        if found is None:
            continue
        expression = f"{before}.{_quoted(key)}" if before else _quoted(key)
        way = (*names, *(filter(None, key.split(".")) if key.strip(".") else (key,)))
        is_said = key in _SAID and isinstance(role, str)
        yield expression, way, found, str(role).lower() if is_said else None
        if isinstance(found, dict):
            yield from _places(found, expression, way)
        elif isinstance(found, list) and found:
            yield from _in_list(found, expression, way)


def _numbered(value: dict[str, Any], before: str, names: tuple[str, ...]) -> Iterator[_Sighting]:
    """Texts like ``context_1`` and ``context_2`` as one list; whole, and without empty ones."""
    series: dict[str, list[tuple[int, str]]] = {}
    for key, found in _first(value):
        match = _NUMBERED.fullmatch(key)
        if match and isinstance(found, str | None):
            series.setdefault(match[1], []).append((int(match[2]), key))
    for name, keys in series.items():
        texts = [value[key] for _, key in sorted(keys) if value[key]]
        if len(keys) > 1 and texts:
            listed = ", ".join(_quoted(key) for _, key in sorted(keys))
            chosen = f"{before}.[{listed}]" if before else f"[{listed}]"
            if len(texts) == len(keys):
                yield chosen, (*names, name), texts, None
            # Of a table in which shorter rows have empty columns.
            yield f"{chosen} | [?@]", (*names, name), texts, None


def _in_list(items: list[Any], before: str, way: tuple[str, ...]) -> Iterator[_Sighting]:
    """Of a list of one the one; of steps those with a name of their own."""
    if len(items) == 1 and isinstance(items[0], dict):
        yield f"{before}[0]", way, items[0], None
        yield from _places(items[0], f"{before}[0]", way)
        return
    if len(items) == 1 and isinstance(items[0], str):
        yield f"{before}[0]", way, items[0], None
        return
    objects = [each for each in items if isinstance(each, dict)]
    for by in _TELLING:
        words = Counter(str(each.get(by)) for each in objects)
        for each in objects:
            word = each.get(by)
            if isinstance(word, str) and _WORD.fullmatch(word) and words[word] == 1:
                chosen = f"{before}[?{by}=='{word}']"
                for inner, names, found, role in _places(each, "", (*way, word)):
                    yield f"{chosen}.{inner} | [0]", names, found, role


def _quoted(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _at(record: Any, path: Sequence[str]) -> Any:
    for name in path:
        record = record.get(name) if isinstance(record, dict) else None
    return record
