"""The nouns of the monitor: frozen, validated at construction, free of I/O, clock and randomness.

Shapes: C response claims, R reference claims, n passages of one interaction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from monitor.errors import RecordSkipped

SCORE_SCHEMA: Final = "rag.score/1"
#: Why a record of a newer major schema is left out; those who read a topic count it from 0 on.
NEWER_SCHEMA: Final = "newer_schema"
_SCHEMA: Final = re.compile(r"(rag\.[a-z]+/([0-9]{1,9}))(?:\.([0-9]{1,9}))?")
#: Beyond any slot, and small enough for its square in the sums.
_LARGEST_WEIGHT: Final = 2.0**60

Kind = Literal["with_reference", "without_reference"]
Score = Annotated[float, Field(ge=0.0, le=1.0)]
#: How many interactions of a slot lie in a segment: means over them are divided by their number.
Members = Annotated[int, Field(ge=1, le=2**60)]
Flags = tuple[bool, ...]
#: ``None``: nobody said.
Labels = tuple[bool | None, ...]
Matrix = tuple[Flags, ...]


class Outcome(StrEnum):
    """How an interaction ended; each consumed interaction has exactly one."""

    SCORED = "scored"
    NOT_SAMPLED = "not_sampled"
    OVER_BUDGET = "over_budget"
    UNSCORABLE = "unscorable"
    JUDGE_FAILED = "judge_failed"
    DEAD_LETTERED = "dead_lettered"
    HANDED_OVER = "handed_over"


class Unscored(StrEnum):
    """Why a metric has no value: never NaN, never 0, never 1."""

    NO_REFERENCE = "NO_REFERENCE"
    NO_REFERENCE_CLAIMS = "NO_REFERENCE_CLAIMS"
    NO_CLAIMS = "NO_CLAIMS"
    NO_CONTEXTS = "NO_CONTEXTS"
    NO_RELEVANT_CONTEXTS = "NO_RELEVANT_CONTEXTS"
    NO_RELEVANCE = "NO_RELEVANCE"
    REDACTED = "REDACTED"
    TOO_LARGE = "TOO_LARGE"


def _major(schema: object) -> object:
    """The schema without its minor version: what a newer one has added is left out."""
    version = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    return schema if version is None else version[1]


#: Of a field ``schema_``: what a record of any minor version says.
AnyMinor: Final = BeforeValidator(_major)


class Frozen(BaseModel):
    """Base of every record: immutable, raw text in JSON; nothing makes one with unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
        said = any(map(str.isalnum, self.reference or ""))
        return "with_reference" if said else "without_reference"


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
    reasoning_tokens: int = Field(0, exclude_if=lambda tokens: tokens == 0)
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

    The last two, of length n or empty, say which passages are relevant. ``relevant_by_label`` are
    labels of the log that outdo what follows from the reference; ``relevant_to_question`` is about
    ``user_input``, by a label or by the judge. Empty ones are left out of the JSON.
    """

    response_by_passage: Matrix = ()
    response_by_context: Flags = ()
    response_by_reference: Flags = ()
    reference_by_passage: Matrix = ()
    reference_by_response: Flags = ()
    relevant_by_label: Labels = ()
    relevant_to_question: Labels = ()

    @model_serializer(mode="wrap")
    def _without_empty_labels(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = dump(self)
        for name in ("relevant_by_label", "relevant_to_question"):
            if not found[name]:
                del found[name]
        return found


Evidence = dict[str, dict[str, str | None]]
"""By response claim (``"c1"``) and passage (``"1"`` is the first) the words of the passage that
support the claim; None where the judge's quote does not stand there."""


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
    evidence: Evidence = {}

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


class UnscoredMark(Frozen):
    """A metric without a value, as it stands on a score record."""

    unscored: str


class SamplingRecord(Frozen):
    """The slot of a pick and its weights; nulls on a forced record."""

    first_offset: int | None
    last_offset: int | None
    kind: Kind
    m: int | None = Field(1, ge=1)
    q: float | None = Field(1.0, gt=0.0, le=1.0)
    u: float | None = Field(1.0, gt=0.0, le=_LARGEST_WEIGHT)
    signal: float | None = None
    segments: dict[str, Members] = {}
    expected: dict[str, tuple[Score, Score]] = {}
    forced: bool = False

    @model_validator(mode="after")
    def _whole_or_forced(self) -> Self:
        slot = (self.first_offset, self.last_offset, self.m, self.q, self.u)
        if self.forced != (None in slot) or (self.forced and any(x is not None for x in slot)):
            raise ValueError("offsets, m, q and u stand on every record but a forced one")
        if self.m and self.q and self.m > _LARGEST_WEIGHT * self.q:
            raise ValueError("m / q is larger than any slot")
        return self


class ScoreRecord(Frozen):
    """One line of ``rag.scores.v1``: outcome, scores, weights and the evidence for them.

    ``rechecks_usd`` is what second judgements, of whatever interactions, have cost the scorer since
    its last record; it stands only where there is something.
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
    attributes: dict[str, JsonValue] = {}
    interaction: dict[str, JsonValue] = {}
    claims: Claims = Claims()
    verdicts: Verdicts = Verdicts()
    evidence: Evidence = Field({}, exclude_if=lambda evidence: not evidence)
    scores: dict[str, Score | UnscoredMark] = {}
    outcome: Outcome
    reason: str | None = None
    usage: Usage = Usage()
    rechecks_usd: float = Field(0.0, ge=0.0, exclude_if=lambda usd: usd == 0)
    timings: dict[str, float] = {}
    truncated: bool = False

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


RecordT = TypeVar("RecordT", bound=Frozen)


def read_record(model: type[RecordT], what: str, line: bytes) -> RecordT:
    """Parse one record of a topic of ours; raises ``RecordSkipped``, as for score records."""
    try:
        return model.model_validate_json(line, extra="ignore")
    except ValidationError as error:
        _explain_schema(what, line, error)
        raise unreadable(what, error) from error


def unreadable(what: str, error: ValidationError) -> RecordSkipped:
    """What to raise for a record that cannot be read: the first thing that is wrong with it."""
    first = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"]) or "record"
    return RecordSkipped(f"{what}: {path}: {first['msg']}", cause="malformed")


class _SchemaOnly(BaseModel):
    schema_: Any = Field(default=None, alias="schema")


def _explain_schema(what: str, line: bytes, error: ValidationError) -> None:
    try:
        found = str(_SchemaOnly.model_validate_json(line).schema_)
    except ValidationError:
        return
    version = _SCHEMA.fullmatch(found)
    if version is None:
        return
    if int(version[2]) > 1:
        raise RecordSkipped(
            f"{what}: schema {found} is newer than this version reads; upgrade rag-monitor",
            cause=NEWER_SCHEMA,
        ) from error
    if int(version[2]) == 1 and int(version[3] or 0) > 0:
        raise RecordSkipped(
            f"{what}: schema {found} is newer, and cannot be read here", cause="newer_minor"
        ) from error
