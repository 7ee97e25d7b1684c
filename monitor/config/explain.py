"""What is said when a setting is wrong: its path, what was found, what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from monitor.config.base import Section
from monitor.config.sections import Settings


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
    first = next(iter(get_args(field.annotation)), None)
    return first if isinstance(first, type) and issubclass(first, Section) else None


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
    return (
        f"{path}: found {_shown(item['loc'], item['input'])}, "
        f"expected: {message[0].lower()}{message[1:]}"
    )


def _meant(loc: Sequence[str | int], path: str) -> str:
    """The likeliest setting; within a list one of the entry's, since its number says the rest."""
    if not any(isinstance(part, int) for part in loc):
        near = difflib.get_close_matches(path, [p for p, _ in paths()], n=1)
        return f", did you mean {near[0]}?" if near else ""
    section, _ = _place(loc[:-1])
    names = [f.alias or name for name, f in section.model_fields.items()] if section else []
    near = difflib.get_close_matches(str(loc[-1]), names, n=1)
    if near:
        return f", did you mean {near[0]}?"
    return f", expected {', '.join(names)}" if names else ""


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
    whole = field.annotation
    return whole if isinstance(whole, type) and issubclass(whole, Section) else listed(field)


def _shown(loc: Sequence[str | int], value: Any) -> str:
    section, field = _place(loc)
    if section is not None:
        return f"a {type(value).__name__}"  # in place of a section: a secret may stand in it
    secret = field is not None and SecretStr in (field.annotation, *get_args(field.annotation))
    return "a secret" if secret or "headers" in loc else repr(value)[:80]
