"""What ``pip install`` brings is the whole package, under both of its names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("monitor", "rag_monitor", "rag_monitor_pytest")
#: A file of somebody else's, as it may lie beside a notebook.
STRANGER = "NAME = 'a stranger'\n"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel is made of, without a trace of an earlier build."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in PACKAGES:
        unbuilt = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=unbuilt)
    return source


@pytest.fixture(scope="module")
def installed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked as pip does it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as found:
        found.extractall(folder / "installed")
    return folder / "installed"


def ran(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in a folder with a ``monitor.py`` of somebody else's."""
    (folder / "monitor.py").write_text(STRANGER, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, check=False, capture_output=True, text=True
    )


def test_the_wheel_holds_every_file_of_the_package(source: Path, installed: Path) -> None:
    """Prompts, facts, labelled pairs and the page's template, too."""
    for name in PACKAGES:
        wanted = {path.relative_to(source) for path in (source / name).rglob("*.*")}
        assert {path.relative_to(installed) for path in (installed / name).rglob("*.*")} == wanted


def test_the_command_goes_by_the_name_that_nothing_hides(installed: Path) -> None:
    """It is the entry point of the package, and no other is there."""
    (points,) = installed.glob("*.dist-info/entry_points.txt")
    found = ConfigParser()
    found.read(points)
    assert dict(found["console_scripts"]) == {"rag-monitor": "rag_monitor.__main__:main"}
    assert dict(found["pytest11"]) == {"rag_monitor": "rag_monitor_pytest"}


def test_a_file_called_monitor_hides_nothing(installed: Path, tmp_path: Path) -> None:
    """Neither from the command nor from an import."""
    found = ran(installed, tmp_path, "-m", "rag_monitor", "version")
    assert (found.returncode, found.stdout.strip(), found.stderr) == (0, version("rag-monitor"), "")
    assert ran(installed, tmp_path, "-m", "monitor", "version").stdout == ""


def test_both_names_are_one_package(installed: Path, tmp_path: Path) -> None:
    """A class is one class, a module keeps its name, and what is absent is absent."""
    code = """
import importlib, pickle, rag_monitor.records
from rag_monitor.metrics.catalogue import CATALOGUE
import monitor.metrics.catalogue, monitor.records as first
assert rag_monitor.records is first and first.__spec__.name == "monitor.records"
assert monitor.metrics.catalogue.CATALOGUE is CATALOGUE
assert pickle.loads(pickle.dumps(first.Passage)) is rag_monitor.records.Passage
assert importlib.reload(first) is first
try:
    import rag_monitor.absent
except ModuleNotFoundError as error:
    print(rag_monitor.__version__, error)
"""
    found = ran(installed, tmp_path, "-c", code)
    assert found.stderr == ""
    assert found.stdout == f"{version('rag-monitor')} No module named 'monitor.absent'\n"


def test_a_stranger_that_came_first_is_named(installed: Path, tmp_path: Path) -> None:
    """Two modules of one name cannot be had in one process: the line says which, and what to do."""
    found = ran(installed, tmp_path, "-c", "import monitor, rag_monitor")
    said = found.stderr.splitlines()[-1]
    assert said.startswith(f"ImportError: rag_monitor: {tmp_path / 'monitor.py'} was imported")
    assert "import rag_monitor before it, or rename that file" in said
