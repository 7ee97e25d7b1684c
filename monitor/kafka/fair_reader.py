"""Reading the partitions of a group member: each gets its turn, and no record blocks the others.

aiokafka's ``getmany`` empties one partition's buffer before it looks at the next, and what it has
already taken from one partition is lost when it fails on another. So every partition is asked by
itself, for its share.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection
from itertools import chain
from typing import Any

from aiokafka import TopicPartition, errors

from monitor.kafka.bounded.consumer import BoundedConsumer
from monitor.kafka.record import KafkaRecord, Unreadable, size
from monitor.runtime.logs import logger

RecordBatch = list[KafkaRecord]

#: However many partitions there are.
LEAST_SHARE = 20
#: Records that are read one by one in search of one that cannot be read; the search goes on later.
MOST_EXAMINED = 1_000
EXAMINE_MS = 1_000
#: What a broken batch raises; the rest of Kafka's errors is about brokers and groups.
BROKEN = (errors.CorruptRecordException, errors.InvalidMessageError)
#: A filter that no partition passes: while all are paused, their buffers are left as they are.
_NOBODY = TopicPartition("", -1)


class FairReader:
    """Reads what is assigned and not paused, and not many more than ``most_bytes`` at once.

    ``clock`` gives epoch seconds.
    """

    def __init__(
        self,
        client: BoundedConsumer,
        most_bytes: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._most_bytes, self._clock = client, most_bytes, clock
        self._suspects: deque[TopicPartition] = deque()
        self._error: errors.KafkaError | None = None
        self._assignments = 0
        self._more = False  # beyond the shares that were taken last

    def assigned(self) -> None:
        """There is a new assignment: nothing that was read before belongs to it."""
        self._assignments += 1
        self._suspects.clear()
        self._error = None

    async def read(self, timeout_ms: int, most: int) -> list[RecordBatch]:
        """Batches of one partition each, in order; none after ``timeout_ms``.

        A partition that has records gives up to its share of ``most``, whatever the others have.
        Raises aiokafka's errors about brokers, groups and rights.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if self._suspects:
            return await self._examine(self._suspects[0])
        found: dict[TopicPartition, RecordBatch] = {}
        if self._more:
            await asyncio.sleep(0)  # what is there already waits for nothing: let others run
            found = await self._take(most)
        if not (found or self._suspects or self._error):
            found = await self._next(timeout_ms, most)
        return list(found.values())

    def _readable(self) -> frozenset[TopicPartition]:
        found: frozenset[TopicPartition] = self._client.assignment() - self._client.paused()
        return found

    async def _next(self, timeout_ms: int, most: int) -> dict[TopicPartition, RecordBatch]:
        """Wait for the first record to come, then take what is there."""
        partitions = self._readable()
        if len(partitions) == 1:
            found = await self._wait(partitions, timeout_ms, most)
            self._more = any(len(batch) >= most for batch in found.values())
            return found
        # Not more than one: a failure on the next partition would lose the others.
        first = await self._wait(partitions, timeout_ms, 1)
        rest = await self._take(most) if first else {}
        return {tp: first.get(tp, []) + rest.get(tp, []) for tp in {**first, **rest}}

    async def _take(self, most: int) -> dict[TopicPartition, RecordBatch]:
        """What is there already. Nothing suspends once there is a batch in hand."""
        found: dict[TopicPartition, RecordBatch] = {}
        partitions, taken = self._readable(), 0
        share = max(LEAST_SHARE, most // max(1, len(partitions)))
        for partition in partitions:
            if taken > self._most_bytes:
                break
            try:
                got = await self._client.getmany(partition, max_records=share)
                found |= got
                taken += sum(map(size, chain.from_iterable(got.values())))
            except Exception as error:  # noqa: BLE001 - unpacking raises whatever it stumbles over
                if _is_about_brokers(error):
                    self._error = error  # after what is in hand
                    break
                self._suspects.append(partition)
        full = any(len(batch) >= share for batch in found.values())
        self._more = full or taken > self._most_bytes
        return found

    async def _wait(
        self, partitions: Collection[TopicPartition], timeout_ms: int, most: int
    ) -> dict[TopicPartition, RecordBatch]:
        asked = tuple(partitions)
        if not asked and self._client.assignment():
            asked = (_NOBODY,)
        try:
            found: dict[TopicPartition, RecordBatch] = await self._client.getmany(
                *asked, timeout_ms=timeout_ms, max_records=most
            )
        except Exception as error:
            if _is_about_brokers(error):
                raise
            self._suspects.extend(partitions)
            return {}
        return found

    async def _examine(self, partition: TopicPartition) -> list[RecordBatch]:
        """The partition's next records, one at a time, up to the one that cannot be read.

        One that fails twice, freshly fetched, is passed by. Where several offsets in a row are
        missing from the log (compaction), those before it are taken for unreadable, too.
        """
        found: RecordBatch = []
        failures, assignments = 0, self._assignments
        while len(found) < MOST_EXAMINED:
            try:
                got = await self._client.getmany(
                    partition, timeout_ms=0 if found else EXAMINE_MS, max_records=1
                )
            except Exception as error:  # noqa: BLE001 - as above
                if _is_about_brokers(error):
                    self._error = error
                    return [found] if found else []
                failures += 1
                unreadable = await self._passed_by(partition, error, failures)
                if unreadable is not None:
                    found.append(unreadable)
                    break
                continue
            if self._assignments != assignments:  # what was read before is the next owner's
                return list(got.values())
            if not got:
                break
            found += got[partition]
            failures = 0
        if len(found) < MOST_EXAMINED and self._suspects:
            self._suspects.popleft()
        return [found] if found else []

    async def _passed_by(
        self, partition: TopicPartition, error: Exception, failures: int
    ) -> Unreadable | None:
        """The record at the current position, left out; None for one more try."""
        position: int = await self._client.position(partition)
        if failures < 2:
            self._client.seek(partition, position)  # drops what was fetched
            return None
        self._client.seek(partition, position + 1)
        kind = type(error).__name__
        where: dict[str, Any] = {"topic": partition.topic, "partition": partition.partition}
        logger().warning("unreadable_record", **where, offset=position, error=kind)
        return Unreadable(**where, offset=position, timestamp=int(self._clock() * 1000), error=kind)


def _is_about_brokers(error: Exception) -> bool:
    return isinstance(error, errors.KafkaError) and not isinstance(error, BROKEN)
