"""Settings of single applications: what an entry overrides, and what it inherits.

Of the entries the first that matches an interaction wins; entries are never combined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from monitor.config.base import Section, SegmentBy
from monitor.config.judging import OF_MODELS, JudgeSettings, RateSettings
from monitor.config.names import Metrics, Names, all_covered, name_regex, no_empty_name
from monitor.config.objectives import ObjectiveSettings, check_objective, one_or_more_objectives
from monitor.config.parts import context
from monitor.config.rules import Rules

#: What belongs to an endpoint: it is not sent to another one that an entry names.
_ENDPOINT = ("api_base", "api_key", "headers")


class JudgeOverride(JudgeSettings):
    """Some settings of a judge; those that are not given are inherited."""

    @model_validator(mode="after")
    def _has_model(self) -> Self:
        return self  # asked of the whole, once it is put together


class Application(Section):
    """What is different for some applications."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["application"]}, {"required": ["when"]}]}
    )

    application: Names = Field(
        (),
        description="a name or a list of names, where * means any characters and ? means one",
        json_schema_extra={"items": {"minLength": 1}, "minLength": 1},
    )
    when: Rules = Field((), description="rules as in ingest.include. All of them must match")
    judge: JudgeOverride = JudgeOverride()
    sampling: RateSettings = RateSettings()
    segment: SegmentBy = Field((), description="attributes whose values are the segment")
    metrics: Metrics = Field(
        None,
        description="the metrics to record. Default: all of them",
        json_schema_extra={"uniqueItems": True, "minItems": 1},
    )
    objective: Annotated[
        tuple[ObjectiveSettings, ...],
        BeforeValidator(
            one_or_more_objectives,
            json_schema_input_type=tuple[ObjectiveSettings, ...] | ObjectiveSettings,
        ),
    ] = Field((), description="one or a list of: metric, window, bound, minimum_samples")

    @field_validator("application")
    @classmethod
    def _says_something(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return no_empty_name(names)

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

    judge: JudgeSettings
    sampling: RateSettings
    segment: SegmentBy = ()
    metrics: Metrics = None
    objective: tuple[ObjectiveSettings, ...] = ()


def resolved(entry: Application, base: Effective) -> Effective:
    """What an entry and the settings that it inherits give together.

    Another provider or address is another endpoint, and inherits no address, key or header: a key
    must never be sent to somebody it was not meant for. Raises ``ValueError`` when the whole is
    no valid judge.
    """
    given, lost = _given(entry.judge), withheld(entry, base)
    kept = {k: v for k, v in dict(base.judge).items() if f"judge.{k}" not in lost}
    if given.get("kind") == "offline":  # no model is asked, so what was for one is not inherited
        kept = {k: v for k, v in kept.items() if k not in OF_MODELS}
    try:
        # Whether secrets are missing was asked of what was given; here that is not known.
        judge = JudgeSettings.model_validate({**kept, **given}, context=context(()))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"judge: {first['msg'].removeprefix('Value error, ')}") from None
    own = {k: getattr(entry, k) for k in ("segment", "metrics", "objective")}
    return Effective(
        judge=judge,
        sampling=base.sampling.model_copy(update=_given(entry.sampling)),
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


def check(
    entries: Sequence[Application],
    base: Effective,
    windows: Sequence[str],
    exported: Sequence[str] | None = None,
) -> None:
    """Refuse what only shows when all is put together; the ``ValueError`` begins with the path.

    ``exported`` are the metrics with gauges, None for all of them.
    """
    for number, entry in enumerate(entries):
        path = f"applications.{number}"
        if (by := _hidden_by(entry, entries[:number])) is not None:
            raise ValueError(f"{path}: never reached, applications.{by} matches all of it before")
        try:
            whole = resolved(entry, base)
        except ValueError as error:
            raise ValueError(f"{path}.{error}") from None
        check_effect(entry.judge, whole.judge, f"{path}.judge")
        _check_objectives(entry, whole, f"{path}.objective")
        for objective in whole.objective:
            check_objective(objective, windows, exported, f"{path}.objective")


def check_effect(given: JudgeSettings, whole: JudgeSettings, path: str) -> None:
    """Refuse what would ask a model for something while the offline judge judges.

    ``given`` is what stands at ``path``, ``whole`` what holds with what it inherits.
    """
    lost = [key for key in given.model_fields_set if key in whole.without_effect]
    if lost:
        key = min(lost, key=whole.without_effect.index)
        raise ValueError(
            f"{path}.{key}: no effect, the offline judge judges; set {path}.kind: llm, or leave "
            f"{key} out"
        )


def _check_objectives(entry: Application, whole: Effective, path: str) -> None:
    """What an entry cannot promise: gauges know whole applications, and one bound for each."""
    if entry.objective and entry.when:
        raise ValueError(
            f"{path}: an objective is about all of an application, and `when` takes only a part of "
            "it; put it under objectives"
        )
    for number, objective in enumerate(whole.objective):
        if whole.metrics is not None and objective.metric not in whole.metrics:
            raise ValueError(
                f"{path}.metric: {objective.metric} is not among the metrics of this entry"
            )
        if objective.about in [other.about for other in whole.objective[:number]]:
            raise ValueError(
                f"{path}: found {objective.metric} with window {objective.window} twice"
            )


def _hidden_by(entry: Application, earlier: Sequence[Application]) -> int | None:
    """The earlier entry without rules of its own that takes everything this one names."""
    for number, other in enumerate(earlier):
        if not other.when and all_covered(entry.patterns, other.patterns):
            return number
    return None
