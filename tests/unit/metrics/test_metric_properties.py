"""The metrics on random judgements: an identity between them, and another way to count."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.metrics.catalogue import score_all
from monitor.metrics.relevance import labelled
from monitor.records import (
    Claims,
    Judgement,
    Passage,
    Verdicts,
)
from tests.stages.judgements import JUDGE, judgements


class Sets(NamedTuple):
    """Claims and passages by number, and which belongs to which."""

    claims: set[int]
    correct: set[int]
    together: set[int]
    edges: set[tuple[int, int]]
    reference: set[int]
    recalled: set[int]
    reference_edges: set[tuple[int, int]]
    relevant: set[int]
    irrelevant: set[int]


def sets_of(judgement: Judgement) -> Sets:
    """``relevant`` and ``irrelevant`` are the passages that are known to be so."""
    v, n = judgement.verdicts, judgement.passages
    claims = set(range(len(v.response_by_context)))
    reference = set(range(len(v.reference_by_response)))
    edges = {(i, j) for i, j in product(claims, range(n)) if v.response_by_passage[i][j]}
    reference_edges = {
        (r, j) for r, j in product(reference, range(n)) if v.reference_by_passage[r][j]
    }
    useful = {j for _, j in reference_edges}
    told = dict(enumerate(v.relevant_by_label))
    said_yes = {j for j, label in told.items() if label is True}
    said_no = {j for j, label in told.items() if label is False}
    beside = set(range(n)) - useful if reference else set()
    return Sets(
        claims,
        {i for i, yes in enumerate(v.response_by_reference) if yes},
        {i for i in claims if v.response_by_context[i]},
        edges,
        reference,
        {r for r in reference if v.reference_by_response[r]},
        reference_edges,
        (useful | said_yes) - said_no,
        (beside | said_no) - said_yes,
    )


def counted(judgement: Judgement) -> dict[str, tuple[set[int], set[int]]]:
    """Per metric what is counted, and out of what, by set algebra over numbers."""
    s = sets_of(judgement)
    supported = {i for i, _ in s.edges}
    near = {i for i, j in s.edges if j in s.relevant}
    question = judgement.verdicts.relevant_to_question
    answering = {i for i, j in s.edges if question and question[j]}
    incorrect, retrieved = s.claims - s.correct, {r for r, _ in s.reference_edges}
    return {
        "faithfulness": (s.together, s.claims),
        "faithfulness_by_passage": (supported, s.claims),
        "noise_sensitivity_relevant": (incorrect & near, s.claims),
        "noise_sensitivity_irrelevant": ((incorrect & supported) - near, s.claims),
        "incorrect_claims": (incorrect, s.claims),
        "hallucination": (incorrect - supported, s.claims),
        "self_knowledge": (s.correct - supported, s.claims),
        "claim_precision": (s.correct, s.claims),
        "claim_recall": (s.recalled, s.reference),
        "context_recall": (retrieved, s.reference),
        "context_precision": (s.relevant, set(range(judgement.passages))),
        "context_utilization": (retrieved & s.recalled, retrieved),
        "irrelevant_context_reliance": (supported - answering, s.claims),
        "answered": (set(list(s.claims)[:1]), {0}),
        "retrieved": (set(range(min(1, judgement.passages))), {0}),
        "answer_relevance": ({0} if judgement.verdicts.answers_question else set(), {0}),
    }


#: x contexts, y a reference, c claims of the response, r of the reference, k relevance by label or
#: reference, q relevance to the question, g reference claims that a passage supports, a whether
#: the response answers the question.
NEEDS = {
    "faithfulness": "xc",
    "faithfulness_by_passage": "xc",
    "noise_sensitivity_relevant": "xyck",
    "noise_sensitivity_irrelevant": "xyck",
    "incorrect_claims": "yc",
    "hallucination": "xyc",
    "self_knowledge": "xyc",
    "claim_precision": "yc",
    "claim_recall": "ycr",
    "claim_f1": "ycr",
    "context_recall": "xycr",
    "context_precision": "xyck",
    "context_utilization": "xycrg",
    "irrelevant_context_reliance": "xcq",
    "answered": "",
    "retrieved": "",
    "answer_relevance": "ca",
}


def reasons(judgement: Judgement) -> dict[str, str]:
    """Metric → the reason of the first thing that it needs and does not find."""
    s, n = sets_of(judgement), judgement.passages
    known = [x for x in judgement.verdicts.relevant_to_question if x is not None]
    lacks = {
        "x": "NO_CONTEXTS" if n == 0 else "",
        "y": "" if judgement.has_reference else "NO_REFERENCE",
        "c": "" if s.claims else "NO_CLAIMS",
        "r": "" if s.reference else "NO_REFERENCE_CLAIMS",
        "k": "" if len(s.relevant | s.irrelevant) == n else "NO_REFERENCE_CLAIMS",
        "q": "" if len(known) == n else "NO_RELEVANCE",
        "g": "" if s.reference_edges else "NO_RELEVANT_CONTEXTS",
        "a": "NOT_ASKED" if judgement.verdicts.answers_question is None else "",
    }
    found = {name: [lacks[need] for need in needs if lacks[need]] for name, needs in NEEDS.items()}
    return {name: why[0] for name, why in found.items() if why}


@given(judgements(least=0))
def test_every_metric_equals_a_count_by_sets(judgement: Judgement) -> None:
    """Each value is the float nearest to its fraction, or the reason why there is none."""
    why = reasons(judgement)
    expected: dict[str, float | str] = {
        name: why.get(name) or float(Fraction(len(found), len(among)))
        for name, (found, among) in counted(judgement).items()
        if name in why or among
    }
    scores = score_all(judgement)
    assert {name: scores[name] for name in counted(judgement)} == expected
    assert set(scores) == {*expected, "claim_f1"}
    assert all(isinstance(scores[name], str) == (name in why) for name in scores)


@given(judgements(least=0))
def test_f1_is_the_harmonic_mean(
    judgement: Judgement,
) -> None:
    """2PR/(P+R), exactly as fractions; 0 where nothing agrees, and a reason where a side lacks."""
    found, why = score_all(judgement)["claim_f1"], reasons(judgement).get("claim_f1")
    if why:
        assert found == why
        return
    (right, claims), (recalled, reference) = (
        counted(judgement)[name] for name in ("claim_precision", "claim_recall")
    )
    precision = Fraction(len(right), len(claims))
    recall = Fraction(len(recalled), len(reference))
    both = precision * recall
    assert found == pytest.approx(float(2 * both / (precision + recall)) if both else 0.0)


@given(judgements(least=0))
def test_incorrect_claims_have_exactly_one_origin(judgement: Judgement) -> None:
    """In claims: incorrect = from relevant + from irrelevant passages only + from none."""
    scores = score_all(judgement)
    origins = ("noise_sensitivity_relevant", "noise_sensitivity_irrelevant", "hallucination")
    parts = [score for name in origins if isinstance(score := scores[name], float)]
    whole, claims = scores["incorrect_claims"], len(judgement.claims.response)
    if len(parts) == len(origins):
        assert isinstance(whole, float)
        assert round(whole * claims) == sum(round(part * claims) for part in parts)


@given(judgements(), st.data())
def test_labels_say_what_is_relevant(judgement: Judgement, data: st.DataObject) -> None:
    """They always decide about the question, and about the noise only where they win."""
    given_labels = data.draw(st.tuples(*[st.none() | st.booleans()] * judgement.passages))
    passages = [Passage(text="t", relevant=label) for label in given_labels]
    lost, won = (labelled(judgement, passages, labels_win=win) for win in (False, True))
    for found in (lost, won):
        to_question = found.verdicts.relevant_to_question
        assert all(
            label is None or label is said
            for label, said in zip(given_labels, to_question or given_labels, strict=True)
        )
    by_reference = {
        name: score
        for name, score in score_all(judgement).items()
        if name != "irrelevant_context_reliance"
    }
    assert by_reference.items() <= score_all(lost).items()
    relevant = [
        any(row[j] for row in judgement.verdicts.reference_by_passage) if label is None else label
        for j, label in enumerate(given_labels)
    ]
    assert score_all(won)["context_precision"] == sum(relevant) / len(relevant)


def test_labels_of_other_passages_are_not_taken() -> None:
    """As many labels as passages that were judged, or none."""
    verdicts = Verdicts(response_by_passage=((True,),), response_by_context=(True,))
    found = Judgement(
        claims=Claims(response=("c",)),
        passages=1,
        has_reference=False,
        verdicts=verdicts,
        judge=JUDGE,
    )
    passages = [Passage(text="t", relevant=True)] * 2
    assert labelled(found, passages, labels_win=True) == found
