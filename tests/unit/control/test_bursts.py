"""What is granted of a day follows from the latest record alone, whoever grants, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from monitor.control.bursts import DAY_S, GRANT_S, BurstAllowance, Bursts, granted
from monitor.records.control import BURST_KEY, BaselineRecord, BurstRecord
from tests.stages.control import applied

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()
ALLOWED = BurstAllowance(times=4, per_day_s=600, zone=UTC)
ASKED = ("faithfulness/bot/llm@1",)


def written(bursts: Bursts, record: BurstRecord) -> None:
    """Take the record in as it stands on the topic."""
    assert applied(bursts, BURST_KEY.encode(), record.to_json()) is None


def asked(bursts: Bursts, now: float, allowed: BurstAllowance = ALLOWED) -> BurstRecord | None:
    """Evidence is high: what is granted is written, and read."""
    record = granted(bursts.last, allowed, now, ASKED)
    if record is not None:
        written(bursts, record)
    return record


def held(
    bursts: Bursts,
    start: float,
    seconds: float,
    allowed: BurstAllowance = ALLOWED,
    crashes: Random | None = None,
) -> set[int]:
    """Evidence is high all the time: the seconds for which scorers take more."""
    found, now = set[int](), start
    while now < start + seconds:
        record = asked(bursts, now, allowed)
        assert record is None or record.granted_s <= allowed.per_day_s
        if crashes is not None and crashes.random() < 0.2:  # nothing but the topic is left
            last, bursts = bursts.last, Bursts()
            if last is not None:
                written(bursts, last)
        found |= {s for s in range(int(now), int(now) + 5) if bursts.times(s) > 1}
        now += 5
    return found


def test_without_a_record_nothing_more_is_asked_for() -> None:
    """And nothing was granted."""
    assert Bursts().times(NOON) == 1
    assert Bursts().granted_s(NOON, UTC) == 0


def test_one_grant_is_a_minute_and_the_next_follows_without_a_gap() -> None:
    """It is asked for shortly before the end, and not earlier."""
    bursts = Bursts()
    first = asked(bursts, NOON + 7)
    assert first is not None
    assert (first.from_.timestamp(), first.until.timestamp()) == (NOON, NOON + GRANT_S)
    assert (first.times, first.granted_s, first.asked_by) == (4, 60, ASKED)
    assert asked(bursts, NOON + 44) is None
    second = asked(bursts, NOON + 45)
    assert second is not None
    assert second.granted_s == 120
    assert [bursts.times(NOON + s) for s in (45, 60, 119.9, 120)] == [4, 4, 4, 1]


def test_it_ends_by_the_clock_when_nobody_asks_any_more() -> None:
    """A dead exporter leaves no lasting burst."""
    bursts = Bursts()
    asked(bursts, NOON)
    assert [bursts.times(NOON + s) for s in (-1, 0, 59.9, 60)] == [1, 4, 4, 1]


@pytest.mark.parametrize("per_day_s", [30, 600, 615])
def test_a_days_grants_never_exceed_the_allowance(per_day_s: int) -> None:
    """With evidence for hours all of it is granted, and no second more; the last one is shorter."""
    allowed = ALLOWED._replace(per_day_s=per_day_s)
    assert len(held(Bursts(), NOON, 3_600, allowed)) == per_day_s


@pytest.mark.parametrize("seed", range(5))
def test_restarts_grant_nothing_twice(seed: int) -> None:
    """The record is all that there is to remember."""
    assert len(held(Bursts(), NOON, 7_200, crashes=Random(seed))) == ALLOWED.per_day_s


def test_midnight_begins_anew() -> None:
    """That of the zone: a minute belongs to the day that it begins in."""
    berlin = ALLOWED._replace(zone=ZoneInfo("Europe/Berlin"))
    midnight = datetime(2026, 11, 20, 23, tzinfo=UTC).timestamp()
    bursts = Bursts()
    for now in range(int(midnight) - 1_800, int(midnight), 5):
        asked(bursts, now, berlin)
    assert bursts.granted_s(midnight - 1, berlin.zone) == 600
    assert bursts.granted_s(midnight, berlin.zone) == 0
    found = asked(bursts, midnight, berlin)
    assert found is not None
    assert (found.granted_s, found.day.isoformat()) == (60, "2026-11-21")


@pytest.mark.parametrize("seed", range(5))
def test_two_exporters_grant_once(seed: int) -> None:
    """Also where each sees the other's record only after it has written its own."""
    rng, one, other = Random(seed), Bursts(), Bursts()
    taken = set[int]()
    for now in range(int(NOON), int(NOON) + 3_600, 5):
        offers = [granted(each.last, ALLOWED, now + rng.random(), ASKED) for each in (one, other)]
        for record in filter(None, rng.sample(offers, 2)):
            written(one, record)
            written(other, record)
        taken |= {s for s in range(now, now + 5) if one.times(s) > 1}
    assert len(taken) == ALLOWED.per_day_s


