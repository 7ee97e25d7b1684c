"""The sampling frame of a span: what was logged, picked, judged, and what became of it. Pure."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, Field

from monitor.records import AnyMinor, Frozen, ScoreRecord
from monitor.records.alarm import AlarmRecord
from monitor.records.control import CorrectionRecord
from monitor.report.chain import SealedPartition

REPORT_SCHEMA: Final = "rag.report/1"

#: In US dollars: more than anything costs. Who writes to the topic may write anything.
MOST_USD: Final = 1e12


class OutcomeCount(Frozen):
    """How many ended so."""

    application: str
    outcome: str
    reason: str | None
    records: int


class DaySampling(Frozen):
    """What was picked of one day (UTC) of an application, and with which probabilities.

    ``stands_for`` is Σ m/q·u: the interactions that the picks stand for. ``forced`` ones stand for
    none. ``least_rate`` and ``most_rate`` are the smallest and the largest q/m.
    """

    day: str
    application: str
    picks: int
    forced: int
    stands_for: float
    least_rate: float | None
    most_rate: float | None


class JudgeUse(Frozen):
    """One version of a judge: what it is made of, since when and until when it has judged.

    ``usd`` leaves out ``cost_unknown`` records: what they say they cost is less than nothing, no
    number, or more than anything costs (``MOST_USD``). It stands only where there are some.
    """

    application: str
    judge: str
    model: str
    prompts: str
    pipeline: str
    first: AwareDatetime
    last: AwareDatetime
    records: int
    failed: int
    usd: float
    cost_unknown: int = Field(0, exclude_if=lambda records: records == 0)


class LoggedPartition(Frozen):
    """The offsets of an input topic that came in the span, by the broker's time.

    At most so many were ``records``: commits of transactions take offsets, too. What had been
    deleted before is not among them: ``AuditReport.deleted``.
    """

    topic: str
    records: int


class DeletedPartition(Frozen):
    """A partition of which older records were deleted, and of the span as well perhaps.

    It begins with ``first_offset``, and is complete from the time of that record on; None where
    none is kept, or none with a time.
    """

    topic: str
    partition: int
    first_offset: int
    complete_from: AwareDatetime | None


class LeftOutRecords(Frozen):
    """Records of a topic that cannot be gone by: how many, where the first stands, and why."""

    topic: str
    records: int
    first_partition: int
    first_offset: int
    first_reason: str


class ReportedAlarm(Frozen):
    """One opening of an alarm that was open in the span.

    ``closed_because`` is ``opened_again`` where the next record of its key is of another opening:
    when this one ended nobody has written.
    """

    key: str
    state: str
    since: AwareDatetime
    opened_at: AwareDatetime
    closed_at: AwareDatetime | None
    closed_because: str | None
    answer: str


class AuditReport(Frozen):
    """All of it. No text of any user, and no id of an interaction.

    Of the topic of alarms at most ``alarm_records_gone`` records are no more, by compaction, which
    also takes earlier openings. Reports of before these three were written have None.
    """

    schema_: Annotated[Literal["rag.report/1"], AnyMinor] = Field(REPORT_SCHEMA, alias="schema")
    made_at: AwareDatetime
    version: str
    since: AwareDatetime
    until: AwareDatetime
    topic: str
    logged: tuple[LoggedPartition, ...]
    unreadable: int
    outcomes: tuple[OutcomeCount, ...]
    sampling: tuple[DaySampling, ...]
    judges: tuple[JudgeUse, ...]
    dead_letters: dict[str, int]
    alarms: tuple[ReportedAlarm, ...]
    corrections: tuple[CorrectionRecord, ...]
    seals: tuple[SealedPartition, ...]
    deleted: tuple[DeletedPartition, ...] | None = None
    left_out: tuple[LeftOutRecords, ...] | None = None
    alarm_records_gone: int | None = None


class SpanCounts:
    """Adds up score records."""

    def __init__(self) -> None:
        self.unreadable = 0
        self._outcomes: Counter[tuple[str, str, str | None]] = Counter()
        self._days: dict[tuple[str, str], _DayTotals] = {}
        self._judges: dict[tuple[str, str], _JudgeTotals] = {}

    def add(self, record: ScoreRecord) -> None:
        """One more."""
        self._outcomes[record.application, record.outcome.value, record.reason] += 1
        day = f"{record.event_time.astimezone(UTC):%Y-%m-%d}"
        self._days.setdefault((day, record.application), _DayTotals()).add(record)
        key = record.application, record.judge.label
        self._judges.setdefault(key, _JudgeTotals(record)).add(record)

    def outcomes(self) -> tuple[OutcomeCount, ...]:
        """By application, the commonest first."""
        found = sorted(self._outcomes.items(), key=lambda it: (it[0][0], -it[1], str(it[0])))
        return tuple(
            OutcomeCount(application=name, outcome=outcome, reason=reason, records=n)
            for (name, outcome, reason), n in found
        )

    def sampling(self) -> tuple[DaySampling, ...]:
        """By day and application."""
        return tuple(
            DaySampling(
                day=day,
                application=name,
                picks=found.picks,
                forced=found.forced,
                stands_for=round(float(found.stands_for), 6),
                least_rate=found.least,
                most_rate=found.most,
            )
            for (day, name), found in sorted(self._days.items())
        )

    def judges(self) -> tuple[JudgeUse, ...]:
        """By application, in the order of their first use."""
        found = sorted(self._judges.items(), key=lambda it: (it[0][0], it[1].first, it[0][1]))
        return tuple(
            JudgeUse(
                application=name,
                judge=label,
                model=each.identity.model,
                prompts=each.identity.prompts,
                pipeline=each.identity.pipeline,
                first=each.first,
                last=each.last,
                records=each.records,
                failed=each.failed,
                usd=round(float(each.usd), 6),
                cost_unknown=each.cost_unknown,
            )
            for (name, label), each in found
        )


def counted_otherwise(report: AuditReport, now: SpanCounts, version: str) -> list[str]:
    """What a report says of its records that they do not say to this version, a line each."""
    pairs = (
        ("outcomes", report.outcomes, now.outcomes()),
        ("sampling", report.sampling, now.sampling()),
        ("judges", report.judges, now.judges()),
        ("unreadable", report.unreadable, now.unreadable),
    )
    made_by = "" if report.version == version else f" (it was made by version {report.version})"
    return [
        f"{name}: the records are the same, and the report says something else of them{made_by}"
        for name, said, counted in pairs
        if said != counted
    ]


class _DayTotals:
    def __init__(self) -> None:
        self.picks = self.forced = 0
        # Exact, so that the order of partitions, which is another each time, changes no digit.
        self.stands_for = Fraction()
        self.least: float | None = None
        self.most: float | None = None

    def add(self, record: ScoreRecord) -> None:
        slot = record.sampling
        if slot.forced or slot.m is None or slot.q is None or slot.u is None:
            self.forced += 1
            return
        rate = slot.q / slot.m
        self.picks += 1
        self.stands_for += Fraction(slot.u / rate)
        self.least = rate if self.least is None else min(self.least, rate)
        self.most = rate if self.most is None else max(self.most, rate)


class _JudgeTotals:
    def __init__(self, record: ScoreRecord) -> None:
        self.identity = record.judge
        self.first = self.last = record.judged_at
        self.records = self.failed = self.cost_unknown = 0
        self.usd = Fraction()

    def add(self, record: ScoreRecord) -> None:
        self.first, self.last = min(self.first, record.judged_at), max(self.last, record.judged_at)
        self.records += 1
        self.failed += record.outcome.value == "judge_failed"
        if all(0.0 <= usd <= MOST_USD for usd in (record.usage.usd, record.rechecks_usd)):
            self.usd += Fraction(record.usage.usd) + Fraction(record.rechecks_usd)
        else:
            self.cost_unknown += 1


def reported(record: AlarmRecord, since: datetime, until: datetime) -> ReportedAlarm | None:
    """An alarm, where it was open at any time of the span."""
    if record.opened_at >= until or (record.closed_at is not None and record.closed_at < since):
        return None
    return ReportedAlarm(
        key=record.key,
        state=record.state,
        since=record.since,
        opened_at=record.opened_at,
        closed_at=record.closed_at,
        closed_because=record.closed_because,
        answer=record.answer,
    )
