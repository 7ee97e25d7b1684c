"""How far back records count."""

from __future__ import annotations

import math


def horizon_start(now: float, period_s: int, longest_window_s: int, bucket_s: int) -> int:
    """The first event time (seconds since the epoch) that still counts at ``now``.

    The start of the previous epoch-aligned period, so that between one and two periods of
    evidence count; or the start of the oldest bucket of the longest window, if that is earlier.

    >>> day = 86_400
    >>> horizon_start(10.5 * day, day, 3_600, 60) == 9 * day
    True
    >>> horizon_start(10.5 * day + 30, day, 7 * day, 60) == 3.5 * day + 60
    True
    """
    second = math.floor(now)
    previous_period = (second // period_s - 1) * period_s
    buckets = -(-longest_window_s // bucket_s)
    oldest_bucket = (second // bucket_s - buckets + 1) * bucket_s
    return min(previous_period, oldest_bucket)
