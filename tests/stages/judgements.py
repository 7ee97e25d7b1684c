"""Random judgements of every shape."""

from __future__ import annotations

from hypothesis import strategies as st

from monitor.records import (
    Claims,
    Flags,
    JudgeIdentity,
    Judgement,
    Labels,
    Matrix,
    Verdicts,
)

JUDGE = JudgeIdentity(name="x", version="x", model="x", prompts="x", pipeline="x")


def flags(length: int) -> st.SearchStrategy[Flags]:
    return st.tuples(*[st.booleans()] * length)


def labels(length: int) -> st.SearchStrategy[Labels]:
    some = st.tuples(*[st.none() | st.booleans()] * length)
    return st.just(()) | some | flags(length)


def matrix(rows: int, columns: int) -> st.SearchStrategy[Matrix]:
    return st.tuples(*[flags(columns)] * rows)


@st.composite
def judgements(draw: st.DrawFn, least: int = 1) -> Judgement:
    """Any judgement with so many claims on each side and passages, with a reference.

    With ``least`` 0 the reference may be missing, too, and passages may be labelled.
    """
    c, r, n = (draw(st.integers(least, 5)) for _ in range(3))
    has_reference = least > 0 or draw(st.booleans())
    r = r if has_reference else 0
    by_passage = draw(matrix(c, n))
    together = draw(flags(c)) if n else (False,) * c
    return Judgement(
        claims=Claims(response=("claim",) * c, reference=("claim",) * r),
        passages=n,
        has_reference=has_reference,
        verdicts=Verdicts(
            response_by_passage=by_passage,
            response_by_context=tuple(
                any(row) or more for row, more in zip(by_passage, together, strict=True)
            ),
            response_by_reference=draw(flags(c if has_reference else 0)),
            reference_by_passage=draw(matrix(r, n)),
            reference_by_response=draw(flags(r)),
            relevant_by_label=() if least else draw(labels(n)),
            relevant_to_question=draw(labels(n)),
            answers_question=draw(st.none() | st.booleans()),
        ),
        judge=JUDGE,
    )
