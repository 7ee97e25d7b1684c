"""The pages beside the demo: a process of their own, a database in a folder that goes with it."""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from monitor.app.audit_process import audits_kept_running
from monitor.demo.ports import free_ports

_NEEDED: Final = ("sqlalchemy", "aiosqlite", "alembic", "itsdangerous")


class DemoPages(NamedTuple):
    """Where the pages are, and how one gets in."""

    url: str
    password: str

    @property
    def shown(self) -> str:
        """For people."""
        return f"{self.url} (password {self.password})"


def demo_pages() -> DemoPages | None:
    """Where they will be; None where the packages are missing that they need."""
    if not all(map(find_spec, _NEEDED)):
        return None
    return DemoPages(f"http://127.0.0.1:{free_ports(1)[0]}", secrets.token_hex(4))


@asynccontextmanager
async def pages_served(
    pages: DemoPages | None, bootstrap: str, numbers: Mapping[str, object]
) -> AsyncIterator[None]:
    """They follow the demo's broker meanwhile; ``numbers`` are settings that numbers go by."""
    if pages is None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="rag-monitor-demo-") as name:
        folder = Path(name)
        password = folder / "password"
        password.write_text(f"{pages.password}\n", "utf-8")
        settings = {
            "kafka.bootstrap_servers": bootstrap,
            "audit.database": f"sqlite:///{folder}/audits.db",
            "audit.password_file": str(password),
            **numbers,
            "audit.port": pages.url.rpartition(":")[2],
        }
        arguments = [
            word for key, value in settings.items() for word in ("--set", f"{key}={value}")
        ]
        # So that no setting of a real monitor gets in.
        environ = {key: it for key, it in os.environ.items() if not key.startswith("RAG_MONITOR_")}
        running = asyncio.create_task(
            audits_kept_running(arguments, folder / "audits.log", environ)
        )
        try:
            yield
        finally:
            running.cancel()
            await asyncio.wait({running})
