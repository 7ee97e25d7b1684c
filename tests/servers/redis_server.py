"""A real Redis on a free port of 127.0.0.1, without persistence."""

from __future__ import annotations

import shutil
import socket
import time
from pathlib import Path

from tests.servers.guarded import GuardedProcess
from tests.servers.ports import free_ports
from tests.servers.started import Started

HOW_TO_GET_REDIS = "apt-get install redis-server"


def missing_redis() -> str | None:
    """What is missing for a server; None when it can be started."""
    return None if shutil.which("redis-server") else "no redis-server"


class RedisServer(Started):
    """One server that keeps its data in memory; a context manager. All methods block."""

    def __init__(self, directory: Path, *options: str) -> None:
        (self.port,) = free_ports(1)
        self._log, self._options = directory / "redis.log", options
        self._process: GuardedProcess | None = None

    @property
    def url(self) -> str:
        """The value for ``judge.cache.url``."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Run it and wait until it answers; raises ``RuntimeError`` when it does not."""
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self._process = GuardedProcess([*command, *self._options], self._log)
        deadline = time.monotonic() + 120.0
        while not self._answers():
            if time.monotonic() > deadline or not self._process.alive():
                self.stop()
                raise RuntimeError(f"redis-server: {self._log.read_text()[-500:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it; what it held is gone."""
        if self._process is not None:
            self._process.end()

    def freeze(self) -> None:
        """From its return on connections stay open, and nothing is answered."""
        assert self._process is not None
        self._process.freeze()

    def thaw(self) -> None:
        """After ``freeze``."""
        assert self._process is not None
        self._process.thaw()

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as connection:
                connection.sendall(b"PING\r\n")
                # Or -NOAUTH: a server that asks for a password answers, too.
                return connection.recv(64)[:1] in (b"+", b"-")
        except OSError:
            return False
