"""The runbooks, taken apart: headings, tables, and the commands to copy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from monitor.demo.stack.stack import DEPLOY
from tests.pages import blocks

PLACE: Final = DEPLOY / "runbooks"
RUNBOOKS: Final = {path.stem: path for path in sorted(PLACE.glob("Rag*.md"))}
SETUP: Final = PLACE / "README.md"


class Command(NamedTuple):
    """One command: ``codes`` are the exit codes that it may end with, ``note`` its comment."""

    text: str
    note: str

    @property
    def codes(self) -> frozenset[int]:
        """0, and what the comment says.

        >>> sorted(Command("curl x", "exit code 7 or 28: nobody listens").codes)
        [0, 7, 28]
        """
        (told,) = re.findall(r"exit code ((?:\d+(?: or )?)+)", self.note) or ("",)
        return frozenset({0, *(int(code) for code in re.findall(r"\d+", told))})

    @property
    def may_be_silent(self) -> bool:
        """Whether it may print nothing."""
        return self.note.startswith("prints nothing")

    @property
    def promql(self) -> str | None:
        """What it asks Prometheus for, its variables filled in with ``x``."""
        found = re.fullmatch(r'promtool query instant "\$PROMETHEUS_URL" "(.*)"', self.text)
        return re.sub(r"\$\w+", "x", found[1]) if found else None


def commands(path: Path) -> list[Command]:
    """Every line of the fenced blocks of a page, in order."""
    found = blocks(path.read_text(encoding="utf-8"), "sh")
    lines = [line for block in found for line in block.splitlines()]
    parts = [line.partition("  # ") for line in lines]
    return [Command(command.strip(), note.strip()) for command, _, note in parts]


def variables(path: Path) -> set[str]:
    """Names of the variables that its commands use."""
    return {name for each in commands(path) for name in re.findall(r"\$([A-Z_]+)", each.text)}


def headings(path: Path) -> list[str]:
    """Its headings of the second level, in order."""
    return re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)


def table(path: Path) -> list[list[str]]:
    """The cells of its decision table, without the heading."""
    part = path.read_text(encoding="utf-8").partition("## System, judge or traffic?")[2]
    rows = [line for line in part.partition("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]
