"""Correction records: what audits say of a judge; a wrong shape is no record."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from monitor.errors import RecordSkipped
from monitor.records.control import (
    CORRECTION,
    CorrectionRecord,
    JudgeErrorsFound,
    MetricCorrection,
    Removed,
    VerdictAgreement,
    correction_key,
    kind_of,
    read_control_record,
)
from monitor.records.correction import LEAST_SLOPE, MOST_KINDS, WHY_NOT_CORRECTED
from monitor.stats import correction as formulas
from tests.stages.corrections import AGREES, HARDLY_KNOWN, audits_of, correction, of_metric
from tests.stages.records import TEXTS

RECORD = correction(
    metrics={
        "faithfulness": of_metric(audits_of(200)),
        "hallucination": of_metric(audits_of(20)),
    },
    agreement={"response_by_passage": AGREES, "reviewers": HARDLY_KNOWN},
)
ERRORS = RECORD.metrics["faithfulness"].errors


def line(**fields: Any) -> bytes:
    """The record with other fields at its top."""
    return json.dumps({**json.loads(RECORD.to_json()), **fields}).encode()


def metric(**fields: Any) -> dict[str, Any]:
    """The record's first metric with other fields."""
    whole = json.loads(RECORD.to_json())["metrics"]["faithfulness"]
    return {"metrics": {"faithfulness": {**whole, **fields}}}


def errors(**fields: Any) -> dict[str, Any]:
    """The same with other errors of the judge."""
    assert ERRORS is not None
    return metric(errors={**ERRORS.model_dump(), **fields})


def agreement(**fields: Any) -> dict[str, Any]:
    """The record with one agreement of these fields."""
    return {"agreement": {"relevance": {**AGREES.model_dump(), **fields}}}


@given(TEXTS, TEXTS)
def test_written_and_read_is_the_same(application: str, judge: str) -> None:
    """Bit for bit, for any names; the key says whom it is about, and the kind is known."""
    record = RECORD.model_copy(update={"application": application, "judge": judge})
    key = record.key.encode()
    assert record.key == correction_key(application, judge)
    assert kind_of(key) == CORRECTION
    assert read_control_record(key, record.to_json()) == record
    assert read_control_record(key, None) == Removed(record.key)


def test_it_says_what_the_formulas_know() -> None:
    """The same reasons and the same least slope: records may not import statistics."""
    assert set(WHY_NOT_CORRECTED) == {one.value for one in formulas.NotCorrected}
    assert LEAST_SLOPE == formulas.LEAST_SLOPE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (errors(beta=0.29), "metrics.faithfulness.errors.beta: Input should be greater than or"),
        (errors(spread=0.0), "metrics.faithfulness.errors.spread: Input should be greater than 0"),
        (errors(effective=2.0), "errors.effective: Input should be greater than 2"),
        (errors(alpha=float("nan")), "metrics.faithfulness.errors.alpha: Input should be"),
        (errors(beta=float("inf")), "metrics.faithfulness.errors.beta: Input should be"),
        (errors(alpha=1e300), "errors.alpha: Input should be less than or equal to 1000000"),
        (errors(people=1.5), "errors.people: Input should be less than or equal to 1"),
        (errors(squares=[-1e-9, 0.0, 0.0]), "errors.squares.0: Input should be greater than or"),
        (errors(squares=[1e-6, 0.5, 1e-6]), "errors: Value error, squares are of no residuals"),
        (errors(squares=[0.0, 0.0]), "errors.squares.2: Field required"),
        (metric(errors=None), "needs errors, or the reason why they are missing"),
        (metric(missing="too_few_audits"), "needs errors, or the reason why they are missing"),
        (metric(errors=None, missing="no_idea"), "found 'no_idea', expected one of too_few_audits"),
        (metric(wrong=201), "201 of 200 audits cannot be wrong"),
        (metric(audits=-1), "metrics.faithfulness.audits: Input should be greater than or equal"),
        (metric(audits=10**400), "metrics.faithfulness.audits: Input should be"),
        (metric(needed=2**53 + 1), "metrics.faithfulness.needed: Input should be less than or"),
        (agreement(verdicts=10**400), "agreement.relevance.verdicts: Input should be"),
        (
            agreement(kappa=[0.5, 0.6, 0.4]),
            "kappa: Value error, the lower bound is above the upper",
        ),
        (agreement(kappa=[0.5, 0.4, None]), "kappa: Value error, needs both bounds or none"),
        (agreement(kappa=[None, 0.4, 0.6]), "kappa: Value error, needs both bounds or none"),
        (agreement(kappa=[-1.1, None, None]), "kappa lies outside -1 to 1"),
        (agreement(recall=[-0.1, None, None]), "recall lies outside 0 to 1"),
        (agreement(precision=[0.5, 0.4, 1.1]), "precision lies outside 0 to 1"),
        ({"agreement": {"A text": AGREES.model_dump()}}, "String should match pattern"),
        (
            {"agreement": {f"kind_{'a' * n}": AGREES.model_dump() for n in range(MOST_KINDS + 1)}},
            "agreement: Dictionary should have at most 20 items",
        ),
        ({"audited_until": "2026-11-20T12:00:00"}, "audited_until: Input should have timezone"),
        ({"judge": "other@1"}, "it speaks of 'correction/bot/other@1'"),
    ],
)
def test_a_wrong_shape_is_left_out_and_said(change: dict[str, Any], message: str) -> None:
    """The error names the key and the path."""
    with pytest.raises(RecordSkipped) as caught:
        read_control_record(RECORD.key.encode(), line(**change))
    assert caught.value.cause == "malformed"
    assert str(caught.value).startswith(f"control record {RECORD.key!r}: ")
    assert message in str(caught.value)


def test_a_wrong_shape_cannot_be_constructed() -> None:
    """Neither by whoever writes it."""
    with pytest.raises(ValidationError):
        MetricCorrection(audits=3, needed=100, wrong=0)
    with pytest.raises(ValidationError):
        VerdictAgreement(audits=1, verdicts=1, kappa=(2, None, None), **_others())
    with pytest.raises(ValidationError):
        JudgeErrorsFound(
            alpha=0, beta=0.1, people=0, spread=1, squares=(0, 0, 0), effective=9, audits=9
        )
    with pytest.raises(ValidationError):
        CorrectionRecord.model_validate({**RECORD.model_dump(by_alias=True), "surprise": 1})


def _others() -> dict[str, Any]:
    return {"precision": (None, None, None), "recall": (None, None, None)}


@given(st.integers(0, 1_000), st.floats(0, 0.3), st.floats(0, 0.3))
def test_whatever_audits_say_can_be_written(seed: int, misses: float, false_alarms: float) -> None:
    """Sums are rounded; no residuals of a real judge are refused for that."""
    audits = audits_of(120, misses=misses, false_alarms=false_alarms, seed=seed)
    found = correction(metrics={"faithfulness": of_metric(audits, needed=50)})
    assert read_control_record(found.key.encode(), found.to_json()) == found


def test_of_a_newer_minor_schema_what_is_known_is_read() -> None:
    """Unknown fields are none, at the top and within; a newer major one is left out."""
    newer = json.loads(line(schema="rag.control/1.7", surprise=1))
    newer["metrics"]["faithfulness"]["surprise"] = 1
    key = RECORD.key.encode()
    assert read_control_record(key, json.dumps(newer).encode()) == RECORD
    with pytest.raises(RecordSkipped) as caught:
        read_control_record(key, line(schema="rag.control/2"))
    assert caught.value.cause == "newer_schema"
