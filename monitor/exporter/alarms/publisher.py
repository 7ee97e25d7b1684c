"""Alarms between their topic, the detectors and the log: opened, explained and closed once.

What was read on the topic is the only memory, so a restart repeats nothing: a record holds when it
has come back from there, and only then is it told in the log, by the exporter that wrote it, if it
was the first to say so. Looks are at the same moments on every exporter, so that two of them write
the same.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from monitor.control.latest_alarms import LatestAlarms
from monitor.control.publisher import Outbox
from monitor.errors import RecordSkipped
from monitor.exporter.alarms.explanation import NO_ROLLOUTS, Rollouts
from monitor.exporter.alarms.transitions import (
    ReleasesOf,
    carries_nothing,
    carry_over,
    due,
    transitions,
)
from monitor.exporter.alarms.worst import with_claims
from monitor.exporter.messages.together import incident_since
from monitor.exporter.scores.detectors import (
    DetectorHistory,
    DriftDetectors,
    DriftState,
)
from monitor.exporter.scores.observation import place_of
from monitor.kafka.record import KafkaRecord
from monitor.records import ScoreRecord
from monitor.records.alarm import AlarmRecord, alarm_key, log_fields
from monitor.runtime.health import Health
from monitor.runtime.logs import logger

#: Seconds between looks; each divides a minute, and so every period.
EVERY_S: Final = (5.0, 2.0, 1.0, 0.5)
#: Two days of slots and a broker that does not answer may take a minute for one alarm.
STUCK_AFTER_S: Final = 600.0
#: Header of a record: the exporter that wrote it.
WRITER: Final = "writer"

#: Reads the score records at some places (partition, offset) of their topic, as far as it can.
FetchScores = Callable[[str, Sequence[tuple[int, int]]], Awaitable[list[ScoreRecord]]]


def every(settle_s: float) -> float:
    """Seconds between two looks: a quarter of ``drift.settle``, rounded down to one of ``EVERY_S``.

    >>> every(60), every(10), every(2), every(1)
    (5.0, 2.0, 0.5, 0.5)
    """
    return next((seconds for seconds in EVERY_S if seconds <= settle_s / 4), EVERY_S[-1])


class AlarmPublisher:
    """Holds the alarms of the topic, and writes what they become.

    ``segment_of`` gives the attribute that an application's segments are values of, ``fetch`` the
    score records of the worst interactions, ``clock`` epoch seconds; ``writer`` is a name that no
    other process has. ``cleared`` takes the texts off a score record that were forgotten;
    ``rollouts`` gives what was rolled out of an application.
    """

    def __init__(
        self,
        drift: DriftDetectors,
        outbox: Outbox,
        segment_of: Callable[[str], str | None],
        fetch: FetchScores,
        health: Health,
        clock: Callable[[], float],
        writer: str,
        cleared: Callable[[ScoreRecord], ScoreRecord] = lambda record: record,
        rollouts: ReleasesOf = lambda _application: NO_ROLLOUTS,
    ) -> None:
        self._cleared, self._rollouts = cleared, rollouts
        self._drift, self._outbox, self._fetch = drift, outbox, fetch
        self._segment_of, self._writer = segment_of, writer.encode()
        self._health, self._clock = health, clock
        self._every_s = every(drift.settings.settle_s)
        self._latest = LatestAlarms()

    @property
    def alarms(self) -> Mapping[str, AlarmRecord]:
        """The latest record of each key, as the topic has it."""
        return self._latest.by_key

    def apply(self, record: KafkaRecord) -> RecordSkipped | None:
        """Let a record of the topic hold; what was wrong with one that was left out."""
        self._outbox.came_back(record.key)
        key = (record.key or b"").decode("utf-8", "replace")
        before = self.alarms.get(key)
        if (skipped := self._latest.apply(record.key, record.value)) is not None:
            return skipped
        found = self.alarms.get(key)
        if found is not None:
            carry_over(found, self._drift)
        elif before is not None:
            carries_nothing(before, self._drift)
        is_ours = (WRITER, self._writer) in record.headers
        if found is not None and is_ours and _is_news(before, found):
            tell(found)
        return None

    async def run(self, is_ready: Callable[[], bool]) -> None:
        """Look for ever, once all has been replayed: half a replay would close what is open."""
        try:
            while True:
                await asyncio.sleep(self._every_s - self._clock() % self._every_s)
                self._beat()
                if is_ready():
                    await self.look(math.floor(self._clock() / self._every_s) * self._every_s)
        finally:
            self._health.finished("alarm_publisher")

    async def look(self, now: float) -> None:
        """Write what changes at ``now`` (epoch seconds).

        One detector at a time, so that nobody waits for all of them.
        """
        seen = set()
        for state in self._drift.states(now):
            key = alarm_key(*state.key)
            seen.add(key)
            await self._consider(key, state, now)
            await asyncio.sleep(0)
        for key in sorted(self.alarms.keys() - seen):
            await self._consider(key, None, now)

    async def _consider(self, key: str, state: DriftState | None, now: float) -> None:
        self._beat()
        record = self.alarms.get(key)
        if due(record, state, self._drift.later, now) is None or self._outbox.is_under_way(key):
            return
        snapshot = _nothing if state is None else self._drift.snapshot(state.key, now)
        # In a thread, since the slots of two days take a while.
        rollouts = NO_ROLLOUTS if state is None else self._rollouts(state.key.application)
        become = asyncio.to_thread(self._become, key, record, state, snapshot, rollouts, now)
        for found, history in await become:
            is_new = found.state == "open" and (record is None or record.state == "closed")
            whole = await self._with_claims(found, history) if is_new else found
            if is_new:
                since = incident_since(whole, self.alarms)
                whole = whole.model_copy(update={"incident_since": since})
            if self.alarms.get(key) is record:  # else another exporter was quicker
                self._outbox.offer(whole)

    def _beat(self) -> None:
        self._health.beat("alarm_publisher", limit_s=STUCK_AFTER_S)

    def _become(
        self,
        key: str,
        record: AlarmRecord | None,
        state: DriftState | None,
        snapshot: Callable[[], DetectorHistory | None],
        rollouts: Rollouts,
        now: float,
    ) -> list[tuple[AlarmRecord, DetectorHistory | None]]:
        last = {} if record is None else {key: record}
        states = [] if state is None else [state]
        segment_by = None if state is None else self._segment_of(state.key.application)
        history = snapshot()
        found = transitions(
            last, states, lambda *_: history, now, segment_by, self._drift.later, lambda _: rollouts
        )
        return [(one, history) for one in found]

    async def _with_claims(
        self, record: AlarmRecord, history: DetectorHistory | None
    ) -> AlarmRecord:
        wanted = {one.interaction_id for one in record.worst}
        counted = () if history is None else history.counted
        places = [place_of(one.slot.position) for one in counted if one.interaction_id in wanted]
        known = [place for place in places if place is not None]
        found = await self._fetch(record.key, known) if known else []
        return with_claims(record, map(self._cleared, found))


def _nothing() -> None:
    """The history of a detector that is gone."""


def _is_news(before: AlarmRecord | None, found: AlarmRecord) -> bool:
    """Whether a record says what was not known: a second exporter may say it again."""
    return (before.state if before is not None else "closed") != found.state


def tell(record: AlarmRecord) -> None:
    """The log event of an alarm that has opened or closed; it begins with the answer."""
    log = logger().warning if record.state == "open" else logger().info
    log("quality_drift", **log_fields(record))
