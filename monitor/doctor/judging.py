"""How many are judged a day: as the scores topic has it, else as the traffic and limits allow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from monitor.app.inspection import price_per_million
from monitor.config import Settings
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.kafka.replay import TopicScan
from monitor.plan.plan import Assumed, bought, typical
from monitor.plan.quantities import OFFLINE_CORRELATION, USUAL_MEAN
from monitor.plan.spend import DAY_MINUTES
from monitor.runtime.health import Health
from monitor.stats.period import DAY_S, RECENT_DAYS, day_bounds, pace

#: Seconds to connect.
LIMIT_S: Final = 10.0


class JudgedPace(NamedTuple):
    """Judged interactions a day; ``is_expected``: nothing is judged yet, and so many would be.

    ``sent_per_day`` are the interactions that they are taken from. It has gone on for ``judged_s``
    seconds, as far as a week shows.
    """

    per_day: float
    is_expected: bool
    sent_per_day: float
    judged_s: float = 0.0

    def left_s(self, after_s: float) -> float | None:
        """Seconds from now to so many seconds of judging, 0 once they are over; None: not known.

        >>> one = JudgedPace(20.0, False, 20.0, 2.5 * DAY_S)
        >>> one.left_s(7.0 * DAY_S) / DAY_S, one.left_s(DAY_S)
        (4.5, 0.0)
        """
        left = after_s - self.judged_s
        return None if left > 0 and self.judged_s >= RECENT_DAYS * DAY_S else max(0.0, left)

    def assumed(self) -> Assumed:
        """What to plan with."""
        sent = max(self.sent_per_day, self.per_day)
        return Assumed(sent / DAY_MINUTES, USUAL_MEAN, OFFLINE_CORRELATION)


async def judged_pace(
    settings: Settings,
    clock: Callable[[], float],
    inputs: tuple[Connection, Sequence[str]],
    output: tuple[Connection, str] | None,
) -> JudgedPace | None:
    """By what lies on topics that are there; None where nothing is sent, or all is left out.

    ``output`` is the topic of scores, if there is one. Raises ``DependencyRefused``.
    """
    now = clock()
    sent = await _sent_a_day(*inputs, now)
    found = None if output is None else await _scored(*output, sent, now)
    if found is not None:
        return found
    if not sent or not settings.sampling.rate:
        return None
    assumed = JudgedPace(0.0, True, sent).assumed()
    prices = await _prices(settings) or (0.0, 0.0)
    expected = bought(settings, assumed, typical(settings.judge, prices))
    return JudgedPace(expected.per_day, True, sent)


async def _prices(settings: Settings) -> tuple[float, float] | None:
    """None where they do not matter: to look them up takes seconds, at first."""
    if settings.limits.usd_per_day is None or settings.judge.kind == "offline":
        return None
    return await asyncio.to_thread(price_per_million, settings.judge)


async def _scored(connection: Connection, topic: str, sent: float, now: float) -> JudgedPace | None:
    """By the whole days of a week, like the exporter's period."""
    scan, bounds = await _scan(connection), day_bounds(now)
    try:
        counts = await scan.counts(topic, bounds)
    finally:
        await scan.stop()
    per_day = pace(counts)
    if per_day is None:
        return None
    began = next(bound for bound, count in zip(bounds, counts, strict=False) if count)
    return JudgedPace(per_day, False, sent, now - began)


async def _sent_a_day(connection: Connection, topics: Sequence[str], now: float) -> float:
    """Of all topics; those of the last 24 hours where there is no whole day yet."""
    if not topics:
        return 0.0
    scan = await _scan(connection)
    try:
        found = 0.0
        for topic in topics:
            per_day = pace(await scan.counts(topic, day_bounds(now)))
            if per_day is None:
                (today,) = await scan.counts(topic, [int(now) - DAY_S, int(now) + DAY_S])
                per_day = float(today)
            found += per_day
        return found
    finally:
        await scan.stop()


async def _scan(connection: Connection) -> TopicScan:
    return await one_shot.scan(connection, Health(time.monotonic), LIMIT_S)
