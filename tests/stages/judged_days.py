"""Score records of whole days, which the broker has of then."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from monitor.stats.period import DAY_S
from tests.servers.kafka_topics import Record
from tests.stages.score_records import record


def judged_each_day(
    days: int, a_day: int, faithfulness: float, application: str = "bot"
) -> list[Record]:
    """So many records a day on the days before this one, the oldest first."""
    midnight, found = int(time.time()) // DAY_S * DAY_S, []
    for day in range(days, 0, -1):
        for number in range(a_day):
            then = midnight - day * DAY_S + number * DAY_S // a_day
            at = datetime.fromtimestamp(then, UTC)
            one = record(str(day * a_day + number), 0.0, faithfulness)
            changes = {"event_time": at, "judged_at": at, "application": application}
            one = one.model_copy(update=changes)
            key = application.encode()
            found.append(Record(one.to_json(), key=key, timestamp_ms=then * 1000))
    return found
