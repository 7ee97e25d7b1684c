"""Draws ``docs/demo.svg``: the demo's live view in the middle of the incident of a real run.

    .venv/bin/python docs/picture.py

It runs the demo in this process, and draws what its view shows a moment before the incident ends.
Takes half a minute.
"""

from __future__ import annotations

import asyncio
import io
import re
import time
from pathlib import Path

import rich.terminal_theme
from rich.console import Console

from monitor.demo.options import DemoOptions
from monitor.demo.run import running
from monitor.demo.view import View

PICTURE = Path(__file__).with_name("demo.svg")
WIDTH, HEIGHT = 120, 40
#: Rich names a web font and where to fetch it; a picture must not fetch anything.
FONT_FACES = re.compile(r"@font-face\s*{.*?}\s*", re.DOTALL)
FONTS = "DejaVu Sans Mono, Menlo, Consolas, monospace"


async def watched() -> View:
    """The view of a demo that runs until shortly before its incident ends."""
    options, stop = DemoOptions(), asyncio.Event()
    async with running(options, {}, time.monotonic()) as demo:
        feeding = asyncio.create_task(demo.feed(stop))
        await demo.watch.first_page()
        view = demo.view()
        over = demo.schedule.start + options.incident_at + options.incident_for
        while (now := time.time()) < over - 0.7:
            if (page := await demo.watch.page()) is not None:
                view.look(page, now)
            await asyncio.sleep(0.5)
        stop.set()
        await feeding
    return view


def drawn(view: View) -> str:
    """The view as an SVG that stands alone."""
    console = Console(
        record=True, file=io.StringIO(), force_terminal=True, width=WIDTH, height=HEIGHT,
        color_system="truecolor",
    )  # fmt: skip
    console.print(view)
    svg = console.export_svg(
        title="make demo", theme=rich.terminal_theme.SVG_EXPORT_THEME, unique_id="demo"
    )
    svg = re.sub(r"<!--.*?-->\s*", "", FONT_FACES.sub("", svg), flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", FONTS).replace("Fira Code", FONTS)


if __name__ == "__main__":
    PICTURE.write_text(drawn(asyncio.run(watched())), encoding="utf-8")
