"""US dollars a day: what judging has cost since midnight, and whether one more is affordable.

The truth is on the topic of score records, which every replica reads: it knows what all have spent,
and a restart forgets nothing. What this process has just spent counts before it comes back there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta, tzinfo
from typing import Final, NamedTuple

#: Where a score record comes from: topic, partition and offset of its interaction.
SourceOffset = tuple[str, int, int]
#: Sums of many small costs are not exact.
_ROUNDING = 1e-9
#: In the place of the state of a model that today's money does not pay for any more.
OVER_BUDGET: Final = "over_budget"
#: States of a model that may be asked, as ``ProviderState`` has them.
CAN_JUDGE: Final = ("judging", "waiting")


def over_budget(state: str) -> str:
    """The state of a model when today's money is spent: one that could judge does not.

    >>> over_budget("judging"), over_budget("stopped")
    ('over_budget', 'stopped')
    """
    return OVER_BUDGET if state in CAN_JUDGE else state


class BudgetStatus(NamedTuple):
    """US dollars: what is left of today's."""

    left: float
    per_day: float
    timezone: str


class Budget:
    """All that is spent in a day of ``zone``; times are epoch seconds.

    A judgement is affordable while what is spent, and what those under way will probably cost,
    leave room for its own probable cost: the mean of those seen. Where nobody knows yet what one
    costs, they take turns. So a day ends at most at the budget and what those under way, as many
    as may be, then cost beyond the mean; or at what a single one costs, if that alone is more.
    """

    def __init__(self, usd_per_day: float, zone: tzinfo) -> None:
        self.usd_per_day = usd_per_day
        self._zone = zone
        self._day = (0.0, 0.0)
        self._recorded = self._unrecorded = 0.0
        self._own: dict[SourceOffset, float] = {}
        self._under_way = 0
        self._seen, self._cost = 0, 0.0
        self._is_priced, self._first = False, asyncio.Lock()

    def day_start(self, now: float) -> float:
        """The latest midnight of the zone."""
        self._roll(now)
        return self._day[0]

    def day_end(self, now: float) -> float:
        """The next midnight of the zone."""
        self._roll(now)
        return self._day[1]

    def spent(self, now: float) -> float:
        """Today, by all; without what is under way."""
        self._roll(now)
        return self._recorded + self._unrecorded + sum(self._own.values())

    def left(self, now: float) -> float:
        """Of today's budget, never less than 0."""
        return max(0.0, self.usd_per_day - self.spent(now))

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until it is known what a judgement costs, or it is ours to find out while inside."""
        async with AsyncExitStack() as stack:
            if not self._is_priced:
                await stack.enter_async_context(self._first)
            if self._is_priced:
                await stack.aclose()
            yield

    def admit(self, now: float) -> bool:
        """Whether one more may be judged; if so, it is under way until ``settle``."""
        if not self._has_room(now, self._under_way + 1):
            return False
        self._under_way += 1
        return True

    def is_spent(self, now: float) -> bool:
        """Whether the day leaves room for not even one more."""
        return not self._has_room(now, 1)

    def _has_room(self, now: float, judgements: int) -> bool:
        mean = self._cost / self._seen if self._seen else 0.0
        spent, limit = self.spent(now), self.usd_per_day + _ROUNDING
        return spent + _ROUNDING < self.usd_per_day and spent + judgements * mean <= limit

    def settle(self, now: float, place: SourceOffset, usd: float, *, answered: bool = True) -> None:
        """What was admitted has ended, and has cost so much; its record will say the same.

        ``answered``: also where that is nothing, since a model did what it was asked.
        """
        self._roll(now)
        self._is_priced = self._is_priced or answered
        self._under_way -= 1
        self._learn(usd)
        if usd > 0:
            self._own[place] = self._own.get(place, 0.0) + usd

    def spend(self, now: float, usd: float) -> None:
        """Something was spent that stands on no record yet."""
        self._roll(now)
        self._unrecorded += usd

    def put_on_record(self, now: float, place: SourceOffset) -> float:
        """All that stands on no record: the one of this place will say it."""
        self._roll(now)
        usd, self._unrecorded = self._unrecorded, 0.0
        if usd > 0:
            self._own[place] = self._own.get(place, 0.0) + usd
        return usd

    def recorded(
        self,
        now: float,
        judged_at: float,
        place: SourceOffset,
        usd: float,
        rechecks_usd: float = 0.0,
    ) -> None:
        """A score record says so, of this process or of another.

        ``rechecks_usd`` is what it says of other judgements than its own.
        """
        self._roll(now)
        total = usd + rechecks_usd
        if judged_at < self._day[0] or total <= 0:
            return
        self._recorded += total
        if place in self._own:
            left = self._own.pop(place) - total
            if left > _ROUNDING:
                self._own[place] = left
        else:
            self._learn(usd)

    def _learn(self, usd: float) -> None:
        if usd > 0:
            self._is_priced = True
            self._seen, self._cost = self._seen + 1, self._cost + usd

    def _roll(self, now: float) -> None:
        """At midnight all begins anew, but for what a judgement costs."""
        if self._day[0] <= now < self._day[1]:
            return
        self._day = _day(now, self._zone)
        self._recorded = self._unrecorded = 0.0
        self._own.clear()
        if self._seen:
            self._seen, self._cost = 1, self._cost / self._seen


class AsideBudget:
    """The day's budget for judgements beside the traffic: second ones, and those of canaries.

    They come from the same money, wait for none, and stand on no record of their own. ``clock``
    gives epoch seconds. Without a ``budget`` there is always money.
    """

    def __init__(self, budget: Budget | None, clock: Callable[[], float]) -> None:
        self._budget, self._clock = budget, clock

    def has_money(self) -> bool:
        """Whether one may be judged now: it may cost more than what is left."""
        return self._budget is None or self._budget.left(self._clock()) > 0

    def spend(self, usd: float) -> None:
        """One call was paid for."""
        if self._budget is not None:
            self._budget.spend(self._clock(), usd)


def _day(now: float, zone: tzinfo) -> tuple[float, float]:
    """The midnights around a time; days of a change of clocks are 23 or 25 hours long."""
    today = datetime.fromtimestamp(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = (today + timedelta(days=1)).replace(fold=0)
    return today.replace(fold=0).timestamp(), tomorrow.timestamp()
