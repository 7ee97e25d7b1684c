"""A record is read: where it stood first, when that was, and which interaction stands in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import NamedTuple

from monitor.errors import MessageRejected
from monitor.ingest.dead_letter_headers import OURS, FailureOrigin, history_of
from monitor.ingest.event_time import NEWEST, Replaced
from monitor.ingest.formats.gathered import TraceRecord
from monitor.ingest.formats.otlp import Span
from monitor.ingest.formats.otlp_format import SpanFormat
from monitor.ingest.formats.protocol import Decoded, LogFormat
from monitor.ingest.formats.rejection import internal_error, not_unpacked
from monitor.ingest.formats.traces import answers, interaction, links_elsewhere
from monitor.ingest.offload import LONG
from monitor.kafka.record import KafkaRecord, Unreadable
from monitor.records import Interaction, Source
from monitor.runtime.garbage import uncollected


class Arrived(NamedTuple):
    """An interaction, and what follows from how it arrived.

    ``timestamp_replaced`` says why its time is the broker's; ``has_own_id``: it was logged with
    one. ``is_redriven``: it has failed before, and somebody wants it judged. ``links_elsewhere``:
    its trace has a link to another one.
    """

    interaction: Interaction
    timestamp_replaced: Replaced | None
    has_own_id: bool
    is_redriven: bool
    links_elsewhere: bool = False


def read(record: KafkaRecord, log_format: LogFormat, now: float) -> Arrived | None:
    """The interaction in a record; None: it is a tombstone. ``now`` is by the brokers' clocks.

    Raises ``MessageRejected`` for what cannot be read.
    """
    if isinstance(record, Unreadable):
        raise not_unpacked(record)
    if record.value is None:
        return None
    return _decoded(record, partial(log_format.decode, record.value), len(record.value), now)


def read_trace(record: TraceRecord, root: Span, now: float) -> Arrived | None:
    """What a whole trace says; None where no model has a part in it.

    A large one takes seconds: this may be called in a thread. Raises ``MessageRejected``.
    """
    if not answers(record.spans, root):
        return None

    def decode(source: Source, broker_ms: int) -> Decoded:
        return interaction(record.spans, root, source, broker_ms)

    is_linked = links_elsewhere(record.spans, root)
    size = sum(span.size for span in record.spans)
    return _decoded(record, decode, size, now)._replace(links_elsewhere=is_linked)


def spans_in(record: KafkaRecord, log_format: SpanFormat) -> Sequence[Span]:
    """Those in a record; raises ``MessageRejected``."""
    try:
        return log_format.spans(record.value or b"")
    except MessageRejected:
        raise
    except Exception as error:
        raise internal_error(error, stage="decode") from error


def place_of(record: KafkaRecord) -> tuple[FailureOrigin, bool]:
    """Where the record stood when it failed first, or stands now; and whether it was redriven."""
    # Nearly never: so a record without a history is done with here.
    if any(key.startswith(OURS) for key, _ in record.headers):
        before = history_of(record)
        if before is not None:
            return before.origin, True
    here = FailureOrigin(record.topic, record.partition, record.offset, record.timestamp)
    return here, False


def _broker_ms(timestamp_ms: int, now: float) -> int:
    """When a record was written, in epoch milliseconds, for a broker whose clock says ``now``.

    A producer may set any timestamp: none lies further ahead than a plausible event time. And it
    may set none, which Kafka gives as -1: then it is as old as its reading.

    >>> _broker_ms(90_000, 100.0), _broker_ms(-1, 100.0), _broker_ms(900_000, 100.0)
    (90000, 100000, 400000)
    """
    newest_ms = int((now + NEWEST.total_seconds()) * 1000)
    return min(timestamp_ms if timestamp_ms >= 0 else int(now * 1000), newest_ms)


def _decoded(
    record: KafkaRecord, decode: Callable[[Source, int], Decoded], size: int, now: float
) -> Arrived:
    try:
        # After a redrive still where it stood first: without an id it keeps its name.
        origin, is_redriven = place_of(record)
        source = Source(topic=origin.topic, partition=origin.partition, offset=origin.offset)
        with nullcontext() if size < LONG else uncollected():
            found = decode(source, _broker_ms(origin.timestamp_ms, now))
    except MessageRejected:
        raise
    except Exception as error:
        raise internal_error(error, stage="decode") from error
    name = f"{source.topic}/{source.partition}/{source.offset}"
    has_own_id = found.interaction.interaction_id != name
    return Arrived(found.interaction, found.timestamp_replaced, has_own_id, is_redriven)
