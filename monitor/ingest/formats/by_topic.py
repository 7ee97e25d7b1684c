"""Which format the records of a topic have: what reads topics asks here, and names no format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from monitor.errors import MessageRejected
from monitor.ingest.formats import native
from monitor.ingest.formats.otlp_format import SpanFormat
from monitor.ingest.formats.protocol import LogFormat
from monitor.ingest.formats.schema_registry import Registered
from monitor.kafka.record import KafkaRecord
from monitor.records import Interaction, Source

NO_TOPICS: Mapping[str, LogFormat] = MappingProxyType({})


class TopicFormats(dict[str, LogFormat]):
    """The format of each topic: of those that are named, and of all others.

    >>> TopicFormats(native, {"traces": native})["logs"] is native
    True
    """

    def __init__(
        self, otherwise: LogFormat = native, by_topic: Mapping[str, LogFormat] = NO_TOPICS
    ) -> None:
        super().__init__(by_topic)
        self._otherwise = otherwise

    def __missing__(self, topic: str) -> LogFormat:
        return self._otherwise

    def spans_of(self, topic: str) -> SpanFormat | None:
        """The format of a topic of spans, whose records are parts of traces; None of another."""
        found = self[topic]
        return found if isinstance(found, SpanFormat) else None

    def awaits(self, record: KafkaRecord) -> bool:
        """Whether something must be fetched before it can be decoded; it is, from now on."""
        found = self[record.topic]
        if not isinstance(found, Registered) or record.value is None:
            return False
        return found.awaits(record.value)

    async def prepare(self, records: Iterable[KafkaRecord]) -> None:
        """Fetch what decoding them takes, for whoever reads a topic and waits for nothing else."""
        for record in records:
            found = self[record.topic]
            if isinstance(found, Registered) and record.value is not None:
                await found.prepare(record.value)

    def interaction_of(self, record: KafkaRecord) -> Interaction | None:
        """What a record of live traffic holds, by its own time; None if that is no interaction."""
        if record.value is None:
            return None
        source = Source(topic=record.topic, partition=record.partition, offset=record.offset)
        try:
            found = self[record.topic].decode(record.value, source, record.timestamp)
        except MessageRejected:
            return None
        return found.interaction

    def has_readable_id(self, topic: str, value: bytes) -> bool:
        """Whether an id is found, or that there is none: sampling sees such a record."""
        try:
            self[topic].logged_id(value)
        except ValueError:
            return False
        return True


#: All topics in the native format.
NATIVE = TopicFormats()
