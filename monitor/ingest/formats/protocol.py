"""What a log format has to offer; whoever adds one begins here."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from monitor.ingest.event_time import Replaced
from monitor.records import Interaction, Source


class Decoded(NamedTuple):
    """An interaction, and why the broker's time replaced its own (None: it did not)."""

    interaction: Interaction
    timestamp_replaced: Replaced | None


class LogFormat(Protocol):
    """What turns the bytes of a record into an interaction."""

    def decode(
        self, value: bytes, source: Source, broker_ms: int, *, of_file: bool = False
    ) -> Decoded:
        """The interaction; ``broker_ms`` is the record's time in epoch milliseconds.

        In a file (``of_file``), which has no broker, any valid time is kept. Raises
        ``MessageRejected``.
        """

    def logged_id(self, value: bytes) -> str | None:
        """The id, with as little work as possible; None: it has none.

        Raises ``ValueError`` where it cannot be read.
        """
