"""Audits made up for tests, and the control records that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from monitor.records.control import (
    CorrectionRecord,
    JudgeErrorsFound,
    MetricCorrection,
    VerdictAgreement,
)
from monitor.stats.correction import LEAST_UNIFORM, Audited, JudgeErrors, has_moved, judge_errors
from tests.stages.score_records import FIRST, at


def audits_of(
    count: int, *, misses: float = 0.15, false_alarms: float = 0.05, seed: int = 1
) -> list[Audited]:
    """Interactions with one to six claims, one in five wrong, as a judge sees them."""
    random, found = Random(seed), []
    for _ in range(count):
        claims = random.randint(1, 6)
        wrong = sum(random.random() < 0.2 for _ in range(claims))
        said = sum(random.random() >= misses for _ in range(wrong))
        said += sum(random.random() < false_alarms for _ in range(claims - wrong))
        found.append(Audited(said / claims, wrong / claims, 1.0))
    return found


def of_metric(audits: Sequence[Audited], needed: int = LEAST_UNIFORM) -> MetricCorrection:
    """What the audits of one metric say."""
    errors = judge_errors(audits, least=needed)
    is_known = isinstance(errors, JudgeErrors)
    return MetricCorrection(
        audits=len(audits),
        needed=needed,
        wrong=sum(one.people > 0 for one in audits),
        errors=JudgeErrorsFound(**errors._asdict()) if isinstance(errors, JudgeErrors) else None,
        missing=None if is_known else str(errors),
        moved=has_moved(audits),
    )


#: With all bounds; and what one interaction alone says.
AGREES = VerdictAgreement(
    audits=120,
    verdicts=360,
    kappa=(0.75, 0.7, 0.8),
    precision=(0.9, 0.85, 0.95),
    recall=(1, 0.9, 1),
)
HARDLY_KNOWN = VerdictAgreement(
    audits=1,
    verdicts=2,
    kappa=(None, None, None),
    precision=(1.0, None, None),
    recall=(1, None, None),
)


def correction(
    application: str = "bot", judge: str = FIRST.label, **fields: Any
) -> CorrectionRecord:
    """What people say of a judge: of its faithfulness, as far as nothing else is given."""
    given: dict[str, Any] = {
        "audited_until": at(0.0),
        "metrics": {"faithfulness": of_metric(audits_of(200))},
    }
    return CorrectionRecord(application=application, judge=judge, **{**given, **fields})
