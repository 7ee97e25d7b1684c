"""When an alarm opens and closes: the last records of ``rag.alarms.v1`` against the detectors.

Whether it is open is part of the evidence's recursion (``monitor.stats.drift``): gauge, record,
log and explanation go by the same bit. So it is a function of the slots and of the threshold of
now, and a threshold that changes much opens or closes an alarm as if it had always been that one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Literal, cast

from monitor.exporter.alarms.explanation import (
    NO_ROLLOUTS,
    Rollouts,
    enough_later,
    explained,
    recovered,
    settled,
    span_of,
    story,
)
from monitor.exporter.scores.detectors import (
    CarriedStart,
    DetectorHistory,
    DriftDetectors,
    DriftKey,
    DriftState,
)
from monitor.records.alarm import (
    AlarmRecord,
    CarriedEvidence,
    Cause,
    State,
    alarm_key,
    answered,
)
from monitor.stats.drift import BetEvidence, DriftEvidence, after, closing

#: ``DriftDetectors.later``.
Later = Callable[[DriftKey, float, float], int]
#: ``Releases.of``.
ReleasesOf = Callable[[str], Rollouts]
#: ``DriftDetectors.history``.
Histories = Callable[[DriftKey, float], DetectorHistory | None]


def transitions(
    last: Mapping[str, AlarmRecord],
    states: Iterable[DriftState],
    histories: Histories,
    now: float,
    segment_by: str | None = None,
    later: Later = lambda _key, _after, _now: 0,
    rollouts: ReleasesOf = lambda _application: NO_ROLLOUTS,
) -> list[AlarmRecord]:
    """The records to publish at ``now`` (epoch seconds), in the order of their keys.

    ``last`` holds the latest record of each key; ``states`` are all detectors with a baseline,
    after the replay (half a replay would close what is open). Publishing what comes back, and
    asking again, gives nothing.
    """
    current = {alarm_key(*state.key): state for state in states}
    found: list[AlarmRecord | None] = []
    for key in sorted({*last, *current}):
        state, record = current.get(key), last.get(key)
        becomes = due(record, state, later, now)
        if becomes == "closed" and record is not None:
            found.append(_closing(record, state, histories, now))
        elif becomes == "carried" and record is not None and state is not None:
            found.append(_carrying(record, state))
        elif becomes == "settled" and record is not None and state is not None:
            found.append(_settling(record, histories(state.key, now)))
        elif becomes == "open" and state is not None:
            found.append(
                _opening(record, state, histories, now, segment_by, rollouts(state.key.application))
            )
    return [record for record in found if record is not None]


def due(
    record: AlarmRecord | None, state: DriftState | None, later: Later, now: float
) -> State | Literal["carried", "settled"] | None:
    """What an alarm may become now, as far as that shows without its history; None: it stays.

    Cheap, and asked at every look; a history is a day of slots.
    """
    is_open = state is not None and state.alarm
    if record is None or record.state == "closed":
        return "open" if is_open else None
    if state is None or not is_open:
        return "closed"
    if state.carried[-1:] and state.carried[-1].at > _carried_until(record):
        return "carried"
    until = record.evidence_until
    if record.settled is not None or until is None:
        return None
    enough = later(state.key, until.timestamp(), now) >= enough_later(record)
    return "settled" if enough else None


def was_open(last: Mapping[str, AlarmRecord], key: DriftKey, since: float) -> bool:
    """Whether a detector's alarm is open, or was after ``since`` (epoch seconds)."""
    record = last.get(alarm_key(*key))
    if record is None:
        return False
    closed_at = record.closed_at
    return record.state == "open" or (closed_at is not None and closed_at.timestamp() > since)


def carry_over(record: AlarmRecord, drift: DriftDetectors) -> None:
    """Let evidence begin with what the latest record of its key says."""
    found = []
    for one in record.carried:
        bets = cast("BetEvidence", one.bets)
        evidence = DriftEvidence(bets, one.is_open, reached=0.0)
        found.append(CarriedStart(one.at.timestamp(), evidence._replace(reached=evidence.combined)))
    drift.carry(DriftKey(record.metric, record.application, record.judge), record.baseline, found)


def carries_nothing(record: AlarmRecord, drift: DriftDetectors) -> None:
    """A record is gone: its evidence begins with none."""
    carry_over(record.model_copy(update={"carried": ()}), drift)


def _carried_until(record: AlarmRecord) -> float:
    return max((one.at.timestamp() for one in record.carried), default=-math.inf)


def _carrying(record: AlarmRecord, state: DriftState) -> AlarmRecord:
    kept = tuple(
        CarriedEvidence(
            at=datetime.fromtimestamp(one.at, UTC),
            bets=one.evidence.bets,
            is_open=one.evidence.is_open,
        )
        for one in state.carried
    )
    return record.model_copy(update={"carried": kept})


def _settling(record: AlarmRecord, history: DetectorHistory | None) -> AlarmRecord | None:
    found = None if history is None else settled(record, history)
    return None if found is None else answered(record.model_copy(update={"settled": found}))


def _opening(
    record: AlarmRecord | None,
    state: DriftState,
    histories: Histories,
    now: float,
    segment_by: str | None,
    rollouts: Rollouts,
) -> AlarmRecord | None:
    history = histories(state.key, now)
    excerpt = history and story(history, 10.0**state.threshold, span_of(record))
    if history is None or excerpt is None:
        return None
    return _carrying(explained(state, excerpt, history, now, segment_by, rollouts), state)


def _closing(
    record: AlarmRecord, state: DriftState | None, histories: Histories, now: float
) -> AlarmRecord:
    history = None if state is None else histories(state.key, now)
    because: Cause = "recovered"
    if state is not None and state.baseline != record.baseline:
        because = "new_baseline"
    elif state is None or not state.is_fed or state.is_stale or _fell_silent(record, history):
        because = "not_watched"
    elif history is not None and not _has_been_open(record, history):
        because = "evidence_expired"
    elif state.evidence is not None and _would_go_on(state.evidence, record.threshold):
        because = "threshold_raised"
    last = history.counted[-1].event_time if history and history.counted else None
    closed = record.model_copy(
        update={
            "state": "closed",
            "closed_at": datetime.fromtimestamp(now, UTC),
            "closed_because": because,
            "recovered": recovered(record, history)
            if because == "recovered" and history is not None
            else None,
            "evidence": None if state is None else state.evidence,
            "evidence_until": None if last is None else datetime.fromtimestamp(last, UTC),
        }
    )
    return answered(closed)


def _would_go_on(evidence: float, threshold: float) -> bool:
    """Both in log10."""
    return evidence >= math.log10(closing(10.0**threshold))


def _has_been_open(record: AlarmRecord, history: DetectorHistory) -> bool:
    """Whether the evidence that counts was enough for the alarm: else nothing has ended it."""
    evidence, threshold = history.carried, 10.0**record.threshold
    for one in history.counted:
        if evidence.is_open:
            return True
        if one.event_time >= history.start:
            evidence = after(evidence, one.deviation, threshold, history.baseline.dependence)
    return evidence.is_open


def _fell_silent(record: AlarmRecord, history: DetectorHistory | None) -> bool:
    """Whether a silence ended it, which nobody may have seen: what came later is another story."""
    until = (record.evidence_until or record.opened_at).timestamp()
    return any(
        one.deviation.after_silence and one.event_time > until
        for one in (history.counted if history else ())
    )
