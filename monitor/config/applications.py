"""Settings of single applications: what an entry overrides, and what it inherits.

Of the entries the first that matches an interaction wins; entries are never combined.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from monitor.config.base import Fraction, Section, items, seconds, split
from monitor.config.judging import Judge, Sampling
from monitor.config.rules import Rules

#: The names of the catalogue of metrics, which settings may not import; a test compares them.
MetricName = Literal[
    "faithfulness",
    "faithfulness_by_passage",
    "noise_sensitivity_relevant",
    "noise_sensitivity_irrelevant",
    "incorrect_claims",
    "hallucination",
    "self_knowledge",
    "claim_precision",
    "claim_recall",
    "claim_f1",
    "context_recall",
    "context_precision",
    "context_utilization",
    "irrelevant_context_reliance",
]


def _has_direction(metric: str) -> str:
    if metric == "self_knowledge":
        raise ValueError("self_knowledge is neither better nor worse when it is higher")
    return metric


#: A metric that can be too low or too high.
DirectedMetric = Annotated[MetricName, AfterValidator(_has_direction)]
Metrics = Annotated[tuple[MetricName, ...] | None, BeforeValidator(split)]
#: What belongs to an endpoint: it is not sent to another one that an entry names.
_ENDPOINT = ("api_base", "api_key", "headers")


def _names(value: Any) -> Any:
    """One name or a list; a name may hold a comma, so a list from the environment is JSON."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return [value]
    return split(value)


def _one_or_more(value: Any) -> Any:
    alone = isinstance(value, dict) and "metric" in value
    return [value] if alone else items(value)


class Objective(Section):
    """What an application has promised about one metric."""

    metric: DirectedMetric = Field(description="the metric that it is about")
    window: str = Field(description="one of export.windows")
    bound: Fraction = Field(description="the worst mean that is still good enough, 0 to 1")
    minimum_samples: int = Field(
        30, ge=1, description="fewer scored interactions in the window say nothing"
    )

    @field_validator("window")
    @classmethod
    def _is_duration(cls, window: str) -> str:
        seconds(window)
        return window


class JudgeOverride(Judge):
    """Some settings of a judge; those that are not given are inherited."""

    @model_validator(mode="after")
    def _has_model(self) -> Self:
        return self  # asked of the whole, once it is put together


