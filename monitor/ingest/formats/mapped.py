"""Logs of their own shape: a mapping says where the fields of an interaction stand."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from monitor.errors import MessageRejected
from monitor.ingest.event_time import parse_any_unit
from monitor.ingest.formats import chat
from monitor.ingest.formats.first_bytes import BYTE_ORDER_MARK
from monitor.ingest.formats.logged_interaction import LoggedId, LoggedInteraction, decoded
from monitor.ingest.formats.mapping import Place, RecordMapping
from monitor.ingest.formats.passages import FIELD, passages
from monitor.ingest.formats.protocol import Decoded
from monitor.ingest.formats.rejection import (
    not_an_object,
    not_json,
    refuse_packed,
    rejected,
    wrong_value,
)
from monitor.records import Source

_TEXTS: Final = {"user_input": chat.question, "response": chat.answer}
_NUMBER = re.compile(r"\d{9,19}(\.\d{1,9})?", re.ASCII)
_ID: TypeAdapter[str] = TypeAdapter(LoggedId)


class Mapped:
    """One interaction a record, read by ``mapping``; ``parse`` makes an object of its bytes.

    That raises ``MessageRejected``.
    """

    def __init__(self, mapping: RecordMapping, parse: Callable[[bytes], dict[str, Any]]) -> None:
        self.mapping, self.parse = mapping, parse
        self._read = mapping.read_fields()
        self._shown = _shown(mapping)

    def decode(
        self, value: bytes, source: Source, broker_ms: int, *, of_file: bool = False
    ) -> Decoded:
        """The interaction in ``value``; ``broker_ms`` is the record's time in epoch milliseconds.

        A time may be in any unit, for it was named as one.

        Raises ``MessageRejected`` naming the field, where it was looked for, what was found and
        what was expected; texts are described by their length, never quoted.
        """
        record = self._record(value)
        fields = self._fields(record)
        refuse_packed(fields, self._shown)
        try:
            logged = LoggedInteraction.model_validate(fields)
            return decoded(logged, source, broker_ms, self._time, of_file=of_file)
        except ValidationError as error:
            raise rejected(error, value, self._shown) from None

    def logged_id(self, value: bytes) -> str | None:
        """The id in a record of which nothing else is made; None when it has none.

        Raises ``ValueError`` when it cannot be read; ``decode`` says why.
        """
        place = self.mapping.interaction_id
        if place is None:
            return None
        try:
            found = place.value(self._record(value), "interaction_id")
        except MessageRejected as error:
            raise ValueError("no id") from error
        return None if found is None else _ID.validate_python(found)

    def _record(self, value: bytes) -> dict[str, Any]:
        return self.mapping.reshaping.applied(self.parse(value))

    def _fields(self, record: dict[str, Any]) -> dict[str, Any]:
        mapping = self.mapping
        fields: dict[str, Any] = {"attributes": self._attributes(record)}
        for name in ("interaction_id", "timestamp", "application"):
            place: Place | None = getattr(mapping, name)
            if place is not None:
                fields[name] = place.value(record, name)
        for name, place in mapping.texts.items():
            text_of = _TEXTS.get(name, chat.plain_text)
            found = place.value(record, name)
            fields[name] = None if found is None else text_of(found, f"{name} ({place.text})")
        fields[FIELD] = passages(mapping.passages.of.value(record, FIELD), mapping.passages)
        return fields

    def _attributes(self, record: dict[str, Any]) -> dict[str, Any]:
        """Chosen ones go before those of whole objects, and these before the rest."""
        mapping, made = self.mapping, {}
        if mapping.rest:
            made = {key: value for key, value in record.items() if key not in self._read}
        for place in mapping.objects:
            made |= self._of_object(place, record)
        for name, place in mapping.attributes.items():
            found = place.value(record, f"attributes.{name}")
            if found is not None:
                made[name] = found
        return made

    def _of_object(self, place: Place, record: dict[str, Any]) -> dict[str, Any]:
        found = place.value(record, "attributes")
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise wrong_value(f"attributes ({place.text})", found, "an object")
        return found

    def _time(self, found: object) -> datetime | None:
        """A time in any unit, also as digits; one without an offset only where a zone is set."""
        if isinstance(found, str) and _NUMBER.fullmatch(found):
            found = float(found) if "." in found else int(found)
        zone = self.mapping.zone
        if isinstance(found, str) and zone is not None:
            try:
                parsed = datetime.fromisoformat(found)
            except ValueError:
                return parse_any_unit(found)
            if parsed.tzinfo is None:
                return parsed.replace(tzinfo=zone).astimezone(UTC)
        try:
            return parse_any_unit(found)
        except ValueError as error:
            raise ValueError(f"{error}; for times without an offset set mapping.timezone") from None


def json_object(value: bytes) -> dict[str, Any]:
    """The object; raises ``MessageRejected``."""
    value = value.removeprefix(BYTE_ORDER_MARK)
    try:
        record = from_json(value, allow_inf_nan=False)
    except ValueError as error:
        raise not_json(str(error), value) from None
    if not isinstance(record, dict):
        raise not_an_object(record)
    return record


def _shown(mapping: RecordMapping) -> dict[str, str]:
    """Where each field was looked for, for the error of one that is not as it should be."""
    places: dict[str, Place | None] = {
        "interaction_id": mapping.interaction_id,
        "timestamp": mapping.timestamp,
        "application": mapping.application,
        FIELD: mapping.passages.of,
        **{
            f"{FIELD}.{n}": getattr(mapping.passages, n)
            for n in ("id", "text", "score", "relevant")
        },
        **mapping.texts,
    }
    return {name: place.text for name, place in places.items() if place is not None}
