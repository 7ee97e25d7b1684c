"""The gauges of a set of score records, computed from scratch in plain floats.

Written apart from ``monitor.stats`` and ``monitor.exporter``, from the formulas alone: every value
is a sum over a list of records, nothing is kept up to date.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from monitor.records import ScoreRecord

Z = 1.959963984540054
#: Metric → (higher is better, needs a reference).
METRICS = {
    "faithfulness": (True, False),
    "faithfulness_by_passage": (True, False),
    "noise_sensitivity_relevant": (False, True),
    "noise_sensitivity_irrelevant": (False, True),
    "incorrect_claims": (False, True),
    "hallucination": (False, True),
    "self_knowledge": (None, True),
    "claim_precision": (True, True),
    "claim_recall": (True, True),
    "claim_f1": (True, True),
    "context_recall": (True, True),
    "context_precision": (True, True),
    "context_utilization": (True, True),
    "irrelevant_context_reliance": (False, False),
    "answered": (True, False),
    "retrieved": (True, False),
    "answer_relevance": (True, False),
}


class Series(NamedTuple):
    """The labels of a gauge."""

    metric: str
    window: str
    application: str
    judge: str


class SegmentSeries(NamedTuple):
    """The labels of a gauge of a segment."""

    metric: str
    window: str
    application: str
    judge: str
    segment: str


class Gauges(NamedTuple):
    """The five gauges of one series; None where there is no value.

    ``weak`` says that the estimate is a quotient of almost nothing: rounding decides it.
    """

    value: float | None
    lower: float | None
    upper: float | None
    samples: float
    missing_ratio: float | None
    weak: bool = False


class Slot(NamedTuple):
    """What a record adds to one series: its time and the terms of the sums."""

    time: float
    w: float
    g: float
    h: float
    failed: bool
    scored: bool
    x: float


def gauges(
    records: Iterable[ScoreRecord], now: float, windows: Mapping[str, int], period: int
) -> dict[Series, Gauges]:
    """All series at ``now`` (epoch seconds); windows and period in seconds."""
    series = _series(records, now, windows, period)
    repeated = {labels: dependence(held, now, windows) for labels, held in series.items()}
    return {
        Series(labels[0], window, *labels[1:]): found
        for labels, window, found in over_windows(series, now, windows, repeated)
    }


def dependences(
    records: Iterable[ScoreRecord], now: float, windows: Mapping[str, int], period: int
) -> dict[str, float]:
    """V of every metric; the records are of one application and judge."""
    series = _series(records, now, windows, period)
    return {labels[0]: dependence(held, now, windows) for labels, held in series.items()}


def _series(
    records: Iterable[ScoreRecord], now: float, windows: Mapping[str, int], period: int
) -> dict[tuple[str, ...], list[Slot]]:
    series: dict[tuple[str, ...], list[Slot]] = {}
    for record in counted(within_horizon(records, now, windows, period)):
        for metric, slot in slots(record):
            series.setdefault((metric, record.application, record.judge.label), []).append(slot)
    return series


def segment_gauges(
    records: Iterable[ScoreRecord],
    now: float,
    windows: Mapping[str, int],
    period: int,
    *,
    fixed: Collection[str] | None = None,
    most: int = 20,
) -> dict[SegmentSeries, Gauges]:
    """The same for every segment: those of ``fixed``, or the ``most`` frequent; else ``other``."""
    chosen = counted(within_horizon(records, now, windows, period))
    named = segment_names(chosen, now, period, most) if fixed is None else fixed
    series: dict[tuple[str, ...], list[Slot]] = {}
    whole: dict[tuple[str, ...], list[Slot]] = {}
    for record in chosen:
        segment = record.segment if record.segment in named else "other"
        for metric, slot in slots(record):
            labels = (metric, record.application, record.judge.label, segment)
            u = record.sampling.u or 0.0
            # What the screen expected is of the whole slot, and not of one segment.
            own = slot._replace(g=u * slot.x, h=u * slot.scored)
            series.setdefault(labels, []).append(own)
            whole.setdefault(labels[:-1], []).append(slot)
    repeated = {labels: dependence(whole[labels[:-1]], now, windows) for labels in series}
    return {
        SegmentSeries(labels[0], window, *labels[1:]): found._replace(weak=False)
        for labels, window, found in over_windows(series, now, windows, repeated)
    }


def segment_names(
    chosen: Sequence[ScoreRecord], now: float, period: int, most: int
) -> Sequence[str]:
    """The most frequent of the previous period, ties by name; if it has none, of the current."""
    current = math.floor(now) // period
    for wanted in (current - 1, current):
        there = Counter(
            record.segment
            for record in chosen
            if math.floor(record.event_time.timestamp()) // period == wanted
            and record.outcome != "over_budget"
        )
        del there["other"]
        if there:
            return sorted(there, key=lambda name: (-there[name], name))[:most]
    return []


def within_horizon(
    records: Iterable[ScoreRecord], now: float, windows: Mapping[str, int], period: int
) -> list[ScoreRecord]:
    """The records from the start of the horizon to now."""
    bucket = bucket_of(windows)
    oldest = min(
        (math.floor(now) // period - 1) * period,
        (math.floor(now) // bucket - max(windows.values()) // bucket + 1) * bucket,
    )
    return [r for r in records if oldest <= r.event_time.timestamp() <= now]


def over_windows(
    series: Mapping[tuple[str, ...], Sequence[Slot]],
    now: float,
    windows: Mapping[str, int],
    repeated: Mapping[tuple[str, ...], float],
) -> Iterable[tuple[tuple[str, ...], str, Gauges]]:
    """Labels, window and estimate, for every series and window."""
    bucket = bucket_of(windows)
    current = math.floor(now) // bucket
    for labels, all_slots in series.items():
        for window, length in windows.items():
            first = current - length // bucket + 1
            inside = [s for s in all_slots if first <= math.floor(s.time) // bucket <= current]
            better = bool(METRICS[labels[0]][0])
            found = estimate(inside, all_slots, repeated[labels], higher_is_better=better)
            yield labels, window, found


def dependence(slots: Sequence[Slot], now: float, windows: Mapping[str, int]) -> float:
    """V: the spread of sums of neighbours, in groups of eight, against that of single slots.

    No group has more than four times what the others have. In steps of 5 %, upwards; 1 where chance
    gives as much, below 500 scored slots and below 28 degrees of freedom.
    """
    scored = sum(slot.scored for slot in slots)
    wh = sum(slot.w * slot.h for slot in slots)
    if scored < 500 or wh <= 1e-9:
        return 1.0
    theta = sum(slot.w * slot.g for slot in slots) / wh
    bucket = bucket_of(windows)
    current = math.floor(now) // bucket
    first = min(math.floor(slot.time) // bucket for slot in slots)
    span = current + 1 - first
    least = max(40.0, min(320.0, scored / 64, scored * 3_600 / (bucket * span)))
    length = 1
    while length * scored < least * span:
        length *= 2
    groups: dict[int, dict[int, list[float]]] = {}
    for slot in slots:
        batch = math.floor(slot.time) // bucket // length
        inside = groups.setdefault(batch // 8, {}).setdefault(batch, [])
        inside.append(slot.w * (slot.g - theta * slot.h))
    freedom, parts = 0, []
    for batches in groups.values():
        if len(batches) > 1:
            freedom += len(batches) - 1
            spread_out = len(batches) * statistics.variance(map(sum, batches.values()))
            parts.append((spread_out, sum(e * e for batch in batches.values() for e in batch)))
    between, within = (sum(column) for column in zip(*parts, strict=True)) if parts else (0, 0)
    if freedom < 28 or within <= 1e-12 or between <= within:
        return 1.0
    limited = sum(
        min(b, 4 * w * (between - b) / (within - w)) if within - w > 1e-12 else b for b, w in parts
    )
    if limited / within <= 1 + 1.64 * math.sqrt(2 / freedom):
        return 1.0
    steps = math.log(limited / within) / math.log(1.05)
    return float(1.05 ** math.ceil(steps - 1e-9))


def bucket_of(windows: Mapping[str, int]) -> int:
    """Seconds of a bucket."""
    return 1 if min(windows.values()) < 300 else 60


def counted(records: Iterable[ScoreRecord]) -> list[ScoreRecord]:
    """One record per interaction, then one slot per offset."""

    def rank(record: ScoreRecord) -> tuple[bool, bool, float, bytes]:
        digest = hashlib.sha256(record.to_json()).digest()
        judged_at = record.judged_at.timestamp()
        return not record.sampling.forced, bool(record.scores), judged_at, digest

    best: dict[tuple[str, str], ScoreRecord] = {}
    for record in sorted(records, key=rank):
        best[record.application, record.interaction_id] = record

    def line(record: ScoreRecord) -> tuple[str, int, str, str]:
        where = record.source
        return where.topic, where.partition, record.application, record.sampling.kind

    with_slot = sorted((r for r in best.values() if not r.sampling.forced), key=line)
    chosen = []
    for _, group in groupby(with_slot, key=line):
        reached = -1
        for record in sorted(group, key=_place):
            first, _, _ = _place(record)
            if first > reached:
                reached = record.sampling.last_offset or 0
                chosen.append(record)
    return chosen


def _place(record: ScoreRecord) -> tuple[int, int, str]:
    first, last = record.sampling.first_offset or 0, record.sampling.last_offset or 0
    return first, -last, record.interaction_id


def slots(record: ScoreRecord) -> Iterable[tuple[str, Slot]]:
    """Metric → slot, for every metric that is defined for the record's kind."""
    if record.outcome == "over_budget":
        return
    failed = record.outcome == "judge_failed"
    s = record.sampling
    m, q, u = s.m or 0, s.q or 0.0, s.u or 0.0
    for metric, (better, needs_reference) in METRICS.items():
        if needs_reference and s.kind == "without_reference":
            continue
        if not failed and metric not in record.scores:
            continue
        score = record.scores.get(metric)
        a = isinstance(score, float)
        x = (1 - score if better else score) if isinstance(score, float) else 0.0
        f_mean, f = s.expected.get(metric, (0.0, 0.0))
        g, h = f_mean + u * (a * x - f), 1 - u * (1 - a)
        yield metric, Slot(record.event_time.timestamp(), m / q, g, h, failed, a, a * x)


