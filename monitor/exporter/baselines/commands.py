"""What people do with baselines: look at them, freeze what is normal now, set, begin anew.

Topics are read to their ends and written without a group; all of it within a time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from monitor.control.decisions import LONG_AGO, begun_anew, next_decision
from monitor.control.scanned import scan_control
from monitor.exporter.baselines.baselines import Baselines, control_state
from monitor.exporter.baselines.learning import frozen
from monitor.exporter.baselines.unlearned import without_baseline
from monitor.exporter.baselines.unlikely import unlikely, week_helps
from monitor.exporter.period import fit
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detectors import DriftDetectors
from monitor.exporter.scores.folding import JudgedApplication
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.kafka.replay import TopicScan
from monitor.kafka.skipped import SCORES_SKIPPED, readable
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import read_score_record
from monitor.records.control import BaselineRecord, MetricBaseline, baseline_key
from monitor.runtime.health import Health
from monitor.stats.sums import as_worse

#: Windows are in event time, the broker finds offsets by its own: this much before the horizon.
SLACK_S = 3600
BaselineRow = dict[str, Any]


class BaselineAccess(NamedTuple):
    """Where the records are, what they are read into, and for how many seconds at most."""

    connection: Connection
    scores_topic: str
    control_topic: str
    health: Health
    limit_s: float
    aggregator: ScoreAggregator
    drift: DriftDetectors
    baselines: Baselines


async def decide(
    access: BaselineAccess, now: float, make: Callable[[], list[BaselineRecord]], *, scores: bool
) -> list[BaselineRecord]:
    """Read as ``read`` does, and publish what is then made of it."""
    await read(access, now, scores=scores)
    records = make()
    if records:
        await publish(access, records)
    return records


async def read(access: BaselineAccess, now: float, *, scores: bool) -> None:
    """Read all control records, and with ``scores`` those of the horizon, as of ``now``.

    Raises ``DependencyRefused`` when a topic is missing, may not be read, or not in time.
    """
    async with one_shot.in_time(access.connection, access.health, access.limit_s, "reading"):
        scan = await TopicScan.start(access.connection, access.health)
        try:
            await scan_control(scan, access.control_topic, control_state(access.baselines))
            if scores:
                await _read_scores(access, scan, now)
        finally:
            await scan.stop()


async def _read_scores(access: BaselineAccess, scan: TopicScan, now: float) -> None:
    await fit(scan, access.scores_topic, access.aggregator, now)
    start_ms = max(0, access.aggregator.horizon_start(now) - SLACK_S) * 1000
    access.aggregator.advance(now)
    records = scan.records(access.scores_topic, start_ms=start_ms)
    async for record, found in readable(records, read_score_record, SCORES_SKIPPED):
        access.aggregator.add(found, record.value or b"")
    access.baselines.learn(access.aggregator.training_slots, now)


async def publish(access: BaselineAccess, records: Sequence[BaselineRecord]) -> None:
    """Write them; raises ``DependencyRefused`` when that is not possible in time."""
    written = [(record.key, record.to_json()) for record in records]
    await one_shot.publish(
        access.connection, access.health, access.limit_s, access.control_topic, written
    )


def rows(access: BaselineAccess, now: float) -> list[BaselineRow]:
    """What holds and what is being learned, for every application and judge that is known."""
    late = unlikely(access.baselines, access.aggregator, now)
    week = week_helps(access.baselines, access.aggregator, now)
    status = {found.pair: found for found in access.baselines.status()}
    records = {(r.application, r.judge): r for r in access.baselines.records().values()}
    chosen, without = (
        access.baselines.learning_settings,
        without_baseline(access.baselines, access.aggregator.watched(), now),
    )
    found = []
    for pair in sorted({*status, *records}):
        record = records.get(pair)
        learning = not access.drift.has_baseline(*pair)
        seen = status.get(pair)
        slots = record.slots if record and record.metrics else None
        found.append(
            {
                "application": pair[0],
                "judge": pair[1],
                "learning": learning,
                "slots": (seen.slots if seen else 0) if learning else slots,
                "needed": chosen.slots,
                "least": chosen.least,
                "week": week,
                "due": bool(seen and seen.is_due),
                "unlikely": pair in late,
                "origin": _origin(record),
                "provisional": bool(record and record.provisional),
                "learn_for_s": chosen.for_s,
                "effective_from": record.effective_from.isoformat() if record else None,
                "metrics": _metrics(access, pair, record),
                "without": without.get(pair, {}),
            }
        )
    return found


def _origin(record: BaselineRecord | None) -> str | None:
    """Where a record is from; None without one."""
    if record is None:
        return None
    return record.origin if record.metrics else "reset"


def _metrics(
    access: BaselineAccess, pair: JudgedApplication, record: BaselineRecord | None
) -> dict[str, BaselineRow]:
    """What every metric is held against; the configuration goes before the record."""
    found: dict[str, BaselineRow] = {}
    if record is not None:
        for name, metric in record.metrics.items():
            found[name] = {
                **metric.model_dump(mode="json"),
                "origin": metric.origin or record.origin,
            }
    fixed = access.drift.fixed(*pair)
    for name, baseline in (fixed.metrics if fixed else {}).items():
        better = CATALOGUE[name].higher_is_better
        found[name] = {
            "origin": "configuration",
            "mean": as_worse(baseline.mean, better),
            "se": 0.0,
            "segments": {k: as_worse(mean, better) for k, mean in baseline.segments.items()},
        }
    return {name: found[name] for name in CATALOGUE if name in found}


class Freezing(NamedTuple):
    """Records that say that what is now is normal, and how many slots those have that get none.

    ``new`` is what was frozen, without the metrics that keep what they have.
    """

    records: list[BaselineRecord]
    too_few: dict[JudgedApplication, int]
    new: list[BaselineRecord]


def freeze(
    access: BaselineAccess, wanted: Callable[[JudgedApplication], bool], now: float
) -> Freezing:
    """Of those that have enough values; a metric that has too few keeps what it has."""
    chosen, held = access.baselines.learning_settings, access.baselines.records()
    found = frozen(access.aggregator.watched(), chosen, wanted, now)
    new = [one for one in found if one.metrics]
    without = [one for one in found if not one.metrics]
    return Freezing(
        [with_the_rest(one, held.get(one.key), now) for one in new],
        {(one.application, one.judge): one.slots for one in without},
        new,
    )


def with_the_rest(
    made: BaselineRecord, before: BaselineRecord | None, now: float
) -> BaselineRecord:
    """What is frozen ``now``, with the other metrics of before: these keep origin and time.

    What is provisional waits for a day that is full, and nothing is learned beside what is frozen.
    """
    moment = next_decision(before, datetime.fromtimestamp(now, UTC))
    own = {
        name: metric.model_copy(
            update={
                "origin": made.origin,
                "effective_from": made.effective_from,
                "decided_at": moment,
            }
        )
        for name, metric in made.metrics.items()
    }
    made = made.model_copy(update={"metrics": own})
    if before is None:
        return made
    kept = {
        name: metric.model_copy(
            update={
                "origin": metric.origin or before.origin,
                "effective_from": metric.effective_from or before.effective_from,
            }
        )
        for name, metric in before.metrics.items()
        if name not in made.metrics and (metric.is_by_hand or not before.provisional)
    }
    known = begun_anew(before)
    reset_at = None if known == LONG_AGO else known
    return made.model_copy(update={"metrics": {**own, **kept}, "reset_at": reset_at})


def reset(
    access: BaselineAccess,
    wanted: Callable[[JudgedApplication], bool],
    named: JudgedApplication | None,
    now: float,
) -> list[BaselineRecord]:
    """Records that say that it is to be learned from later slots.

    For the wanted ones that have a baseline on the topic, and the one that was ``named`` in full.
    """
    found = access.baselines.records()
    pairs = {(record.application, record.judge) for record in found.values() if record.metrics}
    chosen = {named} if named is not None else set(filter(wanted, pairs))
    return [anew(found.get(baseline_key(*pair)), pair, now) for pair in sorted(chosen)]


def anew(before: BaselineRecord | None, pair: JudgedApplication, now: float) -> BaselineRecord:
    """The record that ends all that was decided and learned before it."""
    made = _made(pair, "learned", now, {})
    moment = next_decision(before, made.effective_from)
    update = {} if moment == made.effective_from else {"reset_at": moment}
    return made.model_copy(update=update)


def changed(
    access: BaselineAccess, pair: JudgedApplication, means: dict[str, float], now: float
) -> BaselineRecord:
    """A record with these means."""
    return with_means(access.baselines.records().get(baseline_key(*pair)), pair, means, now)


def with_means(
    before: BaselineRecord | None, pair: JudgedApplication, means: dict[str, float], now: float
) -> BaselineRecord:
    """The record with these means; the other metrics keep what they have, or are still learned."""
    at = datetime.fromtimestamp(now, UTC)
    moment = next_decision(before, at)
    decided_at = None if moment == at else moment
    given = {
        name: MetricBaseline(mean=mean, origin="set", effective_from=at, decided_at=decided_at)
        for name, mean in means.items()
    }
    made = _made(pair, "set", now, given)
    if before is None:
        return made
    if before.metrics:
        return before.model_copy(update={"metrics": {**before.metrics, **given}})
    known = {"learned_after": before.effective_from, "reset_at": before.reset_at}
    return made.model_copy(update=known)


def _made(
    pair: JudgedApplication, origin: Any, now: float, metrics: dict[str, MetricBaseline]
) -> BaselineRecord:
    return BaselineRecord(
        application=pair[0],
        judge=pair[1],
        origin=origin,
        effective_from=datetime.fromtimestamp(now, UTC),
        metrics=metrics,
    )
