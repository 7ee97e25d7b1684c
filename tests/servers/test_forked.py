"""Forked commands are like started ones."""

from __future__ import annotations

import socket
import subprocess

import pytest

from tests.servers.forked import forks
from tests.unit.cli.command import rag_monitor, started


@pytest.mark.parametrize(
    "arguments",
    [("config", "check", "--json"), ("config", "check", "--set", "a=1"), ("score", "--no"), ()],
    ids=" ".join,
)
def test_a_fork_says_and_ends_as_a_start_does(arguments: tuple[str, ...]) -> None:
    """Standard output, standard error and exit code, by an environment of its own."""
    environ = {"RAG_MONITOR_HTTP__PORT": "4711"}
    forked, real = (run(*arguments, environ=environ) for run in (rag_monitor, started))
    assert (forked.returncode, forked.stdout) == (real.returncode, real.stdout)
    assert forked.stderr == real.stderr


def test_a_fork_that_does_not_end_is_killed() -> None:
    """And the next one is started."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        environ = {"RAG_MONITOR_KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{silent.getsockname()[1]}"}
        with pytest.raises(subprocess.TimeoutExpired):
            forks().run(["alarms", "--timeout", "300"], environ, 0.1)
    assert rag_monitor("version").returncode == 0
