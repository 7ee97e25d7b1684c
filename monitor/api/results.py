"""What a metric gives: its value or why there is none, and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from monitor.api.arithmetic import ScoreNumber
from monitor.api.explained import as_html, explained, headline
from monitor.api.problems import NothingToScore
from monitor.metrics.offending_claims import (
    JudgedClaim,
    Offence,
    ReferenceClaim,
    judged_claims,
    offending,
    passage_count,
    reference_claims,
)
from monitor.metrics.offending_claims import relevance as relevance_of
from monitor.records import Judgement, Labels, ScoreRecord, UnscoredMark, Usage


@dataclass(frozen=True, repr=False, eq=False)
class MetricResult(ScoreNumber):
    """A score of one metric (``metric``), and the record that it stands on.

    ``record`` is what ``rag-monitor evaluate`` would write of it: texts, claims, verdicts, judge.
    """

    metric: str
    record: ScoreRecord

    @property
    def value(self) -> float | None:
        """In [0, 1]; None where there is nothing to score, as ``reason`` says."""
        found = self.record.scores.get(self.metric)
        return found if isinstance(found, float) else None

    @property
    def reason(self) -> str | None:
        """Why there is no value, like ``NO_REFERENCE``; None where there is one."""
        found = self.record.scores.get(self.metric)
        if isinstance(found, UnscoredMark):
            return found.unscored
        return None if isinstance(found, float) else str(self.record.reason).upper()

    @property
    def judgement(self) -> Judgement | None:
        """All verdicts, as the judge gave them; None where nobody was asked, or none was given."""
        record = self.record
        if not record.claims.response:
            return None
        return Judgement(
            claims=record.claims,
            passages=passage_count(record),
            has_reference=bool(record.verdicts.response_by_reference),
            verdicts=record.verdicts,
            judge=record.judge,
            usage=record.usage,
            evidence=record.evidence,
            probabilities=record.probabilities,
        )

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """The claims of the response, each with all that was said of it."""
        return judged_claims(self.record)

    @property
    def reference_claims(self) -> tuple[ReferenceClaim, ...]:
        """The claims of the reference: which passages hold them, whether the response says them."""
        return reference_claims(self.record)

    @property
    def wrong_claims(self) -> tuple[Offence, ...]:
        """The claims that count against the response in this metric, with their passages."""
        return offending(self.record, self.metric)

    @property
    def relevance(self) -> Labels:
        """By passage, whether it is relevant; None where nobody says."""
        return relevance_of(self.record)

    @property
    def usage(self) -> Usage:
        """Calls, tokens and US dollars; nothing where the judgement was known already."""
        return self.record.usage

    def explain(self) -> str:
        """Which passages are relevant, which claims are wrong and why, the counts, the formula."""
        return "\n".join(explained(self.record, self.metric))

    def to_dict(self) -> dict[str, Any]:
        """``result`` and ``reason``, as ragas has them, and the ``metric``."""
        return {"metric": self.metric, "result": self.value, "reason": self.reason}

    def __float__(self) -> float:
        """The value; raises ``NothingToScore`` where there is none."""
        if self.value is None:
            raise NothingToScore(self.metric, str(self.reason))
        return self.value

    def __repr__(self) -> str:
        """The value in one line, with the counts behind it."""
        found = f"value={self.value!r}" if self.reason is None else f"reason={self.reason!r}"
        return f"<MetricResult {found}: {headline(self.record, self.metric)}>"

    def _repr_html_(self) -> str:
        return as_html(explained(self.record, self.metric))
