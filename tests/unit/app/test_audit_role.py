"""The audit role where no broker answers: its pages say what they do not know yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from monitor.app.audit_role import AuditRole
from monitor.config import load
from monitor.exporter.serve.alarm_page import STILL_TO_READ, UNREAD
from tests.servers.ports import free_ports
from tests.stages.audit_site import SiteVisitor
from tests.stages.process import until

PASSWORD = "a-long-password"


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[str]:
    """The role without a broker; the address of its pages, once its tables are there."""
    (folder / "passwords").write_text(f"{PASSWORD}\n", "utf-8")
    (port,) = free_ports(1)
    flags = {
        "kafka.bootstrap_servers": "127.0.0.1:9",
        "audit.database": f"sqlite:///{folder / 'audits.db'}",
        "audit.password_file": str(folder / "passwords"),
        "audit.port": port,
    }
    stop, url = asyncio.Event(), f"http://127.0.0.1:{port}"
    running = asyncio.create_task(AuditRole(load({}, flags=flags)).run(stop))
    try:
        await until(lambda: has_tables(url), "its tables are there")
        yield url
    finally:
        stop.set()
        await running


async def has_tables(url: str) -> bool:
    """By the gauge that says so."""
    try:
        async with aiohttp.ClientSession() as session, session.get(f"{url}/metrics") as answer:
            return "rag_monitor_audit_database_up 1.0" in await answer.text()
    except aiohttp.ClientConnectionError:
        return False


async def test_what_was_not_read_is_not_called_none(tmp_path: Path) -> None:
    """Neither of alarms nor of pauses; and the numbers are waited for, too."""
    async with serving(tmp_path) as url, SiteVisitor(url) as ann:
        await ann.log_in(PASSWORD, "ann")
        _, alarms = await ann.get("/alarms")
        assert STILL_TO_READ in alarms
        assert "There has been no alarm." not in alarms
        status, one = await ann.get("/alarms/any")
        assert (status, "the alarms topic is still to be read" in one) == (503, True)
        _, overview = await ann.get("/")
    assert UNREAD in overview
    assert "whether anything is paused is not known yet" in overview
    assert "exporter waits: replay of" in overview
    assert "nothing is paused" not in overview
    assert "nothing has been judged yet" not in overview
    assert "these pages are up to date" not in overview
