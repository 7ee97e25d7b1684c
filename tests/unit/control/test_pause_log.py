"""What the log says of pauses: each beginning and each end, once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from monitor.control.pause_log import MOST_NAMED, PauseLog, pauses_logged
from monitor.control.pauses import Pauses
from monitor.records.control import PauseRecord
from tests.stages.control import applied

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Bench:
    """Pauses, their log, and a clock."""

    def __init__(self) -> None:
        self.pauses, self.now = Pauses(), NOON.timestamp()
        self.log = PauseLog(self.pauses, lambda: self.now)

    def hold(self, record: PauseRecord) -> None:
        """As it stands on the topic."""
        assert applied(self.pauses, record.key.encode(), record.to_json(), self.now) is None

    def told(self) -> list[tuple[str, str, str | None]]:
        """Event, application and end of what is said at the next look."""
        with capture_logs() as lines:
            self.log.look()
        return [(line["event"], line["application"], line.get("until")) for line in lines]


def test_a_pause_that_ends_by_its_time_is_told_once() -> None:
    """Nobody has written anything then."""
    bench = Bench()
    assert bench.told() == []
    until = NOON + timedelta(hours=2)
    bench.hold(PauseRecord(application="bot", until=until))
    assert bench.told() == [("paused", "bot", until.isoformat())]
    bench.now += 7_199
    assert bench.told() == []
    bench.now += 1
    assert bench.told() == [("resumed", "bot", None)]
    bench.now += 1
    assert bench.told() == []


def test_one_that_is_ended_by_a_command_is_told_once() -> None:
    """And that of all is called ``*``; a new end is told, too."""
    bench = Bench()
    bench.hold(PauseRecord())
    assert bench.told() == [("paused", "*", "2026-11-21T12:00:00+00:00")]
    bench.hold(PauseRecord(until=NOON + timedelta(hours=1)))
    assert bench.told() == [("paused", "*", "2026-11-20T13:00:00+00:00")]
    applied(bench.pauses, b"pause/", None, bench.now)
    assert bench.told() == [("resumed", "*", None)]
    assert bench.told() == []


def test_what_was_over_before_the_first_look_is_no_news() -> None:
    """A replay reads of pauses that ended long ago."""
    bench = Bench()
    bench.hold(PauseRecord(application="bot", until=NOON - timedelta(days=1)))
    bench.hold(PauseRecord(application="other"))
    applied(bench.pauses, b"pause/other", None, bench.now)
    assert bench.told() == []


async def test_it_is_looked_at_while_the_roles_run() -> None:
    """From the beginning; and nothing of it is left afterwards."""
    bench = Bench()
    bench.hold(PauseRecord(application="bot"))
    before, looked = asyncio.all_tasks(), asyncio.Event()

    def clock() -> float:
        looked.set()
        return bench.now

    with capture_logs() as lines:
        async with pauses_logged(bench.pauses, clock):
            await asyncio.wait_for(looked.wait(), 10)
    assert [line["event"] for line in lines] == ["paused"]
    assert asyncio.all_tasks() == before


async def test_a_log_that_fails_ends_what_it_stands_beside() -> None:
    """It never ends unseen, while the roles run on for weeks."""
    bench = Bench()

    def clock() -> float:
        raise OSError("no clock")

    with pytest.raises(ExceptionGroup) as failed:
        async with pauses_logged(bench.pauses, clock):
            await asyncio.Event().wait()
    assert [str(one) for one in failed.value.exceptions] == [
        "the log of pauses failed with OSError"
    ]


def test_of_many_pauses_some_are_named_and_all_are_counted() -> None:
    """Those that begin, and those that end."""
    bench = Bench()
    for number in range(MOST_NAMED + 30):
        bench.hold(PauseRecord(application=f"bot{number}", until=NOON + timedelta(hours=2)))
    for event in ("paused", "resumed"):
        with capture_logs() as lines:
            bench.log.look()
        assert [line["event"] for line in lines] == [event] * MOST_NAMED + [f"{event}_too"]
        assert lines[-1]["applications"] == 30
        bench.now += 7_200
