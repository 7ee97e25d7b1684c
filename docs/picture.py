"""Draws ``docs/demo.svg``: the demo's live view in the middle of the incident of a real run.

    .venv/bin/python docs/picture.py

It starts ``rag-monitor demo``, scrapes it as the demo itself does, shows the scrapes to the same
view, and draws what that shows a moment before the incident ends. Takes half a minute.
"""

from __future__ import annotations

import asyncio
import io
import re
import sys
import time
from asyncio.subprocess import PIPE
from pathlib import Path

import rich.terminal_theme
from rich.console import Console

from monitor.demo.schedule import Schedule
from monitor.demo.view import SCREEN, View
from monitor.export.scrape import scrape

PICTURE = Path(__file__).with_name("demo.svg")
INCIDENT_AT, INCIDENT_FOR, WINDOWS = 24, 10, ("15s", "1m", "5m")
WIDTH, HEIGHT = 120, 40
#: Rich names a web font and where to fetch it; a picture must not fetch anything.
FONT_FACES = re.compile(r"@font-face\s*{.*?}\s*", re.DOTALL)
FONTS = "DejaVu Sans Mono, Menlo, Consolas, monospace"


async def watched() -> View:
    """The view of a demo that runs until shortly before its incident ends."""
    demo = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "monitor", "demo", stdout=PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert demo.stdout is not None
    try:
        url = re.findall(r"(http\S+)/metrics", (await demo.stdout.readline()).decode())[0]
        elapsed_s = int((await demo.stdout.readline()).split()[0])
        schedule = Schedule(round(time.time() - elapsed_s), INCIDENT_AT, INCIDENT_FOR)
        view = View(schedule, WINDOWS, url=url, judge=SCREEN)
        while (now := time.time()) < schedule.start + INCIDENT_AT + INCIDENT_FOR - 0.7:
            view.look(await scrape(f"{url}/metrics"), now)
            await asyncio.sleep(0.5)
    finally:
        demo.terminate()
        await demo.communicate()
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
