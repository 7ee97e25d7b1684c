"""A missing tool is a counted skip with advice, and a failure where tools are required."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest
from tests.tools import requires_tool

@pytest.fixture(scope="session")
def engine():
    requires_tool("engine", "no engine found", "apt-get install engine")

def test_one(engine): pass
def test_two(engine): pass
def test_three(): requires_tool("brush", "no brush", "pip install brush")
def test_four(): requires_tool("air", None, "breathe")
@pytest.mark.xfail(reason="known")
def test_five(): raise AssertionError
"""
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
TABLE = """
tool    tests skipped  how to get it
brush   1              pip install brush
engine  2              apt-get install engine
"""


def run_pytest(directory: Path, test_file: str, *options: str, required: str) -> tuple[int, str]:
    """Exit code and output of pytest on one file, with this project's conftest as a plugin."""
    (directory / "test_it.py").write_text(test_file)
    (directory / "pytest.ini").write_text("[pytest]\n")
    path = os.pathsep.join([str(ROOT), *sys.path])
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    command += ["-p", "xdist"]  # of the plugins of others the only one that it is about
    done = subprocess.run(
        [*command, *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": path, "REQUIRE_TOOLS": required, **ALONE},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("options", [[], ["-n2"]], ids=["alone", "workers"])
def test_missing_tools_skip_and_end_the_summary_with_a_table(
    tmp_path: Path, options: list[str]
) -> None:
    """Skips by a session fixture count for each test; the table comes last, from workers too."""
    code, output = run_pytest(tmp_path, TESTS, *options, required="")
    assert code == 0
    assert "1 passed, 3 skipped, 1 xfailed" in output.splitlines()[-1]
    assert output[: output.rindex("\n=")].endswith(TABLE.rstrip("\n"))


@pytest.mark.parametrize("options", [[], ["-n2"]], ids=["alone", "workers"])
def test_missing_tools_fail_where_they_are_required(tmp_path: Path, options: list[str]) -> None:
    """Nothing is skipped, each failure says what to get, and there is no table."""
    code, output = run_pytest(tmp_path, TESTS, *options, required="1")
    assert code == 1
    assert "1 failed, 1 passed, 1 xfailed, 2 errors" in output.splitlines()[-1]
    assert "engine: no engine found; get it by apt-get install engine" in output
    assert "tests skipped" not in output


#: Each way to skip, as the body of a file of its own, and how that is told where it is refused.
SKIPS = {
    "called": ("def test_it(): pytest.skip('weary')", "FAILED"),
    "marked": ("@pytest.mark.skip(reason='weary')\ndef test_it(): pass", "ERROR"),
    "module": ("pytest.skip('weary', allow_module_level=True)", "ERROR"),
}


def test_no_other_skip_passes_where_tools_are_required(tmp_path: Path) -> None:
    """A skip for any reason is a failure that repeats the reason; else it is a plain skip."""
    for way, (body, _) in SKIPS.items():
        (tmp_path / f"test_{way}.py").write_text(f"import pytest\n{body.replace('weary', way)}\n")
    options = ["--continue-on-collection-errors"]
    code, output = run_pytest(tmp_path, "", *options, required="1")
    assert code != 0
    assert "1 failed, 2 errors" in output.splitlines()[-1]
    for way, (_, told) in SKIPS.items():
        assert re.search(rf"^{told} test_{way}\.py\b", output, re.MULTILINE), way
        assert f"no skip is accepted under REQUIRE_TOOLS=1: Skipped: {way}" in output
    _, relaxed = run_pytest(tmp_path, "", required="")
    assert "3 skipped" in relaxed.splitlines()[-1]
    assert "missing tools" not in relaxed
