"""Dead letters as lists for people and programs: single ones, groups, and one in full."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from monitor.ingest.dead_letter_headers import DeadLetter, read_dead_letter
from monitor.kafka.record import KafkaRecord

DeadLetterRow = dict[str, Any]
#: Told apart in one list; the headers of letters are anybody's, and may never be twice the same.
MOST_GROUPS = 10_000
_OTHERS = "other", "other", "other"


def row(record: KafkaRecord, dead_letter: DeadLetter) -> DeadLetterRow:
    """What may be told of a dead letter: nothing that a user has written, no key and no value."""
    history = dead_letter.history
    origin = history.origin
    return {
        "partition": record.partition,
        "offset": record.offset,
        "first_failed_at": history.first_failed_at.isoformat(),
        "stage": dead_letter.stage,
        "class": dead_letter.cause,
        "message": dead_letter.message,
        "attempts": history.attempts,
        "original": {
            "topic": origin.topic,
            "partition": origin.partition,
            "offset": origin.offset,
            "timestamp": origin.timestamp_ms,
        },
        "group": dead_letter.group,
        "version": dead_letter.version,
        "value_bytes": max(0, dead_letter.value_omitted)
        if dead_letter.value_omitted is not None
        else len(record.value or b""),
        "value_omitted": dead_letter.value_omitted is not None,
        "redacted": dead_letter.redacted is not None,
    }


def in_full(record: KafkaRecord, dead_letter: DeadLetter, *, with_value: bool) -> DeadLetterRow:
    """All but the value, which is what users wrote; that too ``with_value``."""
    shown = {
        **row(record, dead_letter),
        "key": plain(record.key),
        "headers": [[key, plain(value)] for key, value in record.headers],
    }
    if with_value:
        shown["value"] = None if dead_letter.value_omitted is not None else plain(record.value)
    return shown


def plain(data: bytes | None) -> str | dict[str, str] | None:
    r"""Text where it is text, else ``{"base64": …}``: no byte is changed.

    >>> plain(b"caf\xc3\xa9"), plain(b"\xff"), plain(None)
    ('café', {'base64': '/w=='}, None)
    """
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


@dataclass
class DeadLetterList:
    """The ``most`` newest since a time; ``foreign`` counts records that are no dead letters.

    Newest by when they failed first: that is the only time that is on all of them.
    """

    most: int
    since: datetime | None = None
    total: int = 0
    foreign: int = 0
    _rows: list[tuple[datetime, int, int, DeadLetterRow]] = field(default_factory=list)

    def add(self, record: KafkaRecord) -> None:
        """Take a record of the dead letter topic into account."""
        dead_letter = read_dead_letter(record)
        if dead_letter is None:
            self.foreign += 1
            return
        failed_at = dead_letter.history.first_failed_at
        if self.since is not None and failed_at < self.since:
            return
        self.total += 1
        self._rows.append((failed_at, record.offset, record.partition, row(record, dead_letter)))
        if len(self._rows) >= 2 * self.most + 1_000:
            self._cut()

    def _cut(self) -> None:
        self._rows.sort(key=lambda item: item[:3], reverse=True)
        del self._rows[self.most :]

    def rows(self) -> list[DeadLetterRow]:
        """Newest first."""
        self._cut()
        return [shown for *_, shown in self._rows]


@dataclass
class DeadLetterGroups:
    """The ``most`` largest groups by stage, class and original topic, since a time.

    Beyond ``MOST_GROUPS`` new ones are counted as one, whose names are ``other``.
    """

    most: int
    since: datetime | None = None
    foreign: int = 0
    _groups: dict[tuple[str, str, str], tuple[int, datetime, datetime]] = field(
        default_factory=dict
    )

    def add(self, record: KafkaRecord) -> None:
        """Take a record of the dead letter topic into account."""
        dead_letter = read_dead_letter(record)
        if dead_letter is None:
            self.foreign += 1
            return
        at = dead_letter.history.first_failed_at
        if self.since is not None and at < self.since:
            return
        key = (dead_letter.stage, dead_letter.cause, dead_letter.history.origin.topic)
        if key not in self._groups and len(self._groups) >= MOST_GROUPS:
            key = _OTHERS
        count, first, last = self._groups.get(key, (0, at, at))
        self._groups[key] = (count + 1, min(first, at), max(last, at))

    @property
    def total(self) -> int:
        """Number of groups."""
        return len(self._groups)

    def rows(self) -> list[DeadLetterRow]:
        """The largest first."""
        found = sorted(self._groups.items(), key=lambda item: (-item[1][0], item[0]))
        return [
            {
                "stage": stage,
                "class": cause,
                "topic": topic,
                "count": count,
                "first": first.isoformat(),
                "last": last.isoformat(),
            }
            for (stage, cause, topic), (count, first, last) in found[: self.most]
        ]
