"""A judgement of a wrong shape cannot be constructed."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from monitor.records import Claims, Flags, Interaction, JudgeIdentity, Judgement, Matrix, Source
from monitor.records import Verdicts as Found
from tests.stages.records import JUDGE, NOON


class Parts(NamedTuple):
    """A judgement of C response claims, R reference claims and n passages, before it is made."""

    c: int
    r: int
    n: int
    has_reference: bool
    fields: dict[str, Any]

    def judgement(self) -> Judgement:
        """What the parts make."""
        return Judgement(
            claims=Claims(response=("c",) * self.c, reference=("r",) * self.r),
            passages=self.n,
            has_reference=self.has_reference,
            verdicts=Found(**self.fields),
            judge=JUDGE,
        )

    def but(self, field: str, value: object) -> Parts:
        """The same with another value in one field of the verdicts."""
        return self._replace(fields={**self.fields, field: value})


@st.composite
def wholes(draw: st.DrawFn, least: int = 0) -> Parts:
    """Parts of the right shapes."""
    c, n = draw(st.integers(least, 4)), draw(st.integers(least, 4))
    has_reference = draw(st.booleans()) or least > 0
    r = draw(st.integers(least, 3)) if has_reference else 0

    def flags(size: int) -> Flags:
        return tuple(draw(st.lists(st.booleans(), min_size=size, max_size=size)))

    by_passage: Matrix = tuple(flags(n) for _ in range(c))
    together = tuple(any(row) or (n > 0 and draw(st.booleans())) for row in by_passage)
    fields = {
        "response_by_passage": by_passage,
        "response_by_context": together,
        "response_by_reference": flags(c) if has_reference else (),
        "reference_by_passage": tuple(flags(n) for _ in range(r)),
        "reference_by_response": flags(r),
    }
    return Parts(c, r, n, has_reference, fields)


@given(wholes())
def test_right_shapes_are_accepted(parts: Parts) -> None:
    """C×n, C, C (or none without a reference), R×n and R verdicts make a judgement."""
    assert parts.judgement().verdicts.model_dump() == parts.fields


@given(
    wholes(least=1),
    st.sampled_from(
        [
            "response_by_passage",
            "response_by_context",
            "response_by_reference",
            "reference_by_passage",
            "reference_by_response",
        ]
    ),
    st.booleans(),
)
def test_a_row_too_many_or_too_few_is_refused(parts: Parts, field: str, more: bool) -> None:
    """Every one of the five fields has to have one entry for each claim, and the error names it."""
    right = parts.fields[field]
    with pytest.raises(ValidationError, match=rf"{field} has \d+ entries, expected \d+"):
        parts.but(field, (*right, right[0]) if more else right[1:]).judgement()


@given(
    wholes(least=1),
    st.sampled_from(["response_by_passage", "reference_by_passage"]),
    st.booleans(),
    st.data(),
)
def test_a_ragged_matrix_is_refused(
    parts: Parts, field: str, more: bool, data: st.DataObject
) -> None:
    """Each row of a matrix has one entry for each passage, and the error names the row."""
    rows = list(parts.fields[field])
    i = data.draw(st.integers(0, len(rows) - 1))
    rows[i] = (*rows[i], False) if more else rows[i][1:]
    with pytest.raises(ValidationError, match=rf"{field}\[{i}\] has"):
        parts.but(field, tuple(rows)).judgement()


@given(wholes(least=1), st.data())
def test_support_by_one_passage_is_support_by_all(parts: Parts, data: st.DataObject) -> None:
    """A claim that one passage supports cannot be unsupported by all of them together."""
    i = data.draw(st.integers(0, parts.c - 1))
    j = data.draw(st.integers(0, parts.n - 1))
    alone = [list(row) for row in parts.fields["response_by_passage"]]
    alone[i][j] = True
    together = list(parts.fields["response_by_context"])
    together[i] = False
    wrong = parts.but("response_by_passage", alone).but("response_by_context", together)
    with pytest.raises(ValidationError, match=rf"response_by_context\[{i}\] is false"):
        wrong.judgement()


def test_without_passages_nothing_is_supported_by_them() -> None:
    """No passages, yet a claim supported by all of them together: refused."""
    parts = Parts(1, 0, 0, False, {"response_by_passage": ((),), "response_by_context": (True,)})
    with pytest.raises(ValidationError, match="there are no passages"):
        parts.judgement()
    assert parts.but("response_by_context", (False,)).judgement().passages == 0


def test_reference_claims_need_a_reference() -> None:
    """Claims of a reference that is not there are refused."""
    fields = {"reference_by_passage": ((),), "reference_by_response": (True,)}
    with pytest.raises(ValidationError, match="1 reference claims, but no reference"):
        Parts(0, 1, 0, False, fields).judgement()


@given(wholes())
def test_verdicts_on_a_reference_that_is_not_there_are_refused(parts: Parts) -> None:
    """Without a reference nothing may be said about it."""
    fields = {**parts.fields, "reference_by_passage": (), "reference_by_response": ()}
    bare = Parts(parts.c, 0, parts.n, False, {**fields, "response_by_reference": ()})
    assert bare.judgement().has_reference is False
    with pytest.raises(ValidationError, match="response_by_reference has"):
        bare.but("response_by_reference", (True,) * max(1, parts.c)).judgement()


@given(wholes(least=1))
def test_a_judgement_cannot_be_changed(parts: Parts) -> None:
    """Records are frozen: a checked shape stays one."""
    with pytest.raises(ValidationError, match="frozen"):
        parts.judgement().passages = 9  # type: ignore[misc]  # that is the point


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        (None, "without_reference"),
        ("", "without_reference"),
        (" …", "without_reference"),
        ("好", "with_reference"),
        ("__REDACTED__", "with_reference"),
    ],
)
def test_kind_is_whether_a_reference_was_logged(reference: str | None, kind: str) -> None:
    """One without words is judged as none, so its metrics are not missing; a hidden one is one."""
    interaction = Interaction(
        interaction_id="1",
        event_time=NOON,
        application="bot",
        user_input="q",
        response="a",
        reference=reference,
        source=Source(topic="t", partition=0, offset=0),
    )
    assert interaction.kind == kind


def test_the_label_of_a_judge_is_name_and_version() -> None:
    """``judge`` = ``name@version``, so that two versions never share a series."""
    other = JudgeIdentity(name="llm", version="3f2a91", model="m", prompts="p", pipeline="joint")
    assert other.label == "llm@3f2a91"


@pytest.mark.parametrize("answers", [True, False])
def test_what_nobody_was_asked_is_left_out_and_a_no_is_not(answers: bool) -> None:
    """Of answers and of labels: JSON has what says something."""
    optional = {"relevant_by_label", "relevant_to_question", "answers_question"}
    assert optional.isdisjoint(Found().model_dump(mode="json"))
    found = Found(
        relevant_by_label=(None,), relevant_to_question=(False,), answers_question=answers
    )
    whole = found.model_dump(mode="json")
    assert [whole[name] for name in sorted(optional)] == [answers, [None], [False]]
