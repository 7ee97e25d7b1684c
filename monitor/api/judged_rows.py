"""Rows judged at once, as many at a time as the judge has places for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from monitor.api.judges import JudgeChoice, JudgedTurn, ready
from monitor.api.samples import ScorableTurn
from monitor.errors import DependencyRefused, JudgeFailed
from monitor.evaluate.summary import Summary
from monitor.judge.provider.remedies import failure_in_words
from monitor.records import Outcome, ScoreRecord

#: Some more rows than are judged at a time: the oldest may take longest.
_AHEAD: Final = 4


async def judged_rows(
    turns: Sequence[ScorableTurn],
    choice: JudgeChoice,
    summary: Summary | None = None,
    *,
    raises: bool = True,
) -> list[ScoreRecord]:
    """The record of each row, in their order; as many at a time as the judge has places for.

    ``raises``: ``JudgeFailed`` for the first that fails. Raises ``DependencyRefused`` where the
    judge answers none of them.
    """
    judge, summary = await ready(choice), summary or Summary()
    summary.has_price = judge.has_price
    found: list[ScoreRecord | None] = [None] * len(turns)
    rows = iter(enumerate(turns))

    async def work() -> None:
        for number, turn in rows:
            judged = await judge.judged(turn)
            found[number] = judged.record
            summary.ended(judged.result)
            summary.add(judged.record)
            if raises:
                require_judgement(judged)

    failed: JudgeFailed | None = None
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(turns), _AHEAD * choice.settings.judge.concurrency)):
                group.create_task(work())
    except* JudgeFailed as errors:
        # Raised here, Python before 3.11.4 puts it into a group again.
        (failed, *_) = (one for one in errors.exceptions if isinstance(one, JudgeFailed))
    if failed is not None:
        raise failed from None
    if summary.refused:
        raise DependencyRefused(summary.refused)
    return [record for record in found if record is not None]


def require_judgement(judged: JudgedTurn) -> None:
    """Raises ``JudgeFailed``, which says what to do, of a row without a judgement."""
    record = judged.record
    if record.outcome not in (Outcome.JUDGE_FAILED, Outcome.OVER_BUDGET):
        return
    reason, judge = str(record.reason), record.judge
    said = failure_in_words(reason, judge.model, judged.result.found)
    raise JudgeFailed(
        f"{judge.label} ({judge.model}) gave no judgement: {said}",
        reason=reason,
        usage=record.usage,
    )
