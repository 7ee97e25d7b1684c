"""The connections to the port: how many may be open, and how long each step may take.

Whoever reaches the port may open connections and say nothing, or half of something, or read no
answer. None of that may take the place of a health check, or the file descriptors that Kafka and
the model need.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any, Final, Literal, NamedTuple

from aiohttp import web

from monitor.runtime.logs import logger

#: Open at once, per process; whoever has not asked anything, or does not read, makes room.
MOST: Final = 64
#: And until it is known whether the newest ask anything.
MOST_BRIEFLY: Final = 256
#: The newest of those that have not asked anything are not closed even then.
NEWEST: Final = 128
#: A request that has come in is read by then.
BRIEF_S: Final = 0.25
#: Whoever reads an answer takes a piece of it by then.
STALLED_S: Final = 1.0
#: Between two looks at what takes too long.
LOOK_EVERY_S: Final = 1.0

ClosedReason = Literal["slow_request", "idle", "slow_answer", "too_many"]


class ConnectionStep(IntEnum):
    """What a connection is at, in the order in which they make room for others."""

    ASKS = 0  #: until the head of a request is whole
    IDLE = 1  #: between two requests
    READS = 2  #: an answer, since it took the last piece
    ANSWERED = 3  #: until there is something to read


#: Seconds that each may take, and what it is called when it takes longer.
LIMITS: Final[dict[ConnectionStep, tuple[float, ClosedReason]]] = {
    ConnectionStep.ASKS: (10.0, "slow_request"),
    ConnectionStep.IDLE: (10.0, "idle"),
    ConnectionStep.READS: (10.0, "slow_answer"),
    ConnectionStep.ANSWERED: (60.0, "slow_answer"),
}


class ConnectionState(NamedTuple):
    """What a connection is at, and since when, in seconds of a monotonic clock."""

    step: ConnectionStep
    since: float


def overdue(state: ConnectionState, now: float) -> ClosedReason | None:
    """Why a connection is closed now; None while it may stay.

    >>> asks = ConnectionState(ConnectionStep.ASKS, 5.0)
    >>> overdue(asks, 14.0), overdue(asks, 15.0)
    (None, 'slow_request')
    """
    limit_s, reason = LIMITS[state.step]
    return reason if now - state.since >= limit_s else None


#: Beyond ``MOST``, who has been at a step for longer makes room; nobody who waits for an answer.
QUIET_S: Final[dict[ConnectionStep, float]] = {
    ConnectionStep.ASKS: BRIEF_S,
    ConnectionStep.IDLE: BRIEF_S,
    ConnectionStep.READS: STALLED_S,
    ConnectionStep.ANSWERED: math.inf,
}


def in_the_way(states: Iterable[ConnectionState], now: float) -> list[int]:
    """Which of the connections make room for the others, by number: the longest silent ones first.

    Not those that wait for an answer or read one, and not those that have just come, unless there
    are too many even for that.

    >>> old, new = (ConnectionState(ConnectionStep.ASKS, since) for since in (0.0, 9.9))
    >>> in_the_way([old] * 2 + [new] * 63, 10.0)
    [0]
    """
    found = list(states)
    order = sorted(range(len(found)), key=lambda number: found[number])
    quiet = [number for number in order if now - found[number].since >= QUIET_S[found[number].step]]
    chosen = quiet[: max(0, len(found) - MOST)]
    left = [number for number in order if number not in set(chosen)]
    return chosen + _too_many(left, found)


def _too_many(left: list[int], found: list[ConnectionState]) -> list[int]:
    """Those of ``left`` that are too many even briefly.

    First who has not asked anything, but for the newest; then who has taken nothing of an answer
    for longest. So neither takes all places from the other.
    """
    asks = sorted(
        (n for n in left if found[n].step < ConnectionStep.READS), key=lambda n: found[n].since
    )
    answers = sorted(
        (n for n in left if found[n].step >= ConnectionStep.READS), key=lambda n: found[n].since
    )
    first = asks[: max(0, len(asks) - NEWEST)]
    return (first + answers)[: max(0, len(left) - MOST_BRIEFLY)]


class HttpConnection(web.RequestHandler):
    """One connection; it tells ``Connections`` what it is at."""

    def __init__(self, manager: web.Server, others: Connections, **options: Any) -> None:
        super().__init__(manager, **options)
        self._others = others
        self.state = ConnectionState(ConnectionStep.ASKS, others.now())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        super().connection_made(transport)
        self._others.opened(self)

    def data_received(self, data: bytes) -> None:
        """A part of a request, or several."""
        if self.state.step is ConnectionStep.IDLE:
            self.is_at(ConnectionStep.ASKS)
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """It is closed, by either side."""
        self._others.closed(self)
        super().connection_lost(exc)

    def is_at(self, step: ConnectionStep) -> None:
        """The next step has begun."""
        self.state = ConnectionState(step, self._others.now())

    def handle_error(self, *given: Any, **named: Any) -> web.StreamResponse:
        """What is no request is answered without naming what serves this."""
        response = super().handle_error(*given, **named)
        response.headers.update(HEADERS)
        return response


#: On every answer: nothing from elsewhere, in nobody's frame, and always as it is now.
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Server": "rag-monitor",
}


class Connections:
    """All that are open. ``counted`` is told why each is closed from this side."""

    def __init__(self, counted: Callable[[ClosedReason], None]) -> None:
        self._counted = counted
        self._open: dict[HttpConnection, None] = {}
        self._unreported = Counter[ClosedReason]()
        self._looks: asyncio.TimerHandle | None = None
        self._trims: asyncio.TimerHandle | None = None

    def now(self) -> float:
        """The time of the event loop, in seconds."""
        return asyncio.get_running_loop().time()

    def opened(self, connection: HttpConnection) -> None:
        """One more; others may have to make room, now or when it has had time to ask."""
        self._open[connection] = None
        loop = asyncio.get_running_loop()
        if self._looks is None:
            self._looks = loop.call_later(LOOK_EVERY_S, self._look)
        if len(self._open) > MOST_BRIEFLY:
            self._trim()
        elif len(self._open) > MOST and self._trims is None:
            self._trims = loop.call_later(BRIEF_S, self._trim)

    def closed(self, connection: HttpConnection) -> None:
        """One less."""
        self._open.pop(connection, None)

    def stop(self) -> None:
        """No more looks."""
        for timer in (self._looks, self._trims):
            if timer is not None:
                timer.cancel()

    def _look(self) -> None:
        """Close what takes too long, say so, and look again while any are open."""
        now = self.now()
        for connection in list(self._open):
            if reason := overdue(connection.state, now):
                self._close(connection, reason)
        self._trim()
        self._tell()
        self._looks = None
        if self._open:
            self._looks = asyncio.get_running_loop().call_later(LOOK_EVERY_S, self._look)

    def _trim(self) -> None:
        if self._trims is not None:
            self._trims.cancel()
            self._trims = None
        found = list(self._open)
        for number in in_the_way((each.state for each in found), self.now()):
            self._close(found[number], "too_many")

    def _close(self, connection: HttpConnection, reason: ClosedReason) -> None:
        self._open.pop(connection, None)
        self._counted(reason)
        if reason != "idle":  # which is how every keep-alive ends
            self._unreported[reason] += 1
        if connection.transport is not None:
            connection.transport.abort()  # what it does not read is not waited for

    def _tell(self) -> None:
        for reason, number in self._unreported.items():
            logger().warning(
                "http_connections_closed", reason=reason, number=number, open=len(self._open)
            )
        self._unreported.clear()
