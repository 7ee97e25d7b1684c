"""What may be asked of the judges' models, and when one that refuses is tried again."""

from __future__ import annotations

from pydantic import Field, field_validator

from monitor.config.base import Section, seconds


class Limits(Section):
    """Bounds on the calls of judges; they wait, and do not fail."""

    stop_probe: str = Field(
        "5m",
        description="how often a model is tried that refuses everything (bad key, no credit, "
        "unknown model)",
    )

    @field_validator("stop_probe")
    @classmethod
    def _is_duration(cls, interval: str) -> str:
        seconds(interval)
        return interval
