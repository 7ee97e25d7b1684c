"""Watched metrics that have no baseline: how many values there are, and what it takes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.scores.detectors import DriftKey
from monitor.exporter.scores.folding import JudgedApplication
from monitor.exporter.scores.observation import Observation
from monitor.records.control import BaselineRecord, baseline_key
from monitor.stats.candidates import Candidate
from monitor.stats.days import NEEDED_DAYS
from monitor.stats.threshold import WEEK_S

Row = dict[str, Any]


def without_baseline(
    baselines: Baselines, counted: Iterable[Candidate], now: float
) -> dict[JudgedApplication, dict[str, Row]]:
    """By application and judge, and then by metric; ``counted`` are the slots that were read.

    ``learns_from`` is as ``learns_from_of`` has it. ``full_s``: once so many seconds
    are full a whole baseline has it, as slots were enough for a provisional one; else None.
    """
    missing = [key for key, is_held in baselines.drift.watched() if not is_held]
    records = {
        pair: baselines.records().get(baseline_key(*pair)) for pair in {key[1:] for key in missing}
    }
    values = _values(counted, {pair: _since(record) for pair, record in records.items()})
    chosen = baselines.learning_settings
    found: dict[JudgedApplication, dict[str, Row]] = {}
    for key in missing:
        record = records[key[1:]]
        learns_from, of_days = learns_from_of(record), list[int]()
        if record is not None and learns_from == "days":
            known = baselines.days(record, key.metric, now)
            of_days = [sum(hour[0] for hour in one.metrics[key.metric]) for one in known]
        found.setdefault(key[1:], {})[key.metric] = {
            "values": values[key],
            "needed": chosen.least,
            "learns_from": learns_from,
            "days": len(of_days),
            "needed_days": NEEDED_DAYS,
            "values_of_days": sum(of_days),
            "enough": chosen.slots,
            "full_s": min(chosen.for_s, WEEK_S) if record and record.provisional else None,
        }
    return found


def unlearned(baselines: Baselines) -> frozenset[JudgedApplication]:
    """The applications and judges of which nobody learns what has no baseline."""
    return frozenset(
        (one.application, one.judge)
        for one in baselines.records().values()
        if learns_from_of(one) is None
    )


def learns_from_of(record: BaselineRecord | None) -> str | None:
    """What a metric without a baseline is learned from: ``slots``, until there is a whole record.

    Then it is whole ``days``; None where nobody learns, since people have decided.
    """
    if record is None or not record.metrics or record.provisional or record.leaves_others:
        return "slots"
    return "days" if record.origin == "learned" else None


def _since(record: BaselineRecord | None) -> float:
    """The event time after which values teach (epoch seconds)."""
    after = None
    if record is not None:
        still = bool(record.metrics) and (record.provisional or record.leaves_others)
        after = record.learned_after if still else record.effective_from
    return -math.inf if after is None else after.timestamp()


def _values(
    counted: Iterable[Candidate], since: dict[JudgedApplication, float]
) -> Counter[DriftKey]:
    """Of these applications and judges, how many values each metric has after that."""
    found = Counter[DriftKey]()
    for candidate in counted:
        slot = candidate.payload
        if isinstance(slot, Observation):
            pair = candidate.application, slot.judge_label
            if candidate.event_time > since.get(pair, math.inf):
                found.update(DriftKey(name, *pair) for name, x in slot.values if x is not None)
    return found
