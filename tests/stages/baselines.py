"""Score records from which a baseline is learned soon."""

from __future__ import annotations

from datetime import UTC, datetime

from monitor.records import JudgeIdentity, Outcome, SamplingRecord, ScoreRecord, Source
from tests.servers.kafka_topics import Record

JUDGE = JudgeIdentity(name="offline", version="1", model="m", prompts="p", pipeline="screen")
PAIR = ("bot", JUDGE.label)
#: A few slots make a baseline, and A is 3,000.
QUICK = {
    "drift__learn_slots": "60",
    "drift__learn_for": "0s",
    "drift__learn_wait": "1s",
    "drift__settle": "1s",
    "drift__judged_per_week": "1000",
}


def scored(offset: int, seconds: float, **scores: float) -> Record:
    """The score record of the interaction at an offset, at an event time."""
    moment = datetime.fromtimestamp(seconds, UTC)
    record = ScoreRecord(
        application="bot",
        interaction_id=f"i{offset}",
        event_time=moment,
        judged_at=moment,
        source=Source(topic="in", partition=0, offset=offset),
        judge=JUDGE,
        sampling=SamplingRecord(first_offset=offset, last_offset=offset, kind="with_reference"),
        segment="acme" if offset % 3 else "zen",
        scores={
            "faithfulness": 0.75 + offset % 2 / 4,
            "noise_sensitivity_irrelevant": 0.0,
            **scores,
        },
        outcome=Outcome.SCORED,
    )
    return Record(record.to_json(), f"bot/i{offset}".encode(), timestamp_ms=int(seconds * 1000))
