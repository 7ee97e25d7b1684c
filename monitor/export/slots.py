"""What a score record adds to gauges and evidence, cut down to what they need."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from monitor.metrics.catalogue import CATALOGUE, defined_for
from monitor.records import JudgeIdentity, Outcome, ScoreRecord
from monitor.stats.candidates import Candidate
from monitor.stats.sums import Sums, as_worse, terms


class Slot(NamedTuple):
    """A counted record, compact: the sums are computed when it enters or leaves.

    ``values`` holds metric → value with larger meaning worse (None: unscored or failed);
    ``segment`` is that of the pick, ``segments`` how many members of the slot each has.
    """

    judge: JudgeIdentity
    m: int
    q: float
    u: float
    expected: Mapping[str, tuple[float, float]]
    values: tuple[tuple[str, float | None], ...]
    failed: bool
    segment: str
    segments: Mapping[str, int]

    def terms(self, metric: str, value: float | None) -> Sums:
        """What the slot adds to the sums of a metric."""
        f_mean, f = self.expected.get(metric, (0.0, 0.0))
        return terms(self.m, self.q, self.u, f_mean, f, value, self.failed)


def candidate_of(record: ScoreRecord, line: bytes) -> Candidate:
    """The record for the selection; its payload is a ``Slot``, or None when it never counts."""
    sampling = record.sampling
    return Candidate(
        application=record.application,
        interaction_id=record.interaction_id,
        event_time=record.event_time.timestamp(),
        judged_at=record.judged_at.timestamp(),
        digest=hashlib.sha256(line).digest(),
        has_slot=not sampling.forced,
        # A failed pick may carry marks for its metrics: they are no values.
        has_values=bool(record.scores) and record.outcome is not Outcome.JUDGE_FAILED,
        topic=record.source.topic,
        partition=record.source.partition,
        kind=sampling.kind,
        first_offset=sampling.first_offset or 0,
        last_offset=sampling.last_offset or 0,
        payload=_slot(record),
    )


def _slot(record: ScoreRecord) -> Slot | None:
    sampling = record.sampling
    if sampling.m is None or sampling.q is None or sampling.u is None:
        return None
    if record.outcome is Outcome.OVER_BUDGET:
        return None
    return Slot(
        record.judge,
        sampling.m,
        sampling.q,
        sampling.u,
        sampling.expected,
        _values(record),
        record.outcome is Outcome.JUDGE_FAILED,
        record.segment,
        sampling.segments,
    )


def _values(record: ScoreRecord) -> tuple[tuple[str, float | None], ...]:
    """Metrics that are defined for the record's kind; a failed pick counts for all of them."""
    names = record.scores or CATALOGUE
    return tuple(
        (name, _as_worse(record, name))
        for name in CATALOGUE
        if name in names and defined_for(CATALOGUE[name], record.sampling.kind)
    )


def _as_worse(record: ScoreRecord, name: str) -> float | None:
    score = record.scores.get(name)
    if not isinstance(score, float):
        return None
    return as_worse(score, CATALOGUE[name].higher_is_better)
