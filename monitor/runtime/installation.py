"""What is installed here: the commit that it was built from, as far as known, and the extras."""

from __future__ import annotations

import json
import re
import subprocess
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

_PACKAGE: Final = "rag-monitor"
#: Of people who work on it: nobody asks whether these are there.
_OURS: Final = frozenset({"dev", "bench"})
_NEEDED: Final = re.compile(r"([A-Za-z0-9._-]+).*;.*\bextra == [\"']([a-z]+)[\"']")
_SHA: Final = re.compile(r"[0-9a-f]{40}(?:-dirty)?")
#: Beside the package where an image was built: there is neither git nor a checkout.
COMMIT_FILE: Final = "commit.txt"


def extras() -> dict[str, bool]:
    """Each extra, and whether all that it asks for is installed; empty without an installation."""
    found: dict[str, bool] = {}
    installed = _distribution()
    for line in (installed.requires or []) if installed else []:
        if (needed := _NEEDED.match(line)) and needed[2] not in _OURS:
            found[needed[2]] = found.get(needed[2], True) and _is_there(needed[1])
    return dict(sorted(found.items()))


def commit() -> str | None:
    """The commit: of the image, of ``pip install git+…``, or of the checkout; None where unknown.

    With ``-dirty`` behind it where a checkout has changes that are in no commit.
    """
    root = Path(__file__).parents[1]
    written = root / COMMIT_FILE
    told = written.read_text("utf-8").strip() if written.exists() else _of_pip() or _of_git(root)
    return told if _SHA.fullmatch(told) else None


def _distribution() -> Distribution | None:
    try:
        return distribution(_PACKAGE)
    except PackageNotFoundError:
        return None


def _is_there(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def _of_pip() -> str:
    """What pip has written of where it had it from (PEP 610)."""
    installed = _distribution()
    text = installed.read_text("direct_url.json") if installed else None
    return str(json.loads(text or "{}").get("vcs_info", {}).get("commit_id", ""))


def _of_git(root: Path) -> str:
    """Only of a checkout of this project: an environment may lie in that of another one."""
    if not (root.parent / ".git").exists():
        return ""
    ask = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(
            ask, cwd=root, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
