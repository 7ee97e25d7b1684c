"""Passwords are asked for again at every connection, and survive a bad moment of their file."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaClient, AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from monitor.config import read_secret
from monitor.kafka.auth.rotation import KeptSecret
from monitor.kafka.connection import Connection
from tests.stages.captured_log import captured_log


def kept(file: Path) -> KeptSecret:
    """The secret in this file, which has held ``first`` so far."""
    return KeptSecret(partial(read_secret, file), "first", "kafka.sasl_password")


def test_a_secret_is_what_its_file_holds(tmp_path: Path) -> None:
    """Each time it is asked for; a change is logged, its content is not."""
    file = tmp_path / "secret"
    secret = kept(file)
    with captured_log("info", "json") as read:
        for content in ("first\n", "second\n", "second", "third"):
            file.write_text(content)
            assert secret() == content.strip()
    lines = [json.loads(line) for line in read().splitlines()]
    assert [line["event"] for line in lines] == ["kafka_secret_reloaded"] * 2
    assert {line["what"] for line in lines} == {"kafka.sasl_password"}
    assert "second" not in read()


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe"])
def test_a_bad_moment_changes_nothing(content: bytes | None, tmp_path: Path) -> None:
    """Missing, empty or not text: the last one is used, one line says so, the next look decides."""
    file = tmp_path / "secret"
    secret = kept(file)
    file.write_text("second")
    assert secret() == "second"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    with captured_log("info", "json") as read:
        assert {secret() for _ in range(50)} == {"second"}
    said = [json.loads(line) for line in read().splitlines()]
    assert 1 <= len(said) <= 5
    assert said[0]["event"] == "kafka_secret_kept"
    file.write_text("third")
    assert secret() == "third"


@pytest.mark.parametrize(
    "kind", [AIOKafkaClient, AIOKafkaConsumer, AIOKafkaProducer, AIOKafkaAdminClient]
)
async def test_every_kind_of_client_asks_again(kind: Any) -> None:
    """What aiokafka hands to a new connection is the password of that moment; the rest stays."""
    password = "first"
    connection = Connection(
        "127.0.0.1:1",
        "SASL_PLAINTEXT",
        "SCRAM-SHA-512",
        "user",
        sasl_password=lambda: password,
    )
    client = connection.renewing(kind(**connection.options()))
    inner = client if kind is AIOKafkaClient else getattr(client, "_client", None) or client.client
    found = [inner._sasl_plain_password]
    password = "second"
    found.append(inner._sasl_plain_password)
    assert found == ["first", "second"]
    assert isinstance(inner, AIOKafkaClient)
    assert isinstance(client, kind)
    await (client.stop() if hasattr(client, "stop") else client.close())


async def test_without_a_password_a_client_stays_as_it_is() -> None:
    """There is nothing to ask for."""
    connection = Connection("127.0.0.1:1")
    client = connection.renewing(AIOKafkaClient(**connection.options()))
    assert type(client) is AIOKafkaClient
