"""What is kept of partitions from one assignment to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import UNKNOWN_OFFSET
from aiokafka.consumer.subscription_state import Assignment
from aiokafka.structs import OffsetAndMetadata

from monitor.kafka.bounded.consumer import BoundedFetcher

HERE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


async def begin(asked: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
    """At the first offset."""
    return dict.fromkeys(asked, 0)


def told(*partitions: TopicPartition) -> BoundedFetcher:
    """A fetcher without a broker, that has seen of these that their log is another one."""
    fetcher = object.__new__(BoundedFetcher)
    fetcher._begin = begin
    fetcher._begun_again = set(partitions)
    fetcher._out_of_range = dict.fromkeys(partitions, 30)
    return fetcher


@pytest.mark.timeout(30)
async def test_what_was_told_before_an_assignment_is_forgotten() -> None:
    """It may begin within the new log now, which is then read from its beginning all the same."""
    fetcher, assignment = told(HERE, OTHER), Assignment([HERE])
    looked = asyncio.ensure_future(fetcher._update_fetch_positions(assignment, 0, [HERE]))
    state = assignment.state_value(HERE)
    while not looked.done():
        state.update_committed(OffsetAndMetadata(UNKNOWN_OFFSET, ""))
        await asyncio.sleep(0)
    await looked
    assert state.position == 0
    assert fetcher.leave(HERE, 60) == 60
    assert fetcher.leave(OTHER, 60) is None
