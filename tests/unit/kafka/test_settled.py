"""A client whose start is cancelled leaves no connection open."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

from monitor.kafka.clock_watch import ClockWatch
from monitor.kafka.retrying import settled, start_patiently, stopped
from monitor.runtime.health import Health
from tests.stages.small_kafka import SmallKafka, small_kafka


async def patient(kafka: SmallKafka) -> None:
    """A consumer, as every reader starts it."""
    connection = kafka.connection
    await start_patiently(
        lambda: AIOKafkaConsumer(**connection.options()), connection, Health(time.monotonic), "x"
    )


async def watching(kafka: SmallKafka) -> None:
    """The look at a cluster's clock."""
    connection = kafka.connection
    connection.problems.let_in = True
    await ClockWatch(connection, Health(time.monotonic), 30.0, lambda _: None).run()


@pytest.mark.parametrize("start", [patient, watching])
async def test_a_cancelled_start_closes_what_it_opened(start: Any) -> None:
    """Cancelled while the broker is thinking, which aiokafka itself does not clean up."""
    found: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: found.append(context["message"])
    )
    async with small_kafka() as kafka:
        kafka.pause_s = 0.2
        task = asyncio.create_task(start(kafka))
        await kafka.asked_for_brokers.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        gc.collect()
        assert found == []


async def test_the_result_is_the_starts_own() -> None:
    """And so is its error."""

    async def one() -> int:
        return 1

    async def wrong() -> None:
        raise ValueError("no")

    assert await settled(one()) == 1
    with pytest.raises(ValueError, match="no"):
        await settled(wrong())


async def test_whoever_is_cancelled_while_a_client_closes_ends() -> None:
    """Though aiokafka swallows the cancellation, and goes on."""
    closing = asyncio.Event()

    async def close() -> None:
        closing.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)

    async def follow() -> None:
        await stopped(close(), "x")
        await asyncio.Event().wait()

    task = asyncio.create_task(follow())
    await closing.wait()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=5.0)
    assert done == {task}
    assert task.cancelled()
