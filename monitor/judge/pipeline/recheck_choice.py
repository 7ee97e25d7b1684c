"""Which judgements are made twice, and how far two of them agree. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Literal, NamedTuple

from monitor.judge.pipeline.parsing import passage_order
from monitor.records import Flags, Judgement, Labels, Matrix

MatrixKind = Literal["passage", "context", "reference", "response", "question", "answer"]
"""What claims were checked against: each passage, all of them, the reference, the response. The
last two are no kinds of claims: which passages are relevant to the question, and whether the
response addresses it."""


class Equal(NamedTuple):
    """Of ``verdicts`` pairs on the same claim and text, how many are ``equal``."""

    equal: int
    verdicts: int


def is_chosen(interaction_id: str, share: float) -> bool:
    """Whether an interaction is judged twice: the same in every process, and nested in ``share``.

    Another hash than that of the sampling, of which it knows nothing.

    >>> [sum(is_chosen(str(n), share) for n in range(10_000)) for share in (0.0, 0.01, 1.0)]
    [0, 106, 10000]
    """
    digest = blake2b(interaction_id.encode("utf-8", "surrogatepass"), person=b"second look")
    return int.from_bytes(digest.digest()[:8]) / 2**64 < share


def other_order(interaction_id: str, passages: int) -> list[int]:
    """The usual order of passages backwards: whatever stood first stands last.

    >>> passage_order("a", 4), other_order("a", 4)
    ([2, 3, 4, 1], [1, 4, 3, 2])
    """
    return passage_order(interaction_id, passages)[::-1]


def agreement(first: Judgement, second: Judgement) -> dict[MatrixKind, Equal]:
    """Equal verdicts of two judgements on the same claims, by kind; kinds without any are left out.

    Raises ``ValueError`` when the claims differ.
    """
    if first.claims != second.claims:
        raise ValueError("two judgements on different claims")
    a, b = first.verdicts, second.verdicts
    found: dict[MatrixKind, Equal] = {
        "passage": _equal(
            _flat(a.response_by_passage + a.reference_by_passage),
            _flat(b.response_by_passage + b.reference_by_passage),
        ),
        # Without passages there is no context to be supported by, and nothing was asked.
        "context": _equal(a.response_by_context, b.response_by_context)
        if first.passages
        else Equal(0, 0),
        "reference": _equal(a.response_by_reference, b.response_by_reference),
        "response": _equal(a.reference_by_response, b.reference_by_response),
        "question": _equal_relevance(a.relevant_to_question, b.relevant_to_question),
        "answer": _equal_answer(a.answers_question, b.answers_question),
    }
    return {kind: equal for kind, equal in found.items() if equal.verdicts}


def _equal_relevance(first: Labels, second: Labels) -> Equal:
    """Of the passages that the second judge was asked about: labels outdo judges in the first."""
    judged = [(a, b) for a, b in zip(first, second, strict=False) if b is not None]
    return Equal(sum(a == b for a, b in judged), len(judged))


def _equal_answer(first: bool | None, second: bool | None) -> Equal:
    """Where both judges were asked."""
    return Equal(first == second, 1) if None not in (first, second) else Equal(0, 0)


def _flat(matrix: Matrix) -> Flags:
    return tuple(verdict for row in matrix for verdict in row)


def _equal(first: Sequence[bool], second: Iterable[bool]) -> Equal:
    return Equal(sum(a == b for a, b in zip(first, second, strict=True)), len(first))
