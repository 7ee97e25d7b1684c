"""Topics of their own for tests on the real broker."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, RunningBroker, missing_kafka
from tests.servers.kafka_security import SecuredBroker
from tests.servers.kafka_topics import create_topic
from tests.stages.topics import MakeTopics, Topics
from tests.tools import requires_tool


@pytest.fixture(scope="session")
def secured_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """One broker with every way to log in: use topics of your own, and leave it as it is.

    A test that restarts it, or changes its certificates or passwords, starts its own.
    """
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    with SecuredBroker(tmp_path_factory.mktemp("secured")) as broker:
        yield broker


@pytest.fixture
def make_topics(kafka_broker: RunningBroker) -> MakeTopics:
    """Creates the topics and names the group of one monitor; returns them as its settings."""

    async def make(partitions: int = 4) -> Topics:
        run = uuid.uuid4().hex[:8]
        names = {key: f"{key}-{run}" for key in ("interactions", "scores", "dead_letters")}
        for name in names.values():
            await create_topic(kafka_broker.bootstrap, name, partitions)
        for key in ("control", "alarms"):
            names[key] = f"{key}-{run}"
            await create_topic(
                kafka_broker.bootstrap, names[key], config={"cleanup.policy": "compact"}
            )
        settings = {f"kafka__topics__{key}": name for key, name in names.items()}
        return {**settings, "kafka__group_id": f"group-{run}"}

    return make
