"""What people decided about a baseline outlasts a record that was made without knowing of it. Pure.

Whoever writes a record has read the one before it, and a decision may come between the two: two
commands at a time, or one while an exporter learns. The topic keeps the later record only. So every
reader lets both hold, by the same rule, and exporters write that down.

Three things are decided: a metric is set, or frozen, or all is to be begun anew. Each has its
moment (``decided``, ``begun_anew``), which is behind all that was known by then, whatever the clock
says. Of one metric the latest holds, and a reset ends all that was decided before it, and learned
without knowing of it. Beside what is frozen nothing is learned.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from monitor.records.control import BaselineRecord, MetricBaseline

#: Before all decisions.
LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
_JUST: Final = timedelta(microseconds=1)
#: The order of a record in which something was frozen.
_FROZEN: Final = 3


class Decision(NamedTuple):
    """What was decided of a metric, and when."""

    at: datetime
    metric: MetricBaseline


def beside_decisions(before: BaselineRecord | None, found: BaselineRecord) -> BaselineRecord:
    """What holds when ``found`` stands on the topic after what held ``before``.

    ``found`` itself, unless it leaves out what was decided, or was learned without knowing of it.
    """
    if before is None:
        return found
    anew = max(begun_anew(before), begun_anew(found))
    latest: dict[str, Decision] = {}
    for record in (before, found):
        for name, one in decided(record).items():
            if one.at > anew and (name not in latest or _rank(one) >= _rank(latest[name])):
                latest[name] = one
    metrics = {name: one.metric for name, one in latest.items()}
    knowing = _knowing(before, found, anew)
    if not knowing:
        return _alone(found if begun_anew(found) == anew else before, anew, metrics)
    base = max(knowing, key=_order)
    kept = _undecided(base)
    if _order(base)[0] == _FROZEN:
        # One of them may not have known of a metric: nobody has ended it.
        for record in knowing:
            kept = {**(_undecided(record) if _order(record)[0] == _FROZEN else {}), **kept}
    update = {} if begun_anew(base) == anew else {"reset_at": anew}
    if {**kept, **metrics} == base.metrics and not update:
        return base
    return base.model_copy(update={**update, "metrics": {**kept, **metrics}})


def _rank(one: Decision) -> tuple[datetime, bool]:
    """An earlier version writes the same decision without what it does not know of."""
    return one.at, one.metric.frozen_until is not None


def next_decision(known: BaselineRecord | None, at: datetime) -> datetime:
    """The moment of a decision made now, ``at``: after all that is ``known`` to have been decided.

    So it holds also where another clock, by which that was decided, is ahead.
    """
    if known is None:
        return at
    latest = max((one.at for one in decided(known).values()), default=LONG_AGO)
    latest = max(latest, begun_anew(known))
    return at if latest < at else latest + _JUST


def begun_anew(record: BaselineRecord) -> datetime:
    """When the latest reset was that a record knows of; long ago where it knows of none.

    Earlier versions wrote it only as what a reset, and what is set beside nothing, begin with.
    """
    if record.reset_at is not None:
        return record.reset_at
    if not record.metrics:
        return record.effective_from
    return (record.learned_after if record.leaves_others else None) or LONG_AGO


def decided(record: BaselineRecord) -> dict[str, Decision]:
    """The metrics that were set or frozen."""
    return {
        name: Decision(one.decided_at or one.effective_from or record.effective_from, one)
        for name, one in record.metrics.items()
        if (one.origin or record.origin) != "learned"
    }


def _undecided(record: BaselineRecord) -> dict[str, MetricBaseline]:
    by_hand = decided(record)
    return {name: one for name, one in record.metrics.items() if name not in by_hand}


def _knowing(before: BaselineRecord, found: BaselineRecord, anew: datetime) -> list[BaselineRecord]:
    """Those that may say what the metrics are of which nothing was decided."""
    knowing = [
        record for record in (found, before) if record.metrics and begun_anew(record) >= anew
    ]
    if found.metrics and found not in knowing and _is_after(found, before):
        knowing.append(found)
    return knowing


def _is_after(found: BaselineRecord, before: BaselineRecord) -> bool:
    """Whether it was learned from slots after the reset that was known ``before``.

    What was just learned says nothing of resets, nor does what earlier versions wrote. But what
    was frozen beside a reset says so by knowing of none, though its slots may be later.
    """
    by_hand = found.origin == "frozen" and any(one.is_by_hand for one in found.metrics.values())
    if found.reset_at is not None or found.leaves_others or by_hand:
        return False
    known = before.learned_after or before.reset_at
    after = known if before.metrics else before.effective_from
    return after is None or found.effective_from > after


def _order(record: BaselineRecord) -> tuple[int, float]:
    """What says more of the metrics of which nothing was decided, and of two alike the later."""
    since = record.effective_from.timestamp()
    if record.leaves_others:
        return 0, -since
    if record.origin == "learned":
        return 1 if record.provisional else 2, since
    own = [one.at for one in decided(record).values() if one.metric.origin != "set"]
    return _FROZEN, max(own, default=record.effective_from).timestamp()


def _alone(
    reset: BaselineRecord, anew: datetime, metrics: dict[str, MetricBaseline]
) -> BaselineRecord:
    """What was decided after a reset, of which all else is still to be learned."""
    if not metrics:
        return reset
    since = min(one.effective_from or anew for one in metrics.values())
    after = {"effective_from": since, "learned_after": reset.effective_from}
    return reset.model_copy(update={**after, "origin": "set", "metrics": metrics})
