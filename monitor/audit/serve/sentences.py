"""What a page says of each metric: the counts of its marks that give the value. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from monitor.metrics.catalogue import CATALOGUE
from monitor.metrics.offending_claims import (
    IRRELEVANT_CONTEXT_RELIANCE,
    JudgedClaim,
    judged_claims,
    passage_count,
    reference_claims,
    relevance,
)
from monitor.records import Labels, ScoreRecord

#: Values were added up in another order.
_ROUNDING: Final = 1e-9


class ScoreSentence(NamedTuple):
    """Of a metric with a value: what was counted, of what; ``value`` is that of the counts.

    ``on_record`` is the value of the record, where it is another one.
    """

    metric: str
    plain: str
    counted: int | None
    of: int | None
    value: float
    said: str
    on_record: float | None = None


class _Marks(NamedTuple):
    """Everything that a page shows of an interaction."""

    record: ScoreRecord
    claims: tuple[JudgedClaim, ...]
    relevant: Labels

    def from_relevant(self, claim: JudgedClaim) -> bool:
        return _any_of(claim, self.relevant, wanted=True)

    def only_from_irrelevant(self, claim: JudgedClaim, relevant: Labels) -> bool:
        return any(claim.supported) and not _any_of(claim, relevant, wanted=True)

    def share(self, holds: Callable[[JudgedClaim], bool]) -> tuple[int, int]:
        return sum(map(holds, self.claims)), len(self.claims)


def sentences(record: ScoreRecord) -> list[ScoreSentence]:
    """One for each metric of the catalogue that has a value on the record, in its order."""
    marks = _Marks(record, judged_claims(record), relevance(record))
    found = []
    for name in CATALOGUE:
        value = record.scores.get(name)
        if isinstance(value, float):
            said = _sentence(name, value, marks)
            is_same = abs(said.value - value) <= _ROUNDING
            found.append(said if is_same else said._replace(on_record=value))
    return found


def _sentence(name: str, value: float, marks: _Marks) -> ScoreSentence:
    plain = CATALOGUE[name].plain
    if name == "claim_f1":
        return _f1(plain, marks)
    count = _COUNTS.get(name)
    if count is None:
        yes = "yes" if value >= 0.5 else "no"
        return ScoreSentence(name, plain, None, None, value, yes)
    counted, of = count(marks)
    share = counted / of if of else 0.0
    return ScoreSentence(name, plain, counted, of, share, f"{counted} of {of} = {share:.2f}")


def _f1(plain: str, marks: _Marks) -> ScoreSentence:
    (right, claims), (said, wanted) = _right(marks), _said_claims(marks)
    precision, recall = right / claims, said / wanted
    both = precision + recall
    value = 2 * precision * recall / both if both else 0.0
    said_so = (
        f"2 × {precision:.2f} × {recall:.2f} / ({precision:.2f} + {recall:.2f}) = {value:.2f}"
        if both
        else "no claim is right, and none of the reference is answered = 0.00"
    )
    return ScoreSentence("claim_f1", plain, None, None, value, said_so)


def _right(marks: _Marks) -> tuple[int, int]:
    return marks.share(lambda claim: claim.correct is True)


def _said_claims(marks: _Marks) -> tuple[int, int]:
    found = reference_claims(marks.record)
    return sum(claim.is_said for claim in found), len(found)


def _retrieved(marks: _Marks) -> tuple[int, int]:
    found = reference_claims(marks.record)
    return sum(any(claim.supported) for claim in found), len(found)


def _used(marks: _Marks) -> tuple[int, int]:
    found = [claim for claim in reference_claims(marks.record) if any(claim.supported)]
    return sum(claim.is_said for claim in found), len(found)


def _relevant_passages(marks: _Marks) -> tuple[int, int]:
    return sum(map(bool, marks.relevant)), passage_count(marks.record)


def _reliance(marks: _Marks) -> tuple[int, int]:
    relevant = marks.record.verdicts.relevant_to_question
    return marks.share(lambda claim: marks.only_from_irrelevant(claim, relevant))


def _wrong_and(holds: Callable[[_Marks, JudgedClaim], bool]) -> Callable[[_Marks], tuple[int, int]]:
    return lambda marks: marks.share(lambda claim: claim.correct is False and holds(marks, claim))


_COUNTS: Final[Mapping[str, Callable[[_Marks], tuple[int, int]]]] = {
    "faithfulness": lambda marks: marks.share(lambda claim: claim.together),
    "faithfulness_by_passage": lambda marks: marks.share(lambda claim: any(claim.supported)),
    "noise_sensitivity_relevant": _wrong_and(lambda marks, claim: marks.from_relevant(claim)),
    "noise_sensitivity_irrelevant": _wrong_and(
        lambda marks, claim: marks.only_from_irrelevant(claim, marks.relevant)
    ),
    "incorrect_claims": _wrong_and(lambda _marks, _claim: True),
    "hallucination": _wrong_and(lambda _marks, claim: not any(claim.supported)),
    "self_knowledge": lambda marks: marks.share(
        lambda claim: claim.correct is True and not any(claim.supported)
    ),
    "claim_precision": _right,
    "claim_recall": _said_claims,
    "context_recall": _retrieved,
    "context_precision": _relevant_passages,
    "context_utilization": _used,
    IRRELEVANT_CONTEXT_RELIANCE: _reliance,
}


def _any_of(claim: JudgedClaim, relevant: Labels, *, wanted: bool) -> bool:
    pairs: Iterable[tuple[bool, bool | None]] = zip(claim.supported, relevant, strict=False)
    return any(supports and bool(label) is wanted for supports, label in pairs)
