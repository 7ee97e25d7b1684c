"""The dashboards through Grafana's own types and back: an option that they do not know is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grafana.build import FOLDER
from grafana.roundtrip import ALLOWED
from tests.tools import requires_tool

ROOT = Path(__file__).parents[3]
CACHE = Path.home() / ".cache" / "rag-monitor" / "grafana-types"
TYPES = Path(os.environ.get("GRAFANA_TYPES_HOME", CACHE))
VERSIONS = ("oldest", "next")


def lost(version: str, dashboards: Path) -> dict[str, list[str]]:
    """What the types of a version do not give back; in a process of its own, as each has one."""
    known = (TYPES / ".complete").exists()
    requires_tool("Grafana's types", None if known else f"no {TYPES}", ".ci/fetch-grafana-types")
    done = subprocess.run(
        [sys.executable, "-m", "grafana.roundtrip", "--json", TYPES / version, dashboards],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_grafana_knows_every_option_of_the_dashboards(version: str) -> None:
    """Of the oldest version that is supported and of the next one; what is allowed is all used."""
    found = lost(version, FOLDER)
    assert len(found) == 4
    assert {one for each in found.values() for one in each} == ALLOWED


@pytest.mark.parametrize("version", VERSIONS)
def test_an_option_that_grafana_does_not_know_is_found(version: str, tmp_path: Path) -> None:
    """One letter too many in an option of a stat, and of the panel itself."""
    dashboard = json.loads((FOLDER / "quality.json").read_text("utf-8"))
    stat = next(one for one in dashboard["panels"] if one["type"] == "stat")
    stat["options"]["textModes"] = stat["options"].pop("textMode")
    stat["tranparent"] = True
    (tmp_path / "quality.json").write_text(json.dumps(dashboard), encoding="utf-8")
    found = set(lost(version, tmp_path)["quality.json"])
    assert found - ALLOWED == {"panels.options.textModes", "panels.tranparent"}
