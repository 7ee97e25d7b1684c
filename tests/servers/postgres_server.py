"""A real PostgreSQL on a free port of 127.0.0.1, on a data folder of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.servers.guarded import GuardedProcess
from tests.servers.ports import free_ports
from tests.servers.started import Started

HOW_TO_GET_POSTGRES = "apt-get install postgresql"
#: Debian puts the server where no PATH leads.
_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def missing_postgres() -> str | None:
    """What is missing for a server; None when it can be started."""
    if _program("postgres") is None or _program("initdb") is None:
        return "no postgres"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "no setpriv, and PostgreSQL does not run as root"
    return None


class PostgresServer(Started):
    """One server; a context manager. All methods block."""

    def __init__(self, directory: Path) -> None:
        (self.port,) = free_ports(1)
        self._log = directory / "postgres.log"
        # Not in pytest's folder, which nobody but root may enter.
        self._data = Path(tempfile.mkdtemp(prefix="rag-monitor-postgres-"))
        self._process: GuardedProcess | None = None

    def url(self, name: str = "postgres") -> str:
        """The value for ``audit.database``."""
        return f"postgresql://tests@127.0.0.1:{self.port}/{name}"

    def start(self) -> None:
        """Run it and wait until it answers; raises ``RuntimeError`` when it does not."""
        if not any(self._data.iterdir()):
            self._made()
        program = str(_program("postgres"))
        options = ["-D", str(self._data), "-p", str(self.port), "-h", "127.0.0.1", "-F"]
        options += ["-c", "unix_socket_directories=", "-c", "max_connections=50"]
        self._process = GuardedProcess([*_as_somebody(), program, *options], self._log)
        deadline = time.monotonic() + 120.0
        while not self._answers():
            if time.monotonic() > deadline or not self._process.alive():
                self.stop()
                raise RuntimeError(f"postgres: {self._log.read_text()[-500:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it at once; its data stays."""
        if self._process is not None:
            self._process.end()

    def create(self, name: str, template: str = "template1") -> str:
        """A new database, as a copy of the ``template``, that nobody uses now; its URL."""
        psql = str(_program("psql"))
        asked = [psql, "-h", "127.0.0.1", "-p", str(self.port), "-U", "tests", "postgres"]
        command = f'CREATE DATABASE "{name}" TEMPLATE "{template}"'
        subprocess.run([*asked, "-qc", command], check=True, timeout=120)
        return self.url(name)

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        shutil.rmtree(self._data, ignore_errors=True)

    def _made(self) -> None:
        if os.geteuid() == 0:
            somebody = pwd.getpwnam("postgres")
            os.chown(self._data, somebody.pw_uid, somebody.pw_gid)
        initdb = [str(_program("initdb")), "-D", str(self._data), "-U", "tests", "-A", "trust"]
        made = subprocess.run(
            [*_as_somebody(), *initdb, "-E", "UTF8", "--locale=C", "-N"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if made.returncode:
            raise RuntimeError(f"initdb: {made.stderr[-500:]}")

    def _answers(self) -> bool:
        asked = [str(_program("pg_isready")), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(asked, timeout=10, check=False).returncode == 0


def _program(name: str) -> str | None:
    for folder in _FOLDERS:
        if (folder / name).exists():
            return str(folder / name)
    return shutil.which(name)


def _as_somebody() -> list[str]:
    """PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
