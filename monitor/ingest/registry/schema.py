"""A schema as a registry gives it, with all that it refers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

SchemaType = Literal["AVRO", "PROTOBUF", "JSON"]
SCHEMA_TYPES: tuple[SchemaType, ...] = get_args(SchemaType)


@dataclass(frozen=True)
class Schema:
    """``references`` by the names under which it refers to them, those they refer to first."""

    type: SchemaType
    text: str
    references: tuple[tuple[str, str], ...] = ()
