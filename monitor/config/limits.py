"""What may be asked of the judges' models, and when one that refuses is tried again."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr, field_validator

from monitor.config.base import Age, Section, TimeZone, mapping


class BudgetSettings(Section):
    """What ``limits.usd_per_day`` means by a day."""

    timezone: TimeZone = Field("UTC", description="time zone of the day, like Europe/Berlin")


class LimitsRedis(Section):
    """Where replicas share requests and tokens a minute."""

    url: SecretStr | None = Field(
        None,
        description="redis://, rediss:// (TLS) or unix://, with the password if any. Without "
        "one, each replica keeps to its part of the limits",
    )
    prefix: str = Field(
        "rag-monitor",
        min_length=1,
        description="prefix of the names of all keys",
        json_schema_extra={"pattern": "^[^:](.*[^:])?$", "not": {"pattern": r"^\s*$"}},
    )
    timeout_s: float = Field(
        0.5, gt=0, description="seconds for one request. Then each replica keeps to its part"
    )

    @field_validator("prefix")
    @classmethod
    def _has_no_colon_at_its_ends(cls, prefix: str) -> str:
        if not prefix.strip() or prefix != prefix.strip(":"):
            raise ValueError(f"found {prefix!r}, expected a name without : at its ends")
        return prefix


class ModelLimits(Section):
    """Bounds on the calls to one model; what is not given is as for all."""

    requests_per_minute: int | None = Field(None, ge=1, description="requests in any minute")
    tokens_per_minute: int | None = Field(
        None, ge=1, description="tokens, of prompts and replies, in any minute"
    )


class LimitSettings(ModelLimits):
    """Bounds on the calls of judges, for each model. Calls beyond them wait, and do not fail."""

    usd_per_day: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="US dollars that judging may cost in a day of budget.timezone, by all "
        "scorers and models. Then interactions end as over_budget until the next day",
    )
    redis: LimitsRedis = LimitsRedis()
    stop_probe: Age = Field(
        "5m",
        description="how often to try a model that refuses everything (bad key, no credit, "
        "unknown model)",
    )
    models: Annotated[dict[str, ModelLimits], BeforeValidator(mapping)] = Field(
        {},
        description="limits of single models, by their id as in judge.model: "
        "{ID: {requests_per_minute, tokens_per_minute}}",
    )

    def of(self, model: str) -> tuple[int | None, int | None]:
        """Requests and tokens a minute of a model; None: unlimited."""
        own = self.models.get(model, ModelLimits())
        return (
            own.requests_per_minute or self.requests_per_minute,
            own.tokens_per_minute or self.tokens_per_minute,
        )
