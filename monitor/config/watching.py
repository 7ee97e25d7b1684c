"""Settings of what is exported, and of what is held against what is normal."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, field_validator, model_validator

from monitor.config.base import (
    AGE_SCHEMA,
    SECONDS,
    Age,
    Fraction,
    Section,
    SegmentBy,
    Texts,
    items,
    mapping,
    seconds,
    split,
)
from monitor.config.names import DirectedMetric, Metrics, name_regex

#: A period that goes by how many are judged a day.
AUTO: Final = "auto"
#: No time at all: what ``drift.burst.per_day`` is where there are no bursts.
NEVER: Final = "0s"


def _each_once(metrics: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(metrics)) != len(metrics):
        raise ValueError(f"found {list(metrics)}, expected each once")
    return metrics


class Export(Section):
    """Which gauges are served."""

    windows: Texts = Field(
        ("5m", "1h", "24h"),
        description="rolling windows, event time, as a,b or a JSON list",
        json_schema_extra={"items": AGE_SCHEMA, "minItems": 1, "uniqueItems": True, "minLength": 1},
    )
    metrics: Metrics = Field(
        None,
        description="the metrics that get rolling gauges. Default: all of them",
        json_schema_extra={"uniqueItems": True, "minItems": 1},
    )
    top_k: int = Field(
        20, ge=1, description="applications with label values of their own. The rest is `other`"
    )
    segment: SegmentBy = Field(
        (), description="attribute whose value is the segment, or several: a,b or a list"
    )
    segments: Annotated[
        tuple[str, ...] | None,
        BeforeValidator(split, json_schema_input_type=tuple[str, ...] | str | None),
    ] = Field(
        None,
        description="segments with gauges of their own. The rest is `other`. Default: the 20 "
        "most frequent. With an empty list there are no gauges by segment",
        json_schema_extra={"uniqueItems": True},
    )
    cluster: str | None = Field(
        None,
        min_length=1,
        description="attribute with the same value for answers that belong together, such as a "
        "session_id. Without it, neighbours tell how much answers repeat each other. That sees "
        "too little of sessions until thousands are judged",
    )

    @field_validator("windows")
    @classmethod
    def _readable(cls, windows: tuple[str, ...]) -> tuple[str, ...]:
        if not windows or len(set(windows)) != len(windows):
            raise ValueError(f"found {list(windows)}, expected at least one, each once")
        for window in windows:
            if seconds(window) >= 300 and seconds(window) % 60:
                raise ValueError(f"found {window!r}, expected whole minutes from 5m up")
        return windows

    @field_validator("metrics")
    @classmethod
    def _some(cls, metrics: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if metrics is not None and not metrics:
            raise ValueError("found [], expected at least one")
        return None if metrics is None else _each_once(metrics)

    @field_validator("segments")
    @classmethod
    def _distinct(cls, segments: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if segments is None else _each_once(segments)


class FixedMean(Section):
    """What is normal for one metric, in its own direction."""

    mean: Fraction = Field(description="the normal mean, 0 to 1")
    segments: Annotated[dict[str, Fraction], BeforeValidator(mapping)] = Field(
        {}, description="segment: its normal mean; others have that of all"
    )

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, value: Any) -> Any:
        """A number is short for its mean."""
        return value if isinstance(value, dict | FixedMean) else {"mean": value}


class FixedBaseline(Section):
    """What is normal for some applications and judges."""

    application: str = Field(
        min_length=1, description="a name, where * means any characters and ? means one"
    )
    judge: str | None = Field(
        None, min_length=1, description="name or name@version of the judge. Default: any"
    )
    metrics: Annotated[
        dict[DirectedMetric, FixedMean],
        BeforeValidator(mapping, json_schema_input_type=dict[DirectedMetric, FixedMean | Fraction]),
    ] = Field(
        description="metric: its normal mean, or {mean, segments: {segment: mean}}",
        json_schema_extra={"minProperties": 1},
    )

    @field_validator("metrics")
    @classmethod
    def _some(cls, metrics: dict[str, FixedMean]) -> dict[str, FixedMean]:
        if not metrics:
            raise ValueError("found none, expected metric: mean")
        return metrics

    @property
    def name_regex(self) -> str:
        """Matches the whole of the names that it is for."""
        return name_regex(self.application)


class Burst(Section):
    """More judgements while there is evidence of drift."""

    times: int = Field(
        4,
        ge=1,
        le=64,
        description="most judgements in a burst, as a multiple of the usual. It lasts while the "
        "evidence is above a tenth of the threshold. 1 switches bursts off",
    )
    per_day: str = Field(
        "1h",
        description="most time in bursts, in a day of budget.timezone. 0s switches bursts off",
        json_schema_extra={"anyOf": [{"const": NEVER}, AGE_SCHEMA]},
    )

    @field_validator("per_day")
    @classmethod
    def _at_most_a_day(cls, per_day: str) -> str:
        if per_day != NEVER and seconds(per_day) > SECONDS["d"]:
            raise ValueError(f"found {per_day!r}, expected at most 1d")
        return per_day

    @property
    def per_day_s(self) -> int:
        """Seconds of a day; 0 where it is switched off."""
        return 0 if self.per_day == NEVER or self.times == 1 else seconds(self.per_day)


def _loss_or_share(value: Any) -> str:
    """A loss from 0 to 1, or a share of the mean as a percentage."""
    text = str(value).strip()
    number, is_share = text.removesuffix("%"), text.endswith("%")
    try:
        found = float(number)
    except ValueError:
        found = -1.0
    if isinstance(value, bool) or not 0.0 <= found <= (100.0 if is_share else 1.0):
        raise ValueError(f"found {value!r}, expected a percentage (10%), or a number from 0 to 1")
    return text


#: A number from 0 to 1, or a text like ``10%`` or ``0.02``.
LossOrShare = (
    Fraction
    | Annotated[
        str, Field(pattern=r"^\s*(0*100(\.0*)?%|0*[0-9]{1,2}(\.[0-9]*)?%|[01]|0?\.[0-9]+)\s*$")
    ]
)


class Drift(Section):
    """What is told from chance, and what it is held against."""

    false_alarms_per_week: float = Field(
        1.0, gt=0, allow_inf_nan=False, description="at most so many on average, over everything"
    )
    tolerate: Annotated[
        str, BeforeValidator(_loss_or_share, json_schema_input_type=LossOrShare)
    ] = Field(
        "10%",
        description="how much worse is no drift yet: a share of the normal mean (10%), or a loss "
        "(0.02)",
    )
    judged_per_week: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="judged interactions a week, all together. Default: counted, with at least "
        "60 a day",
    )
    period: str = Field(
        AUTO,
        description="P: evidence and horizon start with the previous period. With auto, 1d, and "
        "up to 28d where fewer than 1500 are judged a day",
        json_schema_extra={"anyOf": [{"const": AUTO}, AGE_SCHEMA]},
    )
    settle: Age = Field("60s", description="age from which a judged interaction is evidence")
    learn_slots: int = Field(1000, ge=1, description="scored slots that a baseline is learned from")
    learn_for: str = Field(
        "24h",
        description="time of scored slots that a baseline is learned from. With 0s, any time "
        "will do",
        json_schema_extra={"anyOf": [{"const": NEVER}, AGE_SCHEMA]},
    )
    learn_wait: Age = Field("10m", description="age from which a scored slot is learned from")
    baselines: Annotated[tuple[FixedBaseline, ...], BeforeValidator(items)] = Field(
        (),
        description="given baselines: a list, the first that matches an application and judge "
        "wins. Metrics that it leaves out are learned",
    )
    metrics: Annotated[
        tuple[DirectedMetric, ...],
        BeforeValidator(split, json_schema_input_type=tuple[DirectedMetric, ...] | str),
    ] = Field(
        (
            "faithfulness",
            "noise_sensitivity_relevant",
            "noise_sensitivity_irrelevant",
            "answered",
            "retrieved",
        ),
        description="the metrics that are watched. With an empty list, none",
        json_schema_extra={"uniqueItems": True},
    )
    burst: Burst = Burst()

    @property
    def tolerated(self) -> tuple[float, float]:
        """``tolerate`` as a loss and a share of the mean, of which one is 0."""
        share = self.tolerate.removesuffix("%")
        is_share = share != self.tolerate
        return (0.0, float(share) / 100.0) if is_share else (float(share), 0.0)

    @property
    def period_s(self) -> int | None:
        """Seconds; None where it goes by how many are judged."""
        return None if self.period == AUTO else seconds(self.period)

    @property
    def first_period_s(self) -> int:
        """Seconds of the period as long as nothing says how many are judged: then it is a day."""
        return self.period_s or SECONDS["d"]

    @field_validator("period")
    @classmethod
    def _whole_minutes(cls, period: str) -> str:
        if period != AUTO and seconds(period) % 60:
            raise ValueError(f"found {period!r}, expected whole minutes")
        return period

    @property
    def learn_for_s(self) -> int:
        """Seconds; 0 where any time is enough."""
        return 0 if self.learn_for == NEVER else seconds(self.learn_for)

    @field_validator("learn_for")
    @classmethod
    def _at_most_a_week(cls, text: str) -> str:
        if text != NEVER and seconds(text) > SECONDS["d"] * 7:
            raise ValueError(f"found {text!r}, expected at most 7d, or 0s")
        return text

    @field_validator("metrics")
    @classmethod
    def _distinct(cls, metrics: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(metrics)
