"""The broker of all workers: asked for once or never, and what is wrong with it is told."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from multiprocessing.connection import Client
from pathlib import Path

import pytest

from tests.servers import shared_broker
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, RunningBroker, missing_kafka
from tests.tools import requires_tool


@pytest.fixture
def another(monkeypatch: pytest.MonkeyPatch) -> Iterator[shared_broker.SharedBroker]:
    """One beside that of this run, which nobody else asks."""
    found = shared_broker.SharedBroker()
    monkeypatch.setenv(shared_broker.ADDRESS, found.address)
    yield found
    if Path(found.address).exists():
        found.close()


def test_all_ask_the_same(kafka_broker: RunningBroker) -> None:
    """Whoever asks later is told of the broker that runs, and starts none."""
    assert shared_broker.shared().bootstrap == kafka_broker.bootstrap


def test_who_asks_is_told_why_there_is_none(
    another: shared_broker.SharedBroker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As if it had started one itself; who asks then may have more luck, whoever has gone."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    with monkeypatch.context() as broken:
        broken.setenv("KAFKA_TEST_LIBS", str(tmp_path))
        with pytest.raises(RuntimeError, match="formatting failed"):
            shared_broker.shared()
    Client(another.address).close()
    with socket.create_connection(("127.0.0.1", shared_broker.shared().port)):
        pass


def test_where_nobody_asks_nothing_runs(another: shared_broker.SharedBroker) -> None:
    """It leaves nothing behind, either."""
    folder = Path(another.address).parent
    assert [each.name for each in folder.iterdir()] == ["asked"]
    another.close()
    assert not folder.exists()
