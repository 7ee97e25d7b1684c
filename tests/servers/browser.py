"""A real Chromium that reaches this machine only."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.tools import requires_tool

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
#: What axe-core calls so bad that it must not be.
_BAD: Final = ("serious", "critical")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """It is started, and ended."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    requires_tool(
        "chromium", None if found else "there is no chromium on PATH", "apt-get install chromium"
    )
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=found, args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            await browser.close()


class Seen:
    """A page, what it has said on its console, and which dialogs it has opened."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda said: self._note(said.type, said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    async def offences(self) -> list[str]:
        """What axe-core finds serious or critical, with its element."""
        report = await Axe().run(self.page)
        return [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}"
            for one in report.response["violations"]
            if one["impact"] in _BAD
        ]

    async def width(self) -> int:
        """CSS pixels that the page takes, with what is beyond the right edge."""
        found: int = await self.page.evaluate("document.documentElement.scrollWidth")
        return found


@asynccontextmanager
async def visitor(browser: Browser, **options: Any) -> AsyncIterator[Seen]:
    """Somebody with cookies of their own; ``options`` are those of Playwright's context."""
    context: BrowserContext = await browser.new_context(**options)
    try:
        yield Seen(await context.new_page())
    finally:
        await context.close()
