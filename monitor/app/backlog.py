"""What is unread when the scorer begins, and what judging it costs: said before it is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from monitor.app.policies import build_budget, build_judges, traffic, unpriced, with_dry_run_judges
from monitor.app.start import start_rule
from monitor.config import Settings
from monitor.errors import TooLarge
from monitor.ingest.formats import native
from monitor.judge.protocol import CostMeter
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.kafka.record import KafkaRecord
from monitor.kafka.replay import TopicScan, Unread
from monitor.records.spans import in_words
from monitor.runtime.health import Health
from monitor.scorer.intake import Policies
from monitor.scorer.judging import judge_input
from monitor.telemetry import ScorerTelemetry, new_registry

DAY_S: Final = 86_400
#: Records whose judgements are priced: the mean of more would hardly be another one.
MOST_PRICED: Final = 50
#: Partitions whose oldest unread record is looked at.
MOST_LOOKED_AT: Final = 20


class Backlog(NamedTuple):
    """``unread`` records, the oldest of so many seconds, and ``per_day`` of the last 24 hours.

    ``is_new``: the group has committed nothing. ``usd_each`` is the mean cost of a record, with
    those that are not sampled; None: the price of a model is not known, or there was nothing to
    price. ``is_asked``: a model is asked. ``has_budget``: it is bounded by ``limits.usd_per_day``.
    """

    group_id: str
    is_new: bool
    unread: int
    oldest_s: float | None
    per_day: int
    usd_each: float | None
    is_asked: bool
    has_budget: bool

    @property
    def usd(self) -> float | None:
        """What judging all that is unread costs; None: not known."""
        return None if self.usd_each is None else self.unread * self.usd_each

    @property
    def usd_per_day(self) -> float | None:
        """What a day like the last one costs; None: not known."""
        return None if self.usd_each is None else self.per_day * self.usd_each

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
        age = "" if self.oldest_s is None else f", the oldest {in_words(self.oldest_s)} old"
        cost = "" if not self.usd else f"; judging them costs about {self.usd:.2f} USD"
        return f"{new}{self.unread:,} unread{age}{cost}"


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
        left = [one for one in found if one.end > one.start]
        heads = [await scan.one(*_place(one, one.start)) for one in left[:MOST_LOOKED_AT]]
        times = [head.timestamp / 1000 for head in heads if head is not None and head.timestamp > 0]
        judges = build_judges(settings, ScorerTelemetry(new_registry()))
        is_asked = any(each.section.kind == "llm" for each in judges)
        usd_each = await _priced(settings, scan, found) if is_asked else 0.0
    finally:
        await scan.stop()
    return Backlog(
        group,
        all(one.is_new for one in found),
        sum(one.end - one.start for one in found),
        max(0.0, now - min(times)) if times else None,
        sum(one.end - one.recent for one in found),
        usd_each,
        is_asked,
        build_budget(settings) is not None,
    )


def _place(one: Unread, offset: int) -> tuple[str, int, int]:
    return one.topic, one.partition, offset


async def _priced(settings: Settings, scan: TopicScan, found: Sequence[Unread]) -> float | None:
    """US dollars for a record, on average, sampled or not; None where that is not known."""
    judges = with_dry_run_judges(settings, build_judges(settings, ScorerTelemetry(new_registry())))
    for each in judges:
        await each.judge.prepare()
    if unpriced(judges):
        return None
    policies, costs = traffic(settings, judges, None), []
    for place in _spread(found):
        record = await scan.one(*place)
        if record is not None:
            costs.append(await _cost(policies, record))
    return sum(costs) / len(costs) if costs else None


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


async def _cost(policies: Policies, record: KafkaRecord) -> float:
    """What a record is expected to cost: nothing where it is not decoded, or held back."""
    interaction = native.interaction_of(record)
    if interaction is None or policies.filter.against(interaction) is not None:
        return 0.0
    policy, spent = policies.policy(interaction), CostMeter()
    with suppress(TooLarge):  # what was asked before that was known is paid for
        await policy.judge.judge(judge_input(interaction), spent)
    return policy.sampler.rate * spent.usage.usd
