"""Which applications and judges are scored, how often, since when, and which have a baseline."""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from monitor.app.scores import fixed_baselines
from monitor.config import Settings
from monitor.control.decisions import beside_decisions
from monitor.errors import DependencyRefused, RecordSkipped
from monitor.exporter.scores.detectors import Normal
from monitor.exporter.scores.folding import JudgedApplication
from monitor.kafka.replay import TopicScan
from monitor.plan.first_evidence import most_held_s, span_of
from monitor.records.control import BaselineRecord, Removed, baseline_key, read_control_record
from monitor.stats.period import DAY_S

#: Score records that are read, at most; and for how many seconds.
MOST_READ: Final = 20_000
LIMIT_S: Final = 10.0
#: A time before all records: what is asked for at 0 is not looked up.
LONG_AGO_S: Final = 1
#: Seconds that are looked back, where there are too many records in what is held.
_SHORTER: Final = (8 * DAY_S, 4 * DAY_S, 2 * DAY_S, DAY_S, 21_600, 3_600, 600, 60)
#: With so many usual gaps of silence one has ended, or had not begun.
_GAPS: Final = 10
#: And with so much of it.
_SILENCE_S: Final = 2 * DAY_S


class SeenApplication(NamedTuple):
    """An application and judge with so many scored a day, for ``scored_s`` seconds.

    None: for longer than was looked back. ``is_given``: the configuration has all baselines.
    ``has_baseline``: there is one of any watched metric.
    """

    application: str
    judge: str
    per_day: float
    scored_s: float | None
    is_given: bool = False
    has_baseline: bool = False

    @property
    def is_new(self) -> bool:
        """Whether it began less than a day ago: how many it has a day is not known yet."""
        return self.scored_s is not None and self.scored_s < DAY_S

    def left_s(self, after_s: float) -> float | None:
        """Seconds from now to so many seconds of scores, 0 once they are over; None: not known.

        >>> one = SeenApplication("bot", "a@1", 20.0, 2.5 * DAY_S)
        >>> one.left_s(7.0 * DAY_S) / DAY_S, one.left_s(DAY_S)
        (4.5, 0.0)
        """
        return None if self.scored_s is None else max(0.0, after_s - self.scored_s)


class SeenApplications(NamedTuple):
    """Those of the last ``looked_back_s`` seconds, the most frequent first.

    None of them: it could not be read in time.
    """

    found: Sequence[SeenApplication]
    looked_back_s: float


NOTHING_SEEN: Final = SeenApplications((), 0.0)


async def seen_applications(
    settings: Settings, scan: TopicScan, per_day: float, now: float
) -> SeenApplications:
    """By the score records that count, the latest of them where they are many.

    ``per_day`` are scored of all together.
    """
    topics = settings.kafka.topics
    longest_s = most_held_s(settings, span_of(settings, per_day))
    try:
        async with asyncio.timeout(LIMIT_S):
            back_s = await _looked_back_s(scan, topics.scores, longest_s, now)
            start = now - back_s
            (earlier,) = await scan.counts(topics.scores, [LONG_AGO_S, int(start)])
            times = await _scored_at(scan, topics.scores, start)
            baselines = await _baselines(scan, topics.control)
    except (TimeoutError, DependencyRefused):  # the other checks say what may not be read
        return NOTHING_SEEN
    return SeenApplications(
        made(times, None if not earlier else start, now, settings, baselines), back_s
    )


async def _looked_back_s(scan: TopicScan, topic: str, longest_s: int, now: float) -> int:
    """As long as possible, with not too many records."""
    for back_s in (longest_s, *(each for each in _SHORTER if each < longest_s)):
        (number,) = await scan.counts(topic, [int(now - back_s), int(now) + DAY_S])
        if number <= MOST_READ:
            return back_s
    return _SHORTER[-1]


async def _scored_at(
    scan: TopicScan, topic: str, start: float
) -> dict[JudgedApplication, list[float]]:
    """Event times from then on, by application and judge."""
    found: dict[JudgedApplication, list[float]] = {}
    async for record in scan.records(topic, start_ms=int(start * 1000), strictly=True):
        scored = scored_by(record.value)
        if scored is not None and scored[1] >= start:
            found.setdefault(scored[0], []).append(scored[1])
    return found


