"""The start of a command: nothing is imported that it may not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: What a command imports when it runs, if it does.
HEAVY = frozenset(
    {
        "aiokafka",
        "jinja2",
        "litellm",
        "monitor.app",
        "monitor.config",
        "monitor.kafka",
        "monitor.records",
        "numpy",
        "prometheus_client",
        "pydantic",
        "sqlalchemy",
    }
)
ASKED = """
import sys
sys.argv = ["rag-monitor", *sys.argv[1:]]
from monitor.__main__ import main
try:
    main()
finally:
    print(*sorted(sys.modules), sep="\\n", file=sys.stderr)
"""


@pytest.mark.parametrize("command", [["--help"], ["score", "--help"], ["audit", "--help"]], ids=str)
def test_help_needs_no_settings_and_no_library(command: list[str]) -> None:
    """It is there in half the time: settings alone take longer than all else of it."""
    found = subprocess.run(
        [sys.executable, "-c", ASKED, *command], capture_output=True, text=True, check=True
    )
    assert "Usage:" in found.stdout
    imported = set(found.stderr.split())
    assert "monitor.cli.common" in imported
    assert imported & HEAVY == set()
