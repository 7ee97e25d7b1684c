"""Reads the topics for a report, and once more to check one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from monitor import __version__
from monitor.app.inspection import LookupAccess
from monitor.control.latest_records import LatestRecords
from monitor.control.scanned import scan_alarms, scan_control
from monitor.control.state import ControlState
from monitor.errors import DependencyRefused, RecordSkipped
from monitor.ingest.dead_letter_headers import read_dead_letter
from monitor.kafka.record import KafkaRecord
from monitor.kafka.replay import TopicScan
from monitor.kafka.skipped import SkippedRecords
from monitor.records import read_score_record
from monitor.records.control import CORRECTION, CorrectionRecord
from monitor.report.chain import PartitionChain, SealedPartition, difference
from monitor.report.deleted import deleted_of
from monitor.report.frame import (
    AuditReport,
    DeletedPartition,
    LeftOutRecords,
    LoggedPartition,
    SpanCounts,
    counted_otherwise,
)
from monitor.report.openings import AlarmOpenings


class ReportPlaces(NamedTuple):
    """The topics, and that of alarms."""

    access: LookupAccess
    alarms: str


async def made(
    places: ReportPlaces, since: datetime, until: datetime, now: datetime
) -> AuditReport:
    """The report of the records that were written from ``since`` to before ``until``.

    By the broker's time. Raises ``DependencyRefused`` where a topic is missing, may not be read, or
    not in time.
    """
    access = places.access
    async with access.scanning(access.inputs) as scan:
        bounds = [round(since.timestamp()), round(until.timestamp())]
        logged = [
            LoggedPartition(topic=topic, records=sum(await scan.counts(topic, bounds)))
            for topic in access.interactions
        ]
        deleted = await _deleted(scan, access.interactions, since)
    counts, until_ms = SpanCounts(), round(until.timestamp() * 1000)
    openings, corrections = AlarmOpenings(since, until), LatestRecords(CorrectionRecord)
    async with access.scanning(access.output) as scan:
        seals = await _sealed(
            scan, access.scores, since, lambda record: record.timestamp < until_ms, counts
        )
        dead_letters = await _dead_letters(scan, access.dead_letters, since, until_ms)
        deleted += await _deleted(scan, (access.scores, access.dead_letters), since)
        skipped = (
            await scan_alarms(scan, places.alarms, openings.apply),
            await scan_control(scan, access.control, ControlState({CORRECTION: corrections.apply})),
        )
        offsets = sum(one.end for one in await scan.kept(places.alarms))
    return AuditReport(
        made_at=now,
        version=__version__,
        since=since,
        until=until,
        topic=access.scores,
        logged=tuple(logged),
        unreadable=counts.unreadable,
        outcomes=counts.outcomes(),
        sampling=counts.sampling(),
        judges=counts.judges(),
        dead_letters=dead_letters,
        alarms=openings.alarms(),
        corrections=tuple(corrections.by_key.values()),
        seals=seals,
        deleted=tuple(deleted),
        left_out=tuple(_left_out(skipped)),
        alarm_records_gone=max(0, offsets - openings.records),
    )


async def _deleted(
    scan: TopicScan, topics: Sequence[str], since: datetime
) -> list[DeletedPartition]:
    """After they were read: what is deleted meanwhile may be missing, too."""
    return [one for topic in topics for one in deleted_of(await scan.kept(topic), since)]


def _left_out(skipped: Iterable[SkippedRecords]) -> Iterator[LeftOutRecords]:
    for one in skipped:
        if (first := one.first) is not None:
            yield LeftOutRecords(
                topic=first.topic,
                records=one.records,
                first_partition=first.partition,
                first_offset=first.offset,
                first_reason=first.reason,
            )


async def _sealed(
    scan: TopicScan,
    topic: str,
    since: datetime,
    is_wanted: Callable[[KafkaRecord], bool],
    counts: SpanCounts,
) -> tuple[SealedPartition, ...]:
    chains = {n: PartitionChain(topic, n) for n in scan.partitions.get(topic, [])}
    start_ms = round(since.timestamp() * 1000)
    async for record in scan.records(topic, start_ms=start_ms, strictly=True):
        if not is_wanted(record):
            continue
        chains[record.partition].add(record)
        try:
            counts.add(read_score_record(record.value or b""))
        except RecordSkipped:
            counts.unreadable += 1
    return tuple(chains[number].sealed() for number in sorted(chains))


async def _dead_letters(
    scan: TopicScan, topic: str, since: datetime, until_ms: int
) -> dict[str, int]:
    found: Counter[str] = Counter()
    start_ms = round(since.timestamp() * 1000)
    async for record in scan.records(topic, start_ms=start_ms, strictly=True):
        if record.timestamp < until_ms:
            dead_letter = read_dead_letter(record)
            if dead_letter is None:
                found["unreadable"] += 1
            else:
                found[f"{dead_letter.stage}: {dead_letter.cause}"] += 1
    return dict(sorted(found.items()))


async def differences(places: ReportPlaces, report: AuditReport) -> list[str]:
    """What has changed on the topic of score records since a report, a line each; none: nothing.

    Also what the report counts otherwise than the same records are counted now.
    """
    access = places.access
    if access.scores != report.topic:
        raise DependencyRefused(
            f"the report is about topic {report.topic}, and kafka.topics.scores is {access.scores}"
        )
    sealed = {one.partition: one for one in report.seals}
    until_ms = round(report.until.timestamp() * 1000)

    def was_reported(record: KafkaRecord) -> bool:
        # Two scorers have two clocks: what was behind the span between others of it left gaps.
        one = sealed.get(record.partition)
        if one is None or one.last_offset is None or record.offset > one.last_offset:
            return False
        return record.timestamp < until_ms or not one.may_lack(record.offset)

    counts = SpanCounts()
    async with access.scanning(access.output) as scan:
        now = await _sealed(scan, access.scores, report.since, was_reported, counts)
    by_number = {one.partition: one for one in now}
    lines = []
    for one in report.seals:
        found = by_number.get(one.partition)
        if found is None:
            lines.append(f"partition {one.partition}: it is there no more")
        elif (line := difference(one, found)) is not None:
            lines.append(line)
    return lines or counted_otherwise(report, counts, __version__)
