"""Our own format: an interaction, the claims of both its texts, and the matrices, one a line.

The keys are those of a score record, so that a score record whose verdicts somebody put right is a
labelled file: ``labelled_by`` says who. Without it they are the verdicts of its judge. A verdict
that nobody knows is null; a whole matrix that nobody knows is left out.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from monitor.judge_check.formats.checked import (
    CheckedMatrix,
    CheckedRow,
    Fields,
    OwnFields,
    PassageField,
    checked,
    made,
)
from monitor.judge_check.formats.elements import Element, wrong
from monitor.judge_check.labelled import Labelled, interaction_of, labelled_verdicts, script
from monitor.records import Claims, ScoreRecord


class _NativeInteraction(Fields):
    user_input: str
    response: str
    retrieved_contexts: tuple[PassageField, ...]
    reference: str | None = None


class _NativeClaims(OwnFields):
    response: tuple[str, ...]
    reference: tuple[str, ...] = ()


class _NativeVerdicts(OwnFields):
    response_by_passage: CheckedMatrix | None = None
    response_by_context: CheckedRow | None = None
    response_by_reference: CheckedRow | None = None
    reference_by_passage: CheckedMatrix | None = None
    reference_by_response: CheckedRow | None = None


class _Native(OwnFields):
    interaction_id: str | None = None
    interaction: _NativeInteraction
    claims: _NativeClaims
    verdicts: _NativeVerdicts
    language: str | None = None
    phenomenon: str | None = None
    cluster: str | None = None
    claims_complete: bool = True
    labelled_by: Annotated[str, Field(min_length=1)] | None = None
    judge: Any = None

    @property
    def judged_by(self) -> str | None:
        """The judge whose verdicts these are, where nobody says that they were put right."""
        if self.labelled_by or not isinstance(self.judge, dict):
            return None
        parts = [self.judge.get(key) for key in ("name", "version")]
        return "@".join(map(str, parts)) if all(parts) else None


#: What else stands on a score record says nothing about the labels.
_BESIDE = {field.alias or name for name, field in ScoreRecord.model_fields.items()}
_BESIDE -= set(_Native.model_fields)


def recognises(found: dict[str, Any]) -> bool:
    """Whether an element looks like this format."""
    return "claims" in found and "verdicts" in found


def read(element: Element) -> list[Labelled]:
    """The labelled interaction of one line. Raises ``ConfigurationError``."""
    if element.found.get("truncated") is True:
        mend = "label a record that still has its texts"
        raise wrong(element.place, "truncated: this score record lost its passage texts", mend)
    kept = {key: value for key, value in element.found.items() if key not in _BESIDE}
    fields = checked(_Native, element._replace(found=kept))
    found = fields.interaction
    interaction = interaction_of(
        fields.interaction_id or element.place,
        file=element.file,
        line=element.line,
        user_input=found.user_input,
        response=found.response,
        passages=found.retrieved_contexts,
        reference=found.reference,
    )
    claims = Claims(response=fields.claims.response, reference=fields.claims.reference)
    verdicts = labelled_verdicts(interaction, claims, **_given(fields.verdicts))
    return [
        made(
            element,
            cluster=fields.cluster or interaction.interaction_id,
            interaction=interaction,
            claims=claims,
            verdicts=verdicts,
            language=fields.language or script(found.response),
            phenomenon=fields.phenomenon,
            claims_complete=fields.claims_complete,
            judged_by=fields.judged_by,
        )
    ]


def _given(verdicts: _NativeVerdicts) -> dict[str, Any]:
    return {name: getattr(verdicts, name) for name in type(verdicts).model_fields}
