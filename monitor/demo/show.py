"""Where the demo shows itself: a live picture on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.live import Live

from monitor.demo.chronicle import Event
from monitor.demo.view import View
from monitor.demo.watch import LOOK_EVERY_S, DemoWatch
from monitor.runtime.standard_output import discard_output

PLAIN_EVERY_S: Final = 5.0


async def show(
    view: View,
    watch: DemoWatch,
    events: Callable[[], list[Event]],
    clock: Callable[[], float],
    stop: asyncio.Event,
) -> None:
    """Show until cancelled; when nobody reads stdout any more, ``stop`` is set."""
    console = Console()
    if not sys.stdout.isatty() or console.is_dumb_terminal:
        await _plainly(view, watch, events, clock)
        stop.set()
        return
    # Drawn when there is something new, and by nobody else: a second clock would flicker.
    with Live(view, console=console, auto_refresh=False) as live:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if (page := await watch.page()) is not None:
                view.look(page, clock())
                live.refresh()


async def _plainly(
    view: View, watch: DemoWatch, events: Callable[[], list[Event]], clock: Callable[[], float]
) -> None:
    """A line every few seconds, and each event as soon as it is known, while somebody reads."""
    shown, is_read, due = set[Event](), say(view.intro()), asyncio.get_running_loop().time()
    while is_read:
        due += PLAIN_EVERY_S
        while asyncio.get_running_loop().time() < due:
            await asyncio.sleep(LOOK_EVERY_S)
            if (page := await watch.page()) is not None:
                view.look(page, clock())
            news = [event for event in events() if event not in shown]
            for event in news:
                is_read = is_read and say(event.line())
            shown.update(news)
        is_read = is_read and say(view.plain())


def say(line: str) -> bool:
    """Print a line; False when nobody reads stdout any more."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        discard_output()
        return False
    return True


def say_anything() -> None:
    r"""Let stdout take every character: one that its encoding has not is written as \uXXXX."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
