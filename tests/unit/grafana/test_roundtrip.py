"""The dashboards through Grafana's own types and back: an option that they do not know is none."""

from __future__ import annotations

import json
import os
import shutil
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


#: Made of that dashboard: one letter too many in an option of a stat, and of the panel itself.
CHANGED, MADE_OF = "changed.json", "quality.json"

Lost = dict[str, set[str]]


@pytest.fixture(scope="module", params=VERSIONS)
def lost(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lost:
    """What the types of a version do not give back; in a process of its own, as each has one."""
    known = (TYPES / ".complete").exists()
    requires_tool("Grafana's types", None if known else f"no {TYPES}", ".ci/fetch-grafana-types")
    dashboards = tmp_path_factory.mktemp("dashboards")
    for path in FOLDER.glob("*.json"):
        shutil.copy(path, dashboards)
    dashboard = json.loads((FOLDER / MADE_OF).read_text("utf-8"))
    stat = next(one for one in dashboard["panels"] if one["type"] == "stat")
    stat["options"]["textModes"] = stat["options"].pop("textMode")
    stat["tranparent"] = True
    (dashboards / CHANGED).write_text(json.dumps(dashboard), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "grafana.roundtrip", "--json", TYPES / request.param, dashboards],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    return {name: set(paths) for name, paths in json.loads(done.stdout).items()}


def test_grafana_knows_every_option_of_the_dashboards(lost: Lost) -> None:
    """Of the oldest version that is supported and of the next one; what is allowed is all used."""
    ours = [paths for name, paths in lost.items() if name != CHANGED]
    assert len(ours) == 4
    assert set().union(*ours) == ALLOWED


def test_an_option_that_grafana_does_not_know_is_found(lost: Lost) -> None:
    """One letter too many in an option of a stat, and of the panel itself."""
    assert lost[CHANGED] - ALLOWED == {"panels.options.textModes", "panels.tranparent"}
