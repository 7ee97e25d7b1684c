"""A provider's limits: requests and tokens in any sliding window, enforced with 429s."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque

from aiohttp import web


class SlidingLimits:
    """A gate for ``JudgeServer``. ``admitted`` are (time, tokens) of requests, ``refused`` times.

    The prompt counts when a request comes in, its reply when it goes out; one that finds the limit
    reached, or would exceed it, is refused, counts for nothing, and is told when there is room.
    """

    def __init__(
        self,
        requests: int,
        tokens: int,
        *,
        window_s: float = 60.0,
        latency_s: float = 0.0,
    ) -> None:
        self._limits, self._window_s, self._latency_s = (requests, tokens), window_s, latency_s
        self._inside: deque[list[float]] = deque()
        self.admitted: list[list[float]] = []
        self.refused: list[float] = []

    async def __call__(self, text: str) -> web.Response | None:
        """Let a request in, or refuse it."""
        now = time.monotonic()
        while self._inside and self._inside[0][0] <= now - self._window_s:
            self._inside.popleft()
        requests, tokens = self._limits
        messages = json.loads(text)["messages"]
        prompt = sum(len(message["content"]) // 4 for message in messages)
        used = sum(entry[1] for entry in self._inside)
        if len(self._inside) + 1 > requests or used + prompt > tokens:
            self.refused.append(now)
            wait_s = max(0.1, self._inside[0][0] + self._window_s - now)
            body = {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}
            headers = {"Retry-After": f"{wait_s:.2f}"}
            return web.Response(status=429, headers=headers, text=json.dumps(body))
        entry = [now, float(prompt)]
        self._inside.append(entry)
        self.admitted.append(entry)
        await asyncio.sleep(self._latency_s)
        return None

    def answered(self, prompt: int, completion: int) -> None:
        """The latest request has got a reply of so many tokens."""
        self._inside[-1][1] += completion

    def used(self, start: float, end: float) -> tuple[int, float]:
        """Requests and tokens of a span of time."""
        found = [tokens for at, tokens in self.admitted if start <= at < end]
        return len(found), sum(found)

    def busiest(self) -> tuple[int, float]:
        """The most requests, and the most tokens, of any window."""
        most, inside = (0, 0.0), deque[list[float]]()
        for entry in self.admitted:
            inside.append(entry)
            while inside[0][0] <= entry[0] - self._window_s:
                inside.popleft()
            most = max(most[0], len(inside)), max(most[1], sum(e[1] for e in inside))
        return most
