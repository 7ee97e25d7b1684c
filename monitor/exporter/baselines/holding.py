"""Baselines that come while scores are served: they hold step by step, in nobody's way.

Until all slots stand against a new baseline the gauges are those of the old one; then all of it
holds at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.scores.steps import in_turns
from monitor.records.control import ControlRecord, Removed
from monitor.runtime.garbage import no_garbage


class Holding:
    """Control records on their way to ``baselines``. ``clock`` gives epoch seconds.

    ``changed`` is told when one holds that was taken step by step.
    """

    def __init__(
        self, baselines: Baselines, clock: Callable[[], float], changed: Callable[[], None]
    ) -> None:
        self._baselines, self._clock, self._changed = baselines, clock, changed
        self._waiting: asyncio.Queue[ControlRecord | Removed] = asyncio.Queue()
        self._left = 0

    @property
    def is_done(self) -> bool:
        """Whether all that was taken in holds."""
        return self._left == 0

    def apply(self, found: ControlRecord | Removed, *, at_once: bool) -> None:
        """Let a record hold, in its order.

        ``at_once``: nobody is served yet, and what is half done would be taken for all there is.
        """
        if at_once and self.is_done:
            self._baselines.hold(found)
        else:
            self._left += 1
            self._waiting.put_nowait(found)

    async def run(self) -> None:
        """Work on them for ever, one after the other."""
        while True:
            found = await self._waiting.get()
            with no_garbage():
                await in_turns(self._baselines.held_in_steps(found, self._clock))
            self._left -= 1
            self._changed()
