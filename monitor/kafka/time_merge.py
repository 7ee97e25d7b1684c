"""Records of several partitions in the order of their time, as far as each partition has one."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from monitor.kafka.record import KafkaRecord

#: The next records of a partition; none at its end.
FetchRecords = Callable[[], Awaitable[Sequence[KafkaRecord]]]


class Head:
    """One partition, of which no more is held than was fetched at once."""

    def __init__(self, fetch: FetchRecords) -> None:
        self._fetch = fetch
        self._records: deque[KafkaRecord] = deque()
        self._ended = False

    async def next_ms(self) -> int | None:
        """The time of the next record (epoch milliseconds); None at the end."""
        if not self._records and not self._ended:
            self._records.extend(await self._fetch())
            self._ended = not self._records
        return self._records[0].timestamp if self._records else None

    async def until(self, then_ms: int, most: int) -> list[KafkaRecord]:
        """The next ones, up to the first that is later; ``most`` of them at most."""
        found: list[KafkaRecord] = []
        while len(found) < most and (ms := await self.next_ms()) is not None and ms <= then_ms:
            found.append(self._records.popleft())
        return found


async def in_time(
    heads: Sequence[Head], slice_ms: int, most: int
) -> AsyncIterator[list[KafkaRecord]]:
    """Batches of one partition each; two that follow each other overlap by a slice at most.

    Within a slice of ``slice_ms`` milliseconds partitions take turns, ``most`` records at a time.
    """
    while times := [ms for head in heads if (ms := await head.next_ms()) is not None]:
        then_ms = min(times) + slice_ms
        for head in heads:
            if batch := await head.until(then_ms, most):
                yield batch
