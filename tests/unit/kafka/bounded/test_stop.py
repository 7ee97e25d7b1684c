"""A fetcher that is closed while it waits: aiokafka awaits its tasks, and ends as they do."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition, errors
from aiokafka.consumer.fetcher import UNKNOWN_OFFSET
from aiokafka.consumer.subscription_state import Assignment
from aiokafka.structs import OffsetAndMetadata

from monitor.kafka.bounded.consumer import BoundedFetcher, _Answers

HERE = TopicPartition("t", 0)


class Away:
    """A client whose broker has gone."""

    async def send(self, node_id: int, request: Any) -> Any:
        raise errors.KafkaConnectionError("gone")


async def called_off(task: asyncio.Task[Any]) -> Any:
    """What it returns when it is cancelled where it waits."""
    for _ in range(10):
        await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    return await task


async def test_a_fetch_that_waits_to_ask_again_is_called_off() -> None:
    """Whoever closes it is not cancelled himself, and closes the rest."""
    fetcher = object.__new__(BoundedFetcher)
    fetcher._client, fetcher._retry_backoff = _Answers(Away()), 3600.0
    request = SimpleNamespace(topics=[])
    asked = asyncio.create_task(fetcher._proc_fetch_request(Assignment([HERE]), 0, request))
    assert await called_off(asked) is False


async def test_a_place_that_is_being_looked_for_is_called_off() -> None:
    """While the group is asked for its offset, and while there is none and one is chosen."""

    async def never(asked: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        await asyncio.Event().wait()
        raise AssertionError(asked)

    for is_told in (False, True):
        fetcher, assignment = object.__new__(BoundedFetcher), Assignment([HERE])
        fetcher._begin, fetcher._begun_again, fetcher._out_of_range = never, set(), {}
        looked = asyncio.create_task(fetcher._update_fetch_positions(assignment, 0, [HERE]))
        await asyncio.sleep(0)
        if is_told:
            told = OffsetAndMetadata(UNKNOWN_OFFSET, "")
            assignment.state_value(HERE).update_committed(told)
        assert await called_off(looked) is False
