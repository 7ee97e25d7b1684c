"""The metrics on random judgements: an identity between them, and another way to count."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from monitor.metrics.catalogue import score_all
from monitor.records import Claims, Flags, JudgeIdentity, Judgement, Matrix, Verdicts

JUDGE = JudgeIdentity(name="x", version="x", model="x", prompts="x", pipeline="x")


def flags(length: int) -> st.SearchStrategy[Flags]:
    return st.tuples(*[st.booleans()] * length)


def matrix(rows: int, columns: int) -> st.SearchStrategy[Matrix]:
    return st.tuples(*[flags(columns)] * rows)


@st.composite
def judgements(draw: st.DrawFn) -> Judgement:
    """Any judgement with at least one claim on each side and one passage."""
    c, r, n = (draw(st.integers(1, 5)) for _ in range(3))
    by_passage = draw(matrix(c, n))
    together = draw(flags(c))
    return Judgement(
        claims=Claims(response=("claim",) * c, reference=("claim",) * r),
        passages=n,
        has_reference=True,
        verdicts=Verdicts(
            response_by_passage=by_passage,
            response_by_context=tuple(
                any(row) or more for row, more in zip(by_passage, together, strict=True)
            ),
            response_by_reference=draw(flags(c)),
            reference_by_passage=draw(matrix(r, n)),
            reference_by_response=draw(flags(r)),
        ),
        judge=JUDGE,
    )


def counted(judgement: Judgement) -> dict[str, Fraction]:
    """The five metrics by set algebra over claim and passage numbers."""
    v, n = judgement.verdicts, judgement.passages
    claims = set(range(len(v.response_by_reference)))
    edges = {(i, j) for i, j in product(claims, range(n)) if v.response_by_passage[i][j]}
    relevant = {j for row in v.reference_by_passage for j in range(n) if row[j]}
    incorrect = claims - {i for i in claims if v.response_by_reference[i]}
    supported = {i for i, _ in edges}
    by_relevant = {i for i, j in edges if j in relevant}
    kinds = {
        "faithfulness": {i for i in claims if v.response_by_context[i]},
        "noise_sensitivity_relevant": incorrect & by_relevant,
        "noise_sensitivity_irrelevant": incorrect & (supported - by_relevant),
        "incorrect_claims": incorrect,
        "hallucination": incorrect - supported,
    }
    return {name: Fraction(len(found), len(claims)) for name, found in kinds.items()}


@given(judgements())
def test_every_metric_equals_a_count_by_sets(judgement: Judgement) -> None:
    """Each value is the float nearest to its fraction of claims."""
    expected = {name: float(value) for name, value in counted(judgement).items()}
    assert score_all(judgement) == expected


@given(judgements())
def test_incorrect_claims_have_exactly_one_origin(judgement: Judgement) -> None:
    """In claims: incorrect = from relevant + from irrelevant passages only + from none."""
    claims = len(judgement.claims.response)
    found = {}
    for name, value in score_all(judgement).items():
        assert isinstance(value, float)
        found[name] = round(value * claims)
    assert found["incorrect_claims"] == (
        found["noise_sensitivity_relevant"]
        + found["noise_sensitivity_irrelevant"]
        + found["hallucination"]
    )
