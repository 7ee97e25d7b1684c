"""Pairs of one claim and the passages that do or do not support it, one JSON object a line.

A pair is judged as an interaction of its own whose response is the claim. Its label is about all
passages together (``response_by_context``); with one passage that is the same.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, StrictBool, model_validator

from monitor.judge_check.formats.checked import OwnFields, PassageField, checked, made
from monitor.judge_check.formats.elements import Element
from monitor.judge_check.labelled import Labelled, interaction_of, labelled_verdicts, script
from monitor.records import Claims, Passage


class _LabelledPair(OwnFields):
    id: str | None = None
    claim: str = Field(min_length=1)
    passage: str | None = None
    passages: Annotated[tuple[PassageField, ...], Field(min_length=1)] | None = None
    supported: StrictBool | None = None
    label: StrictBool | None = None
    question: str = ""
    language: str | None = None
    phenomenon: str | None = None
    kind: str | None = None
    cluster: str | None = None

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        for one, other in (("passage", "passages"), ("supported", "label")):
            if (getattr(self, one) is None) == (getattr(self, other) is None):
                raise ValueError(f"{one} or {other}: expected exactly one of the two")
        return self

    @property
    def texts(self) -> tuple[Passage, ...]:
        return self.passages or (Passage(text=self.passage or ""),)

    @property
    def is_true(self) -> bool:
        return bool(self.label if self.supported is None else self.supported)


def recognises(found: dict[str, Any]) -> bool:
    """Whether an element looks like this format."""
    return "claim" in found and ("passage" in found or "passages" in found)


def read(element: Element) -> list[Labelled]:
    """The pair of one line. Raises ``ConfigurationError``."""
    pair = checked(_LabelledPair, element)
    interaction = interaction_of(
        pair.id or element.place,
        file=element.file,
        line=element.line,
        user_input=pair.question,
        response=pair.claim,
        passages=pair.texts,
    )
    claims = Claims(response=(pair.claim,))
    return [
        made(
            element,
            cluster=pair.cluster or "\0".join(passage.text for passage in pair.texts),
            interaction=interaction,
            claims=claims,
            verdicts=labelled_verdicts(interaction, claims, response_by_context=(pair.is_true,)),
            language=pair.language or script(pair.claim),
            phenomenon=pair.phenomenon or pair.kind,
        )
    ]
