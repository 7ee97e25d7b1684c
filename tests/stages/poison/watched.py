"""A monitor's process of its own, its health asked for all the time, its memory looked at."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.servers.guarded import GuardedProcess
from tests.stages.poison.probe import Health, read
from tests.stages.process import Samples, StartedProcess, parsed, until

SCRAPE_S = 30.0


class Watched:
    """``rag-monitor COMMAND`` and a prober of its ``/healthz``."""

    def __init__(
        self, command: str, bootstrap: str, directory: Path, name: str, **settings: Any
    ) -> None:
        # A fork would share the memory of what it was forked from.
        self.process = StartedProcess(command, bootstrap, directory, name, **settings)
        self._file = directory / f"{name}.health"
        self._prober: GuardedProcess | None = None
        self._seen = 0

    async def ready(self) -> None:
        """Wait until it is; from now on it is asked for its health."""
        await self.process.ready()
        self._file.touch()
        command = ["-m", "tests.stages.poison.probe", self.process.url, str(self.process.pid)]
        log = self._file.with_suffix(".probe.log")
        self._prober = GuardedProcess([sys.executable, *command, str(self._file)], log)
        await until(lambda: self.health().asked > 2, "the first questions for its health")

    async def metrics(self, patience_s: float = SCRAPE_S) -> Samples:
        """One scrape; ``TimeoutError`` when there is no answer by then."""
        limit = aiohttp.ClientTimeout(total=patience_s)
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.get(self.process.url + "/metrics") as answer,
        ):
            return parsed(await answer.text())

    def health(self) -> Health:
        """All that the prober has seen."""
        return read(self._lines(), time.monotonic())

    def health_since_last(self) -> Health:
        """What it has seen since this was asked last."""
        lines = self._lines()
        found, self._seen = lines[self._seen :], len(lines)
        return read(found, time.monotonic())

    def _lines(self) -> list[str]:
        lines = self._file.read_text("utf-8").splitlines(keepends=True)
        return [line for line in lines if line.endswith("\n")]

    def most_memory_mb(self) -> float:
        """The most resident memory that it ever had, as the kernel counts it, in 10⁶ bytes."""
        return peak_mb(self.process.pid)

    async def ended_s(self, patience_s: float) -> float:
        """SIGTERM: the seconds until it is gone; infinite when that takes longer than this.

        ``RuntimeError`` when it has ended before.
        """
        if not self.process.alive():
            code, said = self.process.exit_code(), self.text()[-300:]
            raise RuntimeError(f"ended by itself with exit code {code}: {said}")
        self._silence()
        began = time.monotonic()
        os.kill(self.process.pid, signal.SIGTERM)
        try:
            await until(lambda: not self.process.alive(), "its end", patience_s, every_s=0.05)
        except TimeoutError:
            return float("inf")
        finally:
            self.kill()
        return time.monotonic() - began

    def kill(self) -> None:
        """SIGKILL to both. May be repeated."""
        self._silence()
        self.process.kill()

    def _silence(self) -> None:
        if self._prober is not None:
            self._prober.kill()

    def text(self) -> str:
        """Its log."""
        return self.process.log.read_text("utf-8")


@contextmanager
def watched(
    command: str, bootstrap: str, directory: Path, name: str, **settings: Any
) -> Iterator[Watched]:
    """Such a process; none is left behind."""
    found = Watched(command, bootstrap, directory, name, **settings)
    try:
        yield found
    finally:
        found.kill()


def peak_mb(pid: int) -> float:
    """``VmHWM`` of a process, in 10⁶ bytes; 0.0 when it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii")
    except OSError:
        return 0.0
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else 0.0
