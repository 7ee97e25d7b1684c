"""Rows as interactions: by the mapping of live traffic, redacted as that is, with known noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from pydantic_core import from_json, to_json

from monitor.app.formats import file_format
from monitor.config import Settings
from monitor.errors import MessageRejected
from monitor.evaluate.noise import as_one_passage, is_one_passage, with_noise
from monitor.evaluate.rows import NATIVE_COLUMNS, CsvColumns, InputRow, as_written
from monitor.evaluate.thresholds import THRESHOLD
from monitor.ingest.event_time import Replaced
from monitor.ingest.formats import native
from monitor.ingest.formats.mapped import Mapped
from monitor.ingest.formats.mapping import Place
from monitor.ingest.formats.protocol import Decoded, LogFormat
from monitor.ingest.redaction.redactor import Redactor
from monitor.kafka.record import weight
from monitor.records import Interaction, Passage, Reason, Source
from monitor.runtime.expressions import Expression

_CONTEXTS = "retrieved_contexts"
#: Of every row, whatever a mapping names: left out, a gate would pass what was to be held.
_OWN_THRESHOLD = Place(THRESHOLD, Expression(THRESHOLD), may_be_absent=True)


class DecodesRows(Protocol):
    """What turns the bytes of a row into an interaction."""

    def decode(
        self, value: bytes, source: Source, broker_ms: int, *, of_file: bool = False
    ) -> Decoded:
        """As a log format does; raises ``MessageRejected``."""


class RowFormat(NamedTuple):
    """How a row becomes an interaction, and what the cells of CSV mean."""

    decoder: DecodesRows
    columns: CsvColumns


def row_format(settings: Settings, topic: str | None = None) -> RowFormat:
    """That of ``topic``, or the short form; a context that is one text is one relevant passage.

    A mapping leaves the row its own threshold, unless it names another place for it.
    Raises ``ConfigurationError``.
    """
    found = file_format(settings, topic)
    if not isinstance(found, Mapped):
        return RowFormat(_NativeRows(), NATIVE_COLUMNS._replace(keeps_text=True))
    whole = as_one_passage("").model_dump(exclude={"text"}, exclude_none=True)
    places = replace(found.mapping.passages, of_one_text=whole)
    attributes = {THRESHOLD: _OWN_THRESHOLD, **found.mapping.attributes}
    mapped = replace(found.mapping, passages=places, attributes=attributes)
    return RowFormat(Mapped(mapped, found.parse), csv_columns(found))


def csv_columns(found: LogFormat) -> CsvColumns:
    """What the cells of CSV mean to a format: by its mapping, or by the native names."""
    if not isinstance(found, Mapped):
        return NATIVE_COLUMNS
    mapped = found.mapping
    return CsvColumns(
        passages=_roots([mapped.passages.of]),
        objects=_roots(mapped.objects),
        optional=_roots([mapped.interaction_id, mapped.timestamp, mapped.application])
        | _roots([mapped.texts.get("reference")]),
        times=_roots([mapped.timestamp]),
        keeps_text=True,
    )


def _roots(places: Iterable[Place | None]) -> frozenset[str]:
    found = (place.find for place in places if place is not None)
    return frozenset(root for find in found if isinstance(find, Expression) for root in find.roots)


class _NativeRows:
    """The native format, where the context may also be one text, or a list in one."""

    def decode(
        self, value: bytes, source: Source, broker_ms: int, *, of_file: bool = False
    ) -> Decoded:
        return native.decode(_with_passages(value), source, broker_ms, of_file=of_file)


def _with_passages(value: bytes) -> bytes:
    try:
        row = from_json(value)
    except ValueError:
        return value  # what is wrong with it is told when it is decoded
    context = row.get(_CONTEXTS) if isinstance(row, dict) else None
    if not isinstance(context, str):
        return value
    try:
        passages: list[Any] | dict[str, Any] | None = as_written(context)
    except ValueError as error:
        raise MessageRejected(
            f"{_CONTEXTS}: {error}", stage="decode", cause=Reason.UNREADABLE
        ) from None
    if passages is None:
        one = as_one_passage(context).model_dump(exclude_none=True)
        passages = [one] if context.strip() else []
    return to_json({**row, _CONTEXTS: passages})


class ReadRow(NamedTuple):
    """A row as an interaction; ``labels_win``: its labels of relevance are ours, and hold."""

    interaction: Interaction
    timestamp_replaced: Replaced | None
    labels_win: bool
    is_one_text: bool


@dataclass(frozen=True)
class RowDecoder:
    """Reads the rows of one file.

    ``name`` stands for the topic and a row's number, from 0, for the offset. ``began_ms`` (epoch)
    stands for times that are missing. ``labels_win``: those of every row hold.
    """

    name: str
    decoder: DecodesRows
    redactor: Redactor
    began_ms: int
    most_bytes: int
    noise: Sequence[Passage] = ()
    labels_win: bool = False

    def read(self, row: InputRow) -> ReadRow:
        """The interaction; raises ``MessageRejected`` in words that quote no text."""
        source = Source(topic=self.name, partition=0, offset=row.number - 1)
        try:
            if row.fault is not None:
                raise _unusable(row.fault)
            if weight(row.value) > self.most_bytes:
                raise _too_long(weight(row.value), self.most_bytes)
            found = self.decoder.decode(row.value, source, self.began_ms, of_file=True)
            interaction = self.redactor.interaction(found.interaction)
        except MessageRejected as error:
            said = f"{row.unit} {row.number}: {self.redactor.message(error)}"
            raise MessageRejected(said, stage=error.stage, cause=error.cause) from None
        one_text = is_one_passage(interaction.retrieved_contexts)
        labels_win = self.labels_win or bool(self.noise) or one_text
        whole = with_noise(interaction, self.noise)
        return ReadRow(whole, found.timestamp_replaced, labels_win, one_text)


def _too_long(size: int, most: int) -> MessageRejected:
    return _unusable(
        f"{size} bytes, with 24 for each comma, more than ingest.max_record_bytes ({most})"
    )


def _unusable(why: str) -> MessageRejected:
    return MessageRejected(why, stage="decode", cause=Reason.UNREADABLE)
