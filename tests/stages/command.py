"""``python -m monitor`` as a process, in an environment of its own."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from signal import Signals
from tempfile import TemporaryDirectory

from tests.servers.forked import forks

ROOT = Path(__file__).parents[2]
#: Below that of pytest: `plan` takes 12 s of CPU, which may be minutes on a busy machine.
PATIENCE_S = 800


def environ_of(broker: str, settings: Mapping[str, object]) -> dict[str, str]:
    """Settings as variables of the environment, with this broker.

    >>> environ_of("b:9092", {"http__port": 0}).values()
    dict_values(['b:9092', '0'])
    """
    given = {"kafka__bootstrap_servers": broker, **settings}
    return {f"RAG_MONITOR_{name.upper()}": str(value) for name, value in given.items()}


def rag_monitor(
    *arguments: str | Path, environ: Mapping[str, str] | None = None, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; none of our variables comes in from outside.

    A process of its own, forked of one that has imported everything. ``given`` is on its standard
    input.
    """
    return forks().run([*map(str, arguments)], _environment(environ), PATIENCE_S, given)


class Running:
    """A command while it runs, forked like those of ``rag_monitor``."""

    def __init__(
        self,
        arguments: list[str],
        environ: Mapping[str, str],
        folder: Path,
        terminal: Path | None,
        screen: Path | None,
        given: Path,
    ) -> None:
        self._arguments = arguments
        self._out, self._err = folder / "out", folder / "err"
        for file in (self._out, self._err):
            file.touch()
        said = screen or self._out, terminal or self._err
        self._process = forks().start(arguments, environ, *said, given=given)

    @property
    def out(self) -> str:
        """Standard output, so far."""
        return self._out.read_text("utf-8")

    @property
    def err(self) -> str:
        """Standard error, so far."""
        return self._err.read_text("utf-8")

    def alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.alive()

    def signal(self, number: Signals) -> None:
        """Send a signal; nothing happens when it has ended."""
        self._process.signal(number)

    def kill(self) -> None:
        """SIGKILL; back when it is gone."""
        self._process.kill()

    async def ended(self) -> subprocess.CompletedProcess[str]:
        """Its exit code and all that it said, once it ends by itself."""
        return await asyncio.to_thread(self.result)

    def result(self) -> subprocess.CompletedProcess[str]:
        """The same, where nothing else is to be done meanwhile."""
        code = forks().code_of(self._process.pid, PATIENCE_S)
        if code is None:
            raise subprocess.TimeoutExpired(self._arguments, PATIENCE_S)
        return subprocess.CompletedProcess(self._arguments, code, self.out, self.err)


@contextmanager
def running(
    *arguments: str | Path,
    environ: Mapping[str, str] | None = None,
    terminal: Path | None = None,
    screen: Path | None = None,
    given: Path = Path(os.devnull),
) -> Iterator[Running]:
    """Begin a command; nothing is left of it afterwards.

    ``terminal`` gets what it says on standard error, ``screen`` what it says on standard output;
    ``given`` is its standard input.
    """
    with TemporaryDirectory() as folder:
        told = [*map(str, arguments)]
        found = Running(told, _environment(environ), Path(folder), terminal, screen, given)
        try:
            yield found
        finally:
            found.kill()


def left_alone(*arguments: str | Path) -> tuple[bytes, subprocess.CompletedProcess[str]]:
    """The first line that a command says, and how it ended when nobody read on: ``| head -n 1``."""
    with TemporaryDirectory() as folder:
        pipe, line = Path(folder, "pipe"), b""
        os.mkfifo(pipe)
        with running(*arguments, screen=pipe) as process:
            with pipe.open("rb", buffering=0) as reader:
                fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)  # what is longer meets who has left
                while not line.endswith(b"\n") and (read := reader.read(1)):
                    line += read
            return line, process.result()


def started(
    *arguments: str | Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same by a start of Python, as people do it: for what the start itself has a part in."""
    return subprocess.run(
        [sys.executable, "-m", "monitor", *map(str, arguments)],
        cwd=ROOT,
        env=_environment(environ),
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def _environment(changes: Mapping[str, str] | None) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("RAG_MONITOR_")}
    return {**inherited, **(changes or {})}


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """The error of a command, which is one line on stderr, without the program's name."""
    assert result.stdout == ""
    assert result.stderr.startswith("rag-monitor: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("rag-monitor: ").rstrip("\n")
