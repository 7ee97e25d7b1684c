"""The import rules bite: each kind of forbidden import in a copy of the package breaks one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = Path(sysconfig.get_path("scripts")) / "lint-imports"


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter over the package below a folder."""
    environment = {**os.environ, "PYTHONPATH": str(root), "COLUMNS": "200"}
    command = [str(LINT), "--no-cache"]
    return subprocess.run(
        command, cwd=root, env=environment, check=False, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package and its rules."""
    root = tmp_path_factory.mktemp("package")
    shutil.copy(ROOT / "pyproject.toml", root)
    shutil.copytree(ROOT / "monitor", root / "monitor", ignore=shutil.ignore_patterns("*.pyc"))
    return root


def test_rules_are_kept() -> None:
    """The package as it stands breaks none of its import rules."""
    found = lint(ROOT)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(
    ("room", "line", "rule"),
    [
        ("judge/parsing.py", "import monitor.scorer", "Rooms import downwards only"),
        ("scorer.py", "import monitor.exporter", "Rooms import downwards only"),
        ("app.py", "import monitor.cli", "Rooms import downwards only"),
        ("unplaced.py", "import monitor.errors", "Rooms import downwards only"),
        ("judge/protocol.py", "import monitor.stats", "The judge knows neither"),
        ("ingest/__init__.py", "import monitor.metrics", "Ingest knows neither"),
        ("checking/__init__.py", "import monitor.ingest", "Checking a judge knows"),
        ("metrics/__init__.py", "import monitor.telemetry", "Metrics know"),
        ("stats/__init__.py", "import monitor.records", "Statistics know"),
        ("config/__init__.py", "import monitor.telemetry", "Settings know"),
        ("stats/__init__.py", "def late() -> None:\n    import time", "Pure rooms"),
        ("ingest/__init__.py", "import aiokafka.errors", "Only kafka"),
        ("judge/protocol.py", "import litellm", "Only judge.library"),
        ("judge/cache/memory.py", "import redis.asyncio", "Only judge.cache.redis_store"),
        ("kafka/__init__.py", "import prometheus_client", "Only export and telemetry"),
    ],
)
def test_forbidden_import_is_found(package: Path, room: str, line: str, rule: str) -> None:
    """An import against the table is reported under the rule that it breaks."""
    path = package / "monitor" / room
    before = path.read_text(encoding="utf-8") if path.exists() else None
    path.write_text(f"{before or ''}\n{line}\n", encoding="utf-8")
    try:
        found = lint(package)
    finally:
        path.unlink() if before is None else path.write_text(before, encoding="utf-8")
    assert found.returncode == 1
    broken = [each for each in found.stdout.splitlines() if " BROKEN" in each]
    assert [each for each in broken if each.startswith(rule)], found.stdout + found.stderr
