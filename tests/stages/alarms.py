"""A topic of score records with an incident in it, and an exporter that tells alarms of it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from monitor.records import (
    Claims,
    JudgeIdentity,
    Outcome,
    SamplingRecord,
    ScoreRecord,
    Source,
    Verdicts,
)
from monitor.records.alarm import AlarmRecord, read_alarm_record
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.process import MonitorProcess, until
from tests.stages.topics import Topics

METRIC = "noise_sensitivity_irrelevant"
JUDGE = JudgeIdentity(name="offline", version="1", model="m", prompts="p", pipeline="screen")
KEY = f"{METRIC}/bot/{JUDGE.label}"
USUAL, INCIDENT, OVER = range(180), range(180, 240), range(240, 480)
#: A few slots make a baseline, and A is 1,000.
QUICK = {
    "drift__learn_slots": "60",
    "drift__learn_for": "0s",
    "drift__learn_wait": "1s",
    "drift__settle": "1s",
    "drift__judged_per_week": "1000",
    "drift__metrics": METRIC,
    "export__segment": "tenant",
}


def scored(
    number: int, start: float, value: float, tenant: str, application: str = "bot"
) -> Record:
    """The score record of one answer with one claim, judged a second after the one before."""
    wrong, moment = value > 0, datetime.fromtimestamp(start + number, UTC)
    record = ScoreRecord(
        application=application,
        interaction_id=f"i{number}",
        event_time=moment,
        judged_at=moment,
        source=Source(topic="in", partition=0, offset=number),
        judge=JUDGE,
        sampling=SamplingRecord(first_offset=number, last_offset=number, kind="with_reference"),
        segment=tenant,
        interaction={"retrieved_contexts": [{"id": "doc-1", "text": "-"}, {"id": "doc-2"}]},
        claims=Claims(response=(f"claim {number}",), reference=("the truth",)),
        verdicts=Verdicts(
            response_by_passage=((not wrong, wrong),),
            response_by_context=(True,),
            response_by_reference=(not wrong,),
            reference_by_passage=((True, False),),
            reference_by_response=(not wrong,),
        ),
        scores={METRIC: value},
        outcome=Outcome.SCORED,
    )
    return Record(record.to_json(), record.key.encode())


def answers(numbers: Iterable[int], start: float, **fields: Any) -> list[Record]:
    """One of ten is wrong; during the incident all of acme's, who asks every other time."""
    return [
        scored(
            number,
            start,
            float(number % 10 == 0 or (number in INCIDENT and number % 2 == 1)),
            "acme" if number % 2 else "zen",
            **fields,
        )
        for number in numbers
        if number not in OVER or number % 10  # then nothing is wrong any more
    ]


class Stage:
    """Topics with a planted incident, and exporters on them, one after another."""

    def __init__(self, broker: str, topics: Topics, directory: Path) -> None:
        self.broker, self.topics, self._directory = broker, topics, directory
        self.start = time.time() - 900
        self._numbers = iter(range(100))

    async def judged(self, numbers: Iterable[int], **fields: Any) -> None:
        """Score records of these numbers."""
        sent = answers(numbers, self.start, **fields)
        await produce(self.broker, self.topics["kafka__topics__scores"], sent)

    def exporter(self, **settings: str) -> MonitorProcess:
        """An exporter with a log of its own; ``module`` is another program."""
        given = {**self.topics, **QUICK, **settings}
        name = f"exporter-{next(self._numbers)}"
        return MonitorProcess("export", self.broker, self._directory, name, **given)

    async def alarms(self, key: str = KEY) -> list[AlarmRecord]:
        """All that was ever written under a key."""
        records = await read_all(self.broker, self.topics["kafka__topics__alarms"])
        mine = [each for each in records if each.key == key.encode()]
        found = [read_alarm_record(each.key, each.value) for each in mine]
        return [one for one in found if one is not None]

    async def states(self, *wanted: str, key: str = KEY) -> list[AlarmRecord]:
        """The records under a key, once there are as many; they must be in these states."""

        async def found() -> list[AlarmRecord]:
            records = await self.alarms(key)
            return records if len(records) >= len(wanted) else []

        records: list[AlarmRecord] = await until(found, f"{wanted} on the topic")
        assert [one.state for one in records] == list(wanted)
        return records
