"""The records of ``rag.control.v1``: what the monitor and its people have decided.

One JSON object a record, compacted by key: the latest with a key holds. Pure, like ``records``.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from monitor.errors import RecordSkipped
from monitor.records import AnyMinor, Frozen, Score
from monitor.records.correction import LABELS_HOLD_S, Agreements, HowMany
from monitor.records.correction import Interval as Interval
from monitor.records.correction import JudgeErrorsFound as JudgeErrorsFound
from monitor.records.correction import MetricCorrection as MetricCorrection
from monitor.records.correction import VerdictAgreement as VerdictAgreement
from monitor.records.forgetting import ForgottenKind
from monitor.records.keyed import Keyed, read_keyed
from monitor.runtime.visible import visible

CONTROL_SCHEMA: Final = "rag.control/1"
BASELINE: Final = "baseline"
CALIBRATION: Final = "calibration"
DAY: Final = "day"
#: Days that are kept: one takes the place of that before so many.
KEPT_DAYS: Final = 28
PAUSE: Final = "pause"
BURST: Final = "burst"
CORRECTION: Final = "correction"
FORGOTTEN: Final = "forgotten"
#: There is one for all: a block holds the interactions of every application.
BURST_KEY: Final = f"{BURST}/"
LONGEST_BURST_S: Final = 120
#: Seconds for which a pause holds that says nothing of its end, and for which any holds at most.
PAUSE_S: Final = 86_400
LONGEST_PAUSE_S: Final = 30 * 86_400
#: Header of a pause: who has set it, as far as is known. Whoever may write there may write any.
SET_BY: Final = "by"
MOST_NAME: Final = 100
#: The year 9000: what is written as a record's time need not be one.
_LAST: Final = 221_845_392_000.0
_LAST_DAY: Final = date(9000, 1, 1)
_FIRST_MOMENT: Final = datetime(2, 1, 1, tzinfo=UTC)
_LAST_MOMENT: Final = datetime.combine(_LAST_DAY, time(), UTC)
#: Sums are rounded, each for itself.
_ROUNDED: Final = 1.0 + 1e-9
#: What is shown for all applications together; no label of an application.
EVERY: Final = "*"

Origin = Literal["learned", "set", "frozen"]


#: Beyond any weight, error or count, and small enough for squares and sums of them.
LARGEST: Final = 2.0**60
NotNegative = Annotated[float, Field(ge=0.0, le=LARGEST, allow_inf_nan=False)]
HourOffset = Annotated[float, Field(ge=-1.0, le=1.0, allow_inf_nan=False)]
HOURS: Final = 24


def _has_neighbours(at: datetime) -> datetime:
    """A decision is made after all that was known: of the last moment there is none after it."""
    if not _FIRST_MOMENT <= at <= _LAST_MOMENT:
        raise ValueError(f"a time is from {_FIRST_MOMENT.year} to {_LAST_MOMENT.year}")
    return at


ControlTime = Annotated[AwareDatetime, AfterValidator(_has_neighbours)]


class MetricBaseline(Frozen):
    """Normal values in the direction of the metric: mean, its standard error, segment → mean.

    ``spreads`` has of each segment, and of "" for all others, its share and its standard error;
    ``dependence`` is V, ``values`` how many scores it was learned from, ``halves_z`` how far the
    later half of them lay above the earlier one, in standard errors and larger meaning worse.
    ``day_spread`` is τ, the standard deviation of the daily means, and ``hours`` what each hour of
    the day (UTC) adds to the mean: 24 numbers, or none where hours are not known. ``days`` is the
    number of whole days that these two are from, 0 before. Until then ``hour_spread`` is τ_h, how
    far the hours that it was learned from lie apart, 0 where that may be chance; in a provisional
    baseline what hours that were not seen may add. ``first_mean`` is what was learned at first,
    where those days were surely better. ``origin`` and ``effective_from`` are there
    where they are not those of the record: a metric that was set leaves the others as they are.
    ``decided_at`` is the moment of a freezing, and of a mean that was set where that is not
    ``effective_from``: behind all that was known by then, whatever the clock says.
    ``learned_in_alarm_of`` is the judge whose alarm of the same
    metric and application was open then: what was bad may be what is normal here. What people froze
    is of the scores from ``frozen_from`` to ``frozen_until``, in event time; from less than a day
    it is ``provisional`` until whole days after it tell how far hours lie apart.
    """

    mean: Score
    se: NotNegative = 0.0
    segments: dict[str, Score] = Field(default_factory=dict)
    spreads: dict[str, tuple[Score, NotNegative]] = Field(default_factory=dict)
    dependence: Annotated[float, Field(ge=1.0, le=LARGEST, allow_inf_nan=False)] = 1.0
    values: HowMany = 0
    halves_z: Annotated[float, Field(allow_inf_nan=False)] | None = None
    day_spread: NotNegative = 0.0
    hour_spread: NotNegative = 0.0
    hours: tuple[HourOffset, ...] = ()
    days: HowMany = 0
    first_mean: Score | None = None
    origin: Origin | None = None
    effective_from: ControlTime | None = None
    decided_at: ControlTime | None = None
    learned_in_alarm_of: str | None = None
    frozen_from: ControlTime | None = None
    frozen_until: ControlTime | None = None
    provisional: bool = False

    @model_validator(mode="after")
    def _is_whole_day(self) -> Self:
        if len(self.hours) not in (0, HOURS):
            raise ValueError(f"hours needs {HOURS} numbers, or none")
        return self

    @property
    def is_by_hand(self) -> bool:
        """Whether people have set or frozen it, as it says itself; earlier frozen ones do not."""
        return self.origin in ("set", "frozen")


class BaselineRecord(Keyed):
    """What is normal for one application and judge (``name@version``).

    Without ``metrics`` it asks for a baseline to be learned anew, from the slots after
    ``effective_from``. With them, only slots after ``effective_from`` are held against it. It says
    nothing of when it was published: two exporters publish the same bytes.

    A ``provisional`` one was learned from less than a day, and holds until that is full; only slots
    after ``learned_after`` teach what follows it, or the metrics that were not set. ``reset_at`` is
    the moment of the latest reset that it knows of, where that is not what it begins with.
    """

    schema_: Annotated[Literal["rag.control/1"], AnyMinor] = Field(CONTROL_SCHEMA, alias="schema")
    kind: Literal["baseline"] = BASELINE
    application: str
    judge: str
    origin: Origin
    effective_from: ControlTime
    slots: HowMany = Field(0, description="scored slots that it was learned from")
    metrics: dict[str, MetricBaseline] = Field(default_factory=dict)
    provisional: bool = False
    learned_after: ControlTime | None = None
    reset_at: ControlTime | None = None

    @property
    def tolerates_more(self) -> bool:
        """Whether any of it was learned or frozen from less than a day, and holds until more is."""
        return self.provisional or any(one.provisional for one in self.metrics.values())

    @property
    def leaves_others(self) -> bool:
        """Whether metrics were set before any was learned: the others are still to be.

        In earlier records they never are: there the record alone says its origin.
        """
        found = self.metrics.values()
        return bool(found) and self.origin == "set" and all(one.origin for one in found)

    @property
    def key(self) -> str:
        """The Kafka key."""
        return baseline_key(self.application, self.judge)


def _of_values(hour: tuple[int, float, float, float, float, float]) -> tuple[Any, ...]:
    """Refuses sums that no values of 0 to 1 have: the numbers of a week are divided by them."""
    n, u, ux, uu, uux, uuxx = hour
    if not n and not any(hour):
        return hour
    in_order = 0.0 <= ux <= u * _ROUNDED and 0.0 <= uuxx <= uux * _ROUNDED <= uu * _ROUNDED**2
    # The squares of n weights, of which none is below 0, are between their sum's over n and all.
    if not (n and in_order and n / LARGEST <= u <= n * LARGEST):
        raise ValueError("an hour needs n, Σu, Σux, Σu², Σu²x and Σu²x² of n values from 0 to 1")
    if not u * u <= n * uu * _ROUNDED <= n * u * u * _ROUNDED**2:
        raise ValueError("an hour needs a Σu² between (Σu)²/n and (Σu)²")
    return hour


def _has_a_morrow(day: date) -> date:
    if day > _LAST_DAY:
        raise ValueError(f"a day is no later than {_LAST_DAY}")
    return day


_Sum = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
#: Values of an hour: how many, Σu, Σux, Σu², Σu²x and Σu²x².
HourOfDay = Annotated[
    tuple[HowMany, _Sum, _Sum, _Sum, _Sum, _Sum],
    AfterValidator(_of_values),
]


class DayRecord(Keyed):
    """Sums of one whole day (UTC) of an application and judge: by metric, 24 hours of them.

    With larger meaning worse. A metric whose alarm was open on that day is left out, and so is what
    has no detector.
    """

    schema_: Annotated[Literal["rag.control/1"], AnyMinor] = Field(CONTROL_SCHEMA, alias="schema")
    kind: Literal["day"] = DAY
    application: str
    judge: str
    day: Annotated[date, AfterValidator(_has_a_morrow)]
    metrics: dict[str, Annotated[tuple[HourOfDay, ...], Field(min_length=24, max_length=24)]]

    @property
    def key(self) -> str:
        """The Kafka key."""
        return day_key(self.application, self.judge, self.day)

    @property
    def start(self) -> float:
        """When it begins, in epoch seconds."""
        return datetime.combine(self.day, time(), UTC).timestamp()


Signal = Annotated[float, Field(allow_inf_nan=False)]
Spread = NotNegative


class CalibrationRecord(Keyed):
    """What the risk signal says of the values of one application and judge.

    ``edges`` cut the signal in bins, an edge belongs to the bin below it; per bin ``spreads`` says
    how much a judgement teaches, and ``expected``, by metric, the value with larger meaning worse.
    """

    schema_: Annotated[Literal["rag.control/1"], AnyMinor] = Field(CONTROL_SCHEMA, alias="schema")
    kind: Literal["calibration"] = CALIBRATION
    application: str
    judge: str
    effective_from: ControlTime
    slots: HowMany = Field(ge=1, description="scored slots with a signal that it was learned from")
    edges: tuple[Signal, ...]
    spreads: tuple[Spread, ...]
    expected: dict[str, tuple[Score, ...]]

    @model_validator(mode="after")
    def _shapes(self) -> Self:
        bins = len(self.edges) + 1
        if any(a >= b for a, b in pairwise(self.edges)):
            raise ValueError("edges must grow")
        if {len(self.spreads), *map(len, self.expected.values())} != {bins}:
            raise ValueError(f"spreads and expected need {bins} entries, one for each bin")
        return self

    @property
    def key(self) -> str:
        """The Kafka key."""
        return calibration_key(self.application, self.judge)


class PauseRecord(Keyed):
    """An application is not judged until then; ``""`` stands for all of them.

    Without ``until`` it holds for a day: see ``as_set``. When and by whom it was set stands beside
    the record, and not in it.
    """

    schema_: Annotated[Literal["rag.control/1"], AnyMinor] = Field(CONTROL_SCHEMA, alias="schema")
    kind: Literal["pause"] = PAUSE
    application: str = ""
    until: AwareDatetime | None = None
    set_at: AwareDatetime | None = Field(None, exclude=True)
    set_by: str = Field("", exclude=True)

    @property
    def key(self) -> str:
        """The Kafka key."""
        return pause_key(self.application)

    def as_set(self, at: float, by: str = "") -> PauseRecord:
        """As it holds when it was set at that time, in epoch seconds, by somebody: with an end.

        >>> PauseRecord(application="bot").as_set(0.0, "ann@ops").end
        '1970-01-02T00:00:00+00:00'
        """
        set_at = datetime.fromtimestamp(min(max(at, 0.0), _LAST), UTC)
        until = self.until or set_at + timedelta(seconds=PAUSE_S)
        longest = set_at + timedelta(seconds=LONGEST_PAUSE_S)
        update = {"until": min(until, longest), "set_at": set_at, "set_by": visible(by)[:MOST_NAME]}
        return self.model_copy(update=update)

    @property
    def shown(self) -> str:
        """The application; ``*`` for all, which is no name of one."""
        return self.application or EVERY

    @property
    def end(self) -> str | None:
        """When it ends by itself; None where only a command ends it."""
        return None if self.until is None else self.until.isoformat()

    def __str__(self) -> str:
        """For people.

        >>> str(PauseRecord(application="support-bot"))
        'support-bot, until rag-monitor resume'
        """
        when = "" if self.set_at is None else f", since {self.set_at.isoformat(timespec='seconds')}"
        who = f" by {self.set_by}" if self.set_by else ""
        name = self.application or "all applications"
        return f"{name}, until {self.end or 'rag-monitor resume'}{when}{who}"

    def is_active(self, now: float) -> bool:
        """Whether it holds at that time, in epoch seconds."""
        if self.set_at is not None and self.set_at.timestamp() > now + PAUSE_S:
            return False  # clocks differ, but not by days: else it would hold for years
        return self.until is None or now < self.until.timestamp()


class BurstRecord(Keyed):
    """Up to ``times`` as many judgements from ``from`` until ``until``, for the detectors named.

    That is the minute that was running when it was written, and the next one. ``granted_s`` are
    the seconds that were granted of ``day`` (of ``budget.timezone``), these included: how much is
    left follows from the record alone.
    """

    schema_: Annotated[Literal["rag.control/1"], AnyMinor] = Field(CONTROL_SCHEMA, alias="schema")
    kind: Literal["burst"] = BURST
    from_: AwareDatetime = Field(alias="from")
    until: AwareDatetime
    times: int = Field(ge=1)
    day: date
    granted_s: int = Field(ge=1, le=90_000)
    asked_by: tuple[str, ...] = Field(default=(), description="metric/application/judge")

    @model_validator(mode="after")
    def _is_short(self) -> Self:
        if not 0 < (self.until - self.from_).total_seconds() <= LONGEST_BURST_S:
            raise ValueError(f"until must follow from, by at most {LONGEST_BURST_S} s")
        return self

    @property
    def key(self) -> str:
        """The Kafka key."""
        return BURST_KEY

    def is_active(self, now: float) -> bool:
        """Whether it holds at that time, in epoch seconds."""
        return self.from_.timestamp() <= now < self.until.timestamp()


class CorrectionRecord(Keyed):
    """What people's audits say of a judge (``name@version``) in one application.

    It is all that an exporter needs to correct any window. ``agreement`` is by kind of verdict, and
    under ``reviewers`` that of two people. ``audited_until`` is the time of the latest label.
    """

    schema_: Annotated[Literal["rag.control/1"], AnyMinor] = Field(CONTROL_SCHEMA, alias="schema")
    kind: Literal["correction"] = CORRECTION
    application: str
    judge: str
    audited_until: AwareDatetime
    metrics: dict[str, MetricCorrection] = Field(default_factory=dict)
    agreement: Agreements = Field(default_factory=dict)

    @property
    def key(self) -> str:
        """The Kafka key."""
        return correction_key(self.application, self.judge)

    def is_active_at(self, at: float) -> bool:
        """Whether a label is young enough then (epoch seconds).

        Whoever keeps audits takes an old record back; where nobody does any more it ends here.
        """
        return at - self.audited_until.timestamp() <= LABELS_HOLD_S


Hexadecimal = Annotated[str, Field(pattern=r"^[0-9a-f]{16,128}$")]


class ForgottenRecord(Keyed):
    """The texts of somebody, or of one interaction, are to be kept nowhere.

    ``fingerprint`` stands for whom (``monitor.records.forgetting``): it is that of an interaction's
    id, or of a value of ``attribute``; in ``application``, or in all. It holds for as long as it
    stands on the topic, so that a replay brings nothing back.
    """

    schema_: Annotated[Literal["rag.control/1"], AnyMinor] = Field(CONTROL_SCHEMA, alias="schema")
    kind: Literal["forgotten"] = FORGOTTEN
    salt: Hexadecimal
    fingerprint: Hexadecimal
    attribute: str = ""
    application: str = ""
    forgotten_at: AwareDatetime

    @property
    def key(self) -> str:
        """The Kafka key."""
        return f"{FORGOTTEN}/{self.fingerprint}"

    @property
    def kind_of_value(self) -> ForgottenKind:
        """What a record's fingerprint is computed with."""
        return ForgottenKind(salt=self.salt, attribute=self.attribute, application=self.application)


