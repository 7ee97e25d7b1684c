"""Score records of answers that the offline judge has judged, as a scorer writes them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from monitor.ingest.formats import native
from monitor.judge.limits.limits import Limits
from monitor.judge.offline.judge import OfflineJudge
from monitor.records import Interaction, ScoreRecord, Source
from monitor.sampling.hashing import Sampler
from monitor.scorer.judging import JudgingInput, ScoringPolicy, judged
from monitor.scorer.score_records import build
from tests.stages.plain import encoded
from tests.stages.records import NOON

PRICES = "Price list of 2019: returning an item costs 5 euros."
WARRANTY = "The warranty lasts 24 months from the day of delivery."
#: Of its two claims the second is wrong, and comes from an irrelevant passage.
HALF_WRONG: dict[str, Any] = {
    "application": "shop",
    "user_input": "How long is the warranty, and what does returning cost?",
    "response": "The warranty lasts 24 months. Returning an item costs 5 euros.",
    "retrieved_contexts": [WARRANTY, {"id": "archive-2019#3", "text": PRICES}],
    "reference": "The warranty lasts 24 months. Returning an item is free.",
    "attributes": {"tenant": "acme"},
}


def answered(name: str, offset: int = 0, **fields: Any) -> Interaction:
    """An interaction that was logged at noon."""
    logged = {**HALF_WRONG, "interaction_id": name, "timestamp": NOON.isoformat(), **fields}
    source = Source(topic="rag.interactions.v1", partition=0, offset=offset)
    return native.decode(encoded(logged), source, int(NOON.timestamp() * 1000)).interaction


async def scored(
    interaction: Interaction, rate: float = 1.0, judged_at: datetime = NOON + timedelta(seconds=9)
) -> ScoreRecord:
    """Its record, alone in its slot; the segment is the tenant."""
    policy = ScoringPolicy(Sampler(rate), OfflineJudge(), Limits(1, 60.0), ("tenant",))
    result = await judged(JudgingInput(interaction), policy)
    return build(interaction, result, rate=rate, segment_by=("tenant",), now=judged_at)
