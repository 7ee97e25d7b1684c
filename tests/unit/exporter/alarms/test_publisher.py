"""The desk of alarms: a change is offered once, told once, and remembered as the topic has it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from monitor.control.publisher import Outbox
from monitor.control.state import MOST_KEYS
from monitor.errors import RecordSkipped
from monitor.exporter.alarms.evidence import ScoreRecords
from monitor.exporter.alarms.publisher import WRITER, AlarmPublisher
from monitor.exporter.scores.detectors import DriftDetectors
from monitor.exporter.scores.observation import NOWHERE, Observation, position
from monitor.kafka.connection import Connection
from monitor.records import Claims, ScoreRecord, Verdicts
from monitor.records.alarm import AlarmRecord
from monitor.records.control import Removed
from monitor.records.keyed import Keyed
from monitor.runtime.health import Health
from tests.stages.candidates import candidate_of
from tests.stages.captured_log import captured_log
from tests.stages.incident import (
    INCIDENT,
    KEY,
    NOWHERE_TO_CONNECT,
    OVER,
    SETTINGS,
    aggregator,
    scored,
)
from tests.stages.score_records import FIRST, START

Read = Callable[[], str]


@dataclass(frozen=True)
class Stored:
    """A record as it is read."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    topic: str = "alarms"
    partition: int = 0
    offset: int = 0
    timestamp: int = 0


class Offers(Outbox):
    """Keeps what it is to write."""

    def __init__(self) -> None:
        super().__init__(NOWHERE_TO_CONNECT, "alarms", Health(lambda: 0.0), what="alarm")
        self.taken: list[AlarmRecord] = []

    def offer(self, record: Keyed | Removed) -> None:
        """One more."""
        assert isinstance(record, AlarmRecord)
        assert not self.is_under_way(record.key)
        super().offer(record)
        self.taken.append(record)


class Scene:
    """A desk over detectors that have seen records."""

    def __init__(self, drift: DriftDetectors, writer: str = "me") -> None:
        self.drift, self.offers = drift, Offers()
        self.asked: list[Sequence[tuple[int, int]]] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.desk = AlarmPublisher(
            drift, self.offers, lambda _application: "tenant", self.fetch,
            Health(lambda: 0.0), lambda: 0.0, writer,
        )  # fmt: skip

    async def fetch(self, alarm: str, places: Sequence[tuple[int, int]]) -> list[ScoreRecord]:
        """One of them has a claim; the others cannot be had."""
        assert alarm == KEY
        self.asked.append(places)
        self.meanwhile()
        wrong = Verdicts(response_by_passage=((False,),), response_by_context=(False,))
        return [scored(296, 0.0, claims=Claims(response=("a claim",)), verdicts=wrong)]

    def comes_back(self, record: AlarmRecord, writer: str = "me") -> None:
        """It is read on the topic."""
        headers = [(WRITER, writer.encode())]
        stored = Stored(record.key.encode(), record.to_json(), headers)
        assert self.desk.apply(stored) is None


def placed(first: int = 0) -> DriftDetectors:
    """Detectors of an incident whose records were read at known places."""
    drift = aggregator([])
    for each in OVER[first:]:
        found = candidate_of(each, each.to_json())
        assert isinstance(found.payload, Observation)
        number = int(each.interaction_id)
        drift.apply(found, found.payload._replace(position=position(7, number)), +1)
    return drift


@pytest.fixture
def log() -> Iterator[Read]:
    """What is logged."""
    with captured_log("info", "json") as read:
        yield read


def told(log: Read) -> list[str]:
    """The states that the log tells of."""
    events = map(json.loads, log().splitlines())
    return [event["state"] for event in events if event["event"] == "quality_drift"]


