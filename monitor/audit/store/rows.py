"""From a score record to the rows that are kept of it. Pure."""

from __future__ import annotations

import hashlib
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, and_

from monitor.audit.store.tables import ID_KEY_LENGTH, evidence, id_key
from monitor.metrics.catalogue import CATALOGUE
from monitor.metrics.offending_claims import judged_claims
from monitor.records import ScoreRecord
from monitor.stats.sums import as_worse

#: Longer names are cut: an index takes no more, in whatever letters.
_LONGEST: Final = 200
#: Characters of a claim that stand in a list.
_LONGEST_HEADLINE: Final = 300


class Placed(NamedTuple):
    """A score record where it stands on its topic, and as it is kept.

    ``is_forgotten``: its texts are to be kept nowhere, and are not in it.
    """

    record: ScoreRecord
    raw: bytes
    partition: int
    offset: int
    is_forgotten: bool = False


def stored(text: str) -> str:
    """As a database takes it: PostgreSQL has no NUL in a text.

    >>> stored("a" + chr(0) + "b") == "a" + chr(0xFFFD) + "b"
    True
    """
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")


def stored_name(name: str) -> str:
    """Also cut where no index takes it, so that different names stay different.

    >>> stored_name("support-bot"), len(stored_name("x" * 1_000)) < 255
    ('support-bot', True)
    """
    name = stored(name)
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}…{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def has_id(interaction_id: str) -> ColumnElement[bool]:
    """Rows of this interaction, by the index, whose entries are cut."""
    name = stored(interaction_id)
    # SQLite would put what equals the column into the key as well, and then use no index.
    return and_(id_key == name[:ID_KEY_LENGTH], evidence.c.interaction_id.between(name, name))


def digest(application: str, interaction_id: str, judge: str) -> bytes:
    """What one judged interaction is known by: the same judge says nothing new of it."""
    named = "\x00".join(f"{len(part)}:{part}" for part in (application, interaction_id, judge))
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()


def milliseconds(seconds: float) -> int:
    """Epoch seconds as whole milliseconds."""
    return round(seconds * 1000)


def evidence_row(placed: Placed) -> dict[str, Any]:
    """The row of table ``evidence``, without its number."""
    record, judge = placed.record, placed.record.judge.label
    slot = record.sampling
    return {
        "digest": digest(record.application, record.interaction_id, judge),
        "application": stored_name(record.application),
        "interaction_id": stored(record.interaction_id),
        "judge": stored_name(judge),
        "event_ms": milliseconds(record.event_time.timestamp()),
        "judged_ms": milliseconds(record.judged_at.timestamp()),
        "partition": placed.partition,
        "offset": placed.offset,
        "segment": stored_name(record.segment),
        "outcome": record.outcome.value,
        "reason": None if record.reason is None else stored(record.reason)[:64],
        "weight": None if slot.m is None or slot.q is None else slot.m / slot.q * (slot.u or 0.0),
        "has_texts": not placed.is_forgotten,
        "doubt": doubt(record),
        "bytes": len(placed.raw),
        "headline": headline(record),
        "record": placed.raw.decode("utf-8"),
    }


def score_rows(record: ScoreRecord, evidence_id: int) -> list[dict[str, Any]]:
    """The rows of table ``score``: one for each metric that has a value."""
    return [
        {
            "evidence_id": evidence_id,
            "metric": stored(metric)[:64],
            "application": stored_name(record.application),
            "event_ms": milliseconds(record.event_time.timestamp()),
            "value": value,
            "worse": as_worse(value, None if known is None else known.higher_is_better),
        }
        for metric, value in record.scores.items()
        if isinstance(value, float)
        for known in [CATALOGUE.get(metric)]
    ]


def headline(record: ScoreRecord) -> str:
    """What stands in a list: the first wrong claim, else what was answered."""
    claims = [claim.text for claim in judged_claims(record) if claim.is_wrong and claim.text]
    text = claims[0] if claims else str(record.interaction.get("response") or "")
    text = stored(" ".join(text.split()))
    return text if len(text) <= _LONGEST_HEADLINE else f"{text[: _LONGEST_HEADLINE - 1]}…"


def doubt(record: ScoreRecord) -> float:
    """How near the judge was to the other verdict, from 0 to 1; 0 where it says nothing of that.

    1 − 2·|p − ½| of the verdict that was nearest; 1 where the words that a verdict was given for do
    not stand in the passage.
    """
    near = [
        1.0 - 2.0 * abs(p - 0.5)
        for documents in record.probabilities.values()
        for p in documents.values()
    ]
    quotes = (quote for found in record.evidence.values() for quote in found.values())
    return 1.0 if any(quote is None for quote in quotes) else max(near, default=0.0)
