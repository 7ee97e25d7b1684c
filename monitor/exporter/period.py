"""Which period the score records ask for, where ``drift.period`` leaves it to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.kafka.replay import TopicScan
from monitor.stats.period import DAY_S, day_bounds, pace, period_days


async def fit(scan: TopicScan, topic: str, aggregator: ScoreAggregator, now: float) -> None:
    """Give an aggregator that has read nothing yet its period; ``now`` is in epoch seconds.

    Raises ``DependencyRefused`` when the topic is missing or may not be read.
    """
    if aggregator.auto_period:
        aggregator.begin_anew(await asked_for(scan, topic, now))


async def asked_for(scan: TopicScan, topic: str, now: float) -> int:
    """Seconds: by the number of records of the last whole days, in the broker's time."""
    return DAY_S * period_days(pace(await scan.counts(topic, day_bounds(now))))


def of_times(times: Iterable[float], now: float) -> int:
    """The same from the times of all records, in epoch seconds."""
    by_day = Counter(int(time) // DAY_S * DAY_S for time in times)
    return DAY_S * period_days(pace([by_day[day] for day, _ in pairwise(day_bounds(now))]))
