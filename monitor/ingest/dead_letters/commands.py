"""What people do with dead letters: list them, look at one, send them back."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from typing import NamedTuple

from monitor.ingest.dead_letter_headers import read_dead_letter
from monitor.ingest.dead_letters.listing import (
    DeadLetterGroups,
    DeadLetterList,
    DeadLetterRow,
    in_full,
)
from monitor.ingest.dead_letters.redrive import (
    QUIET,
    Redriven,
    Redriver,
    RedriveResult,
    RedriveSelection,
)
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.kafka.producer import Producer
from monitor.kafka.record import KafkaRecord, Unreadable
from monitor.kafka.replay import Redelivery
from monitor.runtime.health import Health


class DeadLetterAccess(NamedTuple):
    """Where dead letters lie, and where their records came from.

    What is done at it raises ``DependencyRefused`` where a broker is away for too long.
    """

    dead_letters: Connection
    topic: str
    inputs: Connection
    input_topics: tuple[str, ...]
    group_id: str
    health: Health
    #: Seconds to wait for brokers that are away.
    limit_s: float
    #: Input topics whose records are parts of traces.
    span_topics: frozenset[str] = frozenset()


async def listed(access: DeadLetterAccess, collect: DeadLetterList | DeadLetterGroups) -> None:
    """Read the whole dead letter topic."""
    scan = await one_shot.scan(access.dead_letters, access.health, access.limit_s)
    try:
        async for record in scan.records(access.topic):
            collect.add(record)
    finally:
        await scan.stop()


async def shown(
    access: DeadLetterAccess, topic: str | None, partition: int, offset: int, *, with_value: bool
) -> DeadLetterRow | str:
    """The letter at a place; with ``topic``, the last one of the record that was there.

    Or why there is none.
    """
    scan = await one_shot.scan(access.dead_letters, access.health, access.limit_s)
    last = None
    try:
        if topic is None:
            record = await scan.one(access.topic, partition, offset)
            dead_letter = read_dead_letter(record) if record else None
            if record is None or dead_letter is None:
                return _no_dead_letter(record)
            return in_full(record, dead_letter, with_value=with_value)
        async for record in scan.records(access.topic):
            dead_letter = read_dead_letter(record)
            if dead_letter and dead_letter.history.origin[:3] == (topic, partition, offset):
                found = in_full(record, dead_letter, with_value=with_value)
                last = max(last or found, found, key=lambda one: int(one["attempts"]))
    finally:
        await scan.stop()
    return last or "no dead letter names that place"


def _no_dead_letter(record: KafkaRecord | None) -> str:
    """Why there is none where this record is."""
    if record is None:
        return "there is no record"
    if isinstance(record, Unreadable):
        return f"no client can unpack the record there ({record.error})"
    return "the record there has no headers of a dead letter"


async def redriven(
    access: DeadLetterAccess,
    *,
    dry_run: bool,
    most: int | None,
    since: datetime | None,
    stop: asyncio.Event,
) -> tuple[list[Redriven], Counter[RedriveResult]]:
    """Send letters back, from where the last redrive ended; what was answered, and how often."""
    answered: list[Redriven] = []
    async with AsyncExitStack() as stack:
        sources = await one_shot.scan(access.inputs, access.health, access.limit_s)
        stack.push_async_callback(sources.stop)
        inputs = {t: p for t, p in sources.partitions.items() if t in access.input_topics}
        producer = None
        if not dry_run:
            async with one_shot.in_time(access.inputs, access.health, access.limit_s, "connecting"):
                producer = await Producer.start(access.inputs, access.health)
            stack.push_async_callback(producer.stop)
        redriver = Redriver(
            RedriveSelection(inputs, since, most, access.span_topics),
            lambda origin: sources.one(*origin[:3]),
            producer,
            lambda one: answered.append(one) if one.answer not in QUIET else None,
        )
        await (_dry_run if dry_run else _perform)(access, redriver, stop)
    return answered, redriver.counts


async def _dry_run(access: DeadLetterAccess, redriver: Redriver, stop: asyncio.Event) -> None:
    scan = await one_shot.scan(
        access.dead_letters, access.health, access.limit_s, group_id=access.group_id
    )
    try:
        async for record in scan.records(access.topic, from_committed=True):
            if stop.is_set() or not await redriver.take([record]):
                return
    finally:
        await scan.stop()


async def _perform(access: DeadLetterAccess, redriver: Redriver, stop: asyncio.Event) -> None:
    limit_s = access.limit_s

    async def take(records: Sequence[KafkaRecord]) -> int:
        # Those of a chunk that have been sent are sent once more by the next one, as after a kill.
        async with one_shot.in_time(access.inputs, access.health, limit_s, "sending some of them"):
            return await redriver.take(records)

    async with one_shot.in_time(access.dead_letters, access.health, limit_s, "connecting"):
        member = await Redelivery.start(
            access.dead_letters, access.health, group_id=access.group_id, topic=access.topic
        )
    try:
        await member.work_through(take, stop, limit_s)
    finally:
        await member.stop()
