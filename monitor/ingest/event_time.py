"""When an interaction happened: its own timestamp if plausible, else the broker's."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Literal

OLDEST = timedelta(days=7)
NEWEST = timedelta(minutes=5)

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


def _in_utc(parsed: datetime) -> datetime | None:
    try:
        return parsed.astimezone(UTC)
    except OverflowError:
        return None


def choose_event_time(
    logged: datetime | None, broker_ms: int, *, present: bool
) -> tuple[datetime, Replaced | None]:
    """The event time and, when the broker's time was taken, why.

    Plausible is [broker − 7 days, broker + 5 minutes]; ``present`` says that the log had a value.

    >>> choose_event_time(None, 0, present=False)[1]
    'missing'
    >>> choose_event_time(EPOCH + timedelta(minutes=6), 0, present=True)[1]
    'implausible'
    """
    # A producer may have set any 64-bit number; and both bounds must lie in the calendar.
    broker = EPOCH + timedelta(milliseconds=min(max(broker_ms, 0), _LATEST_MS))
    if logged is not None and broker - OLDEST <= logged <= broker + NEWEST:
        return logged, None
    return broker, "implausible" if present else "missing"
