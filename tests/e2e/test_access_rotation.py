"""Passwords, certificates and tokens are changed while a monitor runs: it goes on."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from monitor.kafka.auth.oauth import REFRESH_AT
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, missing_kafka
from tests.servers.kafka_security import USER, Authority, SecuredBroker
from tests.servers.oauth_server import TokenRequest
from tests.stages.process import MonitorProcess, until
from tests.stages.secured import KEY_PASSWORD, WAYS, login, own_topics, scores, secret
from tests.tools import requires_tool

TOKEN_LIFE_S = 10.0
CHANGED = "another-and-secret"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker of this module's own; its tokens are short-lived."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    directory = tmp_path_factory.mktemp("rotating")
    with SecuredBroker(directory, token_life_s=TOKEN_LIFE_S) as started:
        yield started


async def test_tokens_are_renewed_before_they_end(broker: SecuredBroker, tmp_path: Path) -> None:
    """The broker cuts connections whose token has ended; a rotated client secret is read again."""
    topics, plain = own_topics(), broker.broker.bootstrap
    settings = login(broker, "OAUTHBEARER", tmp_path) | topics
    monitor = MonitorProcess("run", broker.address("SASL_TLS"), tmp_path, "monitor", **settings)
    asked = broker.oauth.state.requests
    before = len(asked)
    try:
        await monitor.ready()
        # Consumer, producer, readers, watch: one token for all of them.
        assert 1 <= len(asked) - before <= 1 + _renewals(asked[before])
        await scores(topics, "first token", plain)
        broker.oauth.state.clients[USER] = CHANGED
        secret(tmp_path / "client-secret", CHANGED)
        await until(lambda: len(asked) - before >= 3, "two more tokens", every_s=0.02)
        await scores(topics, "third token", plain)
    finally:
        await monitor.end()
    assert {request.status for request in asked[before:]} == {200}
    assert "kafka_token_unavailable" not in _events(monitor)
    assert "kafka_secret_reloaded" in _events(monitor)


def _renewals(first: TokenRequest) -> int:
    """How often the first token may have been renewed by now: on a busy machine a start is slow."""
    return int((time.monotonic() - first.at) / (REFRESH_AT * TOKEN_LIFE_S))


async def test_passwords_and_certificates_are_read_again(
    broker: SecuredBroker, tmp_path: Path
) -> None:
    """Another password, another CA with another key pair, then the broker cuts all connections."""
    running = {}
    for way in ("PLAIN", "SCRAM-SHA-512", "MTLS"):
        directory = tmp_path / way
        directory.mkdir()
        topics = own_topics()
        # Files of its own, as mounted secrets are, so that the test can replace them.
        settings = _own_files(login(broker, way, directory), directory) | topics
        address = broker.address(WAYS[way])
        running[way] = MonitorProcess("run", address, directory, way, **settings), topics
    try:
        for way, (monitor, topics) in running.items():
            await monitor.ready()
            await scores(topics, f"{way} before", broker.broker.bootstrap)
        await asyncio.to_thread(_rotate, broker, tmp_path)
        for way, (_, topics) in running.items():
            await scores(topics, f"{way} after", broker.broker.bootstrap)
    finally:
        for monitor, _ in running.values():
            await monitor.end()
    events = {way: _events(monitor) for way, (monitor, _) in running.items()}
    assert all("kafka_certificates_reloaded" in found for found in events.values())
    assert "kafka_secret_reloaded" in events["PLAIN"]
    assert "kafka_secret_reloaded" in events["SCRAM-SHA-512"]
    assert [w for w, (m, _) in running.items() if CHANGED in m.log.read_text("utf-8")] == []


def _own_files(settings: dict[str, Any], directory: Path) -> dict[str, Any]:
    for key in ("kafka__ssl_cafile", "kafka__ssl_certfile", "kafka__ssl_keyfile"):
        if key in settings:
            copy = directory / key.removeprefix("kafka__")
            shutil.copy(str(settings[key]), copy)
            settings[key] = copy
    return settings


def _rotate(broker: SecuredBroker, directory: Path) -> None:
    authority = Authority(directory / "next")
    broker.install(authority)
    broker.set_password(USER, CHANGED)
    for way in ("PLAIN", "SCRAM-SHA-512"):
        secret(directory / way / f"password-{way}", CHANGED)
    certfile, keyfile = authority.client(USER, password=KEY_PASSWORD)
    shutil.copy(certfile, directory / "MTLS" / "ssl_certfile")
    shutil.copy(keyfile, directory / "MTLS" / "ssl_keyfile")
    for cafile in directory.glob("*/ssl_cafile"):
        shutil.copy(authority.cafile, cafile)
    broker.broker.restart()


def _events(monitor: MonitorProcess) -> set[object]:
    return {event.get("event") for event in monitor.events()}
