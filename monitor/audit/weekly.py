"""Draws the past week of each standing order, on Mondays; a role that was away makes up for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from monitor.audit.store.database import DatabaseAway
from monitor.audit.store.drawing import AuditDrawing, DrawRequest, new_seed
from monitor.audit.store.rows import milliseconds
from monitor.audit.store.weekly import (
    WEEK_MS,
    AlreadyDrawn,
    WeeklyOrder,
    WeeklyOrders,
    claim,
    monday,
)
from monitor.runtime.logs import logger

#: Seconds between two looks.
LOOK_EVERY_S: Final = 600.0


class WeeklyDraws:
    """Keeps to the orders. ``clock``: epoch seconds."""

    def __init__(
        self, orders: WeeklyOrders, drawing: AuditDrawing, clock: Callable[[], float]
    ) -> None:
        self._orders, self._drawing, self._clock = orders, drawing, clock

    async def run(self) -> None:
        """For ever."""
        while True:
            try:
                await self.look()
            except DatabaseAway as error:
                logger().warning("audits_not_drawn", error=str(error))
            await asyncio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Draw what is due: of the latest week that is over, once."""
        now_ms = milliseconds(self._clock())
        until_ms = monday(now_ms)
        for order in await self._orders.all():
            if order.drawn_until_ms < until_ms:
                await self._draw(order, until_ms, now_ms)

    async def _draw(self, order: WeeklyOrder, until_ms: int, now_ms: int) -> None:
        request = DrawRequest(
            order.application,
            order.metric,
            until_ms - WEEK_MS,
            until_ms,
            order.places,
            order.strategy,
            seed=new_seed(),
        )
        try:  # a database that goes away takes both back: then it is drawn once it is there again
            found = await self._drawing.draw(
                request, now_ms, partial(claim, order=order, until_ms=until_ms)
            )
        except AlreadyDrawn:
            return
        drawn = 0 if found is None else found.drawn
        logger().info("audits_drawn", application=order.application, interactions=drawn)
