"""A database of each kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from monitor.audit.store.database import Database
from tests.servers.postgres_server import PostgresServer


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty one, with its tables."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/audits.db"
    else:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = await asyncio.to_thread(server.create, f"t{uuid4().hex[:12]}")
    found = Database(url)
    await found.migrate()
    yield found
    await found.close()
