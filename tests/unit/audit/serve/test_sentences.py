"""A page's sentence gives the number again, from the marks that the page shows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.audit.serve.sentences import sentences
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Judgement
from tests.stages.audits import MIXED, judged, judged_as
from tests.stages.judgements import judgements


@given(st.one_of(judgements(), judgements(least=0)))
@settings(max_examples=1_000)
def test_the_counts_of_a_sentence_are_the_value(judgement: Judgement) -> None:
    """Of every metric that has one, in the catalogue's order."""
    kind = "with_reference" if judgement.has_reference else "without_reference"
    record = judged_as(
        "1", judgement, interaction={"retrieved_contexts": ["x"] * judgement.passages}
    )
    record = record.model_copy(
        update={"sampling": record.sampling.model_copy(update={"kind": kind})}
    )
    found = sentences(record)
    valued = [name for name in CATALOGUE if isinstance(record.scores[name], float)]
    assert [each.metric for each in found] == valued
    for each in found:
        assert each.value == pytest.approx(record.scores[each.metric], abs=1e-12)
        if each.of is not None:
            assert each.said == f"{each.counted} of {each.of} = {each.value:.2f}"
        if each.said in {"yes", "no"}:
            assert each.value in {0.0, 1.0}


def test_every_metric_of_verdicts_says_what_it_counts() -> None:
    """Numbers that can be counted on the page, and not *yes* or *no*."""
    of_verdicts = {name for name, metric in CATALOGUE.items() if metric.source == "verdicts"}
    labelled = MIXED.model_copy(update={"relevant_to_question": (True, False)})
    said = {each.metric: each.said for each in sentences(judged(1, labelled))}
    assert of_verdicts <= set(said)
    assert [name for name in of_verdicts if " = " not in said[name]] == []


def test_a_sentence_names_what_it_counts() -> None:
    """In the words of the catalogue."""
    (found,) = [
        each for each in sentences(judged(1)) if each.metric == "noise_sensitivity_irrelevant"
    ]
    assert (found.plain, found.said) == ("wrong claims from irrelevant passages", "1 of 2 = 0.50")


def test_a_value_that_does_not_follow_from_the_marks_is_told() -> None:
    """Another version may have counted otherwise, or somebody has changed the record."""
    record = judged(1)
    changed = record.model_copy(update={"scores": {**record.scores, "claim_precision": 0.8}})
    told = {each.metric: each.on_record for each in sentences(changed)}
    assert told.pop("claim_precision") == 0.8
    assert set(told.values()) == {None}


def test_nothing_right_and_nothing_said_is_no_division_by_zero() -> None:
    """F1 is 0 then, and the sentence says why in place of a formula."""
    wrong = MIXED.model_copy(
        update={"response_by_reference": (False, False), "reference_by_response": (False,)}
    )
    (found,) = [each for each in sentences(judged(1, wrong)) if each.metric == "claim_f1"]
    assert (found.value, "/" in found.said) == (0.0, False)
