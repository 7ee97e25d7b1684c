"""Letting the loop turn until everything rests."""

from __future__ import annotations

import asyncio


async def turns() -> None:
    """Let other tasks come as far as they can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def settled() -> None:
    """Until everybody who can go on has done so."""
    for _ in range(20):
        await asyncio.sleep(0)
