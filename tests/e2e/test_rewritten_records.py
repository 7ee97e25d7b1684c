"""Records whose bytes change and whose meaning does not, through a running scorer."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from monitor.records import ScoreRecord, read_score_record
from tests.e2e.rewritten import SPELLINGS, all_spellings
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.process import MonitorProcess, outcomes, until
from tests.stages.topics import MakeTopics

INTERACTIONS = 24


async def test_every_spelling_is_scored_as_the_plain_one(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Order, white space, escapes, more fields, times, passages: same claims, verdicts, scores."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=2)
    spelled = list(all_spellings(INTERACTIONS, datetime.now(UTC)))
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        records = [Record(value, key=spelling.encode()) for _, spelling, value in spelled]
        sent = await produce(broker, topics["kafka__topics__interactions"], records)

        async def ended() -> bool:
            return sum(outcomes(await scorer.metrics()).values()) == len(sent)

        await until(ended, "all outcomes")
        assert outcomes(await scorer.metrics()) == {"scored": len(sent)}
    finally:
        await scorer.end()
    read = await read_all(broker, topics["kafka__topics__scores"])
    scores = [read_score_record(record.value or b"") for record in read]
    found = {(score.source.partition, score.source.offset): score for score in scores}
    assert len(found) == len(scores) == len(spelled)
    groups: dict[str, dict[str, ScoreRecord]] = {}
    for (name, spelling, _), record in zip(spelled, sent, strict=True):
        score = found[record.partition or 0, record.offset or 0]
        groups.setdefault(name, {})[spelling] = score
    for group in groups.values():
        for spelling in SPELLINGS:
            assert said(group[spelling]) == said(group["plain"]), spelling
    assert len({str(said(group["plain"])["scores"]) for group in groups.values()}) > 3


def said(score: ScoreRecord) -> dict[str, Any]:
    """What a record says of its interaction, but for its place, its attributes and the clock."""
    whole = score.model_dump(exclude={"source", "sampling", "judged_at", "timings", "attributes"})
    texts = whole["interaction"]
    texts["retrieved_contexts"] = [passage["text"] for passage in texts["retrieved_contexts"]]
    return whole
