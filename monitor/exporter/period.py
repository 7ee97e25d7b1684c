"""For how long the score records ask to count, where ``drift.period`` leaves it to them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.kafka.replay import TopicScan
from monitor.records import Outcome, Reason
from monitor.stats.period import (
    DAY_S,
    ENOUGH,
    LEAST_SEEN_S,
    MOST_PER_DAY,
    HorizonSpan,
    day_bounds,
    horizon_span,
    is_first_alone,
    pace,
    part_seen,
    that_count,
)

#: Records that are looked at for the share that is scored where it only decides whether slots are
#: held to learn from, in so many runs over the days.
LOOKED_AT: Final = 2_000
RUNS: Final = 20
#: A day that has been over for so many seconds is not counted anew: records may come late.
OVER_S: Final = 3_600
#: A day, an hour and so on are looked at in so many parts, down to parts of ``LEAST_SEEN_S``.
_STEPS: Final = 24


class ScoredPace(NamedTuple):
    """Which share of the records is scored, and what they ask for.

    None where so many are that they were not counted.
    """

    share: float | None
    span: HorizonSpan


async def fit(scan: TopicScan, topic: str, aggregator: ScoreAggregator, now: float) -> None:
    """Give an aggregator that has read nothing yet its span; ``now`` is in epoch seconds.

    Raises ``DependencyRefused`` when the topic is missing or may not be read.
    """
    if aggregator.auto_period:
        aggregator.begin_anew(await asked_for(scan, topic, now))


async def asked_for(
    scan: TopicScan, topic: str, now: float, counted: MutableMapping[int, int] | None = None
) -> HorizonSpan:
    """``scored_pace``, but only what it asks for."""
    return (await scored_pace(scan, topic, now, counted)).span


async def scored_pace(
    scan: TopicScan, topic: str, now: float, counted: MutableMapping[int, int] | None = None
) -> ScoredPace:
    """By the number of scored records of the last whole days, in the broker's time.

    What is refused, since the money is spent, has a record, too, and the money may be spent in the
    first minutes of a day. So they are counted one by one, from the latest day back, until there
    are enough for the shortest period. A first day that is alone counts from its first record on,
    unless its money was spent: that is for a whole day.
    ``counted`` keeps whole days, by when they begin, where they have been over for an hour.
    """
    bounds = day_bounds(now)
    records = await scan.counts(topic, bounds)
    of = that_count(records)
    days = list(pairwise(bounds))[of]
    length = float(len(days))
    if is_first_alone(records):
        start, until = days[0]
        began = await first_record(scan, topic, [start], records[of])
        # Last: what is asked of a client that has read to an end waits for its fetch.
        if not await _is_spent(scan, topic, days[0]):
            length = part_seen(began, until)
    counted, enough, found = {} if counted is None else counted, ENOUGH * length, 0
    for day in reversed(days):
        if found >= enough:
            break
        kept = counted if day[1] <= now - OVER_S else {}
        found += await _scored(scan, topic, day, math.ceil(enough) - found, kept)
    if not found:
        return ScoredPace(0.0 if days else None, horizon_span(None))
    if found < enough:
        return ScoredPace(found / sum(records[of]), horizon_span(found / length))
    per_day = sum(records[of]) / length
    if per_day > MOST_PER_DAY:
        per_day *= await _share(scan, topic, days[0][0], days[-1][1])
    return ScoredPace(None, horizon_span(max(per_day, ENOUGH)))


async def first_record(
    scan: TopicScan, topic: str, starts: Sequence[int], counts: Sequence[int]
) -> int:
    """About when the first record of some days is of, to a few minutes, in epoch seconds.

    The days begin at ``starts``, with so many records each. Raises ``DependencyRefused``.
    """
    began, length_s = first_bound(starts, counts), DAY_S
    while length_s > LEAST_SEEN_S:
        step_s = length_s // _STEPS
        within = [began + number * step_s for number in range(_STEPS + 1)]
        began, length_s = first_bound(within, await scan.counts(topic, within)), step_s
    return began


def first_bound(bounds: Sequence[int], counts: Sequence[int]) -> int:
    """Where the first part begins that has any; where all begin, if none has.

    >>> first_bound([10, 20, 30, 40], [0, 3, 1]), first_bound([10, 20, 30], [0, 0])
    (20, 10)
    """
    # None has where times are not in their order on the topic.
    return next((at for at, count in zip(bounds, counts, strict=False) if count), bounds[0])


async def _scored(
    scan: TopicScan,
    topic: str,
    day: tuple[int, int],
    most: int,
    counted: MutableMapping[int, int],
) -> int:
    """How many are scored on a day; no more than ``most`` are counted."""
    start, until = day
    if start in counted:
        return counted[start]
    found = 0
    records = scan.records(topic, start_ms=1000 * start, until_ms=1000 * until, strictly=True)
    async for record in records:
        found += is_scored(record.value)
        if found >= most:
            return found
    counted[start] = found
    return found


async def _is_spent(scan: TopicScan, topic: str, day: tuple[int, int]) -> bool:
    """Whether some records of a day were refused, since its money was spent."""
    start, until = day
    records = scan.spread(topic, 1000 * start, RUNS, LOOKED_AT, until_ms=1000 * until)
    refused = [is_for_lack_of_money(record.value) async for record in records]
    return any(refused)


async def _share(scan: TopicScan, topic: str, start: int, until: int) -> float:
    """About which share of the records between these times is scored."""
    scored = number = 0
    async for record in scan.spread(topic, 1000 * start, RUNS, LOOKED_AT, until_ms=1000 * until):
        scored, number = scored + is_scored(record.value), number + 1
    return scored / number if number else 0.0


def is_scored(value: bytes | None) -> bool:
    """Whether it is a score record of an interaction that counts: see ``is_evidence``.

    >>> is_scored(b'{"outcome": "scored", "sampling": {"u": 0.1}, "scores": {"faithfulness": 1}}')
    True
    """
    # These are many, and most of them may not be scored: no model is made of any.
    if value is None or b'"scored"' not in value:
        return False
    try:
        return is_evidence(json.loads(value))
    except (ValueError, RecursionError):
        return False


def is_for_lack_of_money(value: bytes | None) -> bool:
    """Whether it is the record of an interaction that the day's money did not reach for.

    >>> is_for_lack_of_money(b'{"outcome": "over_budget", "reason": "usd_per_day"}')
    True
    """
    if value is None or b'"usd_per_day"' not in value:
        return False
    try:
        record = json.loads(value)
        return (record["outcome"], record["reason"]) == (Outcome.OVER_BUDGET, Reason.USD_PER_DAY)
    except (ValueError, RecursionError, TypeError, KeyError):
        return False


def is_evidence(record: Any, metrics: Collection[str] | None = None) -> bool:
    """Whether a score record, as JSON, is one that evidence and baselines are made of.

    Scored, with a value (of one of the ``metrics``, if any are given), and with a place among the
    others: an interaction that somebody has forced to be judged has none.
    """
    try:
        is_placed = record["outcome"] == Outcome.SCORED and record["sampling"]["u"] is not None
        values: Mapping[str, object] = record["scores"]
        asked = values if metrics is None else metrics
        return is_placed and any(isinstance(values.get(name), int | float) for name in asked)
    except (TypeError, KeyError, AttributeError):
        return False


def of_times(times: Collection[float], now: float, spent: Collection[float] = ()) -> HorizonSpan:
    """The same from the times of all records that count, in epoch seconds.

    ``spent`` are those of records that the day's money did not reach for.
    """
    bounds = day_bounds(now)
    by_day = Counter(int(time) // DAY_S * DAY_S for time in times)
    counts = [by_day[day] for day in bounds[:-1]]
    start = bounds[that_count(counts).start]
    if not is_first_alone(counts) or any(start <= time < start + DAY_S for time in spent):
        return horizon_span(pace(counts))
    began = min(time for time in times if start <= time < start + DAY_S)
    return horizon_span(pace(counts, part_seen(began, start + DAY_S)))
