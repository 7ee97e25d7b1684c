"""What every log format makes of a record: the fields of an interaction, checked.

``user_input``, ``response`` and ``retrieved_contexts`` must be there (the contexts may be an empty
list); unknown fields are kept in ``attributes``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    GetPydanticSchema,
    ValidationError,
)
from pydantic_core import PydanticCustomError, core_schema

from monitor.ingest.event_time import choose_event_time
from monitor.ingest.formats.protocol import Decoded
from monitor.ingest.formats.rejection import LARGEST_INTEGER, named
from monitor.records import Interaction, Source

DEFAULT_APPLICATION = "default"
_DEEPEST = 20
#: Each is an object: with so many a record takes a third of a second, on the event loop.
MOST_PASSAGES = 100_000


def _passages(found: Any) -> Any:
    """Passages as objects, a text being one; all in one go, for there may be very many."""
    if found is None:
        return []
    if not isinstance(found, list):
        return found
    if len(found) > MOST_PASSAGES:
        raise PydanticCustomError("passages", "at most {most} passages", {"most": MOST_PASSAGES})
    return [{"text": each} if isinstance(each, str) else each for each in found]


def _plain(found: Any, depth: int = 0) -> Any:
    """Refuse what could not be written as JSON again."""
    if depth > _DEEPEST:
        raise PydanticCustomError("depth", "at most 20 levels of nesting")
    if isinstance(found, dict):
        for value in found.values():
            _plain(value, depth + 1)
    elif isinstance(found, list):
        for value in found:
            _plain(value, depth + 1)
    elif isinstance(found, float) and not math.isfinite(found):
        raise PydanticCustomError("number", "finite numbers")
    elif isinstance(found, int) and abs(found) >= LARGEST_INTEGER:
        raise PydanticCustomError("number", "integers of at most 64 bits")
    return found


def _id(longest: int | None, shortest: int = 0) -> core_schema.CoreSchema:
    """A text, or a whole number as its decimal text: databases number their rows and passages."""
    number = core_schema.int_schema(strict=True, gt=-LARGEST_INTEGER, lt=LARGEST_INTEGER)
    return core_schema.custom_error_schema(
        core_schema.union_schema(
            [
                core_schema.str_schema(strict=True, min_length=shortest, max_length=longest),
                core_schema.no_info_after_validator_function(str, number),
            ],
            mode="left_to_right",
        ),
        "id",
        custom_error_message=(
            f"a text of {shortest} to {longest:,} characters or an integer of at most 64 bits"
            if longest
            else "a text or an integer of at most 64 bits"
        ),
    )


INTERACTION_ID = _id(1_000, shortest=1)
LoggedId = Annotated[str, GetPydanticSchema(lambda *_: INTERACTION_ID)]
Name = Annotated[str, Field(min_length=1, max_length=1_000)]
# A number or its text, as loggers write both; true is neither.
_SCORE = core_schema.custom_error_schema(
    core_schema.union_schema(
        [
            core_schema.float_schema(strict=True, allow_inf_nan=False),
            core_schema.chain_schema(
                [core_schema.str_schema(strict=True), core_schema.float_schema(allow_inf_nan=False)]
            ),
        ],
        mode="left_to_right",
    ),
    "score",
    custom_error_message="a finite number",
)


def _optional(schema: core_schema.CoreSchema) -> core_schema.TypedDictField:
    return core_schema.typed_dict_field(core_schema.nullable_schema(schema), required=False)


# No model: of a hundred thousand of them it would be an object each that nobody keeps.
_PASSAGE = core_schema.typed_dict_schema(
    {
        "id": _optional(_id(None)),
        "text": core_schema.typed_dict_field(core_schema.str_schema()),
        "score": _optional(_SCORE),
        "relevant": _optional(core_schema.bool_schema(strict=True)),
    },
    extra_behavior="ignore",
)
_LoggedPassage = Annotated[dict[str, Any], GetPydanticSchema(lambda *_: _PASSAGE)]


class LoggedInteraction(BaseModel):
    """The fields as they were logged, or as a mapping has found them."""

    model_config = ConfigDict(extra="allow")

    interaction_id: LoggedId | None = None
    timestamp: Any = None
    application: Name | None = None
    user_input: str
    response: str
    # Only the first mistake is told: a hostile record may have one in each.
    retrieved_contexts: Annotated[list[_LoggedPassage], FailFast(), BeforeValidator(_passages)]
    reference: str | None = None
    attributes: Annotated[
        dict[str, Any], BeforeValidator(lambda found: {} if found is None else found)
    ] = {}


#: UTC of a logged value; None where it is out of any calendar. Raises ``ValueError``.
ParseTime = Callable[[object], datetime | None]


def decoded(
    logged: LoggedInteraction,
    source: Source,
    broker_ms: int,
    parse_time: ParseTime,
    *,
    of_file: bool,
) -> Decoded:
    """The interaction; ``broker_ms`` is the record's time in epoch milliseconds.

    In a file, which has no broker, any time stands that is one. Raises ``ValidationError``.
    """
    attributes = {**_extras(logged), **_checked(logged.attributes, "attributes")}
    found = logged.timestamp
    time = None if found is None else _time(found, parse_time)
    event_time, replaced = choose_event_time(
        time, broker_ms, present=found is not None, trusts=of_file
    )
    interaction = Interaction.model_validate(
        {
            "interaction_id": logged.interaction_id
            or f"{source.topic}/{source.partition}/{source.offset}",
            "event_time": event_time,
            "application": logged.application or DEFAULT_APPLICATION,
            "user_input": logged.user_input,
            "response": logged.response,
            # Pydantic makes passages of them three times as fast as their constructor.
            "retrieved_contexts": logged.retrieved_contexts,
            "reference": logged.reference,
            "attributes": attributes,
            "source": source,
        }
    )
    return Decoded(interaction, replaced)


def _extras(logged: LoggedInteraction) -> dict[str, Any]:
    return {key: _checked(value, named(key)) for key, value in (logged.model_extra or {}).items()}


def _checked(value: Any, path: str) -> Any:
    try:
        return _plain(value)
    except PydanticCustomError as error:
        raise _at(path, value, error) from None


def _time(value: Any, parse_time: ParseTime) -> datetime | None:
    try:
        return parse_time(value)
    except ValueError as error:
        why = PydanticCustomError("timestamp", "{why}", {"why": str(error)})
        raise _at("timestamp", value, why) from None


def _at(path: str, value: Any, error: PydanticCustomError) -> ValidationError:
    return ValidationError.from_exception_data(
        "interaction", [{"type": error, "loc": (path,), "input": value}]
    )
