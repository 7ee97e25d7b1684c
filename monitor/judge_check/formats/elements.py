"""The JSON objects of a file with the lines they begin in: JSON lines, an array, or ``results``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from monitor.errors import ConfigurationError

_SPACE = re.compile(r"\s*")
_RESULTS = "results"


class Element(NamedTuple):
    """One object of a file; ``place`` is ``FILE:LINE``."""

    file: str
    line: int
    found: dict[str, Any]

    @property
    def place(self) -> str:
        """For messages."""
        return f"{self.file}:{self.line}"


def wrong(place: str, complaint: str, mend: str) -> ConfigurationError:
    """The one line that names the place, the fault and what to do."""
    return ConfigurationError(f"{place}: {complaint}; {mend}")


def elements(file: str, text: str) -> list[Element]:
    """The objects of a labelled file, in its order.

    Raises ``ConfigurationError`` with file and line where the text is not JSON, or has an element
    that is no object. Texts are never quoted.
    """
    text = text.removeprefix("\ufeff")
    found = list(_scan(file, text))
    if not found:
        raise wrong(
            file, "found no labelled interaction", "give one JSON object a line, or a JSON list"
        )
    return found


def _scan(file: str, text: str) -> Iterator[Element]:
    start = _skip(text, 0)
    if text[start : start + 1] == "[":
        yield from _array(file, text, start)
        return
    results = _results(text, start)
    if results is not None:
        yield from _array(file, text, results)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _element(file, number, _line(file, number, line))


def _line(file: str, number: int, line: str) -> Any:
    """The value of a line that holds one."""
    value, end = _value(file, number, line, _skip(line, 0))
    if line[end:].strip():
        raise wrong(f"{file}:{number}", "more than one JSON value", "write one object a line")
    return value


def _array(file: str, text: str, start: int) -> Iterator[Element]:
    """The objects of the array that begins at ``start``."""
    at, line, counted = _skip(text, start + 1), 1, 0
    while text[at : at + 1] != "]":
        line, counted = line + text.count("\n", counted, at), at
        value, end = _value(file, line, text, at)
        yield _element(file, line, value)
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "]":
            line += text.count("\n", counted, at)
            raise wrong(
                f"{file}:{line}", "the list does not go on or end here", "make it valid JSON"
            )


def _results(text: str, start: int) -> int | None:
    """Where the array under the key ``results`` begins, if the whole file is one object with it."""
    decoder = json.JSONDecoder()
    at = _skip(text, start + 1)
    try:
        while text[at : at + 1] == '"':
            key, at = decoder.raw_decode(text, at)
            at = _skip(text, at)
            at = _skip(text, at + 1)
            if key == _RESULTS and text[at : at + 1] == "[":
                return at
            at = _skip(text, decoder.raw_decode(text, at)[1])
            at = _skip(text, at + 1)
    except (ValueError, RecursionError):
        return None  # whoever reads it line by line says what is wrong
    return None


def _value(file: str, line: int, text: str, at: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder(parse_constant=_no_constant).raw_decode(text, at)
    except json.JSONDecodeError as error:
        line += text.count("\n", at, error.pos)
        complaint = f"not JSON ({error.msg.lower()} at column {error.colno})"
    except (ValueError, RecursionError):
        complaint = "not JSON (NaN, Infinity, or nested too deeply)"
    raise wrong(f"{file}:{line}", complaint, "mend the line or take it out")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _element(file: str, line: int, value: Any) -> Element:
    place = f"{file}:{line}"
    if not isinstance(value, dict):
        raise wrong(place, f"found {_kind(value)}, expected an object", "mend it or take it out")
    return Element(file, line, value)


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
