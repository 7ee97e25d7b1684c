"""The producer of the docs, run as it stands: what it logs is an interaction."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

from monitor.ingest.formats.native import decode
from monitor.records import Passage, Source
from tests import pages
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import create_topic, read_all

PAGE = Path(__file__).parents[2] / "docs" / "getting-started.md"
BROKER, TOPIC = "kafka-1:9092", "rag.interactions.v1"


async def test_the_producer_of_the_docs_logs_an_interaction(kafka_broker: RunningBroker) -> None:
    """Only broker and topic are other ones; no time is replaced, and nothing is missing."""
    (code,) = pages.blocks(PAGE.read_text("utf-8"), "python")
    topic = f"interactions-{uuid.uuid4().hex[:8]}"
    await create_topic(kafka_broker.bootstrap, topic)
    assert (code.count(BROKER), code.count(TOPIC)) == (1, 1)
    ours = code.replace(BROKER, kafka_broker.bootstrap).replace(TOPIC, topic)
    await asyncio.to_thread(exec, compile(ours, str(PAGE), "exec"), {"__name__": "producer"})
    (record,) = await read_all(kafka_broker.bootstrap, topic)
    assert record.value is not None
    assert record.timestamp_ms is not None
    source = Source(topic=topic, partition=0, offset=0)
    found, replaced = decode(record.value, source, record.timestamp_ms)
    assert replaced is None
    assert record.key == found.interaction_id.encode()
    assert (found.application, found.attributes) == ("support-bot", {"tenant": "acme"})
    assert found.retrieved_contexts == (
        Passage(text="The warranty lasts 24 months from the day of delivery."),
    )


def test_the_producer_of_the_docs_is_short() -> None:
    """Some twenty lines that hold something, so that nobody puts off copying them."""
    (code,) = pages.blocks(PAGE.read_text("utf-8"), "python")
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 26
