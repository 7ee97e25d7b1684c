"""All verdicts on one interaction; a wrong shape cannot be constructed.

Shapes: C response claims, R reference claims, n passages of one interaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import not_
from typing import Annotated, Self

from pydantic import Field, model_validator

from monitor.records.base import Frozen

Flags = tuple[bool, ...]
#: ``None``: nobody said.
Labels = tuple[bool | None, ...]
Matrix = tuple[Flags, ...]


class JudgeIdentity(Frozen):
    """Which judge gave a verdict. Scores of two versions are never mixed."""

    name: str
    version: str
    model: str
    prompts: str
    pipeline: str

    @property
    def label(self) -> str:
        """The value of the Prometheus label ``judge``."""
        return f"{self.name}@{self.version}"


class Usage(Frozen):
    """What one judgement cost: calls, tokens, US dollars (0.0 where the price is unknown).

    ``reasoning_tokens`` are paid for like ``completion_tokens``, and are not among them; they stand
    on a record only where a model has reasoned.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = Field(0, exclude_if=not_)
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        """All that count against a limit of tokens."""
        return self.prompt_tokens + self.completion_tokens + self.reasoning_tokens

    def __add__(self, other: Usage) -> Usage:
        """The sum, field by field."""
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            usd=self.usd + other.usd,
        )


class Claims(Frozen):
    """The claims of both texts, in the order of the verdict rows."""

    response: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()


class Verdicts(Frozen):
    """Boolean verdicts: ``True`` means that the claim can be inferred from the text.

    ``relevant_by_label`` and ``relevant_to_question``, of length n or empty, say which passages are
    relevant: labels of the log that outdo what follows from the reference; and to ``user_input``,
    by a label or by the judge. ``answers_question``: whether the response addresses ``user_input``,
    None where nobody was asked. These are left out of the JSON where they say nothing.
    """

    response_by_passage: Matrix = ()
    response_by_context: Flags = ()
    response_by_reference: Flags = ()
    reference_by_passage: Matrix = ()
    reference_by_response: Flags = ()
    # By fields: a serializer of the whole takes several times as long.
    relevant_by_label: Labels = Field((), exclude_if=not_)
    relevant_to_question: Labels = Field((), exclude_if=not_)
    answers_question: bool | None = Field(None, exclude_if=lambda answers: answers is None)


Evidence = dict[str, dict[str, str | None]]
"""By response claim (``"c1"``) and passage (``"1"`` is the first) the words of the passage that
support the claim; None where the judge's quote does not stand there."""


Probabilities = dict[str, dict[str, Annotated[float, Field(ge=0.0, le=1.0)]]]
"""By claim (``"c1"``, ``"r1"``) and document (``"1"`` is the first passage, ``"A"`` the response,
``"R"`` the reference, ``"+"`` all passages as one) how probable it is that the one supports the
other. Verdicts follow from them by the judge's threshold."""


class Judgement(Frozen):
    """All verdicts on one interaction; a wrong shape cannot be constructed.

    Without a reference, ``response_by_reference`` and both reference matrices are empty.
    """

    claims: Claims
    passages: int = Field(ge=0)
    has_reference: bool
    verdicts: Verdicts
    judge: JudgeIdentity
    usage: Usage = Usage()
    evidence: Evidence = Field(default_factory=dict)
    probabilities: Probabilities = Field(default_factory=dict)

    @model_validator(mode="after")
    def _shapes(self) -> Self:
        v, c, r = self.verdicts, len(self.claims.response), len(self.claims.reference)
        if r and not self.has_reference:
            raise ValueError(f"{r} reference claims, but no reference")
        _require_matrix("response_by_passage", v.response_by_passage, c, self.passages)
        _require_length("response_by_context", v.response_by_context, c)
        _require_length("response_by_reference", v.response_by_reference, c * self.has_reference)
        _require_matrix("reference_by_passage", v.reference_by_passage, r, self.passages)
        _require_length("reference_by_response", v.reference_by_response, r)
        if v.relevant_by_label:
            _require_length("relevant_by_label", v.relevant_by_label, self.passages)
        if v.relevant_to_question:
            _require_length("relevant_to_question", v.relevant_to_question, self.passages)
        for i, (row, together) in enumerate(
            zip(v.response_by_passage, v.response_by_context, strict=True)
        ):
            if any(row) and not together:
                raise ValueError(
                    f"response_by_context[{i}] is false, but one passage alone supports the claim"
                )
            if together and not row:
                raise ValueError(f"response_by_context[{i}] is true, but there are no passages")
        return self


def _require_length(field: str, found: Sequence[object], expected: int) -> None:
    if len(found) != expected:
        raise ValueError(f"{field} has {len(found)} entries, expected {expected}")


def _require_matrix(field: str, found: Matrix, rows: int, columns: int) -> None:
    _require_length(field, found, rows)
    for i, row in enumerate(found):
        _require_length(f"{field}[{i}]", row, columns)
