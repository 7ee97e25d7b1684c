"""A broker inside the process: librdkafka's mock cluster, on real TCP, so real clients run."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from confluent_kafka import Producer

_SILENT = logging.getLogger("monitor.demo.broker")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
ANSWER_S = 10.0


class EmbeddedBroker:
    """Lives as long as the object; binds to 127.0.0.1 on a free port; nothing touches the disk.

    It keeps the newest 5 MB of a partition, knows one member per group, and has no time index.
    """

    def __init__(self) -> None:
        self._cluster = Producer(
            {"bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0}, logger=_SILENT
        )
        brokers = self._cluster.list_topics(timeout=ANSWER_S).brokers.values()
        self.bootstrap_servers = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)

    def create_topics(self, names: Iterable[str]) -> None:
        """Asking for a topic creates it, with 4 partitions."""
        for name in names:
            self._cluster.list_topics(name, timeout=ANSWER_S)
