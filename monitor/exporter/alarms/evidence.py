"""The score records behind an alarm: read from their topic, or left out in time."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.errors import DependencyRefused, RecordSkipped
from monitor.kafka.connection import Connection
from monitor.kafka.fetch import fetch
from monitor.records import ScoreRecord, read_score_record
from monitor.runtime.logs import logger

#: An alarm waits no longer than this for its claims.
LIMIT_S = 10.0


class ScoreRecords:
    """Single records of the topic of score records."""

    def __init__(self, connection: Connection, topic: str, limit_s: float = LIMIT_S) -> None:
        self._connection, self._topic, self._limit_s = connection, topic, limit_s

    async def __call__(self, alarm: str, places: Sequence[tuple[int, int]]) -> list[ScoreRecord]:
        """Those at these places (partition, offset); the log says when some cannot be had."""
        found, why = list[ScoreRecord](), "no longer on the topic"
        try:
            for record in await fetch(self._connection, self._topic, places, self._limit_s):
                found.append(read_score_record(record.value or b""))
        except TimeoutError:
            why = f"not read within {self._limit_s:g} s"
        except (DependencyRefused, RecordSkipped) as error:
            why = str(error)
        if len(found) < len(places):
            logger().warning(
                "alarm_without_claims",
                key=alarm,
                topic=self._topic,
                missing=len(places) - len(found),
                error=why,
            )
        return found
