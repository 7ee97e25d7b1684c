"""Which applications and judges are scored, how often, since when, and which have a baseline."""

from __future__ import annotations

import asyncio
import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from monitor.app.scores import fixed_baselines
from monitor.config import Settings
from monitor.control.decisions import beside_decisions
from monitor.control.latest_records import LatestRecords
from monitor.control.scanned import scan_control
from monitor.control.state import ControlState
from monitor.errors import DependencyRefused
from monitor.exporter.period import is_evidence, is_for_lack_of_money
from monitor.exporter.scores.detectors import Normal
from monitor.exporter.scores.folding import JudgedApplication
from monitor.judge.limits.budget import day_of_money
from monitor.kafka.record import KafkaRecord
from monitor.kafka.replay import TopicScan
from monitor.plan.first_evidence import most_held_s
from monitor.records.control import BASELINE, BaselineRecord, baseline_key
from monitor.stats.period import DAY_S, HorizonSpan

#: Score records that are read, at most; and for how many seconds.
MOST_READ: Final = 20_000
LIMIT_S: Final = 10.0
#: Where a day has more, so many runs of them are read, evenly over it.
RUNS: Final = 50
#: What began less than so many seconds ago has as many a day as if it had begun then.
LEAST_KNOWN_S: Final = 3_600
#: A time before all records: what is asked for at 0 is not looked up.
LONG_AGO_S: Final = 1
#: A day (of ``budget.timezone``) whose money did not reach: its midnights, in epoch seconds.
SpentDay = tuple[float, float]
#: The year 9000.
_LAST_MS: Final = 221_845_392_000_000
#: Seconds that are looked back, where there are too many records in what is held.
_SHORTER: Final = (8 * DAY_S, 4 * DAY_S, 2 * DAY_S, DAY_S)
#: With so many usual gaps of silence one has ended, or had not begun.
_GAPS: Final = 10
#: And with so much of it: a long weekend is none, but where another judge has come in its place.
_SILENCE_S: Final = 4 * DAY_S
_REPLACED_S: Final = 2 * DAY_S


class SeenApplication(NamedTuple):
    """An application and judge with so many scored a day, for ``scored_s`` seconds.

    None: for longer than was looked back. ``is_given``: the configuration has all baselines.
    ``has_baseline``: there is one of any watched metric. It is learned anew from what was scored in
    the last ``anew_s`` seconds, None where nobody has reset it.
    """

    application: str
    judge: str
    per_day: float
    scored_s: float | None
    is_given: bool = False
    has_baseline: bool = False
    anew_s: float | None = None

    @property
    def is_new(self) -> bool:
        """Whether it began less than a day ago: how many it has a day is not known yet."""
        return self.scored_s is not None and self.scored_s < DAY_S

    def left_s(self, after_s: float) -> float | None:
        """Seconds from now to so many seconds of scores, 0 once they are over; None: not known.

        >>> one = SeenApplication("bot", "a@1", 20.0, 2.5 * DAY_S)
        >>> one.left_s(7.0 * DAY_S) / DAY_S, one.left_s(DAY_S)
        (4.5, 0.0)
        >>> one._replace(anew_s=3_600.0).left_s(DAY_S) / 3_600
        23.0
        """
        learned_s = self.scored_s if self.anew_s is None else self.anew_s
        return None if learned_s is None else max(0.0, after_s - learned_s)


class SeenApplications(NamedTuple):
    """Those of the last ``looked_back_s`` seconds, the most frequent first.

    None of them: it could not be read in time. ``share_read`` of the records of that time were
    read, and of these ``share_scored`` count for the period, None where that is not known. Of
    those ``share_watched`` have a value of a watched metric: only these teach a baseline of one.
    ``spent`` are the days (when they begin and end, in epoch seconds) whose money did not reach.
    """

    found: Sequence[SeenApplication]
    looked_back_s: float
    share_read: float = 1.0
    share_scored: float | None = None
    share_watched: float = 1.0
    spent: Collection[SpentDay] = ()


NOTHING_SEEN: Final = SeenApplications((), 0.0)


class ScoreLine(NamedTuple):
    """What a score record says of itself.

    It is ``scored`` where it counts for the period, and ``watched`` where a baseline of a watched
    metric may learn from it, too.
    """

    pair: JudgedApplication
    at: float
    scored: bool
    watched: bool


@dataclass
class Sightings:
    """The score records of an application and judge, in any order.

    ``times`` are the event times of those that teach; ``first`` and ``number`` are of all.
    """

    times: list[float] = field(default_factory=list)
    first: float = math.inf
    number: int = 0

    def add(self, line: ScoreLine) -> None:
        """One more."""
        self.first, self.number = min(self.first, line.at), self.number + 1
        if line.watched:
            self.times.append(line.at)


