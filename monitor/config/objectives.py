"""What applications have promised: for all of them, or in an entry of ``applications``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field, field_validator

from monitor.config.base import Age, Fraction, Section, items, seconds
from monitor.config.names import DirectedMetric, Names, all_covered, name_regex, no_empty_name


def one_or_more_objectives(value: Any) -> Any:
    """One objective is short for a list of one."""
    alone = isinstance(value, dict) and "metric" in value
    return [value] if alone else items(value)


class ObjectiveSettings(Section):
    """What an application has promised about one metric."""

    metric: DirectedMetric = Field(description="the metric that it is about")
    window: Age = Field(description="one of export.windows")
    bound: Fraction = Field(description="the worst mean that is still good enough, 0 to 1")
    minimum_samples: int = Field(
        30,
        ge=1,
        description="scored interactions that the window needs. Fewer leave the objective unknown",
    )

    @property
    def about(self) -> tuple[str, int]:
        """Metric and window in seconds: an application has one objective for both."""
        return self.metric, seconds(self.window)


class SharedObjective(ObjectiveSettings):
    """One that several applications have in common."""

    application: Names = Field(
        ("*",),
        description="a name or a list of names, where * means any characters and ? means one",
        json_schema_extra={"items": {"minLength": 1}, "minItems": 1, "minLength": 1},
    )

    @field_validator("application")
    @classmethod
    def _names_something(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names:
            raise ValueError("found [], expected at least one name")
        return no_empty_name(names)

    @property
    def name_regex(self) -> str:
        """Matches the whole of the names that it is for."""
        return "|".join(map(name_regex, self.application))


def check_shared(
    objectives: Sequence[SharedObjective], windows: Sequence[str], exported: Sequence[str] | None
) -> None:
    """Refuse what cannot be evaluated, or never is; the ``ValueError`` begins with the path."""
    for number, objective in enumerate(objectives):
        path = f"objectives.{number}"
        check_objective(objective, windows, exported, path)
        for earlier, other in enumerate(objectives[:number]):
            if other.about == objective.about and all_covered(
                objective.application, other.application
            ):
                raise ValueError(
                    f"{path}: never reached, objectives.{earlier} has the same metric and window, "
                    "and matches all of it before"
                )


def check_objective(
    objective: ObjectiveSettings, windows: Sequence[str], exported: Sequence[str] | None, path: str
) -> None:
    """Refuse an objective without a gauge; ``exported`` are the metrics, None for all of them."""
    if seconds(objective.window) not in {seconds(window) for window in windows}:
        raise ValueError(
            f"{path}.window: found {objective.window!r}, expected one of "
            f"export.windows: {', '.join(windows)}; or add it there"
        )
    if exported is not None and objective.metric not in exported:
        raise ValueError(
            f"{path}.metric: {objective.metric} is not among export.metrics: {', '.join(exported)}"
        )
