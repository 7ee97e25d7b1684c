"""A report as a page that needs nothing else: no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from monitor.records.correction import Interval
from monitor.report.chain import SealedPartition
from monitor.report.deleted import in_sentences
from monitor.report.frame import AuditReport, DeletedPartition, JudgeUse, LeftOutRecords

_PAGE: Final = Environment(
    autoescape=True,
    loader=PackageLoader("monitor.report", ""),
    lstrip_blocks=True,
    trim_blocks=True,
    undefined=StrictUndefined,
).get_template("page.html")


def as_page(report: AuditReport) -> str:
    """HTML."""
    return _PAGE.render(
        report=report,
        since=_moment(report.since),
        until=_moment(report.until),
        made_at=_moment(report.made_at),
        logged=[(one.topic, f"{one.records:,}") for one in report.logged],
        deleted=_deleted(report),
        left_out=[_left_out(one) for one in report.left_out or ()],
        outcomes=[(o.application, o.outcome, o.reason, f"{o.records:,}") for o in report.outcomes],
        sampling=[
            (
                *(one.day, one.application, f"{one.picks:,}", f"{one.stands_for:,.0f}"),
                *(_rate(one.least_rate), _rate(one.most_rate), one.forced),
            )
            for one in report.sampling
        ],
        judges=[
            (
                *(one.application, one.judge, one.model, one.prompts, one.pipeline),
                *(_moment(one.first), _moment(one.last), f"{one.records:,}", one.failed),
                _money(one),
            )
            for one in report.judges
        ],
        agreement=list(_agreement(report)),
        corrections=list(_corrections(report)),
        alarms=[
            (
                *(one.key, _moment(one.since), _moment(one.opened_at)),
                *(_moment(one.closed_at), one.closed_because, one.answer),
            )
            for one in report.alarms
        ],
        seals=[
            (
                *(one.partition, one.first_offset, one.last_offset, f"{one.records:,}"),
                *(one.missing, _gaps(one), one.seal),
            )
            for one in report.seals
        ],
    )


def _deleted(report: AuditReport) -> dict[str, list[str]]:
    """What to say under the counts of inputs, of scores and of dead letters."""
    found: dict[str, list[DeletedPartition]] = {"inputs": [], "scores": [], "dead_letters": []}
    inputs = {one.topic for one in report.logged}
    for one in report.deleted or ():
        other = "scores" if one.topic == report.topic else "dead_letters"
        found["inputs" if one.topic in inputs else other].append(one)
    return {name: in_sentences(deleted) for name, deleted in found.items()}


def _left_out(one: LeftOutRecords) -> str:
    place = f"partition {one.first_partition}, offset {one.first_offset}: {one.first_reason}"
    first = f"{one.records:,} records are left out, the first at {place}"
    return f"{one.topic}: {first if one.records > 1 else f'1 record is left out, at {place}'}."


def _agreement(report: AuditReport) -> Iterator[tuple[object, ...]]:
    for record in report.corrections:
        for kind, one in sorted(record.agreement.items()):
            measures = (_interval(found) for found in (one.kappa, one.precision, one.recall))
            name = kind.replace("_", " ")
            yield (record.application, record.judge, name, *measures, one.audits)


def _corrections(report: AuditReport) -> Iterator[tuple[object, ...]]:
    for record in report.corrections:
        for metric, one in sorted(record.metrics.items()):
            errors, missing = one.errors, (one.missing or "").replace("_", " ")
            line = missing if errors is None else f"{errors.alpha:.3f} + {errors.beta:.3f}·people"
            yield (record.application, record.judge, metric, one.audits, one.needed, line)


def _money(one: JudgeUse) -> str:
    unknown = f" and {one.cost_unknown:,} records whose cost is no amount of money"
    return f"{one.usd:.4f}" + (unknown if one.cost_unknown else "")


def _gaps(one: SealedPartition) -> str:
    named = ", ".join(
        f"{gap.first}" if gap.first == gap.last else f"{gap.first}–{gap.last}" for gap in one.gaps
    )
    return f"{named} and {one.gaps_more} more" if one.gaps_more else named


def _interval(found: Interval) -> str:
    value, lower, upper = found
    if value is None:
        return ""
    return f"{value:.2f}" + ("" if lower is None else f" ({lower:.2f} to {upper:.2f})")


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.4g}"


def _moment(at: datetime | None) -> str:
    return "" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
