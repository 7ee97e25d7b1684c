"""Keeps to what must be forgotten, in the database and in all that comes to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from monitor.audit.store.database import DatabaseAway
from monitor.audit.store.forgetting import TextForgetting
from monitor.audit.store.rows import Placed, milliseconds
from monitor.control.forgotten import ForgottenTexts
from monitor.records.control import ForgottenRecord
from monitor.runtime.logs import logger

#: Seconds until a database that is away is tried again.
_WAIT_S: Final = 5.0


class TextForgetter:
    """Follows what the control topic says of it. ``clock``: epoch seconds."""

    def __init__(self, store: TextForgetting, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._asked: asyncio.Queue[ForgottenRecord] = asyncio.Queue()
        self.texts = ForgottenTexts(self._asked.put_nowait)
        #: Held while rows are looked through: none comes to those that were looked at already.
        self.at_rest = asyncio.Lock()

    def cleared(self, records: Sequence[Placed]) -> list[Placed]:
        """The same, without texts that were forgotten."""
        return [self._cleared(each) for each in records]

    def _cleared(self, placed: Placed) -> Placed:
        if self.texts.kind_of(placed.record) is None:
            return placed
        bare = self.texts.cleared(placed.record)
        return placed._replace(record=bare, raw=bare.to_json(), is_forgotten=True)

    async def run(self) -> None:
        """For ever take away what is asked for, however long the database is away."""
        while True:
            asked = await self._asked.get()
            while True:
                if await self._applied(asked):
                    break
                await asyncio.sleep(_WAIT_S)
            while self._asked.empty():
                if await self._overwritten():
                    break
                await asyncio.sleep(_WAIT_S)

    async def _overwritten(self) -> bool:
        """Whether no file of the database holds them any more: whoever reads may hold that up."""
        if self._store.is_overwritten:
            return True
        logger().warning("audit_texts_not_overwritten", error="somebody reads the database")
        try:
            return await self._store.overwrite()
        except DatabaseAway:
            return False

    async def _applied(self, asked: ForgottenRecord) -> bool:
        try:
            async with self.at_rest:
                number = await self._store.apply(asked, milliseconds(self._clock()))
        except DatabaseAway as error:
            logger().warning("audit_texts_not_forgotten", key=asked.key, error=str(error))
            return False
        if number is not None:
            logger().info("audit_texts_forgotten", key=asked.key, interactions=number)
        return True
