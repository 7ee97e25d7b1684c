"""Topics of their own for tests on the real broker."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable

import pytest

from tests.servers.kafka_broker import KafkaBroker
from tests.servers.kafka_topics import create_topic

Topics = dict[str, str]
MakeTopics = Callable[..., Awaitable[Topics]]


@pytest.fixture
def make_topics(kafka_broker: KafkaBroker) -> MakeTopics:
    """Creates the topics and names the group of one monitor; returns them as its settings."""

    async def make(partitions: int = 4) -> Topics:
        run = uuid.uuid4().hex[:8]
        names = {key: f"{key}-{run}" for key in ("interactions", "scores", "dead_letters")}
        for name in names.values():
            await create_topic(kafka_broker.bootstrap, name, partitions)
        settings = {f"kafka__topics__{key}": name for key, name in names.items()}
        return {**settings, "kafka__group_id": f"group-{run}"}

    return make
