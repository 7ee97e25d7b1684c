"""Environments of the rivals: each its own, made once from a lock, beside the checkout.

``.venv-ragas`` and ``.venv-ragchecker`` (git ignores them) hold what ``requirements/benchmarks/``
locks, installed by pip from wherever pip is set to install from. ``RAG_MONITOR_RIVALS`` names
another directory for them. A lock that has changed makes its environment anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


class Unavailable(Exception):
    """An environment could not be made; the message is one line that says why and what to do."""


def interpreter(name: str) -> Path:
    """The Python of a rival's environment, which is made if it is not there.

    Raises ``Unavailable``, for instance where there is no package registry.
    """
    directory = Path(os.environ.get("RAG_MONITOR_RIVALS", ROOT)) / f".venv-{name}"
    lock = ROOT / "requirements" / "benchmarks" / f"{name}.txt"
    python, stamp = directory / "bin" / "python", directory / "stamp"
    wanted = f"{hashlib.sha256(lock.read_bytes()).hexdigest()} {sys.version_info[:2]}"
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"making {directory} from {lock.relative_to(ROOT)} (a minute or two) …", flush=True)
    shutil.rmtree(directory, ignore_errors=True)
    _run(name, [sys.executable, "-m", "venv", str(directory)])
    pip = [str(python), "-m", "pip", "--no-input", "install", "--quiet", "--retries", "2"]
    pip += ["--disable-pip-version-check", "--no-deps", "--require-hashes", "-r", str(lock)]
    _run(name, pip)
    stamp.write_text(wanted)
    return python


def _run(name: str, command: list[str]) -> None:
    kept = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PIP_USER")
    }
    try:
        done = subprocess.run(command, env=kept, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unavailable(f"{name}: cannot run {command[0]}: {error.strerror}") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        said = errors[-1].removeprefix("ERROR: ") if errors else done.stderr.strip()[-200:]
        raise Unavailable(
            f"{name}: not installed ({said}); it needs a package registry that pip can reach"
            " (PIP_INDEX_URL); nothing is compared with it until then"
        )
