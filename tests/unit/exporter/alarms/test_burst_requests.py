"""The desk of bursts: asks while evidence is high, and only then."""

from __future__ import annotations

import math
from datetime import UTC

import pytest

from monitor.control.bursts import BurstAllowance, Bursts
from monitor.control.publisher import Outbox
from monitor.exporter.alarms.burst_requests import BurstRequester, is_high
from monitor.exporter.scores.detectors import DriftDetectors, DriftKey, DriftState
from monitor.records.control import BURST_KEY, BurstRecord, Removed
from monitor.records.keyed import Keyed
from monitor.runtime.health import Health
from tests.stages.captured_log import captured_log
from tests.stages.control import applied
from tests.stages.incident import INCIDENT, KEY, NOWHERE_TO_CONNECT, OVER, aggregator
from tests.stages.score_records import START

ALLOWED = BurstAllowance(times=4, per_day_s=90, zone=UTC)
LATER = START + 400.0


class Offers(Outbox):
    """Keeps what it is to write."""

    def __init__(self) -> None:
        super().__init__(NOWHERE_TO_CONNECT, "control", Health(lambda: 0.0), what="burst")
        self.taken: list[BurstRecord] = []

    def offer(self, record: Keyed | Removed) -> None:
        """One more."""
        assert isinstance(record, BurstRecord)
        super().offer(record)
        self.taken.append(record)


class Scene:
    """A desk over detectors that have seen records, and its topic."""

    def __init__(self, drift: DriftDetectors) -> None:
        self.offers, self.bursts = Offers(), Bursts()
        self.desk = BurstRequester(
            drift, self.offers, self.bursts, ALLOWED, Health(lambda: 0.0), lambda: 0.0
        )

    async def look(self, now: float) -> int:
        """Look, and read what was written; the seconds granted of the day."""
        before = len(self.offers.taken)
        await self.desk.look(now)
        for record in self.offers.taken[before:]:
            self.offers.came_back(record.key.encode())
            assert applied(self.bursts, record.key.encode(), record.to_json()) is None
        return self.bursts.granted_s(now, UTC)


@pytest.mark.parametrize(
    ("evidence", "high"), [(None, False), (-1.0, False), (2.0, False), (2.01, True), (9.0, True)]
)
def test_evidence_is_high_above_a_tenth_of_the_threshold(
    evidence: float | None, high: bool
) -> None:
    """Both are logarithms."""
    key, threshold = DriftKey("faithfulness", "bot", "j@1"), math.log10(1_000)
    state = DriftState(key, 0.9, evidence, threshold, alarm=False, is_fed=True)
    assert is_high(state) is high


async def test_while_nothing_is_wrong_nothing_is_asked_for() -> None:
    """Nor before there is a baseline."""
    scene = Scene(aggregator([]))
    assert await scene.look(LATER) == 0
    assert scene.offers.taken == []


async def test_high_evidence_asks_until_the_allowance_is_spent() -> None:
    """The record names the detectors; that nothing is left is said once, and no more is written."""
    scene = Scene(aggregator(INCIDENT))
    with captured_log("info", "json") as told:
        seconds = [await scene.look(LATER + 5 * n) for n in range(60)]
    assert seconds[0] == 60
    assert seconds[-1] == 90
    assert [record.asked_by for record in scene.offers.taken] == [(KEY,)] * 2
    log = told()
    assert log.count("burst_asked") == 1
    assert log.count("burst_allowance_spent") == 1
    assert '"detectors": ["' + KEY in log


async def test_nothing_is_written_while_a_grant_is_on_its_way() -> None:
    """A broker that is away is waited for; the outbox tries a refused one again in a minute."""
    scene = Scene(aggregator(INCIDENT))
    for n in range(60):
        await scene.desk.look(LATER + 5 * n)
    assert len(scene.offers.taken) == 1
    assert scene.offers.is_under_way(BURST_KEY)


async def test_when_the_evidence_has_gone_nothing_more_is_asked_for() -> None:
    """What was granted ends by the clock."""
    scene = Scene(aggregator(OVER))
    assert await scene.look(START + 302.0) == 60
    assert await scene.look(START + 502.0) == 60
    assert scene.bursts.times(START + 502.0) == 1
    assert len(scene.offers.taken) == 1
