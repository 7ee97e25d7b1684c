"""An installation without the extra ``patterns``, as the exporter's image is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
#: The command, in a Python in which google-re2 cannot be found.
HIDDEN = """
import sys
sys.modules["re2"] = None
from rag_monitor.__main__ import main
main()
"""
RULES = """
ingest: {include: [{attribute: application, regex: "^support-"}]}
sampling: {block: 64, forced: [{attribute: tenant, regex: "^x"}]}
applications: [{application: bot, when: [{attribute: tenant, regex: b}]}]
"""


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command with these rules."""
    (folder / "monitor.yaml").write_text(RULES, "utf-8")
    return subprocess.run(
        [sys.executable, "-c", HIDDEN, *arguments, "--config", "monitor.yaml"],
        cwd=folder,
        env={"PATH": os.defpath, "HOME": str(folder), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "code"), [("rules render --out -", 0), ("traffic --timeout 0.1", 3)]
)
def test_who_reads_no_log_needs_no_library_for_its_rules(
    tmp_path: Path, command: str, code: int
) -> None:
    """One file of settings serves all roles, only scorers apply rules; here is no broker."""
    done = ran(tmp_path, *command.split(), "--set", "kafka.bootstrap_servers=127.0.0.1:9")
    assert done.returncode == code, done.stderr
    assert "google-re2" not in done.stderr


@pytest.mark.parametrize("command", ["score", "ingest try in.jsonl", "config check"])
def test_who_applies_rules_says_what_is_missing(tmp_path: Path, command: str) -> None:
    """In one line, with exit code 2."""
    done = ran(tmp_path, *command.split())
    assert done.returncode == 2
    assert "needs google-re2; pip install 'rag-monitor[patterns]'" in done.stderr
    assert done.stderr.count("\n") == 1
