"""How long blocks are, and which share of the rate is taken: what the budget and the lag allow.

Looked at once a minute at most. A block of twice the length needs about half the judgements, so
the length is the power of two whose picks come nearest; what a minute leaves unspent, or
spends too much, moves the next minutes' target: between two lengths they take turns, so that the
budget is spent, and not more.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from monitor.sampling.blocks import LONGEST, LONGEST_WAIT_S, BlockPlan, OpenPicks
from monitor.sampling.recent import Recent

LOOK_S: Final = 60.0
#: The first look comes when it is known what a judgement takes, but not before so many seconds.
FIRST_LOOK_S: Final = 10.0
#: What blocks begin with where there is a limit: too long costs a minute of judgements, too short
#: many minutes, until all that was taken too much is judged.
FIRST_LENGTH: Final = 64
#: How much of a limit is planned for: judgements are not alike.
HEADROOM: Final = 0.95
#: What is unspent, or spent too much, counts up to so many minutes of budget.
_MOST_MINUTES: Final = 4.0
#: The part of it that moves a target.
_PAYBACK: Final = 0.5
#: One look changes the length by at most this factor.
_LARGEST_STEP: Final = 16
_LEAST_SHARE: Final = 1 / 1_024
#: Half-way between the picks of a length and those of twice that length, as a part of the first.
_HALF_WAY: Final = 0.75
NOTHING: Final = OpenPicks()
_WEIGHT: Final = 0.05
#: What an older pick still counts, in shares of the latest ones.
_KEEP: Final = 0.99
#: Of the day's money a burst leaves so much that the rest of the day, if it is longer than so many
#: seconds of burst, goes on at half its pace at least.
_BURST_S: Final = 300.0


class JudgementCost(NamedTuple):
    """What one judgement takes."""

    calls: float
    tokens: float
    usd: float
    seconds: float


class PaceBounds(NamedTuple):
    """What may be taken; None: unlimited. ``usd_per_minute`` is always for all replicas.

    ``judgements_per_minute`` is what everything else leaves room for, already a replica's part.
    """

    concurrency: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    usd_per_minute: float | None = None
    judgements_per_minute: float | None = None

    def part(self, share: float) -> PaceBounds:
        """A replica's part of the requests and tokens of all.

        >>> PaceBounds(8, 60).part(0.5)[:3]
        (8, 30.0, None)
        """
        requests, tokens = (
            None if each is None else each * share
            for each in (self.requests_per_minute, self.tokens_per_minute)
        )
        return self._replace(requests_per_minute=requests, tokens_per_minute=tokens)


class Costs:
    """The mean cost of the latest judgements.

    >>> costs = Costs()
    >>> costs.judged(JudgementCost(2, 1_000, 0.01, 3.0)); costs.mean
    JudgementCost(calls=2.0, tokens=1000.0, usd=0.01, seconds=3.0)
    """

    def __init__(self) -> None:
        self.mean: JudgementCost | None = None

    def judged(self, cost: JudgementCost) -> None:
        """One more judgement."""
        before = self.mean or cost
        self.mean = JudgementCost(
            *(b + _WEIGHT * (c - b) for b, c in zip(before, cost, strict=True))
        )


class LatestPicks:
    """How many of the latest interactions were picked, older ones counting less and less.

    >>> latest = LatestPicks()
    >>> latest.add(4.0); latest.add(4.0); latest.share
    0.25
    """

    def __init__(self) -> None:
        self._picks = self._interactions = 0.0

    def add(self, interactions: float) -> None:
        """One more pick, which stands for so many interactions."""
        self._picks = _KEEP * self._picks + 1.0
        self._interactions = _KEEP * self._interactions + interactions

    @property
    def share(self) -> float:
        """The share that was picked; 1 before the first pick."""
        return self._picks / self._interactions if self._interactions else 1.0


class Spent(NamedTuple):
    """The latest minutes: picks of this replica, and dollars of all; what counts is their ratio."""

    picks: float
    usd: float


def affordable(allowed: PaceBounds, cost: JudgementCost | None, spent: Spent) -> float | None:
    """Judgements a minute that every limit leaves room for; None while nothing is known.

    Of the money that all replicas share, each takes its part by spending more or less than it did.

    >>> bounds = PaceBounds(8, requests_per_minute=60)
    >>> affordable(bounds, JudgementCost(2, 0, 0, 1.0), Spent(100, 0))
    28.5
    """
    if cost is None:
        return None
    found = [allowed.concurrency * 60 / cost.seconds] if cost.seconds > 0 else []
    if allowed.requests_per_minute is not None and cost.calls > 0:
        found.append(allowed.requests_per_minute / cost.calls)
    if allowed.tokens_per_minute is not None and cost.tokens > 0:
        found.append(allowed.tokens_per_minute / cost.tokens)
    if allowed.judgements_per_minute is not None:
        found.append(allowed.judgements_per_minute)
    if allowed.usd_per_minute is not None and spent.usd > 0:
        found.append(spent.picks * allowed.usd_per_minute / spent.usd)
    return HEADROOM * min(found) if found else None


def room(allowed: PaceBounds, cost: JudgementCost | None, picks: float, left_s: float) -> float:
    """How many times as many judgements as ``picks`` a minute the limits leave room for.

    ``left_s`` are the seconds that the money of ``allowed`` has to last for.

    >>> cost = JudgementCost(2, 0, 0, 1.0)
    >>> round(room(PaceBounds(8, requests_per_minute=60), cost, 19.0, 3_600.0), 6)
    1.5
    >>> room(PaceBounds(8), None, 19.0, 3_600.0), room(PaceBounds(8, None, None, 1), None, 0, 900.0)
    (inf, 2.0)
    """
    most = affordable(allowed._replace(usd_per_minute=None), cost, Spent(picks, 0.0))
    found = most / picks if most is not None and picks > 0 else math.inf
    if allowed.usd_per_minute is None:
        return found
    return min(found, (left_s + _BURST_S) / (2 * _BURST_S)) if allowed.usd_per_minute > 0 else 1.0


def hastened(plan: BlockPlan, times: float) -> BlockPlan:
    """Up to so many times as many judgements: shorter blocks, then a larger share.

    Who is behind takes no more.

    >>> hastened(BlockPlan(32), 4.0), hastened(BlockPlan(32), 7.9)
    (BlockPlan(length=8, share=1.0), BlockPlan(length=8, share=1.0))
    >>> hastened(BlockPlan(2), 4.0), hastened(BlockPlan(1, 0.5), 4.0)
    (BlockPlan(length=1, share=2.0), BlockPlan(length=1, share=0.5))
    """
    length, share = plan
    if share < 1.0:
        return plan
    while length > 1 and times >= 2.0:
        length, times = length // 2, times / 2
    return BlockPlan(length, max(1.0, times) if length == 1 else 1.0)


class Pace:
    """Follows demand, budget and lag; times in seconds, ``length`` None: from the budget.

    ``sheds``: when more than ``behind_s`` behind, and not catching up, a smaller share is taken.
    A burst comes on top: what it takes does not count as demand. Until anybody knows the budget,
    blocks are of ``first``.

    >>> pace = Pace(None, sheds=True, behind_s=600.0)
    >>> pace.look(0.0, None, 0.0)
    BlockPlan(length=1, share=1.0)
    >>> for _ in range(800): pace.picked()
    >>> pace.look(60.0, 100.0, 0.0).length
    16
    """

    def __init__(self, length: int | None, *, sheds: bool, behind_s: float, first: int = 1) -> None:
        self._is_fixed = length is not None
        self._sheds, self._behind_s = sheds, behind_s
        self._base = self.plan = BlockPlan(length or first)
        self.times = 1.0
        self._picks, self._plain, self._covered = 0, 0.0, 0.0
        self._under_way = OpenPicks()
        self._recent, self._latest = Recent(), LatestPicks()
        self._has_budget = False
        #: Picks a minute that are expected without a burst.
        self.expected = 0.0
        self._looked_at: float | None = None
        self._carried = self._lag_s = 0.0

    def picked(
        self, times: float = 1.0, offsets: int | None = None, interactions: float = 1.0
    ) -> None:
        """One more interaction is to be judged, so many times likelier taken than without burst.

        ``offsets`` are those of its block, which may have closed early (None: it was full). It
        stands for so many ``interactions``.
        """
        self._latest.add(interactions)
        self._picks += 1
        self._plain += self.plan.length / self._base.length / times
        self._covered += (self.plan.length if offsets is None else offsets) / times

    @property
    def picked_share(self) -> float:
        """The share of the latest interactions that was picked."""
        return self._latest.share

    def is_due(self, now: float, *, costs_known: bool = False) -> bool:
        """Whether it is time for a look: once a minute, but sooner for the first with costs.

        Where the length is given nobody waits for costs, and no look is the first with them.
        """
        if self._looked_at is None:
            return True
        is_first = costs_known and not self._has_budget and not self._is_fixed
        return now - self._looked_at >= (FIRST_LOOK_S if is_first else LOOK_S)

    def demand(self, now: float) -> float:
        """Picks a minute since the last look."""
        return self.per_minute(self._picks, now)

    def per_minute(self, amount: float, now: float) -> float:
        """What has come since the last look, as that of a minute; 0 before the first."""
        elapsed_s = 0.0 if self._looked_at is None else now - self._looked_at
        return 60 * amount / elapsed_s if elapsed_s > 0 else 0.0

    def is_behind(self, lag_s: float) -> bool:
        """Whether there is no time for more."""
        return lag_s > self._behind_s or self._base.share < 1.0

    def burst(self, times: float) -> BlockPlan:
        """From now on up to so many times as many judgements, until told otherwise."""
        self.times = times
        self.plan = hastened(self._base, times)
        return self.plan

    def look(
        self,
        now: float,
        budget: float | None,
        lag_s: float,
        waiting: int = 0,
        under_way: OpenPicks = NOTHING,
    ) -> BlockPlan:
        """The plan from now on; ``budget`` is in judgements a minute, None while nobody knows.

        ``waiting`` are picks that wait for their turn. What is ``under_way`` counts as far as it
        has come: where blocks take minutes to fill, those that happen to close in one minute would
        say little of its traffic.
        """
        first = self._looked_at is None
        minutes = 0.0 if self._looked_at is None else (now - self._looked_at) / 60
        self._advance(under_way)
        demand = self._plain / minutes if minutes > 0 else 0.0
        length, share = self._base
        if not self._is_fixed and budget is not None and not first:
            self._carry(demand, budget, minutes, waiting)
            length = self._fitting(length, demand, budget, minutes)
            self._has_budget = True
        grows = lag_s > self._behind_s and lag_s >= self._lag_s and not first
        if self._sheds and grows and not self._is_fixed and length < LONGEST:
            length = max(length, 2 * self._base.length)
        elif self._sheds and grows:
            share = max(_LEAST_SHARE, share / 2)
        elif lag_s <= self._behind_s / 2:
            share = min(1.0, 2 * share)
        self._looked_at, self._lag_s = now, lag_s
        self._picks, self._plain, self._covered = 0, 0.0, 0.0
        before, self._base = self._base, BlockPlan(min(length, LONGEST), share)
        self.expected = demand * before.length / self._base.length
        return self.burst(self.times)

    def _advance(self, under_way: OpenPicks) -> None:
        """What has come of blocks that are not picked from yet, beyond what had at the last look.

        Those of a burst are shorter, and their picks count as much less.
        """
        picks = under_way.picks * self.plan.length / self._base.length
        self._plain = max(0.0, self._plain + picks - self._under_way.picks)
        self._covered = max(0.0, self._covered + under_way.offsets - self._under_way.offsets)
        self._under_way = OpenPicks(picks, under_way.offsets, under_way.slots)

    def _fill_minutes(self, demand: float) -> float:
        """How long it takes until another length holds everywhere, at least a minute."""
        found = self._under_way.slots / demand if demand > 0 else 0.0
        return min(LONGEST_WAIT_S / 60, max(1.0, found))

    def _carry(self, demand: float, budget: float, minutes: float, waiting: int) -> None:
        """What was left, or taken too much, up to some minutes' budget.

        What waits for more than a minute's budget was taken too much, whatever the minutes say:
        while many wait no more are taken, and demand looks as if it were the budget.
        """
        most = _MOST_MINUTES * budget * self._fill_minutes(demand)
        carried = self._carried + (budget - demand) * minutes
        if waiting > budget:
            carried = min(carried, budget - waiting)
        self._carried = min(most, max(-most, carried))

    def _fitting(self, length: int, demand: float, budget: float, minutes: float) -> int:
        """The length whose picks are nearest to what the budget leaves room for.

        Picks are as many as offsets by length. Were it the shortest with no more of them, a longer
        one would stay until more than a minute's budget is unspent. Where blocks close early,
        longer ones would not be fewer.
        """
        target = max(budget / 4, budget + _PAYBACK * self._carried / self._fill_minutes(demand))
        covered = self._recent.add(self._covered, minutes)
        if not covered > 0 or not target > 0:
            return length
        are_full = covered > demand * length / 2
        longest = length * _LARGEST_STEP if are_full else length
        found = max(1, length // _LARGEST_STEP)
        while _HALF_WAY * covered / found > target and found < longest:
            found *= 2
        return found
