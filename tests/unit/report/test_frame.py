"""The sampling frame: outcomes, rates and judges of a span add up to its records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from monitor.records import JudgeIdentity, Outcome, SamplingRecord, Usage
from monitor.report.chain import PartitionChain
from monitor.report.frame import (
    AuditReport,
    DeletedPartition,
    LeftOutRecords,
    LoggedPartition,
    SpanCounts,
    counted_otherwise,
    reported,
)
from monitor.report.page import as_page
from tests.stages.alarm_records import alarm
from tests.stages.audits import judged
from tests.stages.records import NOON


def slot(m: int, q: float, u: float = 1.0) -> SamplingRecord:
    """One of m, judged with probability q."""
    return SamplingRecord(first_offset=0, last_offset=m - 1, kind="with_reference", m=m, q=q, u=u)


FORCED = SamplingRecord(
    first_offset=None, last_offset=None, kind="with_reference", m=None, q=None, u=None, forced=True
)


def counted() -> SpanCounts:
    """Two days of two judges."""
    counts = SpanCounts()
    late = NOON + timedelta(days=1)
    other = JudgeIdentity(name="llm", version="2", model="new", prompts="p", pipeline="joint")
    for record in (
        judged(1, sampling=slot(10, 0.5), event_time=NOON, usage=Usage(calls=1, usd=0.25)),
        judged(2, sampling=slot(10, 1.0), event_time=NOON),
        judged(3, sampling=FORCED, event_time=NOON),
        judged(4, sampling=slot(1, 0.1, 2.0), event_time=late, judge=other, judged_at=late),
        judged(5, event_time=late, judge=other, judged_at=late, scores={},
               outcome=Outcome.JUDGE_FAILED, reason="malformed"),
    ):  # fmt: skip
        counts.add(record)
    return counts


def test_rates_and_what_they_stand_for() -> None:
    """By day; who asked for one does not count."""
    first, second = counted().sampling()
    assert (first.picks, first.forced, first.stands_for) == (2, 1, 30.0)
    assert first.least_rate == pytest.approx(0.05)
    assert first.most_rate == pytest.approx(0.1)
    assert (second.picks, second.forced, second.stands_for) == (2, 0, 21.0)


def test_outcomes_and_judges() -> None:
    """With reasons; each version with its time, its failures and its price."""
    counts = counted()
    found = {(one.outcome, one.reason): one.records for one in counts.outcomes()}
    assert found == {("scored", None): 4, ("judge_failed", "malformed"): 1}
    old, new = counts.judges()
    assert (old.records, old.failed, old.usd) == (3, 0, 0.25)
    assert (new.model, new.records, new.failed) == ("new", 2, 1)
    assert new.first == NOON + timedelta(days=1)


@pytest.mark.parametrize("usd", [-1.0, 1e308, float("inf"), float("nan")])
@pytest.mark.parametrize("rechecks_usd", [0.0, 1e308])
def test_a_cost_that_is_no_money_is_left_out_and_told(usd: float, rechecks_usd: float) -> None:
    """A record's cost is whatever its writer says; the record counts for all that it is."""
    counts = SpanCounts()
    counts.add(judged(1, usage=Usage(usd=0.25)))
    for n in (2, 3):
        counts.add(judged(n, usage=Usage(usd=usd), rechecks_usd=rechecks_usd))
    (found,) = counts.judges()
    assert (found.records, found.usd, found.cost_unknown) == (3, 0.25, 2)
    assert "0.2500 and 2 records whose cost is no amount of money" in as_page(report_of(counts))


@pytest.mark.parametrize(
    ("since_h", "until_h", "is_there"),
    [(-2, -1, False), (-2, 1, True), (1, 2, True), (5, 6, False)],
)
def test_alarms_that_were_open(since_h: int, until_h: int, *, is_there: bool) -> None:
    """It opened at noon, and closed at three."""
    three = NOON + timedelta(hours=3)
    record = alarm(state="closed", closed_at=three, closed_because="recovered")
    hour = timedelta(hours=1)
    found = reported(record, NOON + since_h * hour, NOON + until_h * hour)
    assert (found is not None) == is_there


