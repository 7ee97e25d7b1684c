"""Native JSON v1: one interaction a record, under the names of its own fields."""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import SchemaValidator, core_schema

from monitor.ingest.event_time import parse_any_unit, parse_timestamp
from monitor.ingest.formats.first_bytes import BYTE_ORDER_MARK
from monitor.ingest.formats.logged_interaction import INTERACTION_ID, LoggedInteraction, decoded
from monitor.ingest.formats.protocol import Decoded
from monitor.ingest.formats.rejection import rejected
from monitor.records import Source

# Parsing alone, without making anything of the other fields: an eighth of the time of decoding.
_validate_id = SchemaValidator(
    core_schema.typed_dict_schema(
        {
            "interaction_id": core_schema.typed_dict_field(
                core_schema.nullable_schema(INTERACTION_ID), required=False
            )
        }
    )
).validate_json


def logged_id(value: bytes) -> str | None:
    """The id in a record that is not decoded any further; None when it has none.

    Raises ``ValueError`` when there is no JSON object or its id is no id; ``decode`` refuses such a
    record, and says why.
    """
    found: str | None = _validate_id(value.removeprefix(BYTE_ORDER_MARK)).get("interaction_id")
    return found


def decode(value: bytes, source: Source, broker_ms: int, *, of_file: bool = False) -> Decoded:
    """The interaction in ``value``; ``broker_ms`` is the record's time in epoch milliseconds.

    In a file, which has no broker, any time stands that is one, in any unit.

    Raises ``MessageRejected`` naming the field, what was found and what was expected; texts are
    described by their length, never quoted.
    """
    value = value.removeprefix(BYTE_ORDER_MARK)
    parse_time = parse_any_unit if of_file else parse_timestamp
    try:
        logged = LoggedInteraction.model_validate_json(value)
        return decoded(logged, source, broker_ms, parse_time, of_file=of_file)
    except ValidationError as error:
        raise rejected(error, value) from None
