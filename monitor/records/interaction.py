"""One turn of a RAG application, as it was logged."""

from __future__ import annotations

from typing import Literal

from pydantic import (
    AwareDatetime,
    JsonValue,
)

from monitor.records.base import Frozen

Kind = Literal["with_reference", "without_reference"]


class Passage(Frozen):
    """One retrieved passage, as the answering model saw it."""

    id: str | None = None
    text: str
    score: float | None = None
    relevant: bool | None = None


class Source(Frozen):
    """Where in Kafka an interaction was read."""

    topic: str
    partition: int
    offset: int
    trace_id: str | None = None


class Interaction(Frozen):
    """One turn of a RAG application; ``event_time`` is UTC and already made plausible."""

    interaction_id: str
    event_time: AwareDatetime
    application: str
    user_input: str
    response: str
    retrieved_contexts: tuple[Passage, ...] = ()
    reference: str | None = None
    attributes: dict[str, JsonValue] = {}
    source: Source

    @property
    def kind(self) -> Kind:
        """Whether metrics that need a reference are defined for it: not where it has no words."""
        has_reference = any(map(str.isalnum, self.reference or ""))
        return "with_reference" if has_reference else "without_reference"
