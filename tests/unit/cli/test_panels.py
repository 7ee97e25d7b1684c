"""The list of commands: short, in panels, completed by the shell."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from monitor.cli import app
from monitor.cli.panels import PANELS
from tests.stages.command import rag_monitor


def commands(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """All commands below, by their whole names; groups, too."""
    for part, command in getattr(group, "commands", {}).items():
        yield f"{name} {part}".strip(), command
        yield from commands(command, f"{name} {part}".strip())


ALL = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("name", ALL)
def test_a_summary_fits_its_line(name: str) -> None:
    """80 columns hold the longest name and 55 characters, and nothing is cut."""
    said = ALL[name].get_short_help_str(1_000)
    assert 10 <= len(said) <= 55
    assert said.endswith(".")


def test_every_command_stands_in_one_panel() -> None:
    """In the order of the list; a new one has to be placed."""
    named = [name for names in PANELS.values() for name in names]
    assert sorted(named) == sorted(name for name in ALL if " " not in name)
    said = rag_monitor("--help").stdout
    assert [line.rstrip(":") for line in said.splitlines() if line.rstrip(":") in PANELS] == [
        *PANELS
    ]
    assert "..." not in said.partition("Run:")[2]


def test_the_version_is_an_option_too() -> None:
    """As people try it first."""
    assert rag_monitor("--version").stdout == rag_monitor("version").stdout


def test_the_shell_completes_commands_and_options() -> None:
    """Bash asks the program itself."""

    def completed(words: str, place: int) -> list[str]:
        environ = {
            "_RAG_MONITOR_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(place),
        }
        program = Path(sys.executable).with_name("rag-monitor")
        found = subprocess.run(
            [program], env={**os.environ, **environ}, capture_output=True, text=True, check=False
        )
        return found.stdout.split()

    assert completed("rag-monitor dead", 1) == ["dead-letters"]
    assert completed("rag-monitor dead-letters re", 2) == ["redrive"]
    assert "--dry-run" in completed("rag-monitor score --dr", 2)
