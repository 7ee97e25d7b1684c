"""Prometheus and Alertmanager as processes on 127.0.0.1 that end with whoever started them."""

from __future__ import annotations

import shutil
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from monitor.demo.ports import free_ports
from monitor.errors import ConfigurationError, DependencyRefused
from monitor.runtime.guarded import GuardedProcess

#: Names of the program, as Debian and as the project itself calls it, and Debian's package.
PROMETHEUS: Final = (("prometheus",), "prometheus")
ALERTMANAGER: Final = (("prometheus-alertmanager", "alertmanager"), "prometheus-alertmanager")
START_S: Final = 60.0
ASK_S: Final = 5.0
#: An alert that is not sent again for four times as long counts as resolved.
RESEND: Final = "5s"
_LOGGED_TAIL: Final = 300


def program(names: Sequence[str]) -> str | None:
    """The path of the first of these programs that is installed."""
    return next((found for name in names if (found := shutil.which(name))), None)


def missing_programs() -> str | None:
    """What is not installed, and what brings it, in one line; None when all is there."""
    lacking = [(names, package) for names, package in (PROMETHEUS, ALERTMANAGER)
               if program(names) is None]  # fmt: skip
    if not lacking:
        return None
    names = " and ".join(names[0] for names, _ in lacking)
    return f"no {names} on PATH: apt-get install {' '.join(package for _, package in lacking)}"


class Server(ABC):
    """A program with an HTTP server on a free port; its log is ``NAME.log`` in ``directory``.

    Methods block: inside an event loop call them by ``asyncio.to_thread``.
    """

    def __init__(self, name: str, names: Sequence[str], directory: Path) -> None:
        self.name, self._names = name, names
        self.directory, self.log = directory, directory / f"{name}.log"
        (self.port,) = free_ports(1)
        self._process: GuardedProcess | None = None

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id; raises ``RuntimeError`` when it was not started."""
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._process.pid

    @abstractmethod
    def _arguments(self) -> list[str]:
        """What it is started with, beside its address."""

    def start(self) -> None:
        """Run it, and return once it says that it is ready.

        Raises ``ConfigurationError`` when it is not installed, ``DependencyRefused`` with the end
        of its log when it ends or stays silent.
        """
        path = program(self._names)
        if path is None:
            raise ConfigurationError(missing_programs() or f"no {self.name} on PATH")
        listen = [f"--web.listen-address=127.0.0.1:{self.port}", f"--web.external-url={self.url}"]
        self._process = GuardedProcess([path, *listen, *self._arguments()], self.log)
        deadline = time.monotonic() + START_S
        while not self._is_ready():
            if not self._process.alive() or time.monotonic() > deadline:
                self.stop()
                raise DependencyRefused(f"{self.name} did not start: …{self.last_words()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it; back when it is gone. May be repeated."""
        if self._process is not None:
            self._process.end()

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.alive()

    def last_words(self) -> str:
        """The end of its log, in one line."""
        logged = self.log.read_text("utf-8", "replace") if self.log.exists() else ""
        return " ".join(logged[-_LOGGED_TAIL:].split())

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=ASK_S) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


class Prometheus(Server):
    """Reads ``config``; its data lie in ``directory`` and are kept for a day."""

    def __init__(self, directory: Path, config: Path) -> None:
        super().__init__("prometheus", PROMETHEUS[0], directory)
        self._config = config

    def _arguments(self) -> list[str]:
        return [
            f"--config.file={self._config}",
            f"--storage.tsdb.path={self.directory / 'tsdb'}",
            "--storage.tsdb.retention.time=1d",
            "--enable-feature=exemplar-storage",
            # What was sent before it knew of the Alertmanager is lost, and sent again only then.
            f"--rules.alert.resend-delay={RESEND}",
            "--web.enable-lifecycle",
        ]


class Alertmanager(Server):
    """Reads ``config``; alone, so that it listens to no peers and waits for none."""

    def __init__(self, directory: Path, config: Path) -> None:
        super().__init__("alertmanager", ALERTMANAGER[0], directory)
        self._config = config

    def _arguments(self) -> list[str]:
        return [
            f"--config.file={self._config}",
            f"--storage.path={self.directory / 'alertmanager'}",
            "--cluster.listen-address=",
        ]
