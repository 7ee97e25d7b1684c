"""Sending dead letters back to where they came from, as the records that they were.

Each letter gets one answer: it was sent, or why not. Nothing is forgotten by that: the letter stays
on the dead letter topic.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from monitor.ingest.dead_letter_headers import (
    DeadLetter,
    FailureOrigin,
    read_dead_letter,
    redrive_headers,
)
from monitor.kafka.producer import Producer, RecordRefused
from monitor.kafka.record import KafkaRecord, Unreadable
from monitor.records import Reason

MOST_ATTEMPTS = 3
#: Why a source topic does not give a record as it was.
_GONE: Final = "its source topic has the record no more"
_UNPACKED: Final = "no client can unpack the record on its source topic"
_ANOTHER: Final = "its source topic has another record in its place"
#: The letter of a trace holds its spans, encoded anew, and names the record of its root.
_OF_TRACE: Final = "it is of a trace, whose spans may stand in several records"
_READ_AGAIN: Final = "to have it judged, have the scorers read those again (docs/dead-letters.md)"


class RedriveResult(StrEnum):
    """What became of a letter."""

    REDRIVEN = "redriven"
    REFUSED = "refused"  # it has failed often enough
    VALUE_OMITTED = "value_omitted"  # and the source topic does not give it
    OTHER_TOPIC = "other_topic"
    TOO_LARGE = "too_large"  # or refused by the topic for another reason of its own
    OLDER = "older"  # than asked for
    NO_DEAD_LETTER = "no_dead_letter"


#: Counted only.
QUIET = (RedriveResult.OLDER, RedriveResult.NO_DEAD_LETTER)
#: What asks for a person: the records are not where they were wanted.
LEFT = (
    RedriveResult.REFUSED,
    RedriveResult.VALUE_OMITTED,
    RedriveResult.OTHER_TOPIC,
    RedriveResult.TOO_LARGE,
)


class Redriven(NamedTuple):
    """The answer for one dead letter, with its place on the dead letter topic."""

    answer: RedriveResult
    partition: int
    offset: int
    dead_letter: DeadLetter | None
    why: str


@dataclass(frozen=True)
class RedriveSelection:
    """Which letters; ``topics``: input topic → its partitions now.

    Records on ``span_topics`` are parts of traces: a letter of these may be of a whole trace.
    """

    topics: Mapping[str, Sequence[int]]
    since: datetime | None = None
    most: int | None = None
    span_topics: frozenset[str] = frozenset()


class _Whole(NamedTuple):
    """What is sent, None where nobody has it; ``why`` it is not the record as it was."""

    record: KafkaRecord | None
    why: str = ""


#: The record at an origin, if its topic still has it.
FetchOrigin = Callable[[FailureOrigin], Awaitable[KafkaRecord | None]]


class Redriver:
    """Decides and sends; ``producer`` None is a dry run. ``report`` hears every answer."""

    def __init__(
        self,
        selection: RedriveSelection,
        fetch: FetchOrigin,
        producer: Producer | None,
        report: Callable[[Redriven], None],
    ) -> None:
        self._selection, self._fetch = selection, fetch
        self._producer, self._report = producer, report
        self.counts: Counter[RedriveResult] = Counter()
        self._sent = 0

    async def take(self, records: Sequence[KafkaRecord]) -> int:
        """Answer records of one partition in order; how many, when no more are wanted."""
        chosen: list[KafkaRecord] = []
        for record in records:
            if self._sent == self._selection.most:
                break
            chosen.append(record)
            self._sent += self._unfit(record) is None
        # All are on Kafka, or answered otherwise, before this returns: the commit comes after.
        for redriven in await asyncio.gather(*(self._answer(record) for record in chosen)):
            self.counts[redriven.answer] += 1
            self._report(redriven)
        return len(chosen)

    def _unfit(self, record: KafkaRecord) -> tuple[RedriveResult, str] | None:
        dead_letter = read_dead_letter(record)
        if dead_letter is None:
            return RedriveResult.NO_DEAD_LETTER, "no x-error headers"
        history, since = dead_letter.history, self._selection.since
        if since is not None and history.first_failed_at < since:
            return RedriveResult.OLDER, f"failed at {history.first_failed_at.isoformat()}"
        if history.attempts >= MOST_ATTEMPTS:
            return RedriveResult.REFUSED, f"{history.attempts} attempts, last {dead_letter.cause}"
        if dead_letter.cause == Reason.UNREADABLE:
            return (
                RedriveResult.VALUE_OMITTED,
                "no client could unpack the record, which is on its topic",
            )
        if history.origin.topic not in self._selection.topics:
            return (
                RedriveResult.OTHER_TOPIC,
                "its topic is not in kafka.topics.interactions, or is gone",
            )
        return None

    async def _answer(self, record: KafkaRecord) -> Redriven:
        dead_letter = read_dead_letter(record)
        unfit = self._unfit(record)
        if unfit is not None or dead_letter is None:
            answer, why = unfit or (RedriveResult.NO_DEAD_LETTER, "")
        else:
            answer, why = await self._send(record, dead_letter)
        return Redriven(answer, record.partition, record.offset, dead_letter, why)

    async def _send(
        self, record: KafkaRecord, dead_letter: DeadLetter
    ) -> tuple[RedriveResult, str]:
        whole, lacking = await self._whole(record, dead_letter)
        if whole is None:
            again = f"; {_READ_AGAIN}" if lacking == _OF_TRACE else ""
            return RedriveResult.VALUE_OMITTED, f"and {lacking}{again}"
        origin, attempts, _ = dead_letter.history
        there = origin.partition in self._selection.topics[origin.topic]
        if self._producer is not None:
            try:
                await self._producer.write(
                    origin.topic,
                    whole.value,
                    key=whole.key,
                    partition=origin.partition if there else None,
                    timestamp_ms=origin.timestamp_ms if origin.timestamp_ms >= 0 else None,
                    headers=redrive_headers(whole, dead_letter),
                )
            except RecordRefused as error:
                return (
                    RedriveResult.TOO_LARGE,
                    f"{error}; raise max.message.bytes of {origin.topic}",
                )
        sent = f"attempt {attempts + 1}, after {dead_letter.cause}"
        return RedriveResult.REDRIVEN, f"{sent}; redacted, since {lacking}" if lacking else sent

    async def _whole(self, record: KafkaRecord, dead_letter: DeadLetter) -> _Whole:
        if dead_letter.value_omitted is not None:
            return await self._from_source(dead_letter, dead_letter.value_omitted)
        if dead_letter.redacted is None:
            return _Whole(record)
        # As it was where the source still has it; else redacted, which is judged the same.
        found = await self._from_source(dead_letter, dead_letter.redacted)
        return found if found.record is not None else found._replace(record=record)

    async def _from_source(self, dead_letter: DeadLetter, size: int) -> _Whole:
        origin = dead_letter.history.origin
        found = await self._fetch(origin)
        if found is None:
            return _Whole(None, _GONE)
        if isinstance(found, Unreadable):
            return _Whole(None, _UNPACKED)
        # The topic may have been made anew since: the size tells most strangers.
        if len(found.value or b"") == size:
            return _Whole(found)
        return _Whole(None, _OF_TRACE if origin.topic in self._selection.span_topics else _ANOTHER)
