"""Rules by attribute: one attribute, one operator, one operand."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_serializer,
    model_validator,
)

from monitor.config.base import Section, items, split
from monitor.config.parts import may_miss
from monitor.runtime import patterns

Operator = Literal["equals", "in", "exists", "regex"]
OPERATORS: tuple[Operator, ...] = ("equals", "in", "exists", "regex")
Scalar = str | bool | int | float

#: Fields of an interaction that are no attributes: a rule on them would never match.
_FIELDS = (
    "interaction_id",
    "timestamp",
    "user_input",
    "response",
    "retrieved_contexts",
    "reference",
)


def _scalar(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"found {value}, expected a finite number")
    if isinstance(value, Scalar):
        return value
    raise ValueError(f"found {_called(value)}, expected a text, a number, true or false")


def _called(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list | dict):
        return f"a {type(value).__name__}"
    return f"a {type(value).__name__} (write it in quotes)"


def _scalars(value: Any) -> Any:
    value = split(value)
    if not isinstance(value, list | tuple):
        raise ValueError(f"found {_called(value)}, expected a list")
    if not value:
        raise ValueError("found an empty list, which nothing matches")
    return tuple(_scalar(each) for each in value)


class Rule(Section):
    """Matches an interaction by one attribute; exactly one operator is given."""

    model_config = ConfigDict(
        validate_default=False,
        json_schema_extra={"oneOf": [{"required": [name]} for name in OPERATORS]},
    )

    attribute: str = Field(
        description="application, or a dotted path into the attributes",
        max_length=500,
        json_schema_extra={
            "pattern": r"^[^.]+(\.[^.]+)*$",
            "not": {"enum": ["attributes", *_FIELDS]},
        },
    )
    equals: Annotated[Any, BeforeValidator(_scalar, json_schema_input_type=Scalar)] = Field(
        None, description="matches this text, number, true or false"
    )
    in_: Annotated[
        tuple[Any, ...] | None,
        BeforeValidator(_scalars, json_schema_input_type=tuple[Scalar, ...] | str),
    ] = Field(
        None,
        alias="in",
        description="matches any of these",
        json_schema_extra={"minItems": 1, "minLength": 1},
    )
    exists: bool | None = Field(
        None, description="true: it is there and not null. With false, it is not"
    )
    regex: Annotated[str | None, WithJsonSchema({"type": "string"})] = Field(
        None, description="a regular expression of RE2, found in the first 1,000 characters"
    )

    @field_validator("attribute")
    @classmethod
    def _is_path(cls, attribute: str) -> str:
        if not all(attribute.split(".")) or attribute == "attributes":
            raise ValueError(f"found {attribute!r}, expected a name or a path, like model.name")
        if attribute in _FIELDS:
            raise ValueError(
                f"{attribute} is no attribute: rules see attributes and application "
                f"(an attribute of that name is attributes.{attribute})"
            )
        return attribute

    @field_validator("regex")
    @classmethod
    def _compiles(cls, regex: str | None, info: ValidationInfo) -> str:
        if regex is None:
            raise ValueError("found nothing, expected a regular expression of RE2")
        try:
            patterns.compiled(regex)
        except ValueError as error:
            raise ValueError(f"found {regex!r}, {error}") from None
        except ImportError:
            # Who reads no log applies no rule, and an exporter's image leaves the library out.
            if may_miss(info.context, "log"):
                return regex
            raise ValueError(
                f"found {regex!r}, which needs google-re2; {patterns.INSTALL}"
            ) from None
        return regex

    @model_validator(mode="after")
    def _has_one_operator(self) -> Self:
        given = self._given()
        if len(given) != 1:
            found = " and ".join(given) or "no operator"
            raise ValueError(f"found {found}, expected one of {', '.join(OPERATORS)}")
        return self

    @model_serializer
    def _as_given(self) -> dict[str, Any]:
        operand = list(self.operand) if self.operator == "in" else self.operand
        return {"attribute": self.attribute, self.operator: operand}

    @property
    def operator(self) -> Operator:
        """The operator that is given."""
        (given,) = self._given()
        return given

    @property
    def operand(self) -> Any:
        """What stands behind the operator."""
        return getattr(self, _field(self.operator))

    def _given(self) -> list[Operator]:
        return [name for name in OPERATORS if getattr(self, _field(name)) is not None]


def _field(operator: Operator) -> str:
    return "in_" if operator == "in" else operator


Rules = Annotated[tuple[Rule, ...], BeforeValidator(items)]