class Application(Section):
    """What is different for some applications."""

    application: Annotated[tuple[str, ...], BeforeValidator(_names)] = Field(
        (), description="a name or a list of names; * stands for any characters, ? for one"
    )
    when: Rules = Field((), description="rules as in ingest.include; all of them must match")
    judge: JudgeOverride = JudgeOverride()
    sampling: Sampling = Sampling()
    segment: str | None = Field(None, description="attribute that is stored as the segment")
    metrics: Metrics = Field(None, description="the metrics that are recorded; null: all of them")
    objective: Annotated[tuple[Objective, ...], BeforeValidator(_one_or_more)] = Field(
        (), description="one or a list of: metric, window, bound, minimum_samples"
    )

    @field_validator("application")
    @classmethod
    def _says_something(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if "" in names:
            raise ValueError("found an empty name, expected a name or *")
        return names

    @field_validator("metrics")
    @classmethod
    def _each_once(cls, metrics: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if metrics is not None and (not metrics or len(set(metrics)) != len(metrics)):
            raise ValueError(f"found {list(metrics)}, expected at least one, each once")
        return metrics

    @model_validator(mode="after")
    def _matches_something(self) -> Self:
        if not self.application and not self.when:
            raise ValueError("application is missing (* matches every one)")
        return self

    @property
    def patterns(self) -> tuple[str, ...]:
        """The names that it matches."""
        return self.application or ("*",)

    @property
    def name_regex(self) -> str:
        """Matches the whole of the names that it is for."""
        return "|".join(name_regex(pattern) for pattern in self.patterns)

    @property
    def overrides(self) -> tuple[str, ...]:
        """What it gives, as dotted paths like ``judge.model``."""
        inner = [
            f"{section}.{key}"
            for section in ("judge", "sampling")
            for key in type(getattr(self, section)).model_fields
            if key in getattr(self, section).model_fields_set
        ]
        own = ("segment", "metrics", "objective")
        return (*inner, *(key for key in own if key in self.model_fields_set))


class Effective(Section):
    """The settings that hold for an interaction, with nothing left to inherit."""

    judge: Judge
    sampling: Sampling
    segment: str | None = None
    metrics: Metrics = None
    objective: tuple[Objective, ...] = ()


def resolved(entry: Application, base: Effective) -> Effective:
    """What an entry and the settings that it inherits give together.

    Another provider or address is another endpoint, and inherits no address, key or header: a key
    must never be sent to somebody it was not meant for. Raises ``ValueError`` when the whole is
    no valid judge.
    """
    given, lost = _given(entry.judge), withheld(entry, base)
    kept = {k: v for k, v in dict(base.judge).items() if f"judge.{k}" not in lost}
    try:
        judge = Judge.model_validate({**kept, **given})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"judge: {first['msg'].removeprefix('Value error, ')}") from None
    own = {k: getattr(entry, k) for k in ("segment", "metrics", "objective")}
    return Effective(
        judge=judge,
        sampling=Sampling.model_validate({**dict(base.sampling), **_given(entry.sampling)}),
        **{k: v if k in entry.model_fields_set else getattr(base, k) for k, v in own.items()},
    )


def _given(section: Section) -> dict[str, Any]:
    return {key: getattr(section, key) for key in section.model_fields_set}


def withheld(entry: Application, base: Effective) -> tuple[str, ...]:
    """What is there to inherit, but belongs to another endpoint; paths like ``judge.api_key``."""
    given, judge = _given(entry.judge), base.judge
    model = given.get("model")
    lost: tuple[str, ...] = ()
    if model and judge.model and _provider(model) != _provider(judge.model):
        lost = _ENDPOINT
    elif given.get("api_base", judge.api_base) != judge.api_base:
        lost = _ENDPOINT[1:]
    return tuple(f"judge.{k}" for k in lost if k not in given and getattr(judge, k))


def _provider(model: str) -> str:
    return model.partition("/")[0]


def check(entries: Sequence[Application], base: Effective, windows: Sequence[str]) -> None:
    """Refuse what only shows when all is put together; the ``ValueError`` begins with the path."""
    for number, entry in enumerate(entries):
        path = f"applications.{number}"
        if (by := _hidden_by(entry, entries[:number])) is not None:
            raise ValueError(f"{path}: never reached, applications.{by} matches all of it before")
        try:
            whole = resolved(entry, base)
        except ValueError as error:
            raise ValueError(f"{path}.{error}") from None
        for objective in whole.objective:
            _check_objective(objective, whole, windows, path)


def _check_objective(
    objective: Objective, whole: Effective, windows: Sequence[str], path: str
) -> None:
    lengths = {seconds(window) for window in windows}
    if seconds(objective.window) not in lengths:
        raise ValueError(
            f"{path}.objective.window: found {objective.window!r}, expected one of "
            f"export.windows: {', '.join(windows)}"
        )
    if whole.metrics is not None and objective.metric not in whole.metrics:
        raise ValueError(
            f"{path}.objective.metric: {objective.metric} is not among the metrics of this entry"
        )


def _hidden_by(entry: Application, earlier: Sequence[Application]) -> int | None:
    """The earlier entry without rules of its own that takes everything this one names."""
    for number, other in enumerate(earlier):
        if not other.when and all(
            any(_covers(wide, narrow) for wide in other.patterns) for narrow in entry.patterns
        ):
            return number
    return None


def _covers(wide: str, narrow: str) -> bool:
    exact = "*" not in narrow and "?" not in narrow
    return wide in ("*", narrow) or (exact and re.fullmatch(name_regex(wide), narrow) is not None)


def name_regex(pattern: str) -> str:
    """The regular expression of a pattern of names; it must match the whole name.

    >>> name_regex("bot_*")
    '(?s:bot_.*)'
    """
    parts = ({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in pattern)
    return f"(?s:{''.join(parts)})"
