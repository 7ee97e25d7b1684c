"""Records behind Confluent's wire format: a byte 0, the id of a schema in four, and the payload.

A schema registry knows the schema; what is decoded by it is mapped like JSON of another shape.
Format: docs.confluent.io, *Wire format*.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from monitor.errors import MessageRejected
from monitor.ingest.formats.first_bytes import looks_like
from monitor.ingest.formats.mapped import Mapped
from monitor.ingest.formats.mapping import RecordMapping
from monitor.ingest.formats.rejection import not_an_object

_HEADER = 5

#: What is behind the id of the schema, as a value of JSON's types; raises any exception.
Decode = Callable[[bytes], Any]


class Schemas(Protocol):
    """What is known of a registry's schemas."""

    def is_known(self, schema_id: int) -> bool:
        """Whether it can be asked for now; if not, it is fetched, and asked again later."""

    def decode_of(self, schema_id: int) -> Decode:
        """How a payload is decoded; raises ``MessageRejected`` for one that nobody can decode by.

        Only of one that is known.
        """

    async def fetched(self, schema_id: int) -> None:
        """Fetch it, once: afterwards it is known, be it that nobody can decode by it."""


class Registered(Mapped):
    """One interaction a record, decoded by its schema and read by ``mapping``."""

    def __init__(self, mapping: RecordMapping, schemas: Schemas) -> None:
        super().__init__(mapping, partial(decoded_by, schemas))
        self._schemas = schemas

    def awaits(self, value: bytes) -> bool:
        """Whether its schema is not known yet."""
        try:
            return not self._schemas.is_known(schema_id(value))
        except MessageRejected:
            return False

    async def prepare(self, value: bytes) -> None:
        """Fetch its schema, for whoever decodes it next."""
        try:
            await self._schemas.fetched(schema_id(value))
        except MessageRejected:
            return


def decoded_by(schemas: Schemas, value: bytes) -> dict[str, Any]:
    """The object in a record; raises ``MessageRejected``."""
    number = schema_id(value)
    if not schemas.is_known(number):
        raise MessageRejected(
            f"record: schema {number} of ingest.registry is not known yet",
            stage="decode",
            cause="unknown_schema",
        )
    decode = schemas.decode_of(number)
    try:
        record = decode(value[_HEADER:])
    except Exception as error:  # noqa: BLE001 - of a library; its words may quote a text
        raise MessageRejected(
            f"record: schema {number} does not fit it ({_why(error)}): it was written "
            "with another schema, or is cut off",
            stage="decode",
            cause="wrong_schema",
        ) from None
    if not isinstance(record, dict):
        raise not_an_object(record)
    return record


def _why(error: Exception) -> str:
    is_short = isinstance(error, EOFError | IndexError)
    return "it ends too early" if is_short else type(error).__name__


def schema_id(value: bytes) -> int:
    """The id of its schema; raises ``MessageRejected`` where the format is another one.

    >>> schema_id(bytes([0, 0, 0, 1, 2, 9]))
    258
    """
    if len(value) > _HEADER and value[0] == 0:
        return int.from_bytes(value[1:_HEADER], "big")
    if value.lstrip()[:1] in (b"{", b"["):
        seems, mend = "JSON without the id of a schema", "set format: json"
    else:
        known = looks_like(value)
        seems, mend = known[0] if known else "something else", "check ingest.format"
    raise MessageRejected(
        f"record: found {seems}, expected a byte 0 and the id of a schema (Confluent's wire "
        f"format): {mend}",
        stage="decode",
        cause="no_schema_id",
    )
