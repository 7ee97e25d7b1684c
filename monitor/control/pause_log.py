"""The log of pauses: when each begins and ends, by a command or by its own time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from monitor.control.pauses import Pauses
from monitor.runtime.logs import logger
from monitor.runtime.supervision import meanwhile

#: Not of each record: what was paused and resumed before a start is no news.
LOOK_EVERY_S: Final = 1.0
#: Names that are told at a look; of more than that only the number.
MOST_NAMED: Final = 20


class PauseLog:
    """Tells what has changed since the last look. ``clock`` gives epoch seconds."""

    def __init__(self, pauses: Pauses, clock: Callable[[], float]) -> None:
        self._pauses, self._clock = pauses, clock
        self._reported: dict[str, str | None] = {}

    def look(self) -> None:
        """Say ``paused`` and ``resumed``, once each; a pause whose end has moved is told again."""
        held = self._pauses.records(self._clock())
        now = {record.shown: record.end for record in held}
        news = [record for record in held if self._reported.get(record.shown) != record.end]
        for record in news[:MOST_NAMED]:
            logger().info(
                "paused",
                application=record.shown,
                until=record.end,
                set_at=None if record.set_at is None else record.set_at.isoformat(),
                set_by=record.set_by or "an unnamed person",
            )
        over = sorted(self._reported.keys() - now.keys())
        for name in over[:MOST_NAMED]:
            logger().info("resumed", application=name)
        for event, names in (("paused_too", news), ("resumed_too", over)):
            if len(names) > MOST_NAMED:
                logger().info(event, applications=len(names) - MOST_NAMED)
        self._reported = now


@asynccontextmanager
async def pauses_logged(pauses: Pauses, clock: Callable[[], float]) -> AsyncIterator[None]:
    """Meanwhile the log says what is paused, and what no longer is.

    Should that fail, the block ends with it: ``meanwhile``.
    """
    log = PauseLog(pauses, clock)

    async def look() -> None:
        while True:
            log.look()
            await asyncio.sleep(LOOK_EVERY_S)

    async with meanwhile(("the log of pauses", look())):
        yield
