"""Where an assignment is begun, by what its group has committed and which logs there are."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import pytest
from aiokafka import TopicPartition, errors
from aiokafka.consumer.fetcher import UNKNOWN_OFFSET
from aiokafka.structs import OffsetAndMetadata

from monitor.kafka.bounded.consumer import BoundedConsumer
from monitor.kafka.bounded.known_logs import KnownLogs
from monitor.kafka.flexible_requests import GONE
from monitor.kafka.losses import Losses
from monitor.kafka.start_offsets import EARLIEST, StartRule

HERE, NEW = TopicPartition("t", 0), TopicPartition("t", 1)
RULE = StartRule("earliest", lambda: EARLIEST)
NOTHING = OffsetAndMetadata(UNKNOWN_OFFSET, "")


class TellsIds(BoundedConsumer):
    """Knows what it is told: the ids of topics, and what the broker says to a commit."""

    def __init__(self, ids: Mapping[str, str] | Exception, refusal: Exception | None) -> None:
        self.logs, self._losses, self.told = KnownLogs(), Losses(), 0
        self._losses.counted_by(lambda *_: None, self._count)
        self.ids, self.refusal = ids, refusal

    def _count(self, topic: str, number: int) -> None:
        self.told += number

    async def _ids(self, topics: Collection[str]) -> dict[str, str]:
        if isinstance(self.ids, Exception):
            raise self.ids
        return dict(self.ids)

    async def beginning_offsets(self, partitions: Any) -> Any:
        return dict.fromkeys(partitions, 0)

    async def end_offsets(self, partitions: Any) -> Any:
        return dict.fromkeys(partitions, 30)

    async def has_committed(self, topic: str) -> bool:
        return False

    async def commit(self, offsets: Any = None) -> None:
        if self.refusal is not None:
            raise self.refusal

    def __del__(self, _warnings: Any = None) -> None:
        """It was never connected."""


def places(
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    ids: Mapping[str, str] | Exception,
    refusal: Exception | None = None,
) -> tuple[Mapping[TopicPartition, int] | None, int]:
    """Partition → offset, and how many logs it has told of that are other ones."""
    consumer = TellsIds(ids, refusal)
    return asyncio.run(consumer._places(RULE, committed)), consumer.told


@pytest.mark.parametrize(
    ("mark", "found", "begins", "told"),
    [
        ("c/1", "c/1", {HERE: 10}, 0),
        ("c/1", "c/2", {HERE: 0}, 1),
        ("other/1", "c/2", {HERE: 10}, 0),
        ("", "c/2", {HERE: 10}, 0),
        ("c/1", GONE, {}, 0),
        ("", GONE, {HERE: 10}, 0),
    ],
)
def test_a_commit_holds_for_its_own_log(
    mark: str, found: str, begins: Mapping[TopicPartition, int], told: int
) -> None:
    """What is of another one begins at the beginning; while a topic is gone its mark waits."""
    assert places({HERE: OffsetAndMetadata(10, mark)}, {"t": found}) == (begins, told)


def test_where_nobody_tells_which_logs_there_are_a_mark_waits() -> None:
    """What has none goes on, and so does what is new."""
    silent = errors.KafkaConnectionError("away")
    committed = {HERE: OffsetAndMetadata(10, "c/1"), NEW: NOTHING}
    assert places(committed, silent) == ({NEW: 0}, 0)
    assert places({HERE: OffsetAndMetadata(10, "")}, silent) == ({HERE: 10}, 0)


def test_brokers_that_are_too_old_to_tell_leave_every_commit_as_it_is() -> None:
    """They cannot be asked again either."""
    too_old = errors.IncompatibleBrokerVersion("old")
    assert places({HERE: OffsetAndMetadata(10, "c/1")}, too_old) == ({HERE: 10}, 0)


def test_a_missing_right_lets_no_mark_pass_unchecked() -> None:
    """The new partition is left to the client, which meets the refusal; a mark is asked again."""
    no = errors.GroupAuthorizationFailedError("g")
    silent = errors.KafkaConnectionError("away")
    assert places({NEW: NOTHING}, {"t": "c/1"}, no) == (None, 0)
    committed = {HERE: OffsetAndMetadata(10, "c/1"), NEW: NOTHING}
    assert places(committed, silent, no) == ({}, 0)
    # Its beginning cannot be committed: it is read, and whoever commits next says why not.
    assert places({HERE: OffsetAndMetadata(10, "c/1")}, {"t": "c/2"}, no) == ({HERE: 0}, 1)
