"""The two numbers whose ratio a score is, so that it can be checked by counting. Pure."""

from __future__ import annotations

from typing import NamedTuple

from monitor.metrics.offending_claims import (
    OFFENDS,
    judged_claims,
    offending,
    passage_count,
    reference_claims,
    relevance,
)
from monitor.records import ScoreRecord

#: Of metrics that are high where nothing offends, the claims that do not are counted.
_GOOD_ONES = frozenset({"faithfulness", "faithfulness_by_passage", "claim_precision"})


class CountedShare(NamedTuple):
    """``part`` of ``whole``; ``what`` says of which things, like ``claims``."""

    part: int
    whole: int
    what: str


def counted(record: ScoreRecord, metric: str) -> CountedShare | None:
    """What was counted for a metric; None for one that is no share, or has no value here."""
    if not isinstance(record.scores.get(metric), float):
        return None
    claims, references = judged_claims(record), reference_claims(record)
    if metric in OFFENDS:
        wrong = len(offending(record, metric))
        part = len(claims) - wrong if metric in _GOOD_ONES else wrong
        return CountedShare(part, len(claims), "claims")
    if metric == "self_knowledge":
        own = sum(bool(claim.correct) and not any(claim.supported) for claim in claims)
        return CountedShare(own, len(claims), "claims")
    retrieved = [claim for claim in references if any(claim.supported)]
    shares = {
        "claim_recall": (sum(claim.is_said for claim in references), len(references)),
        "context_recall": (len(retrieved), len(references)),
        "context_utilization": (sum(claim.is_said for claim in retrieved), len(retrieved)),
    }
    if metric in shares:
        return CountedShare(*shares[metric], "claims of the reference")
    if metric == "context_precision":
        relevant = sum(label is True for label in relevance(record))
        return CountedShare(relevant, passage_count(record), "passages")
    return None
