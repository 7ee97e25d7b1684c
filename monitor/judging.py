"""One pick: judged within its deadline, and scored; the same for live traffic and for a file."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.errors import JudgeFailed
from monitor.ingest.outcomes import Reason
from monitor.ingest.sampling import Sampler
from monitor.ingest.score_records import Ending
from monitor.judge.limits import Limits
from monitor.judge.protocol import Bill, Judge
from monitor.logs import logger
from monitor.metrics.catalogue import score_all
from monitor.rechecking import Rechecks
from monitor.records import Interaction, Outcome, Unscored, Usage


@dataclass(frozen=True)
class Treatment:
    """How an interaction is treated; treatments with the same judge share it and its limits.

    ``metrics`` are the names of those that are recorded; None: all of the catalogue. ``recheck``
    judges some of them again.
    """

    sampler: Sampler
    judge: Judge
    limits: Limits
    segment_by: str | None = None
    metrics: tuple[str, ...] | None = None
    recheck: Rechecks | None = None


async def judged(interaction: Interaction, treatment: Treatment) -> Ending:
    """The judgement within the deadline, as an ending. The caller has been admitted."""
    bill, judge = Bill(), treatment.judge
    try:
        async with treatment.limits.deadline():
            judgement = await judge.judge(interaction, bill)
    except TimeoutError:
        return _failed(interaction, judge, Reason.DEADLINE, bill.usage)
    except JudgeFailed as error:
        return _failed(interaction, judge, error.reason, bill.usage)
    scores = _chosen(score_all(judgement), treatment.metrics)
    scored = any(isinstance(score, float) for score in scores.values())
    return Ending(
        Outcome.SCORED if scored else Outcome.UNSCORABLE,
        None if scored else _why_unscorable(scores),
        judgement.judge,
        judgement.usage,
        judgement,
        scores,
        {},
    )


def _failed(interaction: Interaction, judge: Judge, reason: str, usage: Usage) -> Ending:
    logger().warning("judge_failed", interaction_id=interaction.interaction_id, reason=str(reason))
    return Ending(Outcome.JUDGE_FAILED, str(reason), judge.identity, usage, None, {}, {})


def _chosen(
    scores: dict[str, float | Unscored], metrics: tuple[str, ...] | None
) -> dict[str, float | Unscored]:
    """A metric that is not chosen is left out: unscored would be counted as missing a value."""
    if metrics is None:
        return scores
    return {name: score for name, score in scores.items() if name in metrics}


def _why_unscorable(scores: dict[str, float | Unscored]) -> str:
    """The first metric's reason, in the catalogue's order, stands for the interaction."""
    reasons = (score for score in scores.values() if isinstance(score, Unscored))
    return next(reasons).value.lower()
