"""A judgement as it stands on a score record."""

from __future__ import annotations

from datetime import UTC, datetime

from monitor.ingest.event_time import EPOCH
from monitor.metrics.catalogue import score_all
from monitor.records import Interaction, Judgement, Outcome, Passage, ScoreRecord, Source
from monitor.scorer.score_records import JudgingResult, build


def as_record(judgement: Judgement) -> ScoreRecord:
    """With texts for its passages and all metrics."""
    interaction = Interaction(
        interaction_id="one",
        event_time=EPOCH,
        application="bot",
        user_input="What?",
        response="That.",
        retrieved_contexts=tuple(Passage(text=f"p{j}") for j in range(judgement.passages)),
        reference="That." if judgement.has_reference else None,
        source=Source(topic="t", partition=0, offset=0),
    )
    scores = score_all(judgement)
    result = JudgingResult(
        Outcome.SCORED, None, judgement.judge, judgement.usage, judgement, scores, {}
    )
    now = datetime(2026, 11, 20, tzinfo=UTC)
    return build(interaction, result, rate=1.0, segment_by=(), now=now)
