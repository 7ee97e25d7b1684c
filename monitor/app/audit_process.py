"""The audits beside the other roles: a process of their own, started again when it ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from monitor.errors import ConfigurationError
from monitor.runtime.guarded import GuardedProcess
from monitor.runtime.logs import logger

#: Seconds until it is started again: the first time, and at most.
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
#: Whoever has run for so long begins anew with the waits.
STEADY_S: Final = 300.0
_LOOK_EVERY_S: Final = 0.5
_CONFIGURATION: Final = 2


async def audits_kept_running(
    arguments: Sequence[str], log: Path | None = None, environ: Mapping[str, str] | None = None
) -> None:
    """``rag-monitor audit serve`` with these arguments, for ever.

    It has an event loop and an interpreter of its own, so that no page delays a scrape; whatever
    ends it ends nothing else. Raises ``ConfigurationError`` where its settings are wrong.
    """
    wait_s, loop = FIRST_WAIT_S, asyncio.get_running_loop()
    while True:
        command = [sys.executable, "-m", "rag_monitor", "audit", "serve", *arguments]
        process = await asyncio.to_thread(GuardedProcess, command, log, environ)
        began = loop.time()
        try:
            while process.alive():  # noqa: ASYNC110 - nobody tells when a process has ended
                await asyncio.sleep(_LOOK_EVERY_S)
        finally:
            await asyncio.to_thread(process.end)
        code = process.exit_code()
        if code == _CONFIGURATION:
            raise ConfigurationError("audit: its settings are wrong; the line before says which")
        wait_s = FIRST_WAIT_S if loop.time() - began > STEADY_S else wait_s
        logger().error("audits_ended", exit_code=code, again_in_s=wait_s)
        await asyncio.sleep(wait_s)
        wait_s = min(LONGEST_WAIT_S, 2 * wait_s)
