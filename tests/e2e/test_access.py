"""Logging in to a broker that asks for a password."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import MonitorProcess, until
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, KafkaBroker, missing_kafka
from tests.tools import requires_tool

PASSWORD, WRONG = "right-and-secret", "wrong-and-secret"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture
async def locked(tmp_path: Path) -> AsyncIterator[str]:
    """The address of a SASL_PLAINTEXT listener that knows one user."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    jaas = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
    properties = {
        "sasl.enabled.mechanisms": "PLAIN",
        jaas: f'{LOGIN} required user_monitor="{PASSWORD}";',
    }
    broker = KafkaBroker(tmp_path, properties, second_listener="SASL_PLAINTEXT")
    await asyncio.to_thread(broker.start)
    yield f"127.0.0.1:{broker.second_port}"
    await asyncio.to_thread(broker.stop)


def monitor(address: str, directory: Path, password: str) -> MonitorProcess:
    settings: dict[str, Any] = {
        "kafka__security_protocol": "SASL_PLAINTEXT",
        "kafka__sasl_mechanism": "PLAIN",
        "kafka__sasl_username": "monitor",
        "kafka__sasl_password": password,
        "kafka__create_topics": "true",
    }
    return MonitorProcess("run", address, directory, password, **settings)


@pytest.mark.timeout(120)
async def test_the_right_password_runs_and_the_wrong_one_is_refused_in_one_line(
    locked: str, tmp_path: Path
) -> None:
    """Right: ready. Wrong: it ends, naming broker and user and never the password."""
    right = monitor(locked, tmp_path, PASSWORD)
    try:
        await right.ready()
    finally:
        await right.end()
    wrong = monitor(locked, tmp_path, WRONG)
    await until(lambda: not wrong.alive(), "the end of a refused login")
    assert wrong.exit_code() == 3
    said = wrong.log.read_text("utf-8")
    (line,) = [line for line in said.splitlines() if line.startswith("rag-monitor: ")]
    assert f"Kafka {locked} (SASL_PLAINTEXT as monitor) refuses" in line
    assert "Authentication failed" in line
    assert "Traceback" not in said
    assert WRONG not in said
    assert PASSWORD not in right.log.read_text("utf-8")