def test_what_another_did_not_know_of_was_granted_all_the_same() -> None:
    """A record that says less of the same day takes nothing back."""
    bursts, late = Bursts(), Bursts()
    for now in range(int(NOON), int(NOON) + 300, 5):
        asked(bursts, now)
    before = bursts.granted_s(NOON, UTC)
    unaware = granted(late.last, ALLOWED, NOON + 400, ASKED)
    assert unaware is not None
    written(bursts, unaware)
    assert bursts.granted_s(NOON, UTC) == before > unaware.granted_s


def test_a_clock_that_is_set_back_grants_nothing_twice() -> None:
    """Neither within the day, nor over midnight."""
    bursts = Bursts()
    asked(bursts, NOON)
    assert asked(bursts, NOON - 3_600) is None
    ahead = Bursts()
    asked(ahead, NOON + 12 * 3_600)  # midnight
    assert asked(ahead, NOON + 12 * 3_600 - 1) is None
    assert asked(ahead, NOON) is None


def test_a_record_from_a_clock_that_is_wrong_by_days_blocks_nobody() -> None:
    """It is as if it were not there."""
    bursts = Bursts()
    asked(bursts, NOON + 400 * DAY_S)
    assert bursts.times(NOON) == 1
    found = asked(bursts, NOON)
    assert found is not None
    assert bursts.times(NOON) == 4


GOOD = granted(None, ALLOWED, NOON, ASKED)
assert GOOD is not None


@pytest.mark.parametrize(
    "value",
    [
        b"{",
        b"{}",
        GOOD.to_json().replace(b'"times":4', b'"times":0'),
        GOOD.to_json().replace(b'"times":4', b'"times":"many"'),
        GOOD.to_json().replace(b'"granted_s":60', b'"granted_s":0'),
        GOOD.to_json().replace(b"12:01:00", b"12:02:01"),
        GOOD.to_json().replace(b'"granted_s":60', b'"granted_s":1e9'),
        GOOD.to_json().replace(b"12:01:00", b"11:59:00"),
        GOOD.to_json().replace(b'"kind":"burst"', b'"kind":"pause"'),
    ],
)
def test_what_cannot_be_read_is_named_and_asks_for_nothing(value: bytes) -> None:
    """What holds goes on holding."""
    bursts = Bursts()
    skipped = applied(bursts, BURST_KEY.encode(), value)
    assert skipped is not None
    assert "burst/" in str(skipped)
    assert bursts.times(NOON) == 1
    asked(bursts, NOON)
    assert applied(bursts, BURST_KEY.encode(), value) is not None
    assert bursts.times(NOON) == 4


def test_other_kinds_are_left_to_others_and_a_tombstone_ends_it() -> None:
    """Nothing is said of a baseline, readable or not."""
    bursts = Bursts()
    asked(bursts, NOON)
    since = datetime.fromtimestamp(NOON, UTC) - timedelta(days=1)
    baseline = BaselineRecord(application="b", judge="j@1", origin="set", effective_from=since)
    assert applied(bursts, baseline.key.encode(), baseline.to_json()) is None
    assert applied(bursts, b"baseline/b/j@1", b"{") is None
    assert applied(bursts, None, b"{") is None
    assert bursts.times(NOON) == 4
    assert applied(bursts, BURST_KEY.encode(), None) is None
    assert bursts.times(NOON) == 1
