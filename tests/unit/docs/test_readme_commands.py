"""Every command of the README is run by a test, or is named as one that needs a cluster."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.pages import blocks

ROOT: Final = Path(__file__).parents[3]
README: Final = (ROOT / "README.md").read_text("utf-8")
#: What begins a command line there.
PROGRAMS: Final = ("make", "pip", "rag-monitor", "docker", "helm", "kubectl")
#: Command → the test that runs it, or what it needs that no machine of the tests has.
RUN_BY: Final = {
    "make demo": "tests/e2e/test_demo.py",
    "make test": ".ci/run",
    "make setup": "tests/house/test_install.py",
    "pip install ": "tests/house/test_wheel.py",
    "rag-monitor doctor": "tests/e2e/test_readme.py",
    "rag-monitor run": "tests/e2e/test_readme.py",
    "rag-monitor status": "tests/e2e/test_readme.py",
    "rag-monitor worst -n 3": "tests/e2e/test_readme.py",
    "rag-monitor show ID": "tests/e2e/test_readme.py",
    "rag-monitor why ID": "tests/e2e/test_readme.py",
    "docker compose up": "needs Docker",
    "helm install": "needs Kubernetes",
}


def block_lines() -> list[str]:
    """The lines of all blocks of commands, without comments."""
    lines = [line for block in blocks(README, "sh") for line in block.splitlines()]
    return [bare for line in lines if (bare := line.partition("#")[0].strip())]


def commands() -> set[str]:
    """All command lines: of blocks, and in code style."""
    lines = block_lines()
    lines += re.findall(r"`([^`\n]+)`", README)
    return {line for line in lines if line.split(" ")[0] in PROGRAMS and " " in line}


def test_every_command_is_run_or_named() -> None:
    """A new one needs a test, or a word that says what it needs."""
    shown = commands()
    assert {"make demo", "rag-monitor doctor"} <= shown
    for command in shown:
        known = [named for named in RUN_BY if command.startswith(named)]
        assert known, command
        by = RUN_BY[known[0]]
        if by.startswith("needs "):
            assert by.removeprefix("needs ") in README, command
        else:
            assert (ROOT / by).exists(), by


def test_no_block_has_a_command_that_is_not_looked_at() -> None:
    """A line is one of the programs above, or exports what the test of the README also exports."""
    others = {line.split(" ")[0] for line in block_lines()} - set(PROGRAMS)
    assert others <= {"export"}


@pytest.mark.parametrize(
    ("target", "runs"), [("demo", "-m monitor demo"), ("test", "-m pytest -n auto")]
)
def test_make_runs_what_the_tests_run(target: str, runs: str) -> None:
    """The target is the program that those tests start."""
    done = subprocess.run(
        ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert f".venv/bin/python {runs}" in done.stdout


def test_ci_runs_the_tests_as_it_says() -> None:
    """``make test`` is what a build server calls."""
    assert "make test" in (ROOT / ".ci/run").read_text("utf-8")
