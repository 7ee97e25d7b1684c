"""What the simulated judge remembers of the requests it got."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.servers.judge_faults import MALFORMED, Strike
from tests.servers.judge_request import Request, Task


@dataclass(frozen=True)
class LogEntry:
    """One request as the server saw it; ``at`` is seconds of the server's monotonic clock.

    ``conversation`` is a hash of the content without the complaint, so equal for re-asks and
    retries; ``attempt`` counts from 1 within it. ``groundless`` marks a complaint about a
    conversation whose replies were all right. ``refused`` is why the request was answered with 400,
    ``parameters`` what the body held beside the messages.
    """

    at: float
    task: Task | None = None
    nonce: int | None = None
    conversation: str | None = None
    attempt: int = 0
    reask: bool = False
    groundless: bool = False
    fault: str | None = None
    latency_s: float = 0.0
    finish_reason: str | None = None
    refused: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


class JudgeLog:
    """Every request in the order of arrival."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self._conversations: defaultdict[str, list[LogEntry]] = defaultdict(list)
        self._news = asyncio.Event()

    def knows(self, request: Request) -> bool:
        """Whether the same was asked before."""
        return request.conversation in self._conversations

    def refuse(self, at: float, why: str) -> None:
        """Note a request that is answered with 400."""
        self._append(LogEntry(at, refused=why))

    def record(
        self,
        at: float,
        request: Request,
        strike: Strike,
        finish_reason: str,
        parameters: Mapping[str, Any],
    ) -> None:
        """Note a valid request and what goes wrong with its answer."""
        earlier = self._conversations[request.conversation]
        malformed = any(e.fault in MALFORMED or e.finish_reason == "length" for e in earlier)
        reask = request.complaint is not None
        entry = LogEntry(
            at=at,
            task=request.task,
            nonce=request.nonce,
            conversation=request.conversation,
            attempt=len(earlier) + 1,
            reask=reask,
            groundless=reask and not malformed,
            fault=strike.rule.fault.value if strike.rule else None,
            latency_s=strike.latency_s,
            finish_reason=finish_reason,
            parameters=parameters,
        )
        earlier.append(entry)
        self._append(entry)

    def counts(self) -> dict[str, int]:
        """Requests: in all, by task, by ``fault.*``, refused, re-asks, delayed; conversations."""
        found = Counter[str]()
        found.update(entry.task or "unreadable" for entry in self.entries)
        found.update(f"fault.{entry.fault}" for entry in self.entries if entry.fault)
        return {
            **found,
            "requests": len(self.entries),
            "conversations": len(self._conversations),
            "refused": sum(entry.refused is not None for entry in self.entries),
            "reasks": sum(entry.reask for entry in self.entries),
            "groundless_reasks": sum(entry.groundless for entry in self.entries),
            "delayed": sum(entry.latency_s > 0 for entry in self.entries),
        }

    async def until(self, requests: int) -> None:
        """Wait until that many requests have come in."""
        while len(self.entries) < requests:
            self._news.clear()
            await self._news.wait()

    def _append(self, entry: LogEntry) -> None:
        self.entries.append(entry)
        self._news.set()
