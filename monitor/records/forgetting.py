"""What must be forgotten: known by a fingerprint, so that the record of it names nobody. Pure."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Final, NamedTuple

from pydantic import JsonValue

from monitor.records.base import Frozen
from monitor.records.judgement import Claims
from monitor.records.score import ScoreRecord

#: What stays of a passage.
_OF_A_PASSAGE: Final = ("id", "score", "relevant")


class ForgettingRequest(NamedTuple):
    """Whose texts go: of one interaction, or of all that have a value in an attribute.

    ``attribute`` is "" where ``value`` is an interaction's id; ``application`` is "" for all.
    """

    value: str
    attribute: str = ""
    application: str = ""

    def names(self, record: ScoreRecord) -> bool:
        """Whether a record is one of those."""
        if self.application not in ("", record.application):
            return False
        return self.value == _value_of(record, self.attribute)

    def fingerprint(self, salt: str) -> str:
        """HMAC-SHA256 in hex: nobody reads the value from it without guessing it."""
        parts = (self.application, self.attribute, self.value)
        named = "\x00".join(f"{len(part)}:{part}" for part in parts)
        return hmac.new(
            salt.encode(), named.encode("utf-8", "surrogatepass"), hashlib.sha256
        ).hexdigest()


class ForgottenKind(Frozen):
    """What has to be computed of a record to see whether it was forgotten.

    >>> ForgottenKind(salt="5a", attribute="user_id").fingerprint_of("ann") is not None
    True
    """

    salt: str
    attribute: str = ""
    application: str = ""

    def fingerprint_of(self, value: str) -> str:
        """That of a value."""
        return ForgettingRequest(value, self.attribute, self.application).fingerprint(self.salt)

    def of(self, record: ScoreRecord) -> str | None:
        """That of a record; None where it cannot be one of these."""
        if self.application not in ("", record.application):
            return None
        value = _value_of(record, self.attribute)
        return None if value is None else self.fingerprint_of(value)


def _value_of(record: ScoreRecord, attribute: str) -> str | None:
    return attribute_text(record.attributes.get(attribute)) if attribute else record.interaction_id


def attribute_text(value: JsonValue) -> str | None:
    """An attribute as a person writes it; None for what has no one way to be written.

    A number, and true and false, as they stand in JSON.

    >>> attribute_text(42), attribute_text("ann"), attribute_text(["ann"])
    ('42', 'ann', None)
    >>> attribute_text(3.0), attribute_text(True)
    ('3.0', 'true')
    """
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, int | float) else None


def without_texts(record: ScoreRecord, attribute: str = "") -> ScoreRecord:
    """The record with its numbers alone: no text, no claim, no attribute.

    Slot, weights, scores, outcome and the shape of the verdicts stay; so do the ids of passages,
    and whether they are relevant. A segment that is made of the value of ``attribute`` goes, too.
    """
    contexts = record.interaction.get("retrieved_contexts", [])
    bare: list[JsonValue] = [
        {key: passage[key] for key in _OF_A_PASSAGE if key in passage}
        if isinstance(passage, dict)
        else {}
        for passage in (contexts if isinstance(contexts, list) else [])
    ]
    value = record.attributes.get(attribute) if attribute else None
    # A segment is made of the value as Python writes it.
    tells = attribute_text(value) is not None and str(value) in record.segment
    segments = {name: n for name, n in record.sampling.segments.items() if name != record.segment}
    return record.model_copy(
        update={
            "interaction": {"retrieved_contexts": bare} if bare else {},
            "attributes": {},
            "claims": Claims(),
            "evidence": {},
            "truncated": True,
            "segment": "" if tells else record.segment,
            "sampling": record.sampling.model_copy(update={"segments": segments})
            if tells
            else record.sampling,
        }
    )
