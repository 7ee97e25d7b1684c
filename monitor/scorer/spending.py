"""What all scorers have spent today, read from their score records: at start, and from then on."""

from __future__ import annotations

import asyncio
import math

from monitor.errors import RecordSkipped
from monitor.judge.limits.budget import Budget
from monitor.kafka.connection import Connection
from monitor.kafka.reader import TopicReader
from monitor.kafka.record import KafkaRecord
from monitor.records import read_score_record
from monitor.runtime.health import Health
from monitor.runtime.logs import logger

PART = "spending"
#: Records between two looks at other work: a day's replay must hold up nothing.
YIELD_EVERY = 200
#: A record's broker time may lie before the time of its judgement.
SLACK_S = 600.0
#: Of a day's money; whoever may write score records must not spend all of it with one.
MOST_OF_A_DAY = 0.25


class Spending:
    """Follows a topic of score records, and tells the budget."""

    def __init__(self, connection: Connection, topic: str, budget: Budget, health: Health) -> None:
        self._connection, self._topic, self._budget = connection, topic, budget
        self._health = health
        self.is_known = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled; raises ``DependencyRefused`` when the topic may not be read."""
        self._health.waits(PART, f"today's spending on {self._topic}")
        since_s = self._budget.day_start() - SLACK_S
        reader = await TopicReader.start(
            self._connection,
            self._topic,
            self._health,
            start_ms=int(max(0.0, since_s) * 1000),
            part=f"{PART}_reader",
        )
        try:
            async for records in reader.batches():
                await self._apply(records)
                if not self.is_known.is_set():
                    await self._look_whether_known(reader)
        finally:
            await reader.stop()

    async def _apply(self, records: list[KafkaRecord]) -> None:
        for number, record in enumerate(records):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            if record.value is not None:
                self._add(record, record.value)

    def _add(self, record: KafkaRecord, line: bytes) -> None:
        if not add(self._budget, line):
            logger().warning(
                "spending_implausible",
                topic=record.topic,
                partition=record.partition,
                offset=record.offset,
                what="its cost is no amount of money, or more than a quarter of "
                "limits.usd_per_day: at most that counts",
            )

    async def _look_whether_known(self, reader: TopicReader) -> None:
        try:
            left = await reader.left_to_replay()
        except TimeoutError:  # the broker is away: not known yet
            return
        if left == 0:
            self.is_known.set()
            self._health.ready(PART)
            spent = self._budget.spent()
            logger().info(
                "spending_known", usd=round(spent, 6), usd_per_day=self._budget.usd_per_day
            )


def add(budget: Budget, line: bytes) -> bool:
    """Count what a score record says was spent; False where that cannot be true.

    Less than nothing, or no number, counts for nothing; more than a quarter of the day's money
    (``MOST_OF_A_DAY``) for that much.
    """
    try:
        record = read_score_record(line)
    except RecordSkipped:  # the exporter counts these, and says what is wrong
        return True
    place = (record.source.topic, record.source.partition, record.source.offset)
    judged_at = record.judged_at.timestamp()
    most = MOST_OF_A_DAY * budget.usd_per_day
    usd = _believed(record.usage.usd, most)
    rechecks_usd = _believed(record.rechecks_usd, most - usd)
    budget.recorded(judged_at, place, usd, rechecks_usd)
    return usd == record.usage.usd and rechecks_usd == record.rechecks_usd


def _believed(usd: float, most: float) -> float:
    return min(usd, most) if math.isfinite(usd) and usd > 0 else 0.0
