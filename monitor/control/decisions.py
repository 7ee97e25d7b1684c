"""What people decided about a baseline outlasts a record that was made without knowing of it. Pure.

Whoever writes a record has read the one before it, and a decision may come between the two: two
commands at a time, or one while an exporter learns. The topic keeps the later record only. So every
reader lets both hold, by the same rule, and exporters write that down.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from monitor.records.control import BaselineRecord, MetricBaseline

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


def beside_decisions(before: BaselineRecord | None, found: BaselineRecord) -> BaselineRecord:
    """What holds when ``found`` stands on the topic after what held ``before``.

    ``found`` itself, unless it leaves out a metric that was set, or was made without knowing of a
    reset or of a freezing. Of two means of a metric that were set the later one holds.
    """
    if before is None or not found.metrics:
        return found  # to begin anew is a decision, too
    base, other = (before, found) if _is_unknowing(before, found) else (found, before)
    decided = _decided(base)
    for name, one in _decided(other).items():
        if _outlasts(name, one, base, is_later=other is found) and _is_later(one, decided, name):
            decided[name] = one
    metrics = {**base.metrics, **decided}
    if metrics == base.metrics:
        return base
    if base.metrics:
        return base.model_copy(update={"metrics": metrics})
    since = min(_since(one) for one in decided.values())
    made = {"origin": "set", "effective_from": since, "learned_after": base.effective_from}
    return base.model_copy(update={**made, "metrics": metrics})


def _is_unknowing(before: BaselineRecord, found: BaselineRecord) -> bool:
    """Whether ``found`` was made without ``before``, and says less of what is not set."""
    if found.leaves_others:  # made where nothing was known, after a reset, or beside the same
        if found.learned_after is not None and before.effective_from <= found.learned_after:
            return False
        return not before.leaves_others or before.effective_from < found.effective_from
    if found.origin != "learned":
        return False
    if not before.metrics:  # a reset: only later slots are learned from
        return found.effective_from <= before.effective_from
    if before.learned_after is not None and found.effective_from <= before.learned_after:
        return True  # there was a reset before
    if before.origin != "learned":
        # Beside what is frozen nothing is learned, nor beside a record of which all was set once.
        return not before.leaves_others
    if found.provisional != before.provisional:
        return found.provisional
    return found.effective_from < before.effective_from


def _decided(record: BaselineRecord) -> dict[str, MetricBaseline]:
    """The metrics that were set."""
    return {name: one for name, one in record.metrics.items() if one.origin == "set"}


def _outlasts(name: str, one: MetricBaseline, base: BaselineRecord, *, is_later: bool) -> bool:
    """Whether what was set stands beside ``base``; ``is_later``: on the topic it comes after it.

    A reset ends what was set before it, and a freezing what it has frozen itself.
    """
    replaced = base.metrics.get(name)
    is_frozen = base.origin == "frozen" and replaced is not None and replaced.origin != "set"
    if is_later and (is_frozen or not base.metrics):
        return _since(one) > base.effective_from
    return not is_frozen


def _is_later(one: MetricBaseline, decided: Mapping[str, MetricBaseline], name: str) -> bool:
    return name not in decided or _since(one) > _since(decided[name])


def _since(one: MetricBaseline) -> datetime:
    return one.effective_from or _LONG_AGO
