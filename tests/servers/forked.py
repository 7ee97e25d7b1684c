"""Processes of the monitor as forks of one that has imported all of it.

A start of Python that imports what a command needs is two seconds of CPU, and four with litellm; a
fork is a tenth. It ends as any Python does, with its threads waited for, all that is registered for
the end done, and what is unreachable collected; only modules are not taken apart. What only a start
of its own shows is for tests that start one.

``python -m tests.servers.forked FD`` listens on that socket, and takes orders of all who connect, a
line each: JSON with the module, its arguments, the environment and the files for standard input,
output and error. For each it says ``PID started``, and ``PID CODE`` when that process has ended. It
kills those of which nobody can give orders any more, and ends with the last who could.
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
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals
from tempfile import TemporaryDirectory
from threading import Condition, Lock, Thread

import typer.main

ROOT = Path(__file__).parents[2]
#: The variable with the address of the one for all workers of a run.
ADDRESS = "FORKS_ADDRESS"
_NOTHING = Path(os.devnull)
_LITELLM = (
    "litellm",
    "openai.resources.chat",
    "openai.types.chat",
    "openai.types.responses",
    # Imported, with a score of others, when a model is asked for the first time.
    "litellm.litellm_core_utils.default_encoding",
    "litellm.proxy.openai_files_endpoints.common_utils",
)
#: What the monitor imports only where it is needed.
_LATE = ("phonenumbers", "stdnum", "matplotlib.figure", "matplotlib.backends.backend_agg")
_STARTED = "started"


class ForkServer:
    """A place to ask for forks: the process that is forked starts with whoever asks first."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="forks-")
        self.address = str(Path(self._folder.name, "asked"))
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address)
        self._listener.listen()
        self._closes = False
        self._keeper = Thread(target=self._keep, daemon=True)
        self._keeper.start()
        atexit.register(self.close)

    def _keep(self) -> None:
        known = self._listener.fileno()
        while True:
            select.select([known], [], [])
            if self._closes:
                return
            subprocess.run(
                [sys.executable, "-m", "tests.servers.forked", str(known)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                pass_fds=[known],
                start_new_session=True,
                check=False,
            )

    def close(self) -> None:
        """When all who asked have closed; nothing can be asked for any more. May be repeated."""
        self._closes = True
        with suppress(OSError), socket.socket(socket.AF_UNIX) as last:
            last.connect(self.address)  # wakes who waits for somebody
            self._keeper.join()
        self._listener.close()
        self._folder.cleanup()


class Forks:
    """Who asks a ``ForkServer``, by its address. May be used by several threads."""

    def __init__(self, address: str) -> None:
        self._turn, self._news = Lock(), Condition()
        self._started: list[int] = []
        self._codes: dict[int, int] = {}
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(address)
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
        order = [module, [*arguments], dict(environ), str(given), str(out), str(err)]
        for file in (out, err):
            file.touch()  # to be read from now on
        with self._turn:
            self._connection.sendall(json.dumps(order).encode() + b"\n")
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
        for line in self._connection.makefile("rb"):
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
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
        self._listener.join()
        self._connection.close()


@cache
def forks() -> Forks:
    """Those of this process."""
    return Forks(os.environ.get(ADDRESS) or ForkServer().address)


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
    for name in (*_LITELLM, *_LATE):
        importlib.import_module(name)
    import monitor

    for module in pkgutil.walk_packages(monitor.__path__, "monitor."):
        if module.name != "monitor.__main__":
            importlib.import_module(module.name)
    _put_commands_together()
    gc.enable()
    gc.freeze()


def _put_commands_together() -> None:
    """Once: from signatures and their annotations, all of them for each command that is run."""
    typer.main.get_command = cache(typer.main.get_command)
    typer.main.get_command(importlib.import_module("monitor.cli").app)


def _become(module: str, arguments: list[str], environ: dict[str, str], *files: str) -> None:
    given, *said = files
    read = os.open(given, os.O_RDONLY)
    written = [os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) for file in said]
    for number, each in enumerate([read, *written]):
        os.dup2(each, number)
        os.close(each)
    _open_anew()
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


def _open_anew() -> None:
    # A terminal or a pipe has no place to seek, and a terminal is written to by the line.
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w")):
        if not stat.S_ISREG(os.fstat(number).st_mode):
            old, size = getattr(sys, name), 1 if os.isatty(number) else -1
            new = os.fdopen(number, mode, size, old.encoding, old.errors, closefd=False)
            setattr(sys, name, new)


#: In a fork whose command has ended in order: its exit code.
_ENDS: list[object] = []


def _leave() -> None:
    """The last thing at the end of Python: that it takes thousands of modules apart is left out."""
    if _ENDS and isinstance(code := _ENDS[0], int):
        gc.collect()  # what complains that it was left open does so here
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@dataclass
class _User:
    """``running``: what ends with a process of theirs → its id."""

    connection: socket.socket
    unread: bytes = b""
    running: dict[int, int] = field(default_factory=dict)

    def bury(self, life: int) -> None:
        os.close(life)
        pid = self.running.pop(life)
        self.hear(pid, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    def hear(self, pid: int, what: object) -> None:
        with suppress(OSError):  # they have gone
            self.connection.sendall(f"{pid} {what}\n".encode())

    def orders(self) -> list[bytes] | None:
        """What was ordered since; None when nothing will be any more."""
        read = self.connection.recv(1 << 16)
        *orders, self.unread = (self.unread + read).split(b"\n")
        return orders if read else None

    def end(self) -> None:
        for life, pid in [*self.running.items()]:
            os.kill(pid, SIGKILL)
            self.bury(life)
        self.connection.close()


def _serve(listener: socket.socket) -> bool:
    """Whether this is a fork, whose command is done; else the last user has gone."""
    _import_everything()
    users: list[_User] = []
    while True:
        lives = {life: user for user in users for life in user.running}
        asking = {user.connection.fileno(): user for user in users}
        ready, _, _ = select.select([listener.fileno(), *asking, *lives], [], [])
        for life in lives.keys() & ready:
            lives[life].bury(life)
        for user in [asking[each] for each in asking.keys() & ready]:
            orders = user.orders()
            for order in orders or []:
                if not _fork(order, user, users, listener):
                    return True
            if orders is None:
                users.remove(user)
                user.end()
        if listener.fileno() in ready:
            users.append(_User(listener.accept()[0]))
        if not users:
            return False


def _fork(order: bytes, user: _User, users: list[_User], listener: socket.socket) -> bool:
    """Whether this is the process that goes on."""
    life, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(life)
        listener.close()
        for each in users:
            each.connection.close()
            for other in each.running:
                os.close(other)
        _become(*json.loads(order))
        return False
    os.close(held)
    user.running[life] = pid
    user.hear(pid, _STARTED)
    return True


if __name__ == "__main__":
    atexit.register(_leave)  # the first is the last to be called
    if not _serve(socket.socket(fileno=int(sys.argv[1]))):
        os._exit(0)
