"""When an interaction happened: its own time if plausible, else the broker's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from monitor.ingest.event_time import choose_event_time, parse_timestamp

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOON_MS = 1_795_176_000_000


@pytest.mark.parametrize(
    "found",
    [
        "2026-11-20T12:00:00Z",
        "2026-11-20t12:00:00z",
        "2026-11-20 12:00:00Z",
        "2026-11-20T12:00:00.000000Z",
        "2026-11-20T13:30:00+01:30",
        "2026-11-20T00:00:00-12:00",
        NOON_MS,
        float(NOON_MS),
    ],
)
def test_all_ways_to_write_noon(found: object) -> None:
    """RFC 3339 with any offset, in either case, and epoch milliseconds."""
    assert parse_timestamp(found) == NOON


def test_a_leap_second_is_the_second_before_it() -> None:
    """Valid in RFC 3339, and unknown to the calendar of the library."""
    assert parse_timestamp("2016-12-31T23:59:60Z") == datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC)


@given(
    st.datetimes(
        datetime.fromisoformat("1971-01-01"),
        datetime.fromisoformat("9000-01-01"),
        timezones=st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m))),
    )
)
def test_a_time_survives_its_offset(moment: datetime) -> None:
    """To the microsecond, and in UTC."""
    parsed = parse_timestamp(moment.isoformat())
    assert parsed == moment
    assert parsed is not None
    assert parsed.tzinfo is UTC


@pytest.mark.parametrize(
    "found",
    [
        "",
        "yesterday",
        "2026-11-20",
        "2026-11-20T12:00:00",
        "2026-13-20T12:00:00Z",
        "1795176000000",
        True,
        None,
        [],
        {},
    ],
)
def test_what_is_no_time_is_an_error(found: object) -> None:
    """Also a time without an offset: nobody knows which noon it means."""
    with pytest.raises(ValueError, match=r"RFC 3339 with an offset, like .* or epoch milliseconds"):
        parse_timestamp(found)


@pytest.mark.parametrize(
    "found",
    [10**300, -(10**300), 1e300, float("inf"), float("nan"), "0001-01-01T00:00:00+14:00"],
)
def test_what_lies_in_no_calendar_is_no_error(found: object) -> None:
    """It is a time, but not one that we can hold: implausible, not malformed."""
    assert parse_timestamp(found) is None


@pytest.mark.parametrize(
    ("away", "plausible"),
    [
        (timedelta(days=-7), True),
        (timedelta(days=-7, milliseconds=-1), False),
        (timedelta(), True),
        (timedelta(minutes=5), True),
        (timedelta(minutes=5, milliseconds=1), False),
    ],
)
def test_plausible_is_a_week_back_and_five_minutes_ahead(away: timedelta, plausible: bool) -> None:
    """Both ends included; else the broker's time, and the reason."""
    found = choose_event_time(NOON + away, NOON_MS, present=True)
    assert found == ((NOON + away, None) if plausible else (NOON, "implausible"))


def test_a_missing_time_is_the_brokers() -> None:
    """Missing and implausible are told apart, because only one of them is the log's fault."""
    assert choose_event_time(None, NOON_MS, present=False) == (NOON, "missing")
    assert choose_event_time(None, NOON_MS, present=True) == (NOON, "implausible")


@given(
    st.none() | st.datetimes(timezones=st.just(UTC)),
    st.integers(-(2**63), 2**63 - 1),
)
@example(None, -1)
@example(datetime.max.replace(tzinfo=UTC), 2**63 - 1)
@example(datetime.min.replace(tzinfo=UTC), -(2**63))
def test_no_broker_time_stops_the_reader(logged: datetime | None, broker_ms: int) -> None:
    """A producer may set any 64-bit time on a record; there is always an event time near it."""
    moment, replaced = choose_event_time(logged, broker_ms, present=logged is not None)
    assert (replaced is None) == (moment == logged)
    assert moment.tzinfo is UTC
    assert 1970 <= (moment + timedelta(days=7)).year <= 9999
