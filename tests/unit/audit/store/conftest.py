"""A database of each kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from monitor.audit.store.database import Database
from tests.stages.audit_setting import DATABASES, database_url


@pytest.fixture(params=DATABASES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty one, with its tables."""
    url = await database_url(request, tmp_path)
    found = Database(url)
    await found.migrate()
    yield found
    await found.close()
