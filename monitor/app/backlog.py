"""What is unread when the scorer begins, and what judging it costs: said before it is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from monitor.app.formats import topic_formats
from monitor.app.judges import build_judges, unpriced, with_dry_run_judges
from monitor.app.policies import build_policies, has_budget
from monitor.app.start import start_rule
from monitor.config import Settings
from monitor.errors import TooLarge
from monitor.judge.protocol import CostMeter
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.kafka.replay import TopicScan, Unread
from monitor.records import Interaction
from monitor.records.durations import in_words
from monitor.runtime.health import Health
from monitor.scorer.intake import Policies
from monitor.scorer.judging import judge_input
from monitor.telemetry import ScorerTelemetry, new_registry

DAY_S: Final = 86_400
#: Records whose judgements are priced: the mean of more would hardly be another one.
MOST_PRICED: Final = 50
#: Partitions whose oldest unread record is looked at: each takes a request.
MOST_LOOKED_AT: Final = 20


class Backlog(NamedTuple):
    """``unread`` records, the oldest of so many seconds, and ``per_day`` of the last 24 hours.

    ``is_new``: the group has committed nothing. ``usd_each`` is the mean cost of a record, with
    those that are not sampled; None: the price of a model is not known, or there was nothing to
    price. ``is_asked``: a model is asked. ``has_budget``: it is bounded by ``limits.usd_per_day``.
    ``too_old`` is about how many of those unread are too old to be judged. ``is_priced``: the price
    of every model is known. ``oldest_s`` is by ``looked_at`` of the ``behind`` partitions that have
    something unread.
    """

    group_id: str
    is_new: bool
    unread: int
    oldest_s: float | None
    per_day: int
    usd_each: float | None
    is_asked: bool
    has_budget: bool
    too_old: int = 0
    is_priced: bool = True
    looked_at: int = 0
    behind: int = 0

    @property
    def usd(self) -> float | None:
        """What judging all that is unread costs; None: not known."""
        judged = self.unread - self.too_old
        return None if self.usd_each is None else judged * self.usd_each

    @property
    def usd_per_day(self) -> float | None:
        """What a day like the last one costs; None: not known."""
        return None if self.usd_each is None else self.per_day * self.usd_each

    def unbounded(self) -> str | None:
        """What a day costs that no budget bounds; None where one does, or nothing is paid for.

        A model whose price nobody knows has its own line.
        """
        if not self.is_asked or self.has_budget or not self.is_priced:
            return None
        if not self.usd_per_day:
            return "nothing came in the last day, so what a day costs is not known"
        return f"a day like the last one costs about {self.usd_per_day:.2f} USD"

    def in_words(self) -> str:
        """One line for people.

        >>> Backlog("g", True, 3000, 72000.0, 3600, 0.00047, True, False).in_words()
        'group g is new: 3,000 unread, the oldest 20 h old; judging them costs about 1.41 USD'
        >>> Backlog("g", False, 0, None, 0, None, False, False).in_words()
        'nothing is unread'
        """
        if not self.unread:
            return (
                f"group {self.group_id} is new: nothing is unread"
                if self.is_new
                else ("nothing is unread")
            )
        new = f"group {self.group_id} is new: " if self.is_new else ""
        age = self._age()
        if self.too_old:
            age += f", about {self.too_old:,} too old to be judged"
        cost = "" if not self.usd else f"; judging them costs about {self.usd:.2f} USD"
        return f"{new}{self.unread:,} unread{age}{cost}"

    def _age(self) -> str:
        if self.oldest_s is None:
            return ""
        age = f", the oldest {in_words(self.oldest_s)} old"
        if self.looked_at == self.behind:
            return age
        return f"{age} (in the {self.looked_at} of {self.behind} partitions with the most unread)"


async def backlog(
    settings: Settings,
    clock: Callable[[], float],
    inputs: Connection,
    health: Health,
    limit_s: float,
) -> Backlog:
    """Look at the input topics; nothing is joined, committed or asked of a model.

    ``inputs`` is the cluster they are on. ``clock`` gives epoch seconds. Raises
    ``DependencyRefused``.
    """
    group, topics = settings.kafka.group_id, settings.kafka.topics.interactions
    scan = await one_shot.scan(inputs, health, limit_s)
    try:
        now, start = clock(), start_rule(settings, clock)
        found = await scan.unread(group, topics, start, int((now - DAY_S) * 1000))
        seen = most_unread(found)
        heads = [await scan.one(*_place(one, one.start)) for one in seen]
        times = [head.timestamp / 1000 for head in heads if head is not None and head.timestamp > 0]
        judges = build_judges(settings, ScorerTelemetry(new_registry()))
        is_asked = any(each.section.asks_a_model for each in judges)
        sample = await _sampled(settings, scan, found, now)
    finally:
        await scan.stop()
    unread = sum(one.end - one.start for one in found)
    return Backlog(
        group,
        all(one.is_new for one in found),
        unread,
        max(0.0, now - min(times)) if times else None,
        sum(one.end - one.recent for one in found),
        sample.usd_each if is_asked else 0.0,
        is_asked,
        has_budget(settings),
        round(unread * sample.too_old),
        sample.is_priced,
        len(seen),
        sum(one.end > one.start for one in found),
    )


def most_unread(found: Sequence[Unread]) -> list[Unread]:
    """The partitions to look at: one that is hours behind mostly has much."""
    left = [one for one in found if one.end > one.start]
    return sorted(left, key=lambda one: one.start - one.end)[:MOST_LOOKED_AT]


def _place(one: Unread, offset: int) -> tuple[str, int, int]:
    return one.topic, one.partition, offset


class _Sample(NamedTuple):
    """What some records show: the mean cost of one that is not too old, the share that is."""

    usd_each: float | None
    too_old: float
    is_priced: bool


async def _sampled(
    settings: Settings, scan: TopicScan, found: Sequence[Unread], now: float
) -> _Sample:
    judges = with_dry_run_judges(settings, build_judges(settings, ScorerTelemetry(new_registry())))
    for each in judges:
        await each.judge.prepare()
    policies, costs, ages = build_policies(settings, judges, None), [], []
    formats = topic_formats(settings)
    oldest, starts = policies.oldest(now), {(one.topic, one.partition): one.start for one in found}
    for topic, partition, offset in _spread(found):
        record = await scan.one(topic, partition, offset)
        await formats.prepare([] if record is None else [record])
        interaction = None if record is None else formats.interaction_of(record)
        is_too_old = interaction is not None and interaction.event_time.timestamp() < oldest
        if offset >= starts[topic, partition]:
            ages.append(is_too_old)
        if record is not None and not is_too_old:
            costs.append(0.0 if interaction is None else await _cost(policies, interaction))
    is_priced = not unpriced(judges)
    usd_each = sum(costs) / len(costs) if costs and is_priced else None
    return _Sample(usd_each, sum(ages) / len(ages) if ages else 0.0, is_priced)


def _spread(found: Sequence[Unread]) -> list[tuple[str, int, int]]:
    """Places of at most ``MOST_PRICED`` records, evenly over what is unread or of the last day."""
    ranges = [(one, min(one.start, one.recent)) for one in found]
    whole = sum(one.end - first for one, first in ranges)
    step, places, behind = max(1.0, whole / MOST_PRICED), [], 0.0
    for one, first in ranges:
        position = behind
        while position < one.end - first:
            places.append(_place(one, first + int(position)))
            position += step
        behind = position - (one.end - first)
    return places


async def _cost(policies: Policies, interaction: Interaction) -> float:
    """What an interaction is expected to cost: nothing where a rule holds it back."""
    if policies.filter.against(interaction) is not None:
        return 0.0
    policy, spent = policies.policy(interaction), CostMeter()
    with suppress(TooLarge):  # what was asked before that was known is paid for
        await policy.judge.judge(judge_input(interaction), spent)
    return policy.sampler.rate * spent.usage.usd
