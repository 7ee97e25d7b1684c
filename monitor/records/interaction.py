"""One turn of a RAG application, as it was logged."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import (
    AwareDatetime,
    Field,
    JsonValue,
)

from monitor.records.base import Frozen

Kind = Literal["with_reference", "without_reference"]

#: What loggers write in place of a content that they were told to hide, OpenInference first.
REDACTED_TEXT: Final = "__REDACTED__"


class Passage(Frozen):
    """One retrieved passage, as the answering model saw it."""

    id: str | None = None
    text: str
    score: float | None = None
    relevant: bool | None = None


class Source(Frozen):
    """Where in Kafka an interaction was read; of a trace where its root was.

    ``spans``: of so many it was put together, None where it stood in one record.
    """

    topic: str
    partition: int
    offset: int
    trace_id: str | None = None
    spans: int | None = Field(None, exclude_if=lambda spans: spans is None)


class Interaction(Frozen):
    """One turn of a RAG application; ``event_time`` is UTC and already made plausible."""

    interaction_id: str
    event_time: AwareDatetime
    application: str
    user_input: str
    response: str
    retrieved_contexts: tuple[Passage, ...] = ()
    reference: str | None = None
    attributes: dict[str, JsonValue] = Field(default_factory=dict)
    source: Source

    @property
    def kind(self) -> Kind:
        """Whether metrics that need a reference are defined for it: not where it has no words."""
        has_reference = any(map(str.isalnum, self.reference or ""))
        return "with_reference" if has_reference else "without_reference"
