"""What all records share: frozen, validated at construction, and one way to say what is wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from monitor.errors import RecordSkipped

#: Of a Kafka record, in their order.
Headers = Sequence[tuple[str, bytes | None]]
#: Why a record of a newer major schema is left out; those who read a topic count it from 0 on.
NEWER_SCHEMA: Final = "newer_schema"
_SCHEMA: Final = re.compile(r"(rag\.[a-z]+/([0-9]{1,9}))(?:\.([0-9]{1,9}))?")


def _major(schema: object) -> object:
    """The schema without its minor version: what a newer one has added is left out."""
    version = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    return schema if version is None else version[1]


#: Of a field ``schema_``: what a record of any minor version says.
AnyMinor: Final = BeforeValidator(_major)


class Frozen(BaseModel):
    """Base of every record: immutable, raw text in JSON; nothing makes one with unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


RecordT = TypeVar("RecordT", bound=Frozen)


def read_record(model: type[RecordT], what: str, line: bytes) -> RecordT:
    """Parse one record of a topic of ours; raises ``RecordSkipped``, as for score records."""
    try:
        return model.model_validate_json(line, extra="ignore")
    except ValidationError as error:
        _explain_schema(what, line, error)
        raise unreadable(what, error) from error


def unreadable(what: str, error: ValidationError) -> RecordSkipped:
    """What to raise for a record that cannot be read: the first thing that is wrong with it."""
    first = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"]) or "record"
    return RecordSkipped(f"{what}: {path}: {first['msg']}", cause="malformed")


class _SchemaOnly(BaseModel):
    schema_: Any = Field(default=None, alias="schema")


def _explain_schema(what: str, line: bytes, error: ValidationError) -> None:
    try:
        found = str(_SchemaOnly.model_validate_json(line).schema_)
    except ValidationError:
        return
    version = _SCHEMA.fullmatch(found)
    if version is None:
        return
    if int(version[2]) > 1:
        raise RecordSkipped(
            f"{what}: schema {found} is newer than this version reads; upgrade rag-monitor",
            cause=NEWER_SCHEMA,
        ) from error
    if int(version[2]) == 1 and int(version[3] or 0) > 0:
        raise RecordSkipped(
            f"{what}: schema {found} is newer, and cannot be read here", cause="newer_minor"
        ) from error
