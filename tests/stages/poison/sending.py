"""Writing hostile records to topics of their own."""

from __future__ import annotations

import asyncio
import uuid

from tests.servers.kafka_topics import Record, create_topic, produce
from tests.stages.poison.batches import produce_batch
from tests.stages.poison.records import Poison, on_partition

PARTITIONS = 3


async def new_topics(bootstrap: str) -> dict[str, str]:
    """Topics of its own, with a broker's own limits, as settings."""
    run = uuid.uuid4().hex[:8]
    names = {key: f"{key}-{run}" for key in ("interactions", "scores", "dead_letters")}
    for name in names.values():
        await create_topic(bootstrap, name, PARTITIONS)
    for key in ("control", "alarms"):
        names[key] = f"{key}-{run}"
        await create_topic(bootstrap, names[key], config={"cleanup.policy": "compact"})
    settings = {f"kafka__topics__{key}": name for key, name in names.items()}
    return {**settings, "kafka__group_id": f"group-{run}"}


async def send(bootstrap: str, topic: str, poison: Poison, place: int) -> int:
    """Write all of it to one partition; how many records that are."""
    partition = place % PARTITIONS
    made = on_partition(await asyncio.to_thread(poison.made), partition)
    await produce(bootstrap, topic, [one for one in made if isinstance(one, Record)])
    for one in made:
        if isinstance(one, bytes):
            await produce_batch(bootstrap, topic, one, partition)
    return len(made)
