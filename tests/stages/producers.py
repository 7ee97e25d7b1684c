"""A producer without Kafka: it keeps what it takes, and refuses what it is told to refuse."""

from __future__ import annotations

from collections.abc import Callable

from monitor.kafka.connection import Connection
from monitor.kafka.producer import Outgoing, Producer, RecordRefused
from monitor.runtime.health import Health


class Memory(Producer):
    """``refuse`` gives the error to raise for a record, or None to take it; it may be replaced."""

    def __init__(self, refuse: Callable[[Outgoing], Exception | None] = lambda _sent: None) -> None:
        super().__init__(Connection("127.0.0.1:1"), None, Health(lambda: 0.0), lambda _topic: None)
        self.refuse = refuse
        self.sent: list[Outgoing] = []

    async def deliver(self, record: Outgoing) -> None:
        if error := self.refuse(record):
            raise error
        self.sent.append(record)

    @property
    def values(self) -> list[tuple[str, bytes | None]]:
        """Topic and value of what was taken."""
        return [(sent.topic, sent.value) for sent in self.sent]


def at_most(size: int, topic: str | None = None) -> Callable[[Outgoing], Exception | None]:
    """Refuses values of more bytes; with a topic, only there."""

    def refuse(sent: Outgoing) -> Exception | None:
        meant = topic is None or sent.topic == topic
        if meant and len(sent.value or b"") > size:
            return RecordRefused("MessageSizeTooLargeError")
        return None

    return refuse
