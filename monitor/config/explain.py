"""What is said when a setting is wrong: its path, what was found, what was expected."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from monitor.config.base import Section
from monitor.config.sections import Settings

#: Words that may stand in one line beside the likeliest.
_FEW = 6


def paths(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every setting as ``(dotted path, pydantic FieldInfo)``, in the order of declaration."""
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            yield from paths(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{field.alias or name}", field


def listed(field: FieldInfo) -> type[Section] | None:
    """The section that a field holds a list of; None for any other field."""
    if get_origin(field.annotation) is not tuple:
        return None
    return _section(get_args(field.annotation)[0])


def _section(found: Any) -> type[Section] | None:
    return found if isinstance(found, type) and issubclass(found, Section) else None


def explained(error: ValidationError) -> str:
    """All that is wrong, in one line."""
    return "; ".join(_explained_one(item) for item in error.errors(include_url=False))


def _explained_one(item: Any) -> str:
    # pydantic's own mark of a key; what was found is that key.
    path = ".".join(str(part) for part in item["loc"] if part != "[key]")
    if item["type"] == "extra_forbidden":
        return f"{path}: unknown setting{_meant(item['loc'], path)}"
    if item["type"] == "missing":
        return f"{path}: missing"  # the input is all that stands beside it
    message = item["msg"].removeprefix("Value error, ")
    if item["type"] == "value_error":
        return f"{path}: {message}" if path else message
    return f"{path}: found {_shown(item['loc'], item['input'])}, {_expected(item)}"


def _expected(item: Any) -> str:
    """What belongs there; of many words only the likeliest."""
    message = item["msg"].removeprefix("Input should be ").partition(", unable to parse")[0]
    if item["type"] in ("model_type", "model_attributes_type", "dict_type"):
        return "expected settings below it, like {name: value}"
    if item["type"].startswith(("less_than", "greater_than")):
        return f"expected a number {message}"
    wanted = f"expected {message[0].lower()}{message[1:]}"
    if item["type"] == "literal_error":
        names = re.findall("'([^']*)'", item["ctx"]["expected"])
        near = difflib.get_close_matches(str(item["input"]), names, n=1, cutoff=0.8)
        if near:
            return f"did you mean {near[0]}?" + (f" {wanted}" if len(names) <= _FEW else "")
    return wanted


def _meant(loc: Sequence[str | int], path: str) -> str:
    """The likeliest setting: of the same section, or of this very name in one other section.

    Within a list only of the entry, since its number says the rest.
    """
    section, _ = _place(loc[:-1])
    fields = section.model_fields.items() if section else ()
    names = [field.alias or name for name, field in fields]
    in_list = any(isinstance(part, int) for part in loc)
    beside = "" if in_list else path.rpartition(".")[0]
    if near := difflib.get_close_matches(str(loc[-1]), names, n=1):
        return f", did you mean {beside}{'.' * bool(beside)}{near[0]}?"
    if in_list:
        return f", expected {', '.join(names)}" if names else ""
    elsewhere = [each for each, _ in paths() if each.rpartition(".")[2] == loc[-1]]
    if len(elsewhere) == 1:
        return f", did you mean {elsewhere[0]}?"
    return "; rag-monitor config reference lists them all"


def _place(loc: Sequence[str | int]) -> tuple[type[BaseModel] | None, FieldInfo | None]:
    """The section at a place (None: it is none), and the field through which it was reached."""
    section: type[BaseModel] | None = Settings
    field: FieldInfo | None = None
    for part in (part for part in loc if isinstance(part, str)):
        fields = section.model_fields.items() if section else ()
        found = next((f for name, f in fields if part == (f.alias or name)), None)
        if found is None:
            return None, field  # within a value, like a mapping
        field, section = found, _inner(found)
    return section, field


def _inner(field: FieldInfo) -> type[Section] | None:
    """The section that a field is, may be, or holds a list of."""
    may_be = next(
        filter(None, map(_section, (field.annotation, *get_args(field.annotation)))), None
    )
    return may_be or listed(field)


def _shown(loc: Sequence[str | int], value: Any) -> str:
    section, field = _place(loc)
    if section is not None:
        # In place of a section: a secret may stand in it.
        name = type(value).__name__
        return f"{'an' if name == 'int' else 'a'} {name}"
    secret = field is not None and SecretStr in (field.annotation, *get_args(field.annotation))
    return "a secret" if secret or "headers" in loc else repr(value)[:80]
