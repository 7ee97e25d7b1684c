"""What a process knows of its own installation: the commit, and the extras."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SHA, OTHER = "0123456789" * 4, "abcdef0123" * 4
METADATA = """Metadata-Version: 2.4
Name: rag-monitor
Version: 0.1.0
Provides-Extra: llm
Provides-Extra: dev
Requires-Dist: pyyaml>=6
Requires-Dist: pyyaml>=6; extra == "here"
Requires-Dist: nothing-of-the-kind>=1; extra == "half"
Requires-Dist: pyyaml>=6; extra == "half"
Requires-Dist: pyyaml; extra == "dev"
"""
ASK = """
import json
from monitor.runtime.installation import commit, extras
print(json.dumps([commit(), extras()]))
"""

Told = Callable[[], tuple[str | None, dict[str, bool]]]


def git(folder: Path, *arguments: str) -> None:
    """A command of git there, by somebody."""
    somebody = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "safe.directory=*")
    subprocess.run(["git", *somebody, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a copy of the package's part, and what pip says of it."""
    (tmp_path / "monitor" / "runtime").mkdir(parents=True)
    for name in ("", "runtime/"):
        (tmp_path / "monitor" / f"{name}__init__.py").touch()
    here = tmp_path / "monitor" / "runtime" / "installation.py"
    here.write_text((ROOT / "monitor" / "runtime" / "installation.py").read_text("utf-8"), "utf-8")
    (tmp_path / "rag_monitor-0.1.0.dist-info").mkdir()
    (tmp_path / "rag_monitor-0.1.0.dist-info" / "METADATA").write_text(METADATA, "utf-8")
    return tmp_path


@pytest.fixture
def told(site: Path) -> Told:
    """What a process says that runs from there."""

    def ask() -> tuple[str | None, dict[str, bool]]:
        command = [sys.executable, "-c", ASK]
        done = subprocess.run(command, cwd=site, check=True, capture_output=True, text=True)
        commit, extras = json.loads(done.stdout)
        return commit, extras

    return ask


def test_an_extra_is_there_when_all_of_it_is(told: Told) -> None:
    """One package of two is not enough; what only developers need is not listed."""
    assert told() == (None, {"half": False, "here": True})


def test_a_checkout_says_its_commit(site: Path, told: Told) -> None:
    """And whether something has been changed since."""
    (site / ".gitignore").write_text("__pycache__\n", "utf-8")
    git(site, "init", "-q")
    assert told()[0] is None
    git(site, "add", ".")
    git(site, "commit", "-qm", "first")
    commit = told()[0]
    assert commit is not None
    assert len(commit) == 40
    (site / "monitor" / "__init__.py").write_text("changed = 1\n", "utf-8")
    assert told()[0] == f"{commit}-dirty"


def test_an_installation_says_what_it_was_built_of(site: Path, told: Told) -> None:
    """pip's own record of a repository; in an image, a file of the build."""
    told_by_pip = {"url": "u", "vcs_info": {"vcs": "git", "commit_id": SHA}}
    record = site / "rag_monitor-0.1.0.dist-info" / "direct_url.json"
    record.write_text(json.dumps(told_by_pip), "utf-8")
    assert told()[0] == SHA
    (site / "monitor" / "commit.txt").write_text(f"{OTHER}\n", "utf-8")
    assert told()[0] == OTHER
    (site / "monitor" / "commit.txt").write_text("\n", "utf-8")
    assert told()[0] is None
