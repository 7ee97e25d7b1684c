"""A process that is told to stop before it has begun."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest

from monitor.app.process import Monitor, Role
from monitor.config import load


@pytest.mark.parametrize("roles", [("score",), ("export",), ("score", "export")])
async def test_a_stop_before_the_start_is_clean(roles: tuple[Role, ...]) -> None:
    """SIGTERM may come while everything is still being imported; then no work has had a turn."""
    stop = asyncio.Event()
    stop.set()
    flags = {"kafka.bootstrap_servers": "127.0.0.1:9", "http.port": 0}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        await Monitor(load({}, flags=flags)).run(roles, stop)
        gc.collect()
    assert [str(each.message) for each in told] == []
