"""What a page says of a judge: how long it has judged, and how far people agree. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from monitor.audit.listing import JudgeInUse
from monitor.audit.store.rows import milliseconds
from monitor.records.control import BaselineRecord, CorrectionRecord
from monitor.records.correction import Interval


class JudgeOnControl(NamedTuple):
    """What the control topic has of a judge of an application.

    ``learning`` is how many scored slots there are, and how many a baseline takes.
    """

    correction: CorrectionRecord | None
    baseline: BaselineRecord | None
    learning: tuple[int, int] | None = None


class AgreementRow(NamedTuple):
    """One kind of verdict: what people and judge, or two people, agree on."""

    kind: str
    kappa: str
    precision: str
    recall: str
    audits: int


class JudgeRow(NamedTuple):
    """A judge on its page; ``first_ms`` and ``last_ms`` are epoch milliseconds."""

    judge: JudgeInUse
    agreement: tuple[AgreementRow, ...]
    corrected: str
    in_doubt: str
    moved: str
    baseline: str
    baseline_ms: int | None
    span: tuple[float, float]


def judge_row(found: JudgeInUse, on_control: JudgeOnControl, all_ms: tuple[int, int]) -> JudgeRow:
    """What there is to be told; ``all_ms`` is when all judges together judged."""
    correction, baseline, learning = on_control
    return JudgeRow(
        found,
        () if correction is None else tuple(_agreement(correction)),
        corrected_in_words(correction),
        _doubt_in_words(found),
        ", ".join(
            name.replace("_", " ")
            for name, one in ({} if correction is None else correction.metrics).items()
            if one.moved
        ),
        baseline_in_words(baseline, learning),
        None if baseline is None else milliseconds(baseline.effective_from.timestamp()),
        _span(found, all_ms),
    )


def _span(found: JudgeInUse, all_ms: tuple[int, int]) -> tuple[float, float]:
    """Where a bar of 100 begins, and how long it is: never too short to be seen."""
    first, last = all_ms
    scale = 100.0 / max(1, last - first)
    begin = min(98.0, (found.first_ms - first) * scale)
    return round(begin, 1), round(max(2.0, (found.last_ms - found.first_ms) * scale), 1)


def _agreement(correction: CorrectionRecord) -> Iterator[AgreementRow]:
    for kind, one in sorted(correction.agreement.items()):
        yield AgreementRow(
            kind.replace("_", " "),
            interval_in_words(one.kappa),
            interval_in_words(one.precision),
            interval_in_words(one.recall),
            one.audits,
        )


def interval_in_words(found: Interval) -> str:
    """A measure with its bounds, as far as they are there.

    >>> interval_in_words((0.8, 0.71, 0.88)), interval_in_words((0.8, None, None))
    ('0.80 (0.71 to 0.88)', '0.80')
    >>> interval_in_words((None, None, None))
    'not defined'
    """
    value, lower, upper = found
    if value is None:
        return "not defined"
    if lower is None or upper is None:
        return f"{value:.2f}"
    return f"{value:.2f} ({lower:.2f} to {upper:.2f})"


def kappa_in_words(record: CorrectionRecord | None) -> str:
    """Agreement on what the passages support, with its interval."""
    found = None if record is None else record.agreement.get("response_by_passage")
    if found is None or found.kappa[0] is None:
        return "not yet"
    return f"{interval_in_words(found.kappa)} of {found.audits} audits"


def corrected_in_words(record: CorrectionRecord | None) -> str:
    """Which metrics are corrected, or how far it is to that."""
    if record is None or not record.metrics:
        return "not yet"
    found = [name for name, one in record.metrics.items() if one.errors is not None]
    if found:
        return f"{len(found)} metrics"
    nearest = max(record.metrics.values(), key=lambda one: one.audits)
    if nearest.audits < nearest.needed:
        return f"{nearest.audits} of {nearest.needed} audits"
    return (nearest.missing or "").replace("_", " ")


def _doubt_in_words(found: JudgeInUse) -> str:
    if not found.in_doubt:
        return "never in doubt, or it says nothing of that"
    return (
        f"in doubt about {found.in_doubt:,} of them ({100 * found.in_doubt / found.judged:.1f} %)"
    )


def baseline_in_words(record: BaselineRecord | None, learning: tuple[int, int] | None) -> str:
    """Where what is normal is from, and whether it holds until more is known.

    >>> from monitor.records.control import MetricBaseline
    >>> frozen = {"application": "bot", "judge": "a@1", "origin": "frozen", "slots": 1_000}
    >>> one = MetricBaseline(mean=0.9, provisional=True)
    >>> fields = {**frozen, "effective_from": "2026-11-02T03:00:00Z", "metrics": {"answered": one}}
    >>> baseline_in_words(BaselineRecord.model_validate(fields), None)
    'frozen from 1,000 judged, tolerates more until whole days are known'
    """
    if record is None and learning is not None:
        return "is being learned: {:,} of {:,} judged, no alarm until then".format(*learning)
    if record is None:
        return "none: nothing of it is watched"
    if not record.metrics:
        return "is learned anew"
    how = {"learned": "learned", "set": "set by hand", "frozen": "frozen"}[record.origin]
    of = f" from {record.slots:,} judged" if record.slots else ""
    until = ""
    if record.provisional:
        until = ", provisional until drift.learn_for is full"
    elif record.tolerates_more:
        until = ", tolerates more until whole days are known"
    return f"{how}{of}{until}"
