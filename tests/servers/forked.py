"""Commands of the monitor as forks of one process that has imported all of it.

A start of Python that imports what a command needs is a second of CPU, and four with litellm; a
fork is a few hundredths. It ends as any Python does, with all that is done and said at the end of
one. What only a start of its own shows is for tests that start one.

``python -m tests.servers.forked`` reads orders from standard input, a line each: JSON with the
arguments, the environment and the files for standard output and error. It answers each with two
lines: the process id, and the exit code when it has ended.
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
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

ROOT = Path(__file__).parents[2]


class Forks:
    """The process that is forked; one command after the other."""

    def __init__(self) -> None:
        self._turn = Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.forked"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        atexit.register(self._close)

    def run(
        self, arguments: Sequence[str], environ: Mapping[str, str], timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Like ``subprocess.run`` with captured output: exit code, standard output and error."""
        with self._turn, TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            code = self._code([[*arguments], dict(environ), str(out), str(err)], timeout_s)
            said = out.read_text("utf-8"), err.read_text("utf-8")
        return subprocess.CompletedProcess([*arguments], code, *said)

    def _code(self, order: list[Any], timeout_s: float) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        pid = self._answer()
        if not select.select([self._process.stdout], [], [], timeout_s)[0]:
            os.kill(pid, signal.SIGKILL)
            self._answer()
            raise subprocess.TimeoutExpired(order[0], timeout_s)
        return self._answer()

    def _answer(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def _close(self) -> None:
        self._process.communicate()


@cache
def forks() -> Forks:
    """Those of this process."""
    return Forks()


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


def _become(arguments: list[str], environ: dict[str, str], *files: str) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    written = [os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for file in files]
    for number, each in enumerate([null, *written]):
        os.dup2(each, number)
        os.close(each)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.argv[1:] = arguments
    runpy.run_module("monitor", run_name="__main__", alter_sys=True)


def _serve() -> None:
    _import_everything()
    while line := sys.stdin.readline():
        pid = os.fork()
        if pid == 0:
            _become(*json.loads(line))
            return  # and so to the end of a Python program
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
