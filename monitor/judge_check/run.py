"""What judging labelled interactions gave, before anything is computed from it. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from monitor.judge.offline.overlap import Scores
from monitor.judge_check.cases import AskedPairs
from monitor.judge_check.labelled import Labelled
from monitor.records import JudgeIdentity, Judgement, Usage


@dataclass(slots=True)
class CheckCost:
    """What one way of judging took: ``usage`` over all, ``seconds`` summed over ``judgements``.

    ``failed`` counts reasons, ``refused`` what was wrong with replies, by kind of ``Complaint``.
    """

    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    judgements: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class MeasuredInteraction:
    """One interaction: what the judge said of the labelled claims, and on its own.

    None where it failed or was not asked. ``others`` are the verdicts in other passage orders.
    """

    about: Labelled
    verified: Judgement | None = None
    seen: AskedPairs = field(default_factory=AskedPairs)
    scores: Scores | None = None
    others: list[Judgement] = field(default_factory=list)
    whole: Judgement | None = None


@dataclass(slots=True)
class CheckRun:
    """All interactions under one judge in one pipeline, and what they cost."""

    pipeline: str
    judge: JudgeIdentity
    measured: list[MeasuredInteraction] = field(default_factory=list)
    verifying: CheckCost = field(default_factory=CheckCost)
    permuting: CheckCost = field(default_factory=CheckCost)
    judging: CheckCost = field(default_factory=CheckCost)
    wall_s: float = 0.0