class ReadScores:
    """Score records as they are read from ``since`` on, and which share of them is scored.

    Where all between the two times of ``window`` are among them it is the share of these, by the
    broker's time, by which the records of a day are counted.
    """

    def __init__(
        self,
        since: float,
        window: tuple[float, float],
        watched: Collection[str],
        zone: tzinfo = UTC,
    ) -> None:
        self._since, self._window, self._watched = since, window, watched
        self._zone = zone
        self.by_pair: dict[JudgedApplication, Sightings] = {}
        self.spent = set[SpentDay]()
        self.number = self._teach = 0
        self._all, self._within = [0, 0], [0, 0]

    def add(self, value: bytes | None, timestamp_ms: int) -> None:
        """One more; what cannot be read is not scored."""
        self.number += 1
        # Who sends may write any time, in microseconds too: that is of no day.
        if is_for_lack_of_money(value) and 0 <= timestamp_ms < _LAST_MS:
            self.spent.add(day_of_money(timestamp_ms / 1000, self._zone))
        line, (start, until) = score_line(value, self._watched), self._window
        self._teach += line is not None and line.watched
        scored = line is not None and line.scored
        for counts in (self._all, self._within)[: 1 + (start <= timestamp_ms / 1000 < until)]:
            counts[0] += scored
            counts[1] += 1
        if line is not None and line.at >= self._since:
            self.by_pair.setdefault(line.pair, Sightings()).add(line)

    @property
    def share_scored(self) -> float | None:
        """None where nothing was read."""
        # Else some hours would be missing, and money may be spent in the first one of each day.
        is_whole = self._since <= self._window[0] and self._within[1]
        scored, number = self._within if is_whole else self._all
        return scored / number if number else None

    @property
    def share_watched(self) -> float:
        """1 where nothing is scored."""
        return self._teach / self._all[0] if self._all[0] else 1.0


async def seen_applications(
    settings: Settings,
    scan: TopicScan,
    span: HorizonSpan,
    window: tuple[float, float],
    now: float,
) -> SeenApplications:
    """By the score records that count, the latest of them where they are many.

    Of more than can be read of a day it is by runs of them, spread over the day: money may be spent
    in its first hour. What is said of these is an estimate. ``window`` are the times between which
    the share of scored ones is asked for.
    """
    topics, longest_s = settings.kafka.topics, most_held_s(settings, span)
    try:
        async with asyncio.timeout(LIMIT_S):
            back_s, number = await _looked_back(scan, topics.scores, longest_s, now)
            start = now - back_s
            (earlier,) = await scan.counts(topics.scores, [LONG_AGO_S, int(start)])
        found = ReadScores(
            start, window, settings.drift.metrics, ZoneInfo(settings.budget.timezone)
        )
        is_whole = number <= MOST_READ
        await _read(_records(scan, topics.scores, start, is_whole=is_whole), found, is_whole)
        async with asyncio.timeout(LIMIT_S):
            # Last: what is asked of a client that has read to an end waits for its fetch.
            baselines = await _baselines(scan, topics.control)
    except (TimeoutError, DependencyRefused):  # the other checks say what may not be read
        return NOTHING_SEEN
    share_read = 1.0 if is_whole else min(1.0, found.number / number)
    since = None if not earlier else start
    seen_now = made(found.by_pair, since, now, settings, baselines, share_read, found.spent)
    return SeenApplications(
        seen_now, back_s, share_read, found.share_scored, found.share_watched, found.spent
    )


async def _looked_back(scan: TopicScan, topic: str, longest_s: int, now: float) -> tuple[int, int]:
    """As long as possible, with not too many records, but a day; and how many that are.

    Longer where there is none in that: a weekend is over.
    """
    shorter = [each for each in _SHORTER if each < longest_s]
    found = longest_s, 0
    for back_s in (longest_s, *shorter):
        (number,) = await scan.counts(topic, [int(now - back_s), int(now) + DAY_S])
        if not number:
            break
        found = back_s, number
        if number <= MOST_READ:
            break
    return found


def _records(
    scan: TopicScan, topic: str, start: float, *, is_whole: bool
) -> AsyncIterator[KafkaRecord]:
    start_ms = int(start * 1000)
    if is_whole:
        return scan.records(topic, start_ms=start_ms, strictly=True)
    return scan.spread(topic, start_ms, RUNS, MOST_READ)


async def _read(records: AsyncIterator[KafkaRecord], found: ReadScores, is_whole: bool) -> None:
    """All of them; of runs of them those that come in time are enough."""
    try:
        async with asyncio.timeout(LIMIT_S):
            async for record in records:
                found.add(record.value, record.timestamp)
    except TimeoutError:
        if is_whole or not found.number:
            raise


def score_line(line: bytes | None, watched: Collection[str]) -> ScoreLine | None:
    """None for what is no score record; ``watched`` are metrics.

    Not by the model: these are many, and all else on them does not matter.
    """
    try:
        fields = json.loads(line or b"")
        judge = fields["judge"]
        pair = fields["application"], f"{judge['name']}@{judge['version']}"
        at = datetime.fromisoformat(fields["event_time"]).timestamp()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None  # the exporter counts and names them
    if not isinstance(pair[0], str):
        return None
    return ScoreLine(pair, at, is_evidence(fields), is_evidence(fields, watched))


