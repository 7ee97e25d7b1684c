"""An alarm record with everything on it."""

from __future__ import annotations

from typing import Any

from monitor.records.alarm import (
    AlarmRecord,
    JudgeFailures,
    MeanChange,
    OffendingClaim,
    OutstandingSegment,
    PassageOfClaim,
    SegmentChange,
    WorstInteraction,
    answered,
)
from tests.stages.records import NOON

SINCE = NOON.replace(hour=2, minute=10)
NORMAL = JudgeFailures(before=0.003, rate=0.004, picks=250, verdict="normal")
SENTENCE = (
    "noise_sensitivity_irrelevant of support-bot rose 0.08 → about 0.17 (0.12–0.23, n = 96) "
    "since 02:10 UTC, 9.8 h before the alarm; judge failures 0.4 % (normal); traffic mix explains "
    "6 %; tenant=acme 0.10 → 0.30, the others 0.08 → 0.09"
)
HEADLINE = (
    "support-bot: wrong claims from irrelevant passages 8 % → 17 % (12–23 %, n 96) since 02:10 UTC"
)
DETAILS = (
    "Judge failures 0 % (normal); mix of traffic explains 6 %; "
    "tenant=acme 10 % → 30 %, the others 8 % → 9 %"
)


def change(**fields: Any) -> MeanChange:
    """From 0.08 to 0.17."""
    given: dict[str, Any] = {
        "before": 0.08,
        "value": 0.17,
        "lower": 0.12,
        "upper": 0.23,
        "n": 96.2,
        "mix": 0.0054,
        "within": 0.0846,
        "explained_by_mix": 0.06,
    }
    return MeanChange(**{**given, **fields})


def segment(name: str) -> SegmentChange:
    """A segment of any numbers."""
    return SegmentChange(
        segment=name, share_before=0.5, share=0.6, before=0.1, value=0.3, lower=0.2, upper=0.4,
        n=40.0, within=0.12,
    )  # fmt: skip


ACME = OutstandingSegment(
    segment="acme", before=0.1, value=0.3, others_before=0.08, others_value=0.09
)
CLAIM = OffendingClaim(
    number=2, text="secret claim", passages=(PassageOfClaim(number=1, id="doc-7", relevant=False),)
)
WORST = WorstInteraction(
    interaction_id="i-1", event_time=NOON, segment="acme", value=1.0, claims=(CLAIM,)
)


def alarm(**fields: Any) -> AlarmRecord:
    """The alarm of the specification's sentence."""
    given: dict[str, Any] = {
        "state": "open",
        "metric": "noise_sensitivity_irrelevant",
        "application": "support-bot",
        "judge": "offline@3f2a91",
        "higher_is_better": False,
        "since": SINCE,
        "opened_at": NOON,
        "baseline": 0.09,
        "change": change(),
        "evidence": 6.5,
        "threshold": 6.26,
        "evidence_until": NOON,
        "judge_failures": NORMAL,
        "segment_by": "tenant",
        "segments": (segment("acme"), segment("bolt")),
        "stands_out": ACME,
        "worst": (WORST,),
    }
    return answered(AlarmRecord(**{**given, **fields}))
