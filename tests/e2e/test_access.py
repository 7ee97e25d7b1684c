"""Reaching ready, and scoring, on a broker that wants certificates, passwords or tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.kafka_security import PASSWORD, USER, SecuredBroker
from tests.stages.process import MonitorProcess, until
from tests.stages.secured import KEY_PASSWORD, WAYS, login, own_topics, scores

WRONG = "wrong-and-secret"


@pytest.mark.parametrize("way", WAYS)
async def test_a_secured_broker_is_read_and_written(
    way: str, secured_broker: SecuredBroker, tmp_path: Path
) -> None:
    """Ready, and an interaction gets its score; no secret in the log."""
    address, topics = secured_broker.address(WAYS[way]), own_topics()
    settings = login(secured_broker, way, tmp_path) | topics
    monitor = MonitorProcess("run", address, tmp_path, "monitor", **settings)
    try:
        await monitor.ready()
        await scores(topics, way, secured_broker.broker.bootstrap)
    finally:
        await monitor.end()
    said = monitor.log.read_text("utf-8")
    assert "kafka_hostname_unchecked" not in said
    assert [word for word in (PASSWORD, KEY_PASSWORD, "Traceback") if word in said] == []


async def test_a_certificate_for_another_host_is_accepted_only_on_request(
    secured_broker: SecuredBroker, tmp_path: Path
) -> None:
    """``ssl_check_hostname: false`` lets it pass, and is said loudly; by default it ends in 3."""
    address, topics = secured_broker.address("MISNAMED"), own_topics()
    settings = login(secured_broker, "TLS", tmp_path) | topics
    strict = MonitorProcess("run", address, tmp_path, "strict", **settings)
    loose = MonitorProcess(
        "run", address, tmp_path, "loose", **settings, kafka__ssl_check_hostname="false"
    )
    try:
        await loose.ready()
        await until(lambda: not strict.alive(), "the end of the strict one")
    finally:
        await loose.end()
        await strict.end()
    assert strict.exit_code() == 3
    (said,) = [e for e in loose.events() if e.get("event") == "kafka_hostname_unchecked"]
    assert said["level"] == "warning"
    assert "kafka.ssl_check_hostname" in said["hint"]


async def test_a_wrong_password_ends_in_3_and_is_never_shown(
    secured_broker: SecuredBroker, tmp_path: Path
) -> None:
    """The user is named, the password is not."""
    settings = login(secured_broker, "PLAIN", tmp_path) | own_topics()
    del settings["kafka__sasl_password_file"]
    address = secured_broker.address("SASL_TLS")
    wrong = MonitorProcess(
        "run", address, tmp_path, "wrong", **settings, kafka__sasl_password=WRONG
    )
    await until(lambda: not wrong.alive(), "the end of a refused login")
    assert wrong.exit_code() == 3
    said = wrong.log.read_text("utf-8")
    (line,) = [line for line in said.splitlines() if line.startswith("rag-monitor: ")]
    assert USER in line
    assert WRONG not in said
    assert "Traceback" not in said
