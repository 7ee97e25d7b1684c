"""V by clusters: how much the answers of one session, or one user, repeat each other.

``monitor/stats/dependence.py`` takes neighbours for clusters. Where records say what belongs
together that is known better. A cluster is what has one value of the attribute within an hour.
"""

from __future__ import annotations

import math
from typing import Final

from monitor.exporter.scores.observation import NO_CLUSTER, Observation
from monitor.stats.dependence import in_steps, is_beyond_chance
from monitor.stats.sums import ENOUGH_SCORED, SCALE, Sums

HOUR_S: Final = 3_600
#: Fewer degrees of freedom tell nothing of a variance.
_ENOUGH_FREEDOM: Final = 10
#: ΣWG and ΣWH of a cluster.
_ClusterTotals = tuple[int, int]
_NONE: Final[_ClusterTotals] = (0, 0)


class _HourOfMetric:
    """The slots of one hour: integers, so that they may come and go in any order."""

    def __init__(self) -> None:
        self.clusters: dict[int, _ClusterTotals] = {}
        self.alone = self.scored = 0
        self._g = self._h = self._gg = self._gh = self._hh = 0
        self._w2g2 = self._w2gh = self._w2h2 = 0

    def change(self, cluster: int, sums: Sums, sign: int) -> None:
        """A slot comes (+1), or goes (−1)."""
        self.scored += sign * sums.scored
        self._g += sign * sums.wg
        self._h += sign * sums.wh
        self._w2g2 += sign * sums.w2g2
        self._w2gh += sign * sums.w2gh
        self._w2h2 += sign * sums.w2h2
        if cluster == NO_CLUSTER:
            self.alone += sign * sums.scored
            self._square((sums.wg, sums.wh), sign)
            return
        before = self.clusters.get(cluster, _NONE)
        now = before[0] + sign * sums.wg, before[1] + sign * sums.wh
        self._square(before, -1)
        self._square(now, +1)
        if now == _NONE:  # nothing of it has a value, perhaps nothing ever had
            self.clusters.pop(cluster, None)
        else:
            self.clusters[cluster] = now

    def _square(self, parts: _ClusterTotals, sign: int) -> None:
        g, h = parts
        self._gg += sign * g * g
        self._gh += sign * g * h
        self._hh += sign * h * h

    def spread(self) -> tuple[int, float, float]:
        """Degrees of freedom, Σ(ΣWe)² over clusters (corrected for these), and Σ(We)²."""
        n = len(self.clusters) + self.alone
        if n <= 1 or self._h <= 0:
            return 0, 0.0, 0.0
        theta = self._g / self._h
        between = self._gg - 2.0 * theta * self._gh + theta * theta * self._hh
        within = self._w2g2 - 2.0 * theta * self._w2gh + theta * theta * self._w2h2
        return n - 1, n / (n - 1) * between / SCALE, within


class ClusterSums:
    """The slots of one application and judge, by hours, metrics and clusters.

    Each hour is held against its own mean: a day that is worse than the one before is no
    dependence. ``period_s`` is what the horizon moves by.
    """

    def __init__(self, period_s: int) -> None:
        # Whole numbers of them make a period, whose slots are forgotten all at once.
        self._unit_s = math.gcd(HOUR_S, period_s)
        self._hours: dict[int, dict[str, _HourOfMetric]] = {}
        self._oldest = 0

    def add(self, event_time: float, slot: Observation, sign: int) -> None:
        """A slot counts from now on (+1), or no longer (−1); what was dropped is ignored."""
        number = math.floor(event_time) // self._unit_s
        if number < self._oldest:
            return
        hour = self._hours.setdefault(number, {})
        for metric, sums in zip(slot.metrics, slot.all_terms(), strict=True):
            found = hour.get(metric)
            if found is None:
                found = hour[metric] = _HourOfMetric()
            found.change(slot.cluster, sums, sign)

    def drop_before(self, start: float) -> None:
        """Forget the hours that end at or before this time; in others slots go one by one."""
        self._oldest = max(self._oldest, math.floor(start) // self._unit_s)
        for hour in [hour for hour in self._hours if hour < self._oldest]:
            del self._hours[hour]

    def dependence(self, metric: str) -> float:
        """V of a metric; 1 while there are too few scored slots to tell."""
        hours = [found for hour in self._hours.values() if (found := hour.get(metric))]
        if sum(found.scored for found in hours) < ENOUGH_SCORED:
            return 1.0
        freedom, between, within = zip(*(found.spread() for found in hours), strict=True)
        total = math.fsum(within)
        if sum(freedom) < _ENOUGH_FREEDOM or total <= 0.0:
            return 1.0
        v = math.fsum(between) / total
        return in_steps(v) if is_beyond_chance(v, sum(freedom)) else 1.0
