"""The list of what is locked, the audit of it, and what is promised of versions and licences."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.servers.ports import free_ports
from tests.tools import locked_tools

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "requirements" / "supply_chain.py"
BAD = {
    "id": "OSV-2026-1",
    "summary": "made up",
    "affected": [
        {
            "package": {"name": "typer", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "9.9"}]}],
        }
    ],
}


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The script, as ``make`` runs it."""
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def locked(*, here: bool = False) -> dict[str, str]:
    """Package → version of ``scorer.txt``; with ``here`` without those of other platforms."""
    lines = (ROOT / "requirements" / "scorer.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line.removesuffix("\\").strip()) for line in lines if line[:1].isalnum()]
    return {
        str(canonicalize_name(pin.name)): next(iter(pin.specifier)).version
        for pin in pins
        if not here or pin.marker is None or pin.marker.evaluate()
    }


@pytest.fixture(scope="module")
def tools() -> None:
    """Only where they are installed."""
    locked_tools()


@contextmanager
def advisories(found: Mapping[str, Any], status: int = 200) -> Iterator[str]:
    """The address of a database of advisories that knows these, by package."""

    class Osv(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = found.get(asked["package"]["name"])
            body = json.dumps({"vulns": [known]} if known else {}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Osv)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/query"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.usefixtures("tools")
def test_the_list_holds_the_lock(tmp_path: Path) -> None:
    """Every pin with its hashes and licence, from nowhere, twice the same bytes; it is valid."""
    for name in ("one", "two"):
        done = run("sbom", str(tmp_path / name))
        assert done.returncode == 0, done.stderr
        assert "valid" in done.stdout
    text = (tmp_path / "one").read_text("utf-8")
    assert text == (tmp_path / "two").read_text("utf-8")
    found = json.loads(text)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["component"]["name"] == "rag-monitor"
    components = {str(canonicalize_name(each["name"])): each for each in found["components"]}
    assert {name: each["version"] for name, each in components.items()} == locked()
    for each in components.values():
        (place,) = each["externalReferences"]
        assert place["hashes"]
        assert "://" not in place["url"]
    assert "LGPL" in json.dumps(components["python-stdnum"]["licenses"])
    images = {name: each["properties"][0]["value"] for name, each in components.items()}
    assert (images["aiokafka"], images["litellm"]) == ("exporter scorer", "scorer")


@pytest.mark.usefixtures("tools")
def test_the_audit_says_what_is_known() -> None:
    """No advisory: 0 and how many were checked; one: 1, its package and the version that mends."""
    with advisories({}) as url:
        clean = run("audit", RAG_MONITOR_OSV_URL=url)
    assert clean.returncode == 0, clean.stderr
    assert (
        f"{len(locked(here=True))} packages of this platform checked, no advisory known"
        in clean.stdout
    )
    with advisories({"typer": BAD}) as url:
        known = run("audit", RAG_MONITOR_OSV_URL=url)
    assert known.returncode == 1
    assert f"typer {locked()['typer']}: OSV-2026-1, fixed in 9.9" in known.stdout


@pytest.mark.usefixtures("tools")
def test_an_audit_without_a_database_is_no_pass() -> None:
    """Nobody there, or one that fails: 3, and said plainly; nothing on standard output."""
    (port,) = free_ports(1)
    with advisories({}, status=500) as broken:
        for url in (f"http://127.0.0.1:{port}/v1/query", broken):
            done = run("audit", RAG_MONITOR_OSV_URL=url)
            assert (done.returncode, done.stdout) == (3, "")
            assert "NOTHING WAS CHECKED" in done.stderr


def test_wrong_usage_is_told() -> None:
    """An unknown command: exit code 2."""
    done = run("bill")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage:")


@pytest.mark.parametrize(
    ("name", "past"),
    [("aiokafka", "0.15"), ("litellm", "2.0"), ("pydantic", "3.0"), ("aiohttp", "4.0")],
)
def test_what_has_broken_before_has_an_upper_bound(name: str, past: str) -> None:
    """``pip install`` without a lock takes no version that nobody has tried."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["llm"]]
    found = {each.name: each for each in map(Requirement, lines)}
    assert past not in found[name].specifier
    assert locked()[canonicalize_name(name)] in found[name].specifier


def test_the_licences_that_ask_for_more_are_named() -> None:
    """SECURITY.md names every locked package under the GPL's family, and no other."""
    copyleft = {name for name in locked() if "GPL" in _licence(name).upper().replace("NON-GPL", "")}
    assert copyleft == {"python-stdnum"}
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    assert re.search(r"python-stdnum[^.]*LGPL", text)


def _licence(name: str) -> str:
    try:
        told = metadata(name).json
    except PackageNotFoundError:  # of another platform
        return ""
    return (
        json.dumps([told.get(key) for key in ("license_expression", "classifier")])
        + str(told.get("license", "")).partition("\n")[0]
    )