class Removed(NamedTuple):
    """A tombstone: whatever stood under the key holds no longer."""

    key: str


def baseline_key(application: str, judge: str) -> str:
    """Key of the baseline of an application and judge (``name@version``).

    >>> baseline_key("support-bot", "offline@3f2a91")
    'baseline/support-bot/offline@3f2a91'
    """
    return f"{BASELINE}/{application}/{judge}"


def calibration_key(application: str, judge: str) -> str:
    """Key of the calibration of an application and judge (``name@version``).

    >>> calibration_key("support-bot", "offline@3f2a91")
    'calibration/support-bot/offline@3f2a91'
    """
    return f"{CALIBRATION}/{application}/{judge}"


def correction_key(application: str, judge: str) -> str:
    """Key of what audits say of an application and judge (``name@version``).

    >>> correction_key("support-bot", "offline@3f2a91")
    'correction/support-bot/offline@3f2a91'
    """
    return f"{CORRECTION}/{application}/{judge}"


def pause_key(application: str) -> str:
    """Key of the pause of an application, or of all (``""``).

    >>> pause_key("support-bot"), pause_key("")
    ('pause/support-bot', 'pause/')
    """
    return f"{PAUSE}/{application}"


def day_key(application: str, judge: str, day: date) -> str:
    """Key of a day of an application and judge (``name@version``).

    >>> day_key("support-bot", "offline@3f2a91", date(2026, 11, 22))
    'day/support-bot/offline@3f2a91/14'
    """
    return f"{DAY}/{application}/{judge}/{day.toordinal() % KEPT_DAYS}"


