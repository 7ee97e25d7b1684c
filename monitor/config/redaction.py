"""Settings of the redaction: what is replaced by tokens before anybody sees an interaction."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, get_args

from pydantic import BeforeValidator, Field, SecretStr, field_validator

from monitor.config.base import Section, Texts, mapping, split

RedactedKind = Literal["key", "email", "iban", "card", "phone"]
_KINDS: Final = get_args(RedactedKind)


class Redaction(Section):
    """What is replaced by tokens in picked interactions and dead letters."""

    enabled: bool = Field(True, description="replace personal data and secrets by tokens")
    kinds: Annotated[
        tuple[RedactedKind, ...],
        BeforeValidator(split, json_schema_input_type=tuple[RedactedKind, ...] | str),
    ] = Field(
        _KINDS, description="kinds of values to find. With an empty list, redaction.patterns only"
    )
    regions: Texts = Field(
        ("US", "GB", "CN", "DE", "FR", "ES", "IT", "NL"),
        description="countries whose national phone numbers to find. Any number with + counts",
    )
    patterns: Annotated[dict[str, str], BeforeValidator(mapping)] = Field(
        {},
        description="own patterns, name: regular expression of RE2. Where it has groups, the "
        "first one is what it finds",
        json_schema_extra={
            "propertyNames": {"pattern": "^[a-z][a-z0-9_]{0,15}$", "not": {"enum": list(_KINDS)}}
        },
    )
    salt: SecretStr | None = Field(
        None, description="secret key of the tokens, against finding a value by trying"
    )

    @field_validator("patterns")
    @classmethod
    def _named(cls, patterns: dict[str, str]) -> dict[str, str]:
        for name in patterns:
            if not re.fullmatch("[a-z][a-z0-9_]{0,15}", name) or name in _KINDS:
                raise ValueError(
                    f"found the name {name!r}, expected up to 16 of a-z, 0-9 and _, and none of "
                    f"{', '.join(_KINDS)}"
                )
        return patterns
