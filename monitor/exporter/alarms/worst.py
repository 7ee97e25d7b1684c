"""The worst interactions of an alarm, and the claims that made them so.

The slots in memory hold no texts: which interactions are the worst follows from them, their claims
are read from the few score records afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from monitor.exporter.scores.detector import Counted
from monitor.metrics.offending_claims import Offence, offending
from monitor.records import ScoreRecord
from monitor.records.alarm import (
    CLAIM_CHARACTERS,
    MOST_CLAIMS,
    MOST_PASSAGES,
    MOST_WORST,
    NAME_CHARACTERS,
    AlarmRecord,
    OffendingClaim,
    PassageOfClaim,
    WorstInteraction,
)
from monitor.stats.sums import as_worse


def worst(since: Iterable[Counted], better: bool | None) -> tuple[WorstInteraction, ...]:
    """Those furthest above their segment's baseline; of equal ones the latest, then by id."""
    found = [one for one in since if one.value]
    found.sort(key=lambda one: (-one.deviation.by, -one.event_time, one.interaction_id))
    return tuple(
        WorstInteraction(
            interaction_id=one.interaction_id,
            event_time=moment(one.event_time),
            segment=cut(one.slot.segment, NAME_CHARACTERS),
            value=as_worse(one.value or 0.0, better),
        )
        for one in found[:MOST_WORST]
    )


def with_claims(record: AlarmRecord, found: Iterable[ScoreRecord]) -> AlarmRecord:
    """The record with the offending claims of its worst interactions, as far as they are found.

    ``found`` are the score records behind them; others are ignored.
    """
    by_id = {
        one.interaction_id: one
        for one in found
        if one.application == record.application and one.judge.label == record.judge
    }
    filled = tuple(
        _with_claims(one, offending(by_id[one.interaction_id], record.metric))
        if one.interaction_id in by_id
        else one
        for one in record.worst
    )
    return record.model_copy(update={"worst": filled})


def _with_claims(one: WorstInteraction, offences: Sequence[Offence]) -> WorstInteraction:
    claims = tuple(
        OffendingClaim(
            number=offence.number,
            text=None if offence.text is None else cut(offence.text, CLAIM_CHARACTERS),
            passages=tuple(
                PassageOfClaim(
                    number=origin.number,
                    id=origin.passage_id and cut(origin.passage_id, NAME_CHARACTERS),
                    relevant=origin.relevant,
                )
                for origin in offence.passages[:MOST_PASSAGES]
            ),
        )
        for offence in offences[:MOST_CLAIMS]
    )
    left_out = max(0, len(offences) - MOST_CLAIMS)
    return one.model_copy(update={"claims": claims, "claims_left_out": left_out})


def moment(epoch_s: float) -> datetime:
    """Epoch seconds as a time in UTC."""
    return datetime.fromtimestamp(epoch_s, UTC)


def cut(text: str, most: int) -> str:
    """The text, or its beginning, in at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"
