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
    """All that is spent in a day of ``zone``: whoever spends asks here, and says here what it was.

    ``clock`` gives epoch seconds, and so are all times.

    A judgement is affordable while what is spent, and what those under way will probably cost,
    leave room for its own probable cost: the mean of those seen. Where nobody knows yet what one
    costs, they take turns. So a day ends at most at the budget and what those under way, as many
    as may be, then cost beyond the mean; or at what a single one costs, if that alone is more.

    Judgements beside the traffic, second ones and those of canaries, come from the same money: they
    begin while it ``has_money``, ``spend``, and stand on no record of their own.
    """

    def __init__(self, usd_per_day: float, zone: tzinfo, clock: Callable[[], float]) -> None:
        self.usd_per_day = usd_per_day
        self._zone, self._clock = zone, clock
        self._day = (0.0, 0.0)
        self._recorded = self._unrecorded = 0.0
        self._own: dict[SourceOffset, float] = {}
        self._under_way = 0
        self._seen, self._cost = 0, 0.0
        self._is_priced, self._first = False, asyncio.Lock()

    def day_start(self) -> float:
        """The latest midnight of the zone."""
        self._roll()
        return self._day[0]

    def day_end(self) -> float:
        """The next midnight of the zone."""
        self._roll()
        return self._day[1]

    def spent(self) -> float:
        """Today, by all; without what is under way."""
        self._roll()
        return self._recorded + self._unrecorded + sum(self._own.values())

    def left(self) -> float:
        """Of today's budget, never less than 0."""
        return max(0.0, self.usd_per_day - self.spent())

    def status(self) -> BudgetStatus:
        """Today's, to be shown."""
        return BudgetStatus(self.left(), self.usd_per_day, str(self._zone))

    def has_money(self) -> bool:
        """Whether any is left; what begins now may cost more."""
        return self.left() > 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until it is known what a judgement costs, or it is ours to find out while inside."""
        async with AsyncExitStack() as stack:
            if not self._is_priced:
                await stack.enter_async_context(self._first)
            if self._is_priced:
                await stack.aclose()
            yield

    def admit(self) -> bool:
        """Whether one more may be judged; if so, it is under way until ``settle``."""
        if not self._has_room(self._under_way + 1):
            return False
        self._under_way += 1
        return True

    def is_spent(self) -> bool:
        """Whether the day leaves room for not even one more."""
        return not self._has_room(1)

    def _has_room(self, judgements: int) -> bool:
        mean = self._cost / self._seen if self._seen else 0.0
        spent, limit = self.spent(), self.usd_per_day + _ROUNDING
        return spent + _ROUNDING < self.usd_per_day and spent + judgements * mean <= limit

    def settle(self, place: SourceOffset, usd: float, *, answered: bool = True) -> None:
        """What was admitted has ended, and has cost so much; its record will say the same.

        ``answered``: also where that is nothing, since a model did what it was asked.
        """
        self._roll()
        self._is_priced = self._is_priced or answered
        self._under_way -= 1
        self._learn(usd)
        if usd > 0:
            self._own[place] = self._own.get(place, 0.0) + usd

    def spend(self, usd: float) -> None:
        """Something was spent that stands on no record yet."""
        self._roll()
        self._unrecorded += usd

    def put_on_record(self, place: SourceOffset) -> float:
        """All that stands on no record: the one of this place will say it."""
        self._roll()
        usd, self._unrecorded = self._unrecorded, 0.0
        if usd > 0:
            self._own[place] = self._own.get(place, 0.0) + usd
        return usd

    def recorded(
        self,
        judged_at: float,
        place: SourceOffset,
        usd: float,
        rechecks_usd: float = 0.0,
    ) -> None:
        """A score record says so, of this process or of another.

        ``rechecks_usd`` is what it says of other judgements than its own.
        """
        self._roll()
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

    def _roll(self) -> None:
        """At midnight all begins anew, but for what a judgement costs."""
        now = self._clock()
        if self._day[0] <= now < self._day[1]:
            return
        self._day = day_of_money(now, self._zone)
        self._recorded = self._unrecorded = 0.0
        self._own.clear()
        if self._seen:
            self._seen, self._cost = 1, self._cost / self._seen


def day_of_money(now: float, zone: tzinfo) -> tuple[float, float]:
    """The midnights around a time; days of a change of clocks are 23 or 25 hours long."""
    today = datetime.fromtimestamp(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = (today + timedelta(days=1)).replace(fold=0)
    return today.replace(fold=0).timestamp(), tomorrow.timestamp()
