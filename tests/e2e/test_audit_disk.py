"""A full disk under the audits: nothing is lost, it is told, and made up for once there is room."""

from __future__ import annotations

import re
from pathlib import Path

import psutil

from tests.servers.kafka_broker import RunningBroker
from tests.stages.audit_setting import AuditSetting
from tests.stages.audit_site import SiteVisitor
from tests.stages.audits import judged
from tests.stages.process import MonitorProcess, total, until

UNLIMITED = psutil.RLIM_INFINITY


def limit(process: MonitorProcess, size: int) -> None:
    """No file of the process grows beyond so many bytes: as a disk that is full."""
    psutil.Process(process.pid).rlimit(psutil.RLIMIT_FSIZE, (size, psutil.RLIM_INFINITY))


def largest(folder: Path) -> int:
    """Bytes of the largest file of the database."""
    return max(path.stat().st_size for path in folder.glob("a.db*"))


async def test_a_full_disk_loses_nothing(kafka_broker: RunningBroker, tmp_path: Path) -> None:
    """Records wait on their topic, a label is refused with words, and then all of it is there."""
    setting = AuditSetting(kafka_broker.bootstrap, tmp_path, f"sqlite:///{tmp_path}/a.db")
    await setting.made()
    await setting.write([judged(i) for i in range(20)])
    process = setting.serving()
    try:
        await process.ready()
        await until(lambda: _kept(process, 20), "20 interactions")
        setting.command("select", "--application", "bot", "-n", "5", "--since", "3650d")
        async with SiteVisitor(process.url) as ann:
            await ann.log_in("annes-password")
            _, page = await ann.get("/audit")
            found = re.search(r'action="(/audit/\d+)"', page)
            assert found is not None
            limit(process, largest(tmp_path))
            await setting.write([judged(i) for i in range(20, 520)])
            await until(lambda: _is_up(process, 0), "that it is full")
            status, page = await ann.post(found[1], "/interactions", action="agree")
            assert (status, "The database does not answer" in page) == (503, True)
            assert (await process.get("/healthz"))[0] == 200
            status, ready = await process.get("/readyz")
            assert (status, "audit_database" in ready) == (503, True)
            limit(process, UNLIMITED)
            await until(lambda: _kept(process, 520), "all 520")
            status, page = await ann.post(found[1], "/interactions", action="agree")
            assert (status, "1 of 5 labelled" in page) == (200, True)
            assert "520 judged interactions are kept (" in (await ann.get("/"))[1]
    finally:
        await process.end()
    assert "audit_database_away" in process.log.read_text("utf-8")


async def _kept(process: MonitorProcess, number: int) -> bool:
    samples = await process.metrics()
    return total(samples, "rag_monitor_audit_records_total", result="kept") >= number


async def _is_up(process: MonitorProcess, value: int) -> bool:
    return total(await process.metrics(), "rag_monitor_audit_database_up") == value
