"""Commands in a Python that cannot find some packages, as where they are not installed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.stages.command import ROOT

#: Hides packages, then runs commands one after the other, each in a fork: what they import is so
#: imported once. A module that cannot be, its command tries to import again. What each says goes
#: into files of its own; prints how they have ended.
_HIDDEN = """
import gc, json, os, sys
from contextlib import suppress
from importlib import import_module
from importlib.machinery import PathFinder
from pkgutil import walk_packages

hidden, commands = map(json.loads, sys.argv[1:])

class Without(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname.partition(".")[0] in hidden:
            return None
        return PathFinder.find_spec(fullname, path, target)

sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
import monitor
for module in walk_packages(monitor.__path__, "monitor."):
    if module.name != "monitor.__main__":
        with suppress(ImportError):
            import_module(module.name)
gc.freeze()
codes = []
for number, arguments in enumerate(commands):
    pid = os.fork()
    if pid == 0:
        for descriptor, name in ((1, "out"), (2, "err")):
            file = f"{number}.{name}"
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
        sys.argv[1:] = arguments
        from rag_monitor.__main__ import main
        main()
        sys.exit()
    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(json.dumps(codes))
"""


def ran_without(
    hidden: Sequence[str], folder: Path, commands: Sequence[Sequence[str]]
) -> list[subprocess.CompletedProcess[str]]:
    """What came of each command, run in this folder and an environment with nothing else in it."""
    asked = map(json.dumps, ([*hidden], [[*each] for each in commands]))
    done = subprocess.run(
        [sys.executable, "-c", _HIDDEN, *asked],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return [
        subprocess.CompletedProcess(
            command, code, *((folder / f"{i}.{end}").read_text("utf-8") for end in ("out", "err"))
        )
        for i, (command, code) in enumerate(zip(commands, json.loads(done.stdout), strict=True))
    ]
