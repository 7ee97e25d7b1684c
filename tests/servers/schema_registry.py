"""A real schema registry (Apicurio, Confluent's API) from what ``.ci/fetch-registry`` gets."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from tests.servers.guarded import GuardedProcess
from tests.servers.ports import free_ports
from tests.servers.started import Started

REGISTRY_VERSION = "3.0.9"
HOW_TO_GET_REGISTRY = ".ci/fetch-registry; apt-get install default-jre-headless"


def registry_home() -> Path:
    """Where it is looked up: ``REGISTRY_TEST_HOME``, else the user's cache."""
    default = Path.home() / ".cache" / "rag-monitor" / f"apicurio-{REGISTRY_VERSION}"
    return Path(os.environ.get("REGISTRY_TEST_HOME") or default)


def missing_registry() -> str | None:
    """What is missing for a registry and how to get it; None when it can be started."""
    if shutil.which("java") is None:
        return "no java: apt-get install default-jre-headless"
    if not list(registry_home().glob("apicurio-registry-app-*-runner.jar")):
        return f"no Apicurio in {registry_home()}: .ci/fetch-registry"
    return None


class SchemaRegistry(Started):
    """One registry on a port of its own, with its schemas in ``directory``; all methods block."""

    def __init__(self, directory: Path) -> None:
        (self.port,) = free_ports(1)
        self.log = directory / "registry.log"
        self._data = directory / "schemas"
        self._process: GuardedProcess | None = None

    @property
    def url(self) -> str:
        """The value for ``ingest.registry.url``."""
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def start(self, patience_s: float = 240.0) -> None:
        """Run it, and wait until it answers; ``RuntimeError`` with the end of the log if not."""
        jar = next(registry_home().glob("apicurio-registry-app-*-runner.jar"))
        settings = {
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": self.port,
            "quarkus.management.enabled": "false",
            "apicurio.datasource.url": f"jdbc:h2:file:{self._data}",
        }
        java = ["java", "-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        options = [f"-D{name}={value}" for name, value in settings.items()]
        self._process = GuardedProcess([*java, *options, "-jar", str(jar)], self.log)
        deadline = time.monotonic() + patience_s
        while not self._answers():
            if not self._process.alive() or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"no registry:\n{self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.2)

    def ensure(self) -> None:
        """Start it, unless it runs."""
        if self._process is None or not self._process.alive():
            self.start()

    def stop(self, patience_s: float = 20.0) -> None:
        """Shut down in order; by force when that takes longer than ``patience_s``."""
        if self._process is not None:
            self._process.end(patience_s)

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()

    def register(
        self,
        subject: str,
        kind: str,
        text: str,
        references: Sequence[dict[str, Any]] = (),
    ) -> int:
        """Register a version of a subject; the id of its schema."""
        asked = {"schemaType": kind, "schema": text, "references": list(references)}
        found = self._ask(f"/subjects/{subject}/versions", asked)
        return int(found["id"])

    def _answers(self) -> bool:
        try:
            self._ask("/subjects")
        except (URLError, OSError):
            return False
        return True

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        with urlopen(Request(self.url + path, data, kind), timeout=10) as response:
            return json.load(response)
