"""Commands that read a topic, where no broker is."""

from __future__ import annotations

import pytest

from tests.servers.ports import free_ports
from tests.unit.cli.command import one_line, rag_monitor

PLAN = ("plan", "--from-topic", "--budget", "1usd/day", "--model", "openai/gpt-4o-mini")


@pytest.mark.parametrize(
    "command",
    [("pause",), ("resume",), ("alarms",), ("baseline", "show"), PLAN, ("score", "--dry-run")],
    ids=lambda command: command[0],
)
def test_a_broker_that_is_away_is_said_in_a_line(command: tuple[str, ...]) -> None:
    """Exit code 3 in the time that is given, and not a word of the client's own."""
    (port,) = free_ports(1)
    environ = {"RAG_MONITOR_KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{port}"}
    result = rag_monitor(*command, "--timeout", "1", environ=environ)
    assert result.returncode == 3, result.stderr
    said = one_line(result)
    assert said.startswith(f"Kafka 127.0.0.1:{port}: ")
    assert "nobody listens" in said
    assert "--timeout gives it more" in said
