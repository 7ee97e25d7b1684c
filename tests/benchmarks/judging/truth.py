"""What a case is worth by its labels alone, and how far a client's scores are from that. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from monitor.metrics.catalogue import score_all
from monitor.records import Claims, JudgeIdentity, Judgement, Unscored, Verdicts
from tests.benchmarks.judging.cases import Case
from tests.servers.judge_labels import Labels

Scores = Mapping[str, Mapping[str, float | None]]
_NOBODY = JudgeIdentity(name="labels", version="0", model="", prompts="", pipeline="")


def scores(judgement: Judgement) -> dict[str, float | None]:
    """Every metric of our catalogue; None where it has no value."""
    return {
        name: None if isinstance(value, Unscored) else value
        for name, value in score_all(judgement).items()
    }


def true_judgement(case: Case) -> Judgement:
    """The judgement of a judge that says what the labels say."""
    labels = case.labels()
    contexts = case.interaction["retrieved_contexts"]
    c = tuple(said.text for said in case.response)
    r = tuple(said.text for said in case.reference)
    by_passage = _matrix(c, contexts, labels)
    return Judgement(
        claims=Claims(response=c, reference=r),
        passages=len(contexts),
        has_reference=True,
        verdicts=Verdicts(
            response_by_passage=by_passage,
            response_by_context=tuple(
                any(row) or labels.holds_together(claim, contexts)
                for claim, row in zip(c, by_passage, strict=True)
            ),
            response_by_reference=_column(c, case.interaction["reference"], labels),
            reference_by_passage=_matrix(r, contexts, labels),
            reference_by_response=_column(r, case.interaction["response"], labels),
        ),
        judge=_NOBODY,
    )


def _matrix(
    claims: Iterable[str], texts: list[str], labels: Labels
) -> tuple[tuple[bool, ...], ...]:
    return tuple(tuple((claim, text) in labels.supported for text in texts) for claim in claims)


def _column(claims: Iterable[str], text: str, labels: Labels) -> tuple[bool, ...]:
    return tuple((claim, text) in labels.supported for claim in claims)


class Differences(NamedTuple):
    """Scores compared, how many differ, and those of which one side has no value."""

    metrics: int
    compared: int
    different: int
    undefined: int


def compare(ours: Scores, theirs: Scores) -> Differences:
    """Every metric that both know, over the interactions that both have.

    Where ours has no value there is nothing to compare: RAGChecker says 0 there.
    """
    pairs = [
        (name, score, theirs[case][name])
        for case in ours.keys() & theirs.keys()
        for name, score in ours[case].items()
        if name in theirs[case]
    ]
    known = [(a, b) for _, a, b in pairs if a is not None and b is not None]
    return Differences(
        metrics=len({name for name, *_ in pairs}),
        compared=len(known),
        different=sum(not math.isclose(a, b, abs_tol=1e-9) for a, b in known),
        undefined=len(pairs) - len(known),
    )
