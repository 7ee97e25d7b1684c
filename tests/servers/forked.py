"""Processes of the monitor as forks of one that has imported all of it.

A start of Python that imports what a command needs is two seconds of CPU, and four with litellm; a
fork is a tenth. It ends as any Python does, with its threads waited for, all that is registered for
the end done, and what is unreachable collected; only modules are not taken apart. What only a start
of its own shows is for tests that start one.

``python -m tests.servers.forked`` reads orders from standard input, a line each: JSON with the
module, its arguments, the environment and the files for standard input, output and error. For each
it says ``PID started``, and ``PID CODE`` when that process has ended. It kills them when nobody can
give orders any more.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals
from tempfile import TemporaryDirectory
from threading import Condition, Lock, Thread

ROOT = Path(__file__).parents[2]
_NOTHING = Path(os.devnull)
_STARTED = "started"


class Forks:
    """The process that is forked. May be used by several threads."""

    def __init__(self) -> None:
        self._turn, self._news = Lock(), Condition()
        self._started: list[int] = []
        self._codes: dict[int, int] = {}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.forked"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()
        atexit.register(self.close)

    def start(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        out: Path,
        err: Path,
        module: str = "monitor",
        given: Path = _NOTHING,
    ) -> ForkedProcess:
        """Start a command; what it says is added to two files, which may be the same.

        ``module`` is another program in the place of ``monitor``; ``given`` is its standard input.
        """
        assert self._process.stdin is not None
        order = [module, [*arguments], dict(environ), str(given), str(out), str(err)]
        for file in (out, err):
            file.touch()  # to be read from now on
        with self._turn:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
            with self._news:
                self._news.wait_for(lambda: self._started or not self._listener.is_alive())
                return ForkedProcess(self, self._started.pop())

    def run(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        timeout_s: float,
        given: str = "",
    ) -> subprocess.CompletedProcess[str]:
        """Like ``subprocess.run`` with captured output: exit code, standard output and error."""
        with TemporaryDirectory() as folder:
            out, err, read = Path(folder, "out"), Path(folder, "err"), Path(folder, "in")
            read.write_text(given, encoding="utf-8")
            process = self.start(arguments, environ, out, err, given=read)
            code = self.code_of(process.pid, timeout_s)
            if code is None:
                process.kill()
                raise subprocess.TimeoutExpired([*arguments], timeout_s)
            said = out.read_text("utf-8"), err.read_text("utf-8")
        return subprocess.CompletedProcess([*arguments], code, *said)

    def code_of(self, pid: int, timeout_s: float) -> int | None:
        """How a process has ended, negative by a signal; None if it does not end in this time."""
        with self._news:
            self._news.wait_for(lambda: pid in self._codes, timeout_s)
            return self._codes.get(pid)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            pid, what = line.decode().split()
            with self._news:
                if what == _STARTED:
                    self._codes.pop(int(pid), None)  # of one before it with the same id
                    self._started.append(int(pid))
                else:
                    self._codes[int(pid)] = int(what)
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def close(self) -> None:
        """Kill what still runs; nothing can be started any more. May be repeated."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._listener.join()
        self._process.stdout.close()


@cache
def forks() -> Forks:
    """Those of this process."""
    return Forks()


class ForkedProcess:
    """A forked command; to its users like a ``GuardedProcess``."""

    def __init__(self, forks: Forks, pid: int) -> None:
        self._forks, self.pid = forks, pid

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.exit_code() is None

    def exit_code(self) -> int | None:
        """How it ended, negative by a signal; None while it runs."""
        return self._forks.code_of(self.pid, 0.0)

    def signal(self, number: Signals) -> None:
        """Send a signal; nothing happens when the process has ended."""
        if self.alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL; back when it is gone. May be repeated."""
        self.signal(SIGKILL)
        assert self._forks.code_of(self.pid, 60.0) is not None

    def end(self, patience_s: float = 20.0) -> None:
        """SIGTERM, after ``patience_s`` SIGKILL; back when the process is gone. May be repeated."""
        self.signal(SIGTERM)
        self._forks.code_of(self.pid, patience_s)
        self.kill()


def _import_everything() -> None:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # as the judge does: nothing is fetched
    gc.disable()  # of what modules make nothing is garbage
    for name in ("litellm", "openai.resources.chat", "openai.types.chat", "openai.types.responses"):
        importlib.import_module(name)
    import monitor

    for module in pkgutil.walk_packages(monitor.__path__, "monitor."):
        if module.name != "monitor.__main__":
            importlib.import_module(module.name)
    gc.enable()
    gc.freeze()


def _become(module: str, arguments: list[str], environ: dict[str, str], *files: str) -> None:
    given, *said = files
    read = os.open(given, os.O_RDONLY)
    written = [os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) for file in said]
    for number, each in enumerate([read, *written]):
        os.dup2(each, number)
        os.close(each)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.argv[1:] = arguments
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        _ENDS.append(end.code or 0)
        raise
    _ENDS.append(0)


#: In a fork whose command has ended in order: its exit code.
_ENDS: list[object] = []


def _leave() -> None:
    """The last thing at the end of Python: that it takes thousands of modules apart is left out."""
    if _ENDS and isinstance(code := _ENDS[0], int):
        gc.collect()  # what complains that it was left open does so here
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _serve() -> None:
    _import_everything()
    running: dict[int, int] = {}
    unread = b""
    while True:
        ready, _, _ = select.select([0, *running], [], [])
        for life in filter(None, ready):
            _bury(life, running)
        if 0 in ready:
            read = os.read(0, 1 << 16)
            *orders, unread = (unread + read).split(b"\n")
            for order in orders:
                if not _fork(order, running):
                    return  # in the fork, whose command is done: to the end of a Python program
            if not read:
                for life, pid in [*running.items()]:
                    os.kill(pid, SIGKILL)
                    _bury(life, running)
                return


def _fork(order: bytes, running: dict[int, int]) -> bool:
    """Whether this is the process that goes on. ``running``: what ends with a process → its id."""
    life, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        for each in (life, *running):
            os.close(each)
        _become(*json.loads(order))
        return False
    os.close(held)
    running[life] = pid
    print(pid, _STARTED, flush=True)
    return True


def _bury(life: int, running: dict[int, int]) -> None:
    os.close(life)
    pid = running.pop(life)
    print(pid, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    atexit.register(_leave)  # the first is the last to be called
    _serve()
