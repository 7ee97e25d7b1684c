"""One line of ``rag.scores.v1``: outcome, scores, weights and the evidence for them."""

from __future__ import annotations

from operator import not_
from typing import Annotated, Final, Literal, Self

from pydantic import (
    AwareDatetime,
    Field,
    JsonValue,
    model_validator,
)

from monitor.records.base import AnyMinor, Frozen, read_record
from monitor.records.interaction import Kind, Source
from monitor.records.judgement import (
    Claims,
    Evidence,
    JudgeIdentity,
    Probabilities,
    Usage,
    Verdicts,
)
from monitor.records.outcome import Outcome

SCORE_SCHEMA: Final = "rag.score/1"
#: Beyond any slot, and small enough for its square in the sums; as is one over it.
_LARGEST_WEIGHT: Final = 2.0**60

Score = Annotated[float, Field(ge=0.0, le=1.0)]
#: How many interactions of a slot lie in a segment: means over them are divided by their number.
Members = Annotated[int, Field(ge=1, le=2**60)]


#: What Kafka has for an offset.
Offset = Annotated[int, Field(ge=0, lt=2**63)]


class UnscoredMark(Frozen):
    """A metric without a value, as it stands on a score record."""

    unscored: str


class SamplingRecord(Frozen):
    """The slot of a pick and its weights; nulls on a forced record."""

    first_offset: Offset | None
    last_offset: Offset | None
    kind: Kind
    m: int | None = Field(1, ge=1)
    q: float | None = Field(1.0, gt=0.0, le=1.0)
    u: float | None = Field(1.0, ge=1.0 / _LARGEST_WEIGHT, le=_LARGEST_WEIGHT)
    signal: Annotated[float, Field(allow_inf_nan=False)] | None = None
    segments: dict[str, Members] = Field(default_factory=dict)
    expected: dict[str, tuple[Score, Score]] = Field(default_factory=dict)
    forced: bool = False

    @model_validator(mode="after")
    def _whole_or_forced(self) -> Self:
        slot = (self.first_offset, self.last_offset, self.m, self.q, self.u)
        if self.forced != (None in slot) or (self.forced and any(x is not None for x in slot)):
            raise ValueError("every record but a forced one has offsets, m, q and u")
        if self.m and self.q and self.m > _LARGEST_WEIGHT * self.q:
            raise ValueError("m / q is larger than any slot")
        return self


class RunMark(Frozen):
    """What a run of ``evaluate`` was about, up to a record: so that it can go on where it was.

    ``judge`` names and fingerprints the configured judges, ``rows`` fingerprints all rows of the
    input up to the record's own.
    """

    judge: str
    rows: str


class ScoreRecord(Frozen):
    """One line of ``rag.scores.v1``: outcome, scores, weights and the evidence for them.

    ``rechecks_usd`` is what rechecks, of whatever interactions, have cost the scorer since
    its last record; it stands only where there is something. So does ``run``, on the records that
    ``evaluate`` writes to a file.
    """

    schema_: Annotated[Literal["rag.score/1"], AnyMinor] = Field(SCORE_SCHEMA, alias="schema")
    application: str
    interaction_id: str
    event_time: AwareDatetime
    judged_at: AwareDatetime
    source: Source
    judge: JudgeIdentity
    sampling: SamplingRecord
    segment: str = ""
    # Made anew by ``dict``, here and above, takes a tenth of a copy of a default.
    attributes: dict[str, JsonValue] = Field(default_factory=dict)
    interaction: dict[str, JsonValue] = Field(default_factory=dict)
    claims: Claims = Claims()
    verdicts: Verdicts = Verdicts()
    evidence: Evidence = Field(default_factory=dict, exclude_if=not_)
    probabilities: Probabilities = Field(default_factory=dict, exclude_if=not_)
    scores: dict[str, Score | UnscoredMark] = Field(default_factory=dict)
    outcome: Outcome
    reason: str | None = None
    usage: Usage = Usage()
    rechecks_usd: float = Field(0.0, ge=0.0, exclude_if=not_)
    timings: dict[str, float] = Field(default_factory=dict)
    truncated: bool = False
    run: RunMark | None = Field(None, exclude_if=not_)

    @property
    def key(self) -> str:
        """The Kafka key: ``application/interaction_id``."""
        return f"{self.application}/{self.interaction_id}"

    def to_json(self) -> bytes:
        """One JSON object in UTF-8, without a newline."""
        return self.model_dump_json(by_alias=True).encode()


def read_score_record(line: bytes) -> ScoreRecord:
    """Parse one score record; fields that are not known here are left out.

    So a newer minor schema is read as far as it is known. Raises ``RecordSkipped``: with cause
    ``newer_schema`` for a newer major one (its numbers may mean something else), ``newer_minor``
    for what of a newer minor one cannot be read, and ``malformed`` for the rest.
    """
    return read_record(ScoreRecord, "score record", line)
