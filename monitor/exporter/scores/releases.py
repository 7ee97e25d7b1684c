"""Which versions of an application the counted records come from: what was rolled out when.

They open no alarm. What is kept is how many records of each minute had which versions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pydantic import JsonValue

from monitor.runtime.visible import visible
from monitor.stats.releases import MINUTE_S, Rollout, rollout

#: Attributes that tell releases apart.
RELEASED_BY: Final = ("deployment", "prompt_version", "model")
#: Their values on a record, "" where it has none.
Versions = tuple[str, ...]
NO_VERSIONS: Final[Versions] = ("",) * len(RELEASED_BY)
#: Characters of a value: traffic names it, and it is a label.
MOST_CHARACTERS: Final = 60


@lru_cache(4_096)
def _shared(versions: Versions) -> Versions:
    """Records of one release hold the same object."""
    return tuple(visible(value)[:MOST_CHARACTERS] for value in versions)


def versions_of(attributes: Mapping[str, JsonValue]) -> Versions:
    """The versions on a record; what is no text, number or truth is none.

    >>> versions_of({"deployment": 7, "prompt_version": " v12 ", "model": ["a"]})
    ('7', 'v12', '')
    """
    if not attributes:
        return NO_VERSIONS
    return _shared(tuple(map(_text, map(attributes.get, RELEASED_BY))))


def _text(value: JsonValue) -> str:
    if isinstance(value, _NO_TEXT):
        return ""
    return str(value)[: 2 * MOST_CHARACTERS].strip()[:MOST_CHARACTERS]


_NO_TEXT: Final = (type(None), list, dict)


class Releases:
    """The versions of all applications, and what follows from them."""

    def __init__(self) -> None:
        self._minutes: dict[str, dict[int, dict[Versions, int]]] = {}
        #: What was worked out, until a record comes or goes.
        self._known: dict[str, dict[str, Rollout]] = {}
        self._floor = 0

    def count(self, event_time: float, application: str, versions: Versions, sign: int) -> None:
        """A record counts from now on (+1), or no longer (−1); ``event_time`` in epoch seconds."""
        if versions == NO_VERSIONS:
            return
        self._known.pop(application, None)
        minutes = self._minutes.setdefault(application, {})
        minute = int(event_time) // MINUTE_S
        counts = minutes.setdefault(minute, {})
        counts[versions] = number = counts.get(versions, 0) + sign
        if not number:
            del counts[versions]
            if not counts:
                del minutes[minute]
                if not minutes:
                    del self._minutes[application]

    def drop_before(self, event_time: float) -> None:
        """Forget the minutes before this one, in epoch seconds."""
        floor = int(event_time) // MINUTE_S
        if floor <= self._floor:
            return
        self._floor = floor
        self._known.clear()
        for application, minutes in list(self._minutes.items()):
            for minute in [one for one in minutes if one < floor]:
                del minutes[minute]
            if not minutes:
                del self._minutes[application]

    def of(self, application: str) -> Mapping[str, Rollout]:
        """By attribute, of those that its records have."""
        found = self._known.get(application)
        if found is None:
            minutes = self._minutes.get(application, {})
            found = {
                name: rolled
                for place, name in enumerate(RELEASED_BY)
                if (rolled := rollout(_of_attribute(minutes, place))).values
            }
            if minutes:
                self._known[application] = found
        return found


def _of_attribute(
    minutes: Mapping[int, Mapping[Versions, int]], place: int
) -> dict[int, Mapping[str, int]]:
    found: dict[int, Mapping[str, int]] = {}
    for minute, counts in minutes.items():
        by_value: defaultdict[str, int] = defaultdict(int)
        for versions, number in counts.items():
            if versions[place]:
                by_value[versions[place]] += number
        if by_value:
            found[minute] = by_value
    return found
