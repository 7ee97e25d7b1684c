"""A server that refuses some of the ways to hold a reply to JSON."""

from __future__ import annotations

import json
import math

from aiohttp import web


class Refusing:
    """A server in front of the judge that knows no schema, none with patterns, or no format.

    It says so by a ``status``, and does so ``most`` times. ``requests``: all that it was asked.
    """

    def __init__(self, *words: str, status: int = 400, most: float = math.inf) -> None:
        self._words, self._status, self._most = words, status, most
        self.refused = self.requests = 0

    async def __call__(self, text: str) -> web.Response | None:
        self.requests += 1
        form = json.dumps(json.loads(text).get("response_format"))
        word = next((word for word in self._words if word in form), None)
        if word is None or self.refused >= self._most:
            return None
        self.refused += 1
        error = {"message": f"unsupported: {word}", "type": "invalid_request_error"}
        return web.json_response({"error": error}, status=self._status)

    def answered(self, prompt: int, completion: int) -> None:
        """Nothing."""
