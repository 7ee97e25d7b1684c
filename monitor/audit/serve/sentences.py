"""What a page says of each metric: the counts of its marks that give the value. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

from monitor.metrics.catalogue import CATALOGUE
from monitor.metrics.offending_claims import judged_claims, reference_claims
from monitor.metrics.ratios import counted
from monitor.records import ScoreRecord

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


def sentences(record: ScoreRecord) -> list[ScoreSentence]:
    """One for each metric of the catalogue that has a value on the record, in its order."""
    found = []
    for name in CATALOGUE:
        value = record.scores.get(name)
        if isinstance(value, float):
            said = _sentence(record, name, value)
            is_same = abs(said.value - value) <= _ROUNDING
            found.append(said if is_same else said._replace(on_record=value))
    return found


def _sentence(record: ScoreRecord, name: str, value: float) -> ScoreSentence:
    plain = CATALOGUE[name].plain
    if name == "claim_f1":
        return _f1(plain, record)
    found = counted(record, name)
    if found is None:
        yes = "yes" if value >= 0.5 else "no"
        return ScoreSentence(name, plain, None, None, value, yes)
    part, whole, _ = found
    share = part / whole if whole else 0.0
    return ScoreSentence(name, plain, part, whole, share, f"{part} of {whole} = {share:.2f}")


def _f1(plain: str, record: ScoreRecord) -> ScoreSentence:
    """Of what the two shares of it count, which need not have a value on the record."""
    claims = [claim.correct is True for claim in judged_claims(record)]
    wanted = [claim.is_said for claim in reference_claims(record)]
    precision, recall = sum(claims) / len(claims), sum(wanted) / len(wanted)
    both = precision + recall
    value = 2 * precision * recall / both if both else 0.0
    said_so = (
        f"2 × {precision:.2f} × {recall:.2f} / ({precision:.2f} + {recall:.2f}) = {value:.2f}"
        if both
        else "no claim is right, and none of the reference is answered = 0.00"
    )
    return ScoreSentence("claim_f1", plain, None, None, value, said_so)
