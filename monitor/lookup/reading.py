"""Score records of a topic, read once; each only as far as its key says that it may be wanted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable

from monitor.errors import RecordSkipped
from monitor.kafka.record import KafkaRecord
from monitor.kafka.replay import TopicScan
from monitor.kafka.skipped import SCORES_SKIPPED, readable
from monitor.lookup.findings import PlacedScore
from monitor.metrics.offending_claims import judged_claims, reference_claims
from monitor.records import ScoreRecord, read_score_record

#: Records are found by the broker's time, and wanted by event time: this much before it.
SLACK_S = 3600.0


async def scores(
    scan: TopicScan, topic: str, wanted: Callable[[KafkaRecord], bool], since: float = 0.0
) -> AsyncIterator[PlacedScore]:
    """The score records that are ``wanted`` and can be read, since a time (epoch seconds)."""
    start_ms = int(max(0.0, since - SLACK_S) * 1000)
    records = (record async for record in scan.records(topic, start_ms=start_ms) if wanted(record))
    async for record, found in readable(records, _read, SCORES_SKIPPED):
        yield PlacedScore(found, record.partition, record.offset)


def _read(value: bytes) -> ScoreRecord:
    found = read_score_record(value)
    try:
        judged_claims(found), reference_claims(found)
    except ValueError as error:
        raise RecordSkipped(f"verdicts without a shape: {error}", cause="malformed") from error
    return found


def spellings(interaction_id: str) -> tuple[bytes, ...]:
    r"""How an id may stand within JSON: as it is, in ASCII, with escaped slashes.

    >>> spellings("a/é")
    (b'a/\xc3\xa9', b'a/\\u00e9', b'a\\/\xc3\xa9', b'a\\/\\u00e9')
    >>> spellings("a1")
    (b'a1',)
    """
    plain = json.dumps(interaction_id, ensure_ascii=False)[1:-1].encode(errors="surrogatepass")
    ascii_only = json.dumps(interaction_id)[1:-1].encode()
    slashed = (each.replace(b"/", b"\\/") for each in (plain, ascii_only))
    return tuple(dict.fromkeys((plain, ascii_only, *slashed)))
