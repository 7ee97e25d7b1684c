"""What labels say goes to the control topic, for the exporters, whenever it has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from monitor.audit.correction import LABELS_MS, correction_of
from monitor.audit.store.database import DatabaseAway
from monitor.audit.store.labels import LabelStore
from monitor.audit.store.rows import milliseconds
from monitor.control.publisher import Outbox
from monitor.records.control import CorrectionRecord, Removed, correction_key
from monitor.runtime.logs import logger

#: Seconds between two looks: labels grow old, too.
LOOK_EVERY_S: Final = 600.0
#: Labels that come one soon after the other are published together.
TOGETHER_S: Final = 2.0


class CorrectionPublisher:
    """Publishes a record for each application and judge with labels. ``clock``: epoch seconds."""

    def __init__(self, labels: LabelStore, outbox: Outbox, clock: Callable[[], float]) -> None:
        self._labels, self._outbox, self._clock = labels, outbox, clock
        self._changed = asyncio.Event()
        #: Applications and judges whose labels have all grown old.
        self._withdrawn: set[tuple[str, str]] = set()
        #: By key on the topic.
        self.latest: dict[str, CorrectionRecord] = {}

    def changed(self) -> None:
        """Somebody has labelled something."""
        self._changed.set()

    async def run(self) -> None:
        """For ever, after each change and now and then."""
        while True:
            self._changed.clear()
            try:
                await self._publish()
            except DatabaseAway as error:
                logger().warning("corrections_not_computed", error=str(error))
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._changed.wait()
                await asyncio.sleep(TOGETHER_S)
            except TimeoutError:
                pass

    async def _publish(self) -> None:
        since_ms = milliseconds(self._clock()) - LABELS_MS
        lately = await self._labels.pairs(since_ms)
        for pair in await self._labels.pairs(0):
            if pair not in lately and pair not in self._withdrawn:
                # What they said of a judge holds no longer, also for whoever reads it only now.
                self._withdraw(*pair)
        for application, judge in lately:
            readings = await self._labels.readings(application, judge, since_ms)
            found = await asyncio.to_thread(correction_of, readings)
            if found is None or self.latest.get(found.key) == found:
                continue
            self._outbox.came_back(found.key.encode())  # nobody reads it back here
            self._outbox.offer(found)
            self.latest[found.key] = found
            self._withdrawn.discard((application, judge))

    def _withdraw(self, application: str, judge: str) -> None:
        key = correction_key(application, judge)
        self._outbox.came_back(key.encode())
        self._outbox.offer(Removed(key))
        self.latest.pop(key, None)
        self._withdrawn.add((application, judge))
