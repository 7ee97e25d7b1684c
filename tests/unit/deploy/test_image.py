"""The image: what is copied into it, and how it knows that its process is well."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.tools import locked_tools

ROOT = Path(__file__).parents[3]
HEALTH = ROOT / "deploy" / "image" / "health.py"


class _Well(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    """Where somebody is well."""
    with HTTPServer(("127.0.0.1", 0), _Well) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def asked(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """What the health check says."""
    command = [sys.executable, str(HEALTH), *arguments]
    environ = {"PATH": os.environ["PATH"], **environ}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def test_health_is_asked_where_the_process_listens(port: int, tmp_path: Path) -> None:
    """By the variable, else by the file of the settings; an address that is given comes first."""
    file = tmp_path / "monitor.yaml"
    file.write_text(f"http: {{port: {port}}}", encoding="utf-8")
    named = {"RAG_MONITOR_CONFIG": str(file)}
    assert asked(**named).returncode == 0
    assert asked(RAG_MONITOR_HTTP__PORT=str(port)).returncode == 0
    assert asked(f"http://127.0.0.1:{port}/healthz", RAG_MONITOR_HTTP__PORT="1").returncode == 0
    ill = asked(**named, RAG_MONITOR_HTTP__PORT="1")
    assert ill.returncode == 1
    assert "127.0.0.1:1/healthz" in ill.stderr


def test_health_says_which_file_of_settings_is_missing(tmp_path: Path) -> None:
    """In one line: Docker shows the last of what a check says."""
    ill = asked(RAG_MONITOR_CONFIG=str(tmp_path / "absent.yaml"))
    assert ill.returncode == 1
    assert ill.stderr.startswith("RAG_MONITOR_CONFIG: ")
    assert ill.stderr.count("\n") == 1
    assert "absent.yaml" in ill.stderr


@pytest.mark.parametrize("copier", ["deploy/Dockerfile", ".dockerignore", ".ci/try-package"])
def test_all_packages_are_copied(copier: str) -> None:
    """One that is left out leaves an entry point that leads nowhere, and ends every pytest."""
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = setup["tool"]["setuptools"]["packages"]["find"]["include"]
    text = (ROOT / copier).read_text(encoding="utf-8")
    words = {word.lstrip("!") for word in text.split()}
    assert {each for each in packages if not each.endswith(".*")} <= words


def linted(file: Path) -> subprocess.CompletedProcess[str]:
    """What hadolint says, of warnings and what is worse; with no configuration but the file's."""
    hadolint = locked_tools().with_name("hadolint")
    command = [str(hadolint), "--no-color", "--failure-threshold", "info", str(file)]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)


def test_the_dockerfile_is_clean() -> None:
    """By hadolint, with its shell linter for what RUN says."""
    done = linted(ROOT / "deploy" / "Dockerfile")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_worse_dockerfile_is_not(tmp_path: Path) -> None:
    """A base without a version, a shell variable in the open, and root at the end are told."""
    worse = tmp_path / "Dockerfile"
    worse.write_text("FROM debian\nRUN rm $HOME/x\nUSER root\n", encoding="utf-8")
    done = linted(worse)
    assert done.returncode == 1
    assert all(rule in done.stdout for rule in ("DL3006", "SC2086", "DL3002"))
