"""Commands that read or write a topic, where no broker is, or one that does not answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Final

import pytest

from tests.servers.ports import free_ports
from tests.stages.command import one_line, rag_monitor

LETTERS = "dead-letters"
COMMANDS: Final = [
    ("pause",),
    ("resume",),
    ("alarms",),
    ("baseline", "show"),
    ("plan", "--from-topic"),
    ("score", "--dry-run"),
    (LETTERS, "list"),
    (LETTERS, "redrive"),
]


def said(port: int, *command: str) -> str:
    """The one line that a command ends with, in the time that is given, with exit code 3.

    Not a word of the client's own; the line says where, and what to do.
    """
    environ = {"RAG_MONITOR_KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{port}"}
    result = rag_monitor(*command, "--timeout", "1", environ=environ)
    assert result.returncode == 3, result.stderr
    line = one_line(result)
    assert line.startswith(f"Kafka 127.0.0.1:{port}: ")
    assert "--timeout gives it more" in line
    return line


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_broker_that_is_away_is_said_in_a_line(command: tuple[str, ...]) -> None:
    """Why there is no answer, too."""
    (port,) = free_ports(1)
    assert "nothing listens there" in said(port, *command)


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections, and says nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(64)
        yield server.getsockname()[1]


@pytest.mark.parametrize("command", [("alarms",), (LETTERS, "redrive")], ids=" ".join)
def test_a_broker_that_does_not_answer_is_said_in_a_line(
    command: tuple[str, ...], silent: int
) -> None:
    """The client has nothing to say of it before its own forty seconds have passed."""
    assert "takes connections, but answers nothing" in said(silent, *command)


def test_traffic_does_not_wait_for_ever_for_a_broker() -> None:
    """It is no role: a shell that sends some goes on. Its log has come before its last line."""
    (port,) = free_ports(1)
    environ = {"RAG_MONITOR_KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{port}"}
    result = rag_monitor("traffic", "--for", "1", "--timeout", "1", environ=environ)
    assert result.returncode == 3, result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"rag-monitor: Kafka 127.0.0.1:{port}: connecting was not done")
    assert result.stdout == ""