async def test_a_change_is_offered_once_with_claims_and_told_when_it_comes_back(log: Read) -> None:
    """Looked at again before and after that: nothing; and so with the end."""
    scene = Scene(placed())
    await scene.desk.look(START + 200.0)
    assert scene.offers.taken == []
    for seconds in (302.0, 303.0):
        await scene.desk.look(START + seconds)
    (opened,) = scene.offers.taken
    assert sorted(scene.asked[0]) == [(7, n) for n in (280, 284, 288, 292, 296)]
    assert [claim.text for one in opened.worst for claim in one.claims] == ["a claim"]
    assert opened.incident_since == opened.opened_at
    assert told(log) == []
    assert scene.desk.alarms == {}
    scene.comes_back(opened)
    assert told(log) == ["open"]
    assert scene.desk.alarms == {KEY: opened}
    await scene.desk.look(START + 304.0)
    await scene.desk.look(START + 490.0)
    _, closed = scene.offers.taken
    scene.comes_back(closed)
    assert (closed.state, told(log)) == ("closed", ["open", "closed"])
    assert closed.incident_since == opened.incident_since
    assert len(scene.asked) == 1


async def test_what_another_exporter_has_said_is_not_repeated(log: Read) -> None:
    """Not written when it comes while claims are fetched; and only the first to say it tells it."""
    other = Scene(placed())
    await other.desk.look(START + 302.0)
    (opened,) = other.offers.taken
    late = Scene(placed())
    late.meanwhile = lambda: late.comes_back(opened, "another")
    await late.desk.look(START + 302.0)
    assert late.offers.taken == []
    late.comes_back(opened)
    assert told(log) == []


async def test_a_detector_that_is_gone_is_closed_as_that() -> None:
    """An open alarm without a detector, or with another baseline."""
    opened = Scene(placed())
    await opened.desk.look(START + 302.0)
    gone = Scene(DriftDetectors(SETTINGS))
    gone.comes_back(opened.offers.taken[0])
    await gone.desk.look(START + 303.0)
    assert [one.closed_because for one in gone.offers.taken] == ["not_watched"]


async def test_without_places_nothing_is_fetched() -> None:
    """Records that do not come from Kafka, or from a partition beyond a million."""
    scene = Scene(aggregator(INCIDENT))
    await scene.desk.look(START + 302.0)
    assert scene.asked == []
    assert len(scene.offers.taken) == 1
    assert position(1 << 20, 1) == NOWHERE


def test_a_tombstone_forgets_and_what_cannot_be_read_changes_nothing() -> None:
    """The reason is given back, to be counted."""
    scene = Scene(DriftDetectors(SETTINGS))
    assert scene.desk.apply(Stored(KEY.encode(), None)) is None
    found = scene.desk.apply(Stored(KEY.encode(), b'{"state": "open"}'))
    assert isinstance(found, RecordSkipped)
    assert found.cause == "malformed"
    assert scene.desk.alarms == {}


async def test_alarms_beyond_the_bound_are_left_out() -> None:
    """Whoever may write to the topic could name any number; those that are held go on."""
    scene = Scene(placed())
    await scene.desk.look(START + 302.0)
    (opened,) = scene.offers.taken
    for number in range(MOST_KEYS):
        scene.comes_back(opened.model_copy(update={"application": f"a{number}"}), "another")
    assert len(scene.desk.alarms) == MOST_KEYS
    found = scene.desk.apply(Stored(opened.key.encode(), opened.to_json()))
    assert isinstance(found, RecordSkipped)
    assert found.cause == "too_many"
    scene.comes_back(opened.model_copy(update={"application": "a7"}), "another")
    assert len(scene.desk.alarms) == MOST_KEYS


async def test_score_records_that_cannot_be_read_are_done_without(log: Read) -> None:
    """Nobody answers: after the time limit the log says so, and no trouble is left behind."""
    connection = Connection("127.0.0.1:1")
    fetch = ScoreRecords(connection, "scores", limit_s=0.2)
    assert await fetch(KEY, [(0, 1), (0, 2)]) == []
    (event,) = [e for e in map(json.loads, log().splitlines()) if e["event"].startswith("alarm")]
    assert (event["key"], event["missing"]) == (f"faithfulness/bot/{FIRST.label}", 2)
    assert event["error"] == "not read within 0.2 s"
    assert not connection.problems.present
