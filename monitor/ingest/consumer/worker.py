"""What the consuming loop hands records to, and the bounds within which it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from monitor.ingest.work import Work, Works
from monitor.kafka.bounds import MAX_READ_BYTES
from monitor.kafka.record import KafkaRecord, Partition

#: One stuck offset must not let everything behind it be read again.
MOST_SPAN = 50_000


class Worker(Protocol):
    """What the loop hands records to; ``works`` are all that it has begun."""

    works: Works

    def prefilter(self, batch: Sequence[KafkaRecord]) -> Sequence[KafkaRecord]:
        """What has to begin of a batch of one partition, in order; the rest has ended."""

    def begin(self, record: KafkaRecord) -> Work | None:
        """Take a record: None when it is done, else the work to be done on it, to be started."""

    def room(self, partition: Partition) -> int | None:
        """How many records of the partition it takes now; None without a bound.

        The rest waits, and nothing of the partition is fetched while there is no room.
        """

    def awaits(self, record: KafkaRecord) -> bool:
        """Whether it cannot begin yet, for want of something that is being fetched.

        The rest of its partition waits behind it, and is asked about again.
        """

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
