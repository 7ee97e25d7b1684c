"""Topics, a database and passwords for audits, and the process and commands that use them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from monitor.audit.store.database import Database
from monitor.records import ScoreRecord
from tests.servers.kafka_topics import Record, create_topic, produce
from tests.servers.postgres_server import PostgresServer
from tests.stages.command import environ_of, rag_monitor
from tests.stages.process import MonitorProcess

#: For ``database_url``.
DATABASES = ("sqlite", "postgresql")
PASSWORD = "a-long-password"
TOPICS = ("scores", "control", "alarms", "dead_letters", "interactions")


class AuditSetting:
    """One cluster's topics, one database, and the settings that lead to them."""

    def __init__(self, bootstrap: str, folder: Path, database: str) -> None:
        self.bootstrap, self.folder = bootstrap, folder
        self.topics = {name: f"{name}-{uuid4().hex[:8]}" for name in TOPICS}
        (folder / "passwords").write_text(
            f"{PASSWORD}\nann:label:annes-password\nbob:label:bobs-password\n"
            "eve:read:eves-password\n",
            "utf-8",
        )
        self.database = database
        self.settings: dict[str, Any] = {
            "audit__database": database,
            "audit__password_file": folder / "passwords",
            "audit__port": 0,
            "audit__keep": "3650d",
            **{f"kafka__topics__{name}": topic for name, topic in self.topics.items()},
        }

    async def made(self) -> None:
        for topic in self.topics.values():
            await create_topic(self.bootstrap, topic, 2)

    async def write(self, records: list[ScoreRecord]) -> None:
        rows = [Record(one.to_json(), one.key.encode()) for one in records]
        await produce(self.bootstrap, self.topics["scores"], rows)

    def serving(self, name: str = "audit") -> MonitorProcess:
        return MonitorProcess(
            "audit", self.bootstrap, self.folder, name, arguments=["serve"], **self.settings
        )

    def command(self, *arguments: str | Path) -> tuple[int, str, str]:
        done = rag_monitor("audit", *arguments, environ=self.environ())
        return done.returncode, done.stdout, done.stderr

    def environ(self) -> dict[str, str]:
        """The settings as a process takes them from its environment."""
        return environ_of(self.bootstrap, self.settings)


async def database_url(request: pytest.FixtureRequest, folder: Path) -> str:
    """An empty database of the kind that a fixture's parameter names."""
    if request.param == "sqlite":
        return f"sqlite:///{folder}/audits.db"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return await asyncio.to_thread(server.create, f"t{uuid4().hex[:12]}")


async def with_tables(request: pytest.FixtureRequest, folder: Path) -> Database:
    """The same with its tables, as a copy: to migrate takes longer than most tests do."""
    if request.param == "sqlite":
        (folder / "audits.db").write_bytes(await _sqlite_with_tables(folder))
        return Database(f"sqlite:///{folder}/audits.db")
    server: PostgresServer = request.getfixturevalue("postgres_server")
    template = await _postgres_with_tables(server)
    return Database(await asyncio.to_thread(server.create, f"t{uuid4().hex[:12]}", template))


#: The file of SQLite, and the name of the database on each server; made once a process.
_FILE: Final = list[bytes]()
_TEMPLATES: Final = dict[PostgresServer, str]()


async def _sqlite_with_tables(folder: Path) -> bytes:
    if not _FILE:
        await _migrated(f"sqlite:///{folder}/made.db")
        _FILE.append((folder / "made.db").read_bytes())
    return _FILE[0]


async def _postgres_with_tables(server: PostgresServer) -> str:
    if server not in _TEMPLATES:
        await _migrated(await asyncio.to_thread(server.create, "with_tables"))
        _TEMPLATES[server] = "with_tables"
    return _TEMPLATES[server]


async def _migrated(url: str) -> None:
    found = Database(url)
    await found.migrate()
    await found.close()
