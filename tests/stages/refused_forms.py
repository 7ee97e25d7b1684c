"""A server that refuses some of the ways to hold a reply to JSON."""

from __future__ import annotations

import json

from aiohttp import web


class Refusing:
    """A server in front of the judge that knows no schema, none with patterns, or no format."""

    def __init__(self, *words: str) -> None:
        self._words, self.refused = words, 0

    async def __call__(self, text: str) -> web.Response | None:
        form = json.dumps(json.loads(text).get("response_format"))
        word = next((word for word in self._words if word in form), None)
        if word is None:
            return None
        self.refused += 1
        error = {"message": f"unsupported: {word}", "type": "invalid_request_error"}
        return web.json_response({"error": error}, status=400)

    def answered(self, prompt: int, completion: int) -> None:
        """Nothing."""
