"""A producer without Kafka: it keeps what it takes, and refuses what it is told to refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from monitor.health import Health
from monitor.kafka.connection import Connection
from monitor.kafka.producer import Producer, RecordRefused


class Sent(NamedTuple):
    """One record as it was to be written."""

    topic: str
    value: bytes | None
    key: bytes | None
    partition: int | None
    timestamp_ms: int | None
    headers: Sequence[tuple[str, bytes | None]]


class Memory(Producer):
    """``refuse`` gives the error to raise for a record, or None to take it; it may be replaced."""

    def __init__(self, refuse: Callable[[Sent], Exception | None] = lambda _sent: None) -> None:
        super().__init__(Connection("127.0.0.1:1"), None, Health(lambda: 0.0), lambda _topic: None)
        self.refuse = refuse
        self.sent: list[Sent] = []

    async def write(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> None:
        sent = Sent(topic, value, key, partition, timestamp_ms, headers)
        if error := self.refuse(sent):
            raise error
        self.sent.append(sent)

    @property
    def values(self) -> list[tuple[str, bytes | None]]:
        """Topic and value of what was taken."""
        return [(sent.topic, sent.value) for sent in self.sent]


def at_most(size: int, topic: str | None = None) -> Callable[[Sent], Exception | None]:
    """Refuses values of more bytes; with a topic, only there."""

    def refuse(sent: Sent) -> Exception | None:
        meant = topic is None or sent.topic == topic
        if meant and len(sent.value or b"") > size:
            return RecordRefused("MessageSizeTooLargeError")
        return None

    return refuse
