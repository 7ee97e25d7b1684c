"""What a browser sends: filters from a query, verdicts from a form. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast
from urllib.parse import urlencode

from monitor.audit.human_scores import KINDS
from monitor.audit.listing import Filters, Key, Order
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Verdicts

_AGE: Final = re.compile(r"([0-9]{1,6})([smhdw])")
#: Of more digits the largest are beyond what a database counts to.
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
#: Epoch milliseconds of any year that can be written.
_FARTHEST: Final = 1e15
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class BadQuery(ValueError):
    """A filter that means nothing; ``str`` says which, and what was expected."""


def filters_of(query: Mapping[str, str], now: float) -> Filters:
    """Filters of a page; ``now`` in epoch seconds. Raises ``BadQuery``.

    >>> found = filters_of(
    ...     {"application": "bot", "metric": "", "since": "1970-01-01T00:00:10Z"}, 0.0
    ... )
    >>> found.application, found.metric, found.since_ms, found.order
    ('bot', None, 10000, 'newest')
    """
    given = {name: value.strip() for name, value in query.items() if value.strip()}
    for name, value in given.items():
        if "\x00" in value:  # no database has a text with one
            raise BadQuery(f"{name}: found {value[:80]!r}, expected a text without NUL")
    metric, order = given.get("metric"), given.get("order", "newest")
    if metric is not None and metric not in CATALOGUE:
        raise BadQuery(f"metric: there is no {metric[:80]!r}")
    if order not in ("newest", "worst"):
        raise BadQuery(f"order: found {order[:80]!r}, expected newest or worst")
    return Filters(
        application=given.get("application"),
        judge=given.get("judge"),
        segment=given.get("segment"),
        outcome=given.get("outcome"),
        metric=metric,
        least=_number(given, "least"),
        most=_number(given, "most"),
        since_ms=_moment(given, "since", now),
        until_ms=_moment(given, "until", now),
        order=cast(Order, order),
    )


def key_of(query: Mapping[str, str]) -> Key | None:
    """Where the page begins: ``after=PLACE,NUMBER``. Raises ``BadQuery``."""
    text = query.get("after", "")
    if not text:
        return None
    place, _, number = text.partition(",")
    try:
        found = Key(float(place), number_of(number, "after"))
    except ValueError:
        found = None
    if found is None or not abs(found.place) <= _FARTHEST:
        raise BadQuery(f"after: found {text[:80]!r}, expected the link of a page")
    return found


def number_of(text: str, name: str) -> int:
    """A whole number that a database takes. Raises ``BadQuery``.

    >>> number_of("17", "behind")
    17
    """
    if not _NUMBER.fullmatch(text):
        raise BadQuery(f"{name}: found {text[:80]!r}, expected a number of 18 digits at most")
    return int(text)


def next_page(query: Mapping[str, str], after: Key) -> str:
    """The query of the page behind this one."""
    place = int(after.place) if float(after.place).is_integer() else after.place
    return urlencode({**query, "after": f"{place},{after.number}"})


def verdicts_of(form: Mapping[str, Any], judged: Verdicts) -> Verdicts:
    """The verdicts as the boxes of a form are ticked: ``KIND-ROW`` or ``KIND-ROW-COLUMN``.

    A claim that one passage supports is one that all of them support.
    """
    found: dict[str, Any] = {}
    for kind in KINDS:
        rows = getattr(judged, kind)
        found[kind] = tuple(
            tuple(f"{kind}-{i}-{j}" in form for j in range(len(row)))
            if isinstance(row, tuple)
            else f"{kind}-{i}" in form
            for i, row in enumerate(rows)
        )
    found["response_by_context"] = tuple(
        together or any(row)
        for together, row in zip(
            found["response_by_context"], found["response_by_passage"], strict=True
        )
    )
    return judged.model_copy(update=found)


def _number(given: Mapping[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        value = float(given[name])
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise BadQuery(f"{name}: found {given[name][:80]!r}, expected a number from 0 to 1")
    return value


def _moment(given: Mapping[str, str], name: str, now: float) -> int | None:
    """Epoch milliseconds of an age (``2h``) or of a time; without a zone it is UTC."""
    if name not in given:
        return None
    text = given[name]
    if age := _AGE.fullmatch(text):
        return round((now - int(age[1]) * _SECONDS[age[2]]) * 1000)
    try:
        found = datetime.fromisoformat(text)
        return round(found.replace(tzinfo=found.tzinfo or UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise BadQuery(
            f"{name}: found {text[:80]!r}, expected a time like 2026-11-20T12:00, or an age like 2h"
        ) from None
