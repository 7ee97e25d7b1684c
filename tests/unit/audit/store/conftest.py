"""A database of each kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from monitor.audit.store.database import Database
from tests.stages.audit_setting import DATABASES, with_tables


@pytest.fixture(params=DATABASES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty one, with its tables."""
    found = await with_tables(request, tmp_path)
    yield found
    await found.close()