def estimate(
    window: Sequence[Slot],
    horizon: Sequence[Slot],
    repeated: float = 1.0,
    *,
    higher_is_better: bool,
) -> Gauges:
    """The estimate with its interval, over slots with larger meaning worse."""
    w = sum(s.w for s in window)
    if not window:
        return Gauges(None, None, None, 0.0, None)
    missing = sum(s.w for s in window if s.failed) / w
    wh = sum(s.w * s.h for s in window)
    weak = any(abs(sum(s.w * s.h for s in part)) < 0.05 * w for part in (window, horizon))
    if wh <= 1e-9 or not any(s.scored for s in window):
        return Gauges(None, None, None, 0.0, missing, weak)
    p = min(1.0, max(0.0, sum(s.w * s.g for s in window) / wh))
    kish = w * w / sum(s.w * s.w for s in window)
    long = spread(horizon) if sum(s.scored for s in horizon) >= 500 else 1.0
    d = repeated * min(1.5, max(0.05, long, spread(window)))
    h = wh / w
    lower, upper = wilson(p, (kish if h > 1 else h * kish) / d)
    if missing > 0.05:
        lower, upper = (1 - missing) * lower, (1 - missing) * upper + missing
    if higher_is_better:
        p, lower, upper = 1 - p, 1 - upper, 1 - lower
    return Gauges(p, lower, upper, h * kish, missing, weak)


def spread(slots: Sequence[Slot]) -> float:
    """D of a set of slots: the variance of the residuals against that of a proportion."""
    w, wh = sum(s.w for s in slots), sum(s.w * s.h for s in slots)
    if wh <= 1e-9:
        return 1.0
    theta, h = sum(s.w * s.g for s in slots) / wh, wh / w
    p = min(1.0, max(0.0, theta))
    if p * (1 - p) < 1e-12:
        return 1.0
    squares = sum(s.w**2 * (s.g - theta * s.h) ** 2 for s in slots)
    per_scored = h * h if h > 1 else h
    return squares / sum(s.w**2 for s in slots) / (per_scored * p * (1 - p))


def wilson(p: float, n: float) -> tuple[float, float]:
    """The two solutions t of (p − t)² = Z²·t·(1 − t)/n."""
    a, b, c = 1 + Z * Z / n, 2 * p + Z * Z / n, p * p
    root = math.sqrt(b * b - 4 * a * c)
    return max(0.0, (b - root) / (2 * a)), min(1.0, (b + root) / (2 * a))
