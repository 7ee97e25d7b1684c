"""When an interaction happened: its own timestamp if plausible, else the broker's."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

OLDEST = timedelta(days=7)
NEWEST = timedelta(minutes=5)

#: Numbers below are in this unit; larger ones are nanoseconds.
_UNITS: Final = ((10**11, "seconds"), (10**14, "milliseconds"), (10**17, "microseconds"))

Replaced = Literal["missing", "implausible"]
_LEAP = re.compile(r"(:[0-5][0-9]):60")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_MS = 253_370_764_800_000  # the year 9999 begins


def parse_timestamp(found: object) -> datetime | None:
    """UTC time of an RFC 3339 text or of epoch milliseconds; None when out of any calendar.

    Raises ``ValueError`` saying what was expected.

    >>> parse_timestamp("2026-11-20T13:00:00+01:00").isoformat()
    '2026-11-20T12:00:00+00:00'
    >>> parse_timestamp(1_763_640_000_000).isoformat()
    '2025-11-20T12:00:00+00:00'
    """
    if isinstance(found, str):
        try:
            # A leap second is valid, and unknown to the library: the second before it.
            parsed = datetime.fromisoformat(_LEAP.sub(r"\1:59", found.upper()))
        except ValueError:
            parsed = None
        if parsed is not None and parsed.tzinfo is not None:
            return _in_utc(parsed)
    elif isinstance(found, int | float) and not isinstance(found, bool):
        try:
            return EPOCH + timedelta(milliseconds=found)
        except (OverflowError, ValueError):
            return None
    raise ValueError("RFC 3339 with an offset, like 2026-11-20T12:00:00Z, or epoch milliseconds")


def parse_any_unit(found: object) -> datetime | None:
    """The same, where a number may be epoch seconds, milliseconds, microseconds or nanoseconds.

    Which one follows from its size: read in any other unit it would lie before 1973, or after the
    year 5000. Not for traffic that is to be redacted by its numbers: a card's would be a time.

    >>> [parse_any_unit(1_763_640_000 * 10**n).isoformat() for n in (0, 3, 6, 9)]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['2025-11-20T12:00:00+00:00', '2025-11-20T12:00:00+00:00',
     '2025-11-20T12:00:00+00:00', '2025-11-20T12:00:00+00:00']
    """
    if not isinstance(found, int | float) or isinstance(found, bool):
        return parse_timestamp(found)
    unit = next((name for most, name in _UNITS if abs(found) < most), None)
    try:
        if unit is None:
            return EPOCH + timedelta(microseconds=found / 1000)
        return EPOCH + timedelta(**{unit: found})
    except (OverflowError, ValueError):
        return None


def _in_utc(parsed: datetime) -> datetime | None:
    try:
        return parsed.astimezone(UTC)
    except OverflowError:
        return None


def choose_event_time(
    logged: datetime | None, broker_ms: int, *, present: bool, trusts: bool = False
) -> tuple[datetime, Replaced | None]:
    """The event time and, when the broker's time was taken, why.

    Plausible is [broker − 7 days, broker + 5 minutes], or any time where the log is trusted;
    ``present`` says that it had a value.

    >>> choose_event_time(None, 0, present=False)[1]
    'missing'
    >>> choose_event_time(EPOCH + timedelta(minutes=6), 0, present=True)[1]
    'implausible'
    """
    # A producer may have set any 64-bit number; and both bounds must lie in the calendar.
    broker = EPOCH + timedelta(milliseconds=min(max(broker_ms, 0), _LATEST_MS))
    if logged is not None and trusts:
        return logged, None
    if logged is not None and broker - OLDEST <= logged <= broker + NEWEST:
        return logged, None
    return broker, "implausible" if present else "missing"
