"""The records of ``rag.control.v1``: what the monitor and its people have decided.

One JSON object a record, compacted by key: the latest with a key holds. Pure, like ``records``.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple

from pydantic import AwareDatetime, Field

from monitor.compacted import Keyed, read_keyed
from monitor.errors import RecordSkipped
from monitor.records import Frozen, Score

CONTROL_SCHEMA: Final = "rag.control/1"
BASELINE: Final = "baseline"

Origin = Literal["learned", "set", "frozen"]


class MetricBaseline(Frozen):
    """Normal values in the direction of the metric: mean, its standard error, segment → mean."""

    mean: Score
    se: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
    segments: dict[str, Score] = Field(default_factory=dict)


class BaselineRecord(Keyed):
    """What is normal for one application and judge (``name@version``).

    Without ``metrics`` it asks for a baseline to be learned anew, from the slots after
    ``effective_from``. With them, only slots after ``effective_from`` are held against it. It says
    nothing of when it was published: two exporters publish the same bytes.
    """

    schema_: Literal["rag.control/1"] = Field(default=CONTROL_SCHEMA, alias="schema")
    kind: Literal["baseline"] = BASELINE
    application: str
    judge: str
    origin: Origin
    effective_from: AwareDatetime
    slots: int = Field(0, ge=0, description="scored slots that it was learned from")
    metrics: dict[str, MetricBaseline] = Field(default_factory=dict)

    @property
    def key(self) -> str:
        """The Kafka key."""
        return baseline_key(self.application, self.judge)


class Removed(NamedTuple):
    """A tombstone: whatever stood under the key holds no longer."""

    key: str


def baseline_key(application: str, judge: str) -> str:
    """Key of the baseline of an application and judge (``name@version``).

    >>> baseline_key("support-bot", "offline@3f2a91")
    'baseline/support-bot/offline@3f2a91'
    """
    return f"{BASELINE}/{application}/{judge}"


def read_control_record(key: bytes | None, value: bytes | None) -> BaselineRecord | Removed:
    """Parse one record.

    Raises ``RecordSkipped``: with cause ``other_kind`` for what this version knows nothing of, and
    ``malformed`` for what it cannot read.
    """
    name = (key or b"").decode("utf-8", "replace")
    if not name.startswith(f"{BASELINE}/"):
        raise RecordSkipped(f"control record {name!r}: not a baseline", cause="other_kind")
    if value is None:
        return Removed(name)
    return read_keyed(BaselineRecord, "control", name, value)
