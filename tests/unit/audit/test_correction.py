"""From labels to corrections: the same formulas on the people's verdicts, each with its weight."""

from __future__ import annotations

from itertools import cycle

import pytest

from monitor.audit.correction import REVIEWERS, audited, correction_of
from monitor.audit.human_scores import check, peoples_values
from monitor.audit.readings import AuditReading, HumanLabel
from monitor.records import Verdicts
from monitor.stats.correction import LEAST_STRATIFIED, LEAST_UNIFORM, Audited
from tests.stages.audits import MIXED, RIGHT, judged
from tests.stages.score_records import FIRST


def reading(number: int, judge: Verdicts, *people: Verdicts, **fields: float) -> AuditReading:
    """An audit, read by ann and perhaps by bob."""
    labels = [
        HumanLabel(name, 1_000 * number, one, "")
        for name, one in zip(("ann", "bob"), people, strict=False)
    ]
    record = judged(number, judge)
    return AuditReading(
        record, fields.get("weight", 1.0), fields.get("probability", 0.5), True, tuple(labels)
    )


def test_people_have_the_same_formula() -> None:
    """With the judge's own verdicts it gives the judge's own values."""
    record = judged(1, MIXED)
    values = peoples_values(record, MIXED)
    assert values == {
        name: value
        for name, value in record.scores.items()
        if isinstance(value, float) and name not in ("answered", "retrieved")
    }
    assert peoples_values(record, RIGHT)["noise_sensitivity_irrelevant"] == 0.0
    assert values["noise_sensitivity_irrelevant"] == 0.5


def test_texts_that_were_cut_from_a_record_change_no_value() -> None:
    """The verdicts stay on it."""
    record = judged(1, MIXED)
    cut = record.model_copy(update={"claims": type(record.claims)(), "truncated": True})
    assert peoples_values(cut, RIGHT) == peoples_values(record, RIGHT)


@pytest.mark.parametrize(
    "wrong",
    [
        MIXED.model_copy(update={"response_by_passage": ((True, False),)}),
        MIXED.model_copy(update={"response_by_reference": ()}),
        MIXED.model_copy(update={"response_by_context": (False, True)}),
    ],
)
def test_verdicts_of_another_shape_are_refused(wrong: Verdicts) -> None:
    """Also those that contradict themselves: one passage supports a claim, and all do not."""
    with pytest.raises(ValueError, match="response_by"):
        check(judged(1), wrong)


def test_larger_means_worse_and_two_readers_are_one_mean() -> None:
    """ω = W·u/π; whichever way the metric points."""
    found = [reading(1, MIXED, RIGHT, MIXED, weight=4.0), reading(2, RIGHT, RIGHT)]
    assert audited("claim_precision", found) == [
        Audited(0.5, 0.25, 8.0),
        Audited(0.0, 0.0, 2.0),
    ]
    assert audited("noise_sensitivity_irrelevant", found) == [
        Audited(0.5, 0.25, 8.0),
        Audited(0.0, 0.0, 2.0),
    ]
    assert audited("irrelevant_context_reliance", found) == []


def test_a_correction_says_how_far_it_is() -> None:
    """Too few, and then the line of the judge's errors."""
    kinds = cycle([(MIXED, MIXED), (RIGHT, RIGHT), (RIGHT, RIGHT), (MIXED, RIGHT)])
    found = [
        reading(number, judge, people)
        for number, (judge, people) in zip(range(1, 61), kinds, strict=False)
    ]
    few = correction_of(found[:20])
    assert few is not None
    metric = few.metrics["claim_precision"]
    assert (metric.audits, metric.needed, metric.missing) == (
        20,
        LEAST_STRATIFIED,
        "too_few_audits",
    )
    whole = correction_of(found)
    assert whole is not None
    assert whole.key == f"correction/bot/{FIRST.label}"
    errors = whole.metrics["claim_precision"].errors
    assert errors is not None
    # Judge .5 where people have .5, and .5 or 0 where they have 0: a third of those.
    assert errors.beta == pytest.approx(2 / 3)
    assert errors.alpha == pytest.approx(1 / 6)
    kappa = whole.agreement["response_by_reference"]
    assert (kappa.audits, kappa.verdicts) == (60, 120)
    assert kappa.precision[0] == 1.0
    assert kappa.recall[0] == pytest.approx(90 / 105)
    assert REVIEWERS not in whole.agreement


def test_uniform_audits_need_more() -> None:
    """Fewer bad ones are among them."""
    found = [reading(n, MIXED, MIXED)._replace(is_stratified=False) for n in range(1, 61)]
    record = correction_of(found)
    assert record is not None
    assert record.metrics["claim_precision"].needed == LEAST_UNIFORM


def test_what_was_chosen_for_its_looks_counts_for_nothing() -> None:
    """Neither for numbers nor for agreement."""
    assert correction_of([reading(1, MIXED, RIGHT, probability=0.0)]) is None
    assert correction_of([]) is None


def test_two_readers_are_compared() -> None:
    """Under a name of their own."""
    record = correction_of([reading(n, MIXED, MIXED, RIGHT) for n in range(1, 5)])
    assert record is not None
    both = record.agreement[REVIEWERS]
    assert (both.audits, both.verdicts) == (4, 4 * 11)
