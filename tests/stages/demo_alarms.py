"""Alarm records of the demo, so many seconds after its start."""

from __future__ import annotations

from typing import Literal

from monitor.records.alarm import AlarmRecord, JudgeFailures, MeanChange
from tests.stages.score_records import at


def alarm(
    state: Literal["open", "closed"],
    opened_s: float,
    *,
    closed_s: float | None = None,
    until_s: float = 0.0,
    metric: str = "noise_sensitivity_irrelevant",
) -> AlarmRecord:
    """The record of an alarm; when it closed, its sentence says so."""
    return AlarmRecord(
        answer="it rose" if state == "open" else "recovered: it rose",
        state=state,
        metric=metric,
        application="support-bot",
        judge="offline@1",
        higher_is_better=False,
        baseline=0.1,
        change=MeanChange(
            before=0.1, value=0.4, lower=0.3, upper=0.5, n=40, mix=0.0, within=0.3,
            explained_by_mix=0.0,
        ),
        evidence=8.0,
        threshold=7.56,
        judge_failures=JudgeFailures(before=0.0, rate=0.0, picks=40, verdict="normal"),
        since=at(until_s),
        opened_at=at(opened_s),
        closed_at=None if closed_s is None else at(closed_s),
        evidence_until=at(until_s),
    )  # fmt: skip
