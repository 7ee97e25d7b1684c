"""Dead letters as lists for people and programs: single ones, groups, and one in full."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from monitor.ingest.headers import Letter, read_letter
from monitor.kafka.record import KafkaRecord

Row = dict[str, Any]
#: Told apart in one list; the headers of letters are anybody's, and may never be twice the same.
MOST_GROUPS = 10_000
_OTHERS = "other", "other", "other"


def row(record: KafkaRecord, letter: Letter) -> Row:
    """What may be told of a dead letter: nothing that a user has written, no key and no value."""
    history = letter.history
    origin = history.origin
    return {
        "partition": record.partition,
        "offset": record.offset,
        "first_failed_at": history.first_failed_at.isoformat(),
        "stage": letter.stage,
        "class": letter.cause,
        "message": letter.message,
        "attempts": history.attempts,
        "original": {
            "topic": origin.topic,
            "partition": origin.partition,
            "offset": origin.offset,
            "timestamp": origin.timestamp_ms,
        },
        "group": letter.group,
        "version": letter.version,
        "value_bytes": max(0, letter.value_omitted)
        if letter.value_omitted is not None
        else len(record.value or b""),
        "value_omitted": letter.value_omitted is not None,
        "redacted": letter.redacted is not None,
    }


def in_full(record: KafkaRecord, letter: Letter, *, with_value: bool) -> Row:
    """All but the value, which is what users wrote; that too ``with_value``."""
    shown = {
        **row(record, letter),
        "key": plain(record.key),
        "headers": [[key, plain(value)] for key, value in record.headers],
    }
    if with_value:
        shown["value"] = None if letter.value_omitted is not None else plain(record.value)
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
class LetterList:
    """The ``most`` newest since a time; ``foreign`` counts records that are no dead letters.

    Newest by when they failed first: that is the only time that is on all of them.
    """

    most: int
    since: datetime | None = None
    total: int = 0
    foreign: int = 0
    _rows: list[tuple[datetime, int, int, Row]] = field(default_factory=list)

    def add(self, record: KafkaRecord) -> None:
        """Take a record of the dead letter topic into account."""
        letter = read_letter(record)
        if letter is None:
            self.foreign += 1
            return
        failed_at = letter.history.first_failed_at
        if self.since is not None and failed_at < self.since:
            return
        self.total += 1
        self._rows.append((failed_at, record.offset, record.partition, row(record, letter)))
        if len(self._rows) >= 2 * self.most + 1_000:
            self._cut()

    def _cut(self) -> None:
        self._rows.sort(key=lambda item: item[:3], reverse=True)
        del self._rows[self.most :]

    def rows(self) -> list[Row]:
        """Newest first."""
        self._cut()
        return [shown for *_, shown in self._rows]


@dataclass
class LetterGroups:
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
        letter = read_letter(record)
        if letter is None:
            self.foreign += 1
            return
        at = letter.history.first_failed_at
        if self.since is not None and at < self.since:
            return
        key = (letter.stage, letter.cause, letter.history.origin.topic)
        if key not in self._groups and len(self._groups) >= MOST_GROUPS:
            key = _OTHERS
        count, first, last = self._groups.get(key, (0, at, at))
        self._groups[key] = (count + 1, min(first, at), max(last, at))

    @property
    def total(self) -> int:
        """Number of groups."""
        return len(self._groups)

    def rows(self) -> list[Row]:
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
