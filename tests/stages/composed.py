"""The services of ``deploy/compose.yaml`` as processes of this machine, started by its own lines.

Every command, variable and mounted file is the one of the file. Only places differ: a path within a
container is one below a folder of its service, and a service's address is one of 127.0.0.1.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from tests.servers.guarded import GuardedProcess
from tests.servers.kafka_broker import kafka_libs
from tests.servers.ports import free_ports
from tests.servers.started import Started

ROOT: Final = Path(__file__).parents[2]
DEPLOY: Final = ROOT / "deploy"
#: Where the services listen, by the ports of the file. Kafka's controller is for itself.
LISTENING: Final = (
    ("kafka", 9092),
    ("kafka", 9093),
    ("kafka", 9094),
    ("redis", 6379),
    ("scorer", 9750),
    ("exporter", 9750),
    ("audit", 9751),
    ("prometheus", 9090),
    ("alertmanager", 9093),
)
#: What has no program here is tried by other tests.
LEFT_OUT: Final = frozenset({"grafana", "secrets"})
#: In the place of ``bin/`` of Kafka, of which only the jars are here.
_TOOLS: Final = {
    "kafka-storage.sh": "kafka.tools.StorageTool",
    "kafka-server-start.sh": "kafka.Kafka",
}
_PATIENCE_S: Final = 300.0


class Composed(Started):
    """All services but Grafana; a context manager, whose methods block.

    ``changed`` are texts within the mounted files and the commands that are others here, such as
    how often Prometheus scrapes; each must be found.
    """

    def __init__(self, directory: Path, changed: Mapping[str, str]) -> None:
        self._directory, self._changed = directory, dict(changed)
        self._unused = set(changed)
        self._file = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
        self._ports = dict(zip(LISTENING, free_ports(len(LISTENING)), strict=True))
        self._processes: dict[str, GuardedProcess] = {}

    def address(self, service: str, port: int) -> str:
        """``host:port`` of a service, by its port within Compose."""
        return f"127.0.0.1:{self._ports[service, port]}"

    def start(self) -> None:
        """Draw the secrets and start the services, each after those that it needs."""
        self._draw_secrets()
        try:
            for name in self._in_order():
                self._processes[name] = self._started(name)
                self._wait(name)
        except BaseException:
            self.stop()
            raise
        assert not self._unused, f"found nowhere: {self._unused}"

    def stop(self) -> None:
        """End them, the last one first."""
        for process in reversed(self._processes.values()):
            process.end()

    def said(self, name: str) -> str:
        """The end of what a service has logged."""
        return self._log(name).read_text("utf-8", "replace")[-2_000:]

    def _draw_secrets(self) -> None:
        folder = self._directory / "secrets"
        for volume in self._file["services"]["secrets"]["volumes"]:
            source, target, *_ = volume.split(":")
            if not source.startswith("."):
                (folder / Path(target).name).parent.mkdir(exist_ok=True)
                (folder / Path(target).name).symlink_to(self._volume(source))
        script = DEPLOY / "compose" / "draw_secrets.py"
        subprocess.run([sys.executable, str(script), str(folder)], check=True)
        for path in folder.glob("*/*"):
            path.chmod(0o600)
            path.write_text(self._addressed(path.read_text("utf-8"), ""), "utf-8")

    def _in_order(self) -> Iterator[str]:
        services, begun = self._file["services"], {"secrets"}
        while left := services.keys() - begun - LEFT_OUT:
            ready = [
                n for n in services if n in left and set(services[n].get("depends_on", ())) <= begun
            ]
            assert ready, f"they wait for each other: {left}"
            begun.update(ready)
            yield from ready

    def _started(self, name: str) -> GuardedProcess:
        service = self._file["services"][name]
        root = self._directory / name
        targets = self._mounted(name, service, root)
        words = [*(service.get("entrypoint") or self._program(name)), *service.get("command", ())]
        words = [self._local(str(word), name, root, targets) for word in words] + self._own(name)
        environ = {key: self._local(str(value), name, root, targets)
                   for key, value in service.get("environment", {}).items()}  # fmt: skip
        environ |= self._own_environment(name)
        exports = [f"{key}={value}" for key, value in environ.items()]
        return GuardedProcess(["env", *exports, *words], self._log(name))

    def _mounted(self, name: str, service: Mapping[str, Any], root: Path) -> list[str]:
        """Put what is mounted in its place below ``root``; the targets."""
        targets = []
        for volume in service.get("volumes", ()):
            source, target, *_ = volume.split(":")
            targets.append(target)
            here = root / target.lstrip("/")
            here.parent.mkdir(parents=True, exist_ok=True)
            if source.startswith("."):
                copy = shutil.copytree if (DEPLOY / source).is_dir() else shutil.copy
                copy(DEPLOY / source, here)
            else:
                here.symlink_to(self._volume(source))
        for path in root.rglob("*"):  # links to volumes are not followed
            if path.is_file() and path.suffix != ".sh":
                path.write_text(self._local(path.read_text("utf-8"), name, root, targets), "utf-8")
        return targets

    def _local(self, text: str, name: str, root: Path, targets: Sequence[str]) -> str:
        """The text with places of this machine."""
        for old, new in self._changed.items():
            if old in text:
                text = text.replace(old, new)
                self._unused.discard(old)
        for target in sorted(targets, key=len, reverse=True):
            text = re.sub(rf"(?<![\w.]){re.escape(target)}\b", str(root / target.lstrip("/")), text)
        return self._addressed(text, name)

    def _addressed(self, text: str, name: str) -> str:
        """The text with addresses of this machine; those without a host are the service's own."""
        for (service, port), here in self._ports.items():
            text = re.sub(rf"\b{service}:{port}\b", f"127.0.0.1:{here}", text)
            if service == name:
                text = re.sub(rf"(?<=://)(127\.0\.0\.1)?:{port}\b", f"127.0.0.1:{here}", text)
                text = re.sub(rf"\b127\.0\.0\.1:{port}\b", f"127.0.0.1:{here}", text)
        return text

    def _program(self, name: str) -> list[str]:
        """What is the entry point of an image here."""
        if ":-rag-monitor-" in self._file["services"][name]["image"]:
            return [sys.executable, "-m", "monitor"]
        found = next(filter(None, map(shutil.which, (f"prometheus-{name}", name))), None)
        assert found, f"no {name} on PATH"
        return [found]

    def _own(self, name: str) -> list[str]:
        """Arguments for the port, where the file leaves it at its default."""
        if name == "redis":
            return ["--bind", "127.0.0.1", "--port", str(self._ports["redis", 6379]),
                    "--dir", str(self._volume("redis"))]  # fmt: skip
        for service, port in LISTENING:
            if service == name and name in ("prometheus", "alertmanager"):
                return [f"--web.listen-address=127.0.0.1:{self._ports[service, port]}"]
        return []

    def _own_environment(self, name: str) -> dict[str, str]:
        if name == "kafka":
            return {"KAFKA_HOME": str(self._kafka_home()), "LOG_DIR": str(self._directory)}
        found = {"PYTHONPATH": str(ROOT), "HOME": str(self._directory)}
        if (name, 9750) in self._ports:
            found["RAG_MONITOR_HTTP__PORT"] = str(self._ports[name, 9750])
        if name == "audit":
            found["RAG_MONITOR_AUDIT__HOST"] = "127.0.0.1"
            found["RAG_MONITOR_AUDIT__PORT"] = str(self._ports[name, 9751])
        return found

    def _kafka_home(self) -> Path:
        folder = self._directory / "kafka-home" / "bin"
        folder.mkdir(parents=True, exist_ok=True)
        for tool, main in _TOOLS.items():
            line = f'exec java -Xmx512m -cp "{kafka_libs()}/*" {main} "$@"\n'
            (folder / tool).write_text(f"#!/bin/sh\n{line}", "utf-8")
            (folder / tool).chmod(0o755)
        return folder.parent

    def _volume(self, name: str) -> Path:
        assert name in self._file["volumes"]
        folder = self._directory / "volumes" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _log(self, name: str) -> Path:
        return self._directory / f"{name}.log"

    def _wait(self, name: str) -> None:
        """Until it listens, as its health check would see it."""
        deadline = time.monotonic() + _PATIENCE_S
        wanted = {here for (service, _), here in self._ports.items() if service == name}
        while not wanted <= _listening(self._processes[name].pid):
            if not self._processes[name].alive() or time.monotonic() > deadline:
                raise RuntimeError(f"{name} did not start: {self.said(name)}")
            time.sleep(0.1)


def _listening(pid: int) -> set[int]:
    import psutil

    try:
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        found = [each for process in processes for each in process.net_connections("tcp")]
    except psutil.NoSuchProcess:
        return set()
    return {each.laddr.port for each in found if each.status == psutil.CONN_LISTEN}
