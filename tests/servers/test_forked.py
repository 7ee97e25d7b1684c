"""Forked commands are like started ones."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.servers.forked import ADDRESS, Forks, forks
from tests.stages.command import rag_monitor, started


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


def test_forks_end_with_whoever_gives_orders(tmp_path: Path) -> None:
    """Nothing runs on that nobody can stop any more; a killed one says so."""
    own = Forks(os.environ[ADDRESS])
    environ = {**os.environ, "RAG_MONITOR_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:9"}
    log = tmp_path / "log"
    first, second = (own.start(["traffic", "--timeout", "300"], environ, log, log) for _ in "ab")
    first.kill()
    assert (first.exit_code(), first.alive(), second.alive()) == (-signal.SIGKILL, False, True)
    own.close()
    assert second.exit_code() == -signal.SIGKILL
