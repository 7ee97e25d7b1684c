"""The pages of audits as a browser without scripts sees them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import aiohttp

_TOKEN = re.compile(r'name="csrf_token" value="([0-9a-f]+)"')


class SiteVisitor:
    """One visitor with cookies of their own; a context manager."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        self.url = url
        jar = aiohttp.CookieJar(unsafe=True)
        self._session = aiohttp.ClientSession(cookie_jar=jar, headers=headers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    def cookie(self, name: str) -> str:
        """The value of a cookie that was set."""
        return next(each.value for each in self._session.cookie_jar if each.key == name)

    async def get(self, path: str) -> tuple[int, str]:
        """Status and page, wherever it leads."""
        async with self._session.get(self.url + path) as answer:
            return answer.status, await answer.text()

    async def headers(self, path: str) -> Mapping[str, str]:
        """Those of the page."""
        async with self._session.get(self.url + path) as answer:
            return answer.headers

    async def send(self, path: str, kind: str, body: bytes) -> int:
        """Anything in the place of a form; the status."""
        headers = {"Content-Type": kind}
        async with self._session.post(self.url + path, data=body, headers=headers) as answer:
            return answer.status

    async def post(self, path: str, token: str | None = None, **form: str) -> tuple[int, str]:
        """A form; with the token of the page ``token`` names, or of the login."""
        if token is not None:
            _, page = await self.get(token)
            found = _TOKEN.search(page)
            form["csrf_token"] = found[1] if found else ""
        async with self._session.post(self.url + path, data=form) as answer:
            return answer.status, await answer.text()

    async def log_in(self, password: str, name: str = "") -> tuple[int, str]:
        """As the form does."""
        return await self.post("/login", "/login", password=password, name=name)