def report_of(counts: SpanCounts) -> AuditReport:
    """A day's."""
    return AuditReport(
        made_at=datetime(2026, 11, 23, tzinfo=UTC),
        version="1",
        since=NOON,
        until=NOON + timedelta(days=1),
        topic="scores",
        logged=(),
        unreadable=counts.unreadable,
        outcomes=counts.outcomes(),
        sampling=counts.sampling(),
        judges=counts.judges(),
        dead_letters={"decode: malformed": 2},
        alarms=(),
        corrections=(),
        seals=(PartitionChain("scores", 0).sealed(),),
    )


def test_counts_that_were_changed_in_a_report_are_named() -> None:
    """Each part that the records do not say, and whether another version counted it."""
    report = report_of(counted())
    assert counted_otherwise(report, counted(), "1") == []
    for name, forged in (
        ("outcomes", report.outcomes[:1]),
        ("sampling", report.sampling[1:]),
        ("judges", tuple(one.model_copy(update={"failed": 0}) for one in report.judges)),
        ("unreadable", 3),
    ):
        (line,) = counted_otherwise(report.model_copy(update={name: forged}), counted(), "2")
        assert line.startswith(f"{name}: the records are the same, and the report says something")
        assert line.endswith("(it was made by version 1)")


def test_counts_do_not_go_by_the_order_of_partitions() -> None:
    """To the last digit, else a report would be called changed that nobody has touched."""
    records = [judged(i, usage=Usage(calls=1, usd=0.1 ** (i % 9)), sampling=slot(7, 0.3, 10.0**i))
               for i in range(18)]  # fmt: skip
    orders = (SpanCounts(), SpanCounts())
    for one, other in zip(records, reversed(records), strict=True):
        orders[0].add(one)
        orders[1].add(other)
    assert orders[0].sampling() == orders[1].sampling()
    assert orders[0].judges() == orders[1].judges()


def test_a_page_escapes_and_says_all_of_it() -> None:
    """Names are anybody's; a report as JSON is read as it was written."""
    counts = SpanCounts()
    bad = "<script>alert(1)</script>"
    counts.add(judged(1, application=bad))
    counts.unreadable = 3
    report = report_of(counts)
    page = as_page(report)
    assert bad not in page
    assert "&lt;script&gt;" in page
    for said in ("3 records of scores cannot be read", "decode: malformed", report.seals[0].seal):
        assert said in page
    assert "warranty" not in page
    again = AuditReport.model_validate_json(report.model_dump_json(by_alias=True))
    assert again == report


def test_a_page_says_what_is_missing() -> None:
    """Each topic's loss under its counts, what is left out, and alarms that may be gone."""
    plain = as_page(report_of(counted()))
    said = {
        "in is complete only from": "What became of those",
        "scores is complete only from": "Dead letters",
        "dead is complete only from": "Rates over time",
        "alarms: 1 record is left out, at partition 1, offset 7: malformed.": "The seal",
        "At most 1,234 records of alarms are no more": "The seal",
    }
    assert [one for one in said if one in plain] == []
    lost = tuple(
        DeletedPartition(topic=topic, partition=0, first_offset=5, complete_from=NOON)
        for topic in ("in", "scores", "dead")
    )
    left_out = LeftOutRecords(
        topic="alarms",
        records=1,
        first_partition=1,
        first_offset=7,
        first_reason="malformed",
    )
    report = report_of(counted()).model_copy(
        update={
            "logged": (LoggedPartition(topic="in", records=3),),
            "deleted": lost,
            "left_out": (left_out,),
            "alarm_records_gone": 1_234,
        }
    )
    page = as_page(report)
    for sentence, following in said.items():
        assert sentence in page.partition(following)[0], sentence
    assert AuditReport.model_validate_json(report.model_dump_json(by_alias=True)) == report
