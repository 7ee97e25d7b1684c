"""The preview's own tests, and what it must not bring along."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tests.tools import requires_tool

PREVIEW = Path(__file__).parents[3] / "grafana" / "preview"


def test_variables_and_the_grid_are_as_grafana_has_them() -> None:
    """The modules that need no packages pass their tests."""
    node = shutil.which("node")
    requires_tool("node", None if node else "no node on PATH", "apt-get install nodejs")
    files = [str(path) for path in sorted((PREVIEW / "test").glob("*.test.mjs"))]
    assert files
    run = subprocess.run(
        [str(node), "--test", *files], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stdout


def test_the_lock_holds_hashes_and_no_registry() -> None:
    """Anybody's registry will do, and what it sends is checked."""
    lock = json.loads((PREVIEW / "package-lock.json").read_text("utf-8"))
    packages = {name: found for name, found in lock["packages"].items() if name}
    assert not [name for name, found in packages.items() if "resolved" in found]
    assert not [name for name, found in packages.items() if "integrity" not in found]
