"""What the consuming loop hands records to, and the bounds within which it does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from monitor.kafka.bounds import MAX_READ_BYTES
from monitor.kafka.record import KafkaRecord, Partition

#: One stuck offset must not let everything behind it be read again.
MOST_SPAN = 50_000

Work = Coroutine[Any, Any, None]


class Worker(Protocol):
    """What the loop hands records to."""

    def screen(self, batch: Sequence[KafkaRecord]) -> Sequence[KafkaRecord]:
        """What has to begin of a batch of one partition, in order; the rest has ended."""

    def begin(self, record: KafkaRecord) -> Work | None:
        """Take a record: None when it is done, else the work to be done on it.

        The work must settle its interaction, also when it is cancelled; the cancellation's message
        is the reason. Only after the reason ``stuck`` it may go on, to say so elsewhere.
        """

    def is_busy(self, task: asyncio.Task[None]) -> bool:
        """Whether its work is about something that ought to end by itself.

        Waiting for a place or for Kafka does not count: it may take as long as it takes.
        """

    def waits_for_limits(self) -> bool:
        """Whether work stands still that nothing but a limit holds up: so long is nothing stuck."""

    def waits(self, task: asyncio.Task[None], within_s: float) -> bool:
        """Whether its work waits, and nothing is lost by leaving it to somebody else.

        Also where something would be, of work that cannot end in so many seconds.
        """

    def room(self, partition: Partition) -> int | None:
        """How many records of the partition it takes now; None without a bound.

        The rest waits, and nothing of the partition is fetched while there is no room.
        """

    def parked(self) -> int:
        """How many works wait for what may never come: they take no place from others."""

    def log_ended(self, partition: Partition) -> None:
        """No more comes of the partition's log, all of which has begun: another one follows.

        May be told again; work that waits for more of the log goes on without.
        """

    def behind(self, seconds: float) -> None:
        """How old the oldest record is that was not begun; 0.0 when there is none."""

    def turn(self) -> None:
        """The loop comes round: at least once a second."""


@dataclass(frozen=True)
class LoopLimits:
    """Bounds of the loop; times in seconds."""

    max_in_flight: int
    commit_interval_s: float
    drain_s: float
    stuck_after_s: float = 600.0
    most_span: int = MOST_SPAN
    #: Of records that are held; one alone may be larger.
    most_bytes: int = MAX_READ_BYTES
