"""For how long the score records ask to count, where ``drift.period`` leaves it to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from monitor.errors import RecordSkipped
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.kafka.replay import TopicScan
from monitor.records import Outcome, read_score_record
from monitor.stats.period import DAY_S, HorizonSpan, day_bounds, horizon_span, pace

#: Records that are looked at for the share that is scored, in so many runs over the days.
LOOKED_AT: Final = 2_000
RUNS: Final = 20


async def fit(scan: TopicScan, topic: str, aggregator: ScoreAggregator, now: float) -> None:
    """Give an aggregator that has read nothing yet its span; ``now`` is in epoch seconds.

    Raises ``DependencyRefused`` when the topic is missing or may not be read.
    """
    if aggregator.auto_period:
        aggregator.begin_anew(await asked_for(scan, topic, now))


async def asked_for(scan: TopicScan, topic: str, now: float) -> HorizonSpan:
    """By the number of scored records of the last whole days, in the broker's time.

    The broker counts all: what is refused, since the money is spent, has a record, too. Which share
    is scored is told by some of them, the same for all who look on that day.
    """
    bounds = day_bounds(now)
    per_day = pace(await scan.counts(topic, bounds))
    if per_day is None:
        return horizon_span(None)
    scored = number = 0
    async for record in scan.spread(
        topic, 1000 * bounds[0], RUNS, LOOKED_AT, until_ms=1000 * bounds[-1]
    ):
        scored, number = scored + is_scored(record.value), number + 1
    return horizon_span(per_day * scored / number if scored else None)


def is_scored(value: bytes | None) -> bool:
    """Whether it is a score record of an interaction that was judged."""
    try:
        return value is not None and read_score_record(value).outcome == Outcome.SCORED
    except RecordSkipped:
        return False


def of_times(times: Iterable[float], now: float) -> HorizonSpan:
    """The same from the times of all records that are scored, in epoch seconds."""
    by_day = Counter(int(time) // DAY_S * DAY_S for time in times)
    return horizon_span(pace([by_day[day] for day, _ in pairwise(day_bounds(now))]))
