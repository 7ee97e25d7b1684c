"""For how long the score records ask to count, where ``drift.period`` leaves it to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.kafka.replay import TopicScan
from monitor.stats.period import DAY_S, HorizonSpan, day_bounds, horizon_span, pace


async def fit(scan: TopicScan, topic: str, aggregator: ScoreAggregator, now: float) -> None:
    """Give an aggregator that has read nothing yet its span; ``now`` is in epoch seconds.

    Raises ``DependencyRefused`` when the topic is missing or may not be read.
    """
    if aggregator.auto_period:
        aggregator.begin_anew(await asked_for(scan, topic, now))


async def asked_for(scan: TopicScan, topic: str, now: float) -> HorizonSpan:
    """By the number of records of the last whole days, in the broker's time."""
    return horizon_span(pace(await scan.counts(topic, day_bounds(now))))


def of_times(times: Iterable[float], now: float) -> HorizonSpan:
    """The same from the times of all records, in epoch seconds."""
    by_day = Counter(int(time) // DAY_S * DAY_S for time in times)
    return horizon_span(pace([by_day[day] for day, _ in pairwise(day_bounds(now))]))