def scored_by(line: bytes | None) -> tuple[JudgedApplication, float] | None:
    """Of which application and judge a score record is, and when; None where it has no value.

    Not by the model: these are many, and all else on them does not matter.
    """
    try:
        fields = json.loads(line or b"")
        judge = fields["judge"]
        values = fields["scores"].values()
        pair = fields["application"], f"{judge['name']}@{judge['version']}"
        at = datetime.fromisoformat(fields["event_time"]).timestamp()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None  # the exporter counts and names them
    if not isinstance(pair[0], str):
        return None
    return (pair, at) if any(isinstance(value, int | float) for value in values) else None


async def _baselines(scan: TopicScan, topic: str) -> Mapping[str, BaselineRecord]:
    """None before there is such a topic."""
    found: dict[str, BaselineRecord] = {}
    if topic not in scan.partitions:
        return found
    async for record in scan.records(topic):
        try:
            control = read_control_record(record.key, record.value)
        except RecordSkipped:
            continue
        if isinstance(control, Removed):
            found.pop(control.key, None)
        elif isinstance(control, BaselineRecord):
            found[control.key] = beside_decisions(found.get(control.key), control)
    return found


def made(
    times: Mapping[JudgedApplication, Iterable[float]],
    since: float | None,
    now: float,
    settings: Settings,
    baselines: Mapping[str, BaselineRecord],
) -> list[SeenApplication]:
    """Those that are scored yet, by the event times of each from ``since`` on.

    ``since`` is None where there are no earlier ones.
    """
    watched = set[str](settings.drift.metrics)
    fixed = fixed_baselines(settings.drift.baselines)
    found = [
        _with_baseline(one, watched, fixed, baselines)
        for pair, at in times.items()
        if (one := seen(pair, sorted(at), since, now)) is not None
    ]
    return sorted(found, key=lambda one: (-one.per_day, one.application, one.judge))


def _with_baseline(
    one: SeenApplication,
    watched: set[str],
    fixed: Callable[[str, str], Normal | None],
    baselines: Mapping[str, BaselineRecord],
) -> SeenApplication:
    normal = fixed(one.application, one.judge)
    given = set(normal.metrics) if normal is not None else set[str]()
    record = baselines.get(baseline_key(one.application, one.judge))
    held = given | (set(record.metrics) if record is not None else set[str]())
    return one._replace(is_given=watched <= given, has_baseline=bool(watched & held))


def seen(
    pair: JudgedApplication, times: Sequence[float], since: float | None, now: float
) -> SeenApplication | None:
    """Of one, by its event times in their order; None where it has ended.

    >>> one = seen(("bot", "a@1"), [hour * 3_600.0 for hour in range(36)], None, 1.5 * DAY_S)
    >>> one.per_day, one.scored_s
    (24.0, 129600.0)
    >>> seen(("bot", "a@1"), [0.0, 3_600.0], None, 4.0 * DAY_S) is None
    True
    """
    first, last = times[0], times[-1]
    gap_s = (last - first) / max(1, len(times) - 1)
    if now - last > max(_SILENCE_S, _GAPS * gap_s):
        return None
    # Where what came before was not read, it began then only if it was silent for long enough.
    began = since is None or first - since > _GAPS * (now - first) / len(times)
    start = first if since is None or began else since
    midnight = now // DAY_S * DAY_S
    per_day = pace_since(bisect_left(times, midnight), start, midnight)
    if per_day is None:
        least_s = DAY_S if since is None or began else 1.0
        per_day = len(times) / max(least_s, now - start) * DAY_S
    return SeenApplication(*pair, per_day, now - first if began else None)


def pace_since(number: int, began: float, until: float) -> float | None:
    """How many a day, of so many between two times; None for less than a day.

    >>> pace_since(30, 0.0, 1.5 * DAY_S), pace_since(30, 0.0, 0.5 * DAY_S)
    (20.0, None)
    """
    days = (until - began) / DAY_S
    return number / days if days >= 1 else None