ControlRecord = (
    BaselineRecord
    | DayRecord
    | CalibrationRecord
    | PauseRecord
    | BurstRecord
    | CorrectionRecord
    | ForgottenRecord
)
_MODELS: Final[dict[str, type[ControlRecord]]] = {
    BASELINE: BaselineRecord,
    DAY: DayRecord,
    CALIBRATION: CalibrationRecord,
    PAUSE: PauseRecord,
    BURST: BurstRecord,
    CORRECTION: CorrectionRecord,
    FORGOTTEN: ForgottenRecord,
}
KINDS: Final = tuple(_MODELS)


def kind_of(key: bytes | None) -> str:
    """The kind of the record with this key; "" for one that is no control record's."""
    name = (key or b"").decode("utf-8", "replace")
    kind, slash, _ = name.partition("/")
    return kind if slash and kind in _MODELS else ""


def read_control_record(key: bytes | None, value: bytes | None) -> ControlRecord | Removed:
    """Parse one record.

    Raises ``RecordSkipped``: with cause ``other_kind`` for what this version knows nothing of, and
    ``malformed`` for what it cannot read.
    """
    name = (key or b"").decode("utf-8", "replace")
    kind = kind_of(key)
    if not kind:
        raise RecordSkipped(f"control record {name!r}: of another kind", cause="other_kind")
    if value is None:
        return Removed(name)
    return read_keyed(_MODELS[kind], "control", name, value)
