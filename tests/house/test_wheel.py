"""What ``pip install`` brings is the whole package, and not only its modules."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    """Prompts, facts, labelled pairs and the page's template, too."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    unbuilt = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "monitor", source / "monitor", ignore=unbuilt)
    wanted = {str(path.relative_to(source)) for path in (source / "monitor").rglob("*.*")}
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as found:
        held = {name for name in found.namelist() if name.startswith("monitor/")}
    assert held == wanted
