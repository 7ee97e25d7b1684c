"""How many are judged a day: as the scores topic has it, else as the traffic and limits allow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from monitor.app.inspection import price_per_million
from monitor.config import Settings
from monitor.doctor.applications import (
    LEAST_KNOWN_S,
    NOTHING_SEEN,
    SeenApplications,
    SpentDay,
    seconds_seen,
    seen_applications,
)
from monitor.exporter.period import ScoredPace, first_record, scored_pace
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.kafka.replay import TopicScan
from monitor.plan.first_evidence import span_of
from monitor.plan.plan import Assumed, bought, typical
from monitor.plan.quantities import OFFLINE_CORRELATION, USUAL_MEAN
from monitor.plan.spend import DAY_MINUTES
from monitor.runtime.health import Health
from monitor.stats.period import (
    DAY_S,
    RECENT_DAYS,
    HorizonSpan,
    began_on,
    day_bounds,
)

#: Seconds to connect.
LIMIT_S: Final = 10.0


class JudgedPace(NamedTuple):
    """Judged interactions a day; ``is_expected``: nothing is judged yet, and so many would be.

    ``sent_per_day`` are the interactions that they are taken from. ``seen`` are the applications
    and judges that they are of, as far as that could be read. ``others_per_day`` are score records
    that teach nothing: over budget, forced, failed, unscorable, or of no watched metric. ``span``
    is what an exporter takes; None: what so many ask for. ``first_s``: the pace is of so many
    seconds, the first ones; None: of whole days.
    """

    per_day: float
    is_expected: bool
    sent_per_day: float
    seen: SeenApplications = NOTHING_SEEN
    others_per_day: float = 0.0
    span: HorizonSpan | None = None
    first_s: float | None = None

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

    None, too, as long as nothing is judged, where applications have rates of their own.
    ``output`` is the topic of scores, if there is one. Raises ``DependencyRefused``.
    """
    now = clock()
    sent, first_s = await _sent_a_day(*inputs, now)
    found = None if output is None else await _scored(settings, *output, sent, now)
    if found is not None:
        return found
    if not sent or not settings.only_rate:
        return None
    assumed = JudgedPace(0.0, True, sent).assumed()
    prices = await _prices(settings) or (0.0, 0.0)
    expected = bought(settings, assumed, typical(settings.judge, prices))
    return JudgedPace(expected.per_day, True, sent, first_s=first_s)


async def _prices(settings: Settings) -> tuple[float, float] | None:
    """None where they do not matter: to look them up takes seconds, at first."""
    if settings.limits.usd_per_day is None or not settings.judge.asks_a_model:
        return None
    return await asyncio.to_thread(price_per_million, settings.judge)


async def _scored(
    settings: Settings, connection: Connection, topic: str, sent: float, now: float
) -> JudgedPace | None:
    """By the whole days of a week, like the exporter's period, from the first record on.

    The broker counts records. How many of them are scored is counted as exporters do; where that
    stops early, since they are enough, or takes too long, it is taken from those that are read.
    """
    scan = await _scan(connection)
    try:
        found = await _record_pace(scan, topic, now)
        if found is None:
            return None
        paced = await _paced(scan, topic, now) if found.has_day else None
        span = span_of(settings, found.per_day())
        if paced is not None and settings.drift.period_s is None:
            span = paced.span
        seen = await seen_applications(settings, scan, span, (found.began, found.until), now)
    finally:
        await scan.stop()
    records, all_records = found.per_day(seen.spent), found.per_day()
    share = 1.0 if seen.share_scored is None else seen.share_scored
    if paced is None:  # as exporters will, once there is a whole day
        span = span_of(settings, share * records)
    elif paced.share is not None and found.first_s is None:
        share = paced.share
    per_day = share * seen.share_watched * records
    return JudgedPace(per_day, False, sent, seen, all_records - per_day, span, found.first_s)


class _RecordPace(NamedTuple):
    """So many records from ``began`` to ``until``.

    Those are whole days; or ``first_s`` seconds, the first ones that there are. ``has_day``: some
    are of a day that is over.
    """

    number: int
    began: float
    until: float
    has_day: bool
    first_s: float | None = None

    def per_day(self, spent: Collection[SpentDay] = ()) -> float:
        """How many a day; of the days of ``spent`` the money did not reach, see ``seconds_seen``.

        >>> evening = _RecordPace(100, DAY_S - 3_600.0, DAY_S + 3_600.0, True, 7_200.0)
        >>> evening.per_day(), evening.per_day([(0.0, 86_400.0), (86_400.0, 172_800.0)])
        (1200.0, 50.0)
        """
        seen_s = seconds_seen(self.began, self.until, spent)
        return self.number / max(self.first_s or 0.0, seen_s) * DAY_S


async def _record_pace(scan: TopicScan, topic: str, now: float) -> _RecordPace | None:
    """Of the last week; or from the first record on, where it began later, and by today's, too.

    None without any.
    """
    midnight = day_bounds(now)[-1]
    bounds = [*day_bounds(now), int(now) + 1, int(now) + DAY_S]
    *days, today, later = await scan.counts(topic, bounds)
    recent, begun = len(days) - RECENT_DAYS, began_on(days)
    has_day = any(days[recent:])
    if not has_day and not today:  # the clocks of all who send are ahead, if there is any
        return _RecordPace(later, now, now, has_day, LEAST_KNOWN_S) if later else None
    if has_day and begun is not None and begun < recent:
        return _RecordPace(sum(days[recent:]), bounds[recent], midnight, has_day)
    first = begun if has_day and begun is not None else len(days)
    counts = [*days, today][first:]
    began = float(await first_record(scan, topic, bounds[first:-1], counts))
    if midnight - began >= DAY_S:
        return _RecordPace(sum(days[first:]), began, midnight, has_day)
    first_s = max(LEAST_KNOWN_S, now - began)
    return _RecordPace(sum(counts), began, now, has_day, first_s)


async def _paced(scan: TopicScan, topic: str, now: float) -> ScoredPace | None:
    """What exporters go by; None where to count it takes longer than anybody waits here."""
    try:
        async with asyncio.timeout(LIMIT_S):
            return await scored_pace(scan, topic, now)
    except TimeoutError:
        return None


async def _sent_a_day(
    connection: Connection, topics: Sequence[str], now: float
) -> tuple[float, float | None]:
    """Of all topics; and of how many seconds that is where the largest one has no whole day."""
    if not topics:
        return 0.0, None
    scan = await _scan(connection)
    try:
        found = [await _record_pace(scan, topic, now) for topic in topics]
    finally:
        await scan.stop()
    known = [each for each in found if each is not None]
    largest = max(known, key=lambda each: each.per_day(), default=None)
    return sum(each.per_day() for each in known), None if largest is None else largest.first_s


async def _scan(connection: Connection) -> TopicScan:
    return await one_shot.scan(connection, Health(time.monotonic), LIMIT_S)