async def _baselines(scan: TopicScan, topic: str) -> Mapping[str, BaselineRecord]:
    """None before there is such a topic."""
    latest = LatestRecords(BaselineRecord, beside_decisions)
    if topic in scan.partitions:
        await scan_control(scan, topic, ControlState({BASELINE: latest.apply}))
    return latest.by_key


def made(
    sighted: Mapping[JudgedApplication, Sightings],
    since: float | None,
    now: float,
    settings: Settings,
    baselines: Mapping[str, BaselineRecord],
    share_read: float = 1.0,
    spent: Collection[SpentDay] = (),
) -> list[SeenApplication]:
    """Those that are scored yet, by what was read of each from ``since`` on.

    ``since`` is None where there are no earlier ones; ``spent`` as ``seconds_seen`` has it. One
    with a baseline that holds has not ended, if no other judge of its application has come after.
    """
    watched = set[str](settings.drift.metrics)
    fixed = fixed_baselines(settings.drift.baselines)
    scored = {pair: one for pair, one in sighted.items() if one.times}
    latest = dict[str, float]()
    for (application, _), read in scored.items():
        latest[application] = max(latest.get(application, -math.inf), max(read.times))
    found = []
    for pair, read in scored.items():
        times = sorted(read.times)
        one = _with_baseline(
            seen(pair, read, since, now, share_read, spent), times, now, watched, fixed, baselines
        )
        is_replaced = times[-1] < latest[pair[0]]
        stays = one.has_baseline and not is_replaced
        if stays or not _has_ended(times, now, is_replaced=is_replaced):
            found.append(one)
    return sorted(found, key=lambda one: (-one.per_day, one.application, one.judge))


def _has_ended(times: Sequence[float], now: float, *, is_replaced: bool) -> bool:
    gap_s = (times[-1] - times[0]) / max(1, len(times) - 1)
    return now - times[-1] > max(_REPLACED_S if is_replaced else _SILENCE_S, _GAPS * gap_s)


def _with_baseline(
    one: SeenApplication,
    times: Sequence[float],
    now: float,
    watched: set[str],
    fixed: Callable[[str, str], Normal | None],
    baselines: Mapping[str, BaselineRecord],
) -> SeenApplication:
    normal = fixed(one.application, one.judge)
    given = set(normal.metrics) if normal is not None else set[str]()
    record = baselines.get(baseline_key(one.application, one.judge))
    held = given | (set(record.metrics) if record is not None else set[str]())
    return one._replace(
        is_given=watched <= given,
        has_baseline=bool(watched & held),
        anew_s=_anew_s(record, times, now),
    )


def _anew_s(record: BaselineRecord | None, times: Sequence[float], now: float) -> float | None:
    """How long that is scored which a baseline is learned from after a reset, 0 before any is.

    None without one: it is learned from all there is.
    """
    if record is None:
        return None
    after = record.learned_after if record.metrics else record.effective_from
    if after is None:
        return None
    later = times[bisect_right(times, after.timestamp()) :]
    return now - later[0] if later else 0.0


def seen(
    pair: JudgedApplication,
    sighted: Sightings,
    since: float | None,
    now: float,
    share_read: float = 1.0,
    spent: Collection[SpentDay] = (),
) -> SeenApplication:
    """Of one that is scored; ``spent`` as ``seconds_seen`` has it.

    >>> hours = [hour * 3_600.0 for hour in range(36)]
    >>> one = seen(("bot", "a@1"), Sightings(hours, 0.0, 36), None, 1.5 * DAY_S)
    >>> one.per_day, one.scored_s
    (24.0, 129600.0)
    """
    times, first = sorted(sighted.times), sighted.first
    # Where what came before was not read, it began then only if it was silent for long enough:
    # what is not scored, since money is spent, is no silence.
    began = since is None or first - since > _GAPS * (now - first) / sighted.number
    start = first if since is None or began else since
    midnight = now // DAY_S * DAY_S
    if midnight - start >= DAY_S:
        number, seen_s = bisect_left(times, midnight), seconds_seen(start, midnight, spent)
    else:
        least_s = LEAST_KNOWN_S if since is None or began else 1.0
        number, seen_s = len(times), max(least_s, seconds_seen(start, now, spent))
    per_day = number / seen_s * DAY_S
    return SeenApplication(*pair, per_day / share_read, now - times[0] if began else None)


def seconds_seen(began: float, until: float, spent: Collection[SpentDay]) -> float:
    """Seconds between two times of which it is known how many are scored in them.

    The days of ``spent`` are known as a whole: of what is left of them nothing would have been
    scored, since their money was spent.

    >>> seconds_seen(18 * 3_600.0, DAY_S + 3_600.0, ()) / 3_600
    7.0
    >>> first, second = (0.0, 86_400.0), (86_400.0, 172_800.0)
    >>> [seconds_seen(64_800.0, 90_000.0, days) / 3_600 for days in ([first], [first, second])]
    [25.0, 48.0]
    """
    found = until - began
    for start, end in sorted(spent):
        if start < until and began < end:
            found += max(0.0, began - start) + max(0.0, end - until)
    return found
