"""The settings that an application may have of its own: how it is sampled, and who judges it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from monitor.config.base import Fraction, Section, mapping


class Sampling(Section):
    """Which interactions are judged."""

    rate: Fraction = Field(1.0, description="share of the interactions that is judged, 0 to 1")
    key: str = Field(
        "interaction_id", description="what is hashed: interaction_id, record_key or header:NAME"
    )

    @field_validator("key")
    @classmethod
    def _known(cls, key: str) -> str:
        if key in ("interaction_id", "record_key") or (key.startswith("header:") and key[7:]):
            return key
        raise ValueError(f"found {key!r}, expected interaction_id, record_key or header:NAME")


class Judge(Section):
    """Who judges."""

    kind: Literal["offline", "llm"] = Field(
        "offline", description="offline is a lexical screen; llm asks a model through litellm"
    )
    name: str | None = Field(None, description="first part of the label judge; default: the kind")
    model: str | None = Field(None, description="litellm model id, like openai/gpt-4o-mini")
    extract_model: str | None = Field(
        None, description="model that takes the claims out of the texts; default: model"
    )
    pipeline: Literal["joint", "single", "ragas"] = Field(
        "joint", description="call structure of the llm judge"
    )
    claims_per_call: int = Field(8, ge=1, le=12, description="claims in one verify call")
    passages_per_call: int = Field(12, ge=1, le=12, description="passages in one verify call")
    prompt_tokens: int = Field(
        16_000, ge=2_000, description="largest prompt of a verify call, in tokens, by estimate"
    )
    structured: Literal["auto", "json_object", "json_schema", "prompt"] = Field(
        "auto", description="how replies are held to JSON; auto: the cheapest way the model has"
    )
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] = Field(
        "minimal", description="of models that reason; minimal: the least that the model has"
    )
    evidence: Literal["off", "quote"] = Field(
        "off", description="quote: the words that support each claim, checked against the passage"
    )
    api_base: str | None = Field(None, description="base URL, for self-hosted models")
    api_key: SecretStr | None = Field(None, description="key of the provider")
    headers: Annotated[dict[str, SecretStr], BeforeValidator(mapping)] = Field(
        {}, description="extra HTTP headers"
    )
    deadline_s: float = Field(
        60.0, gt=0, description="seconds for one judgement, from when the limits admit it"
    )
    attempt_timeout_s: float = Field(30.0, gt=0, description="seconds for one HTTP request")
    concurrency: int = Field(8, ge=1, description="judgements at the same time")

    @property
    def label_name(self) -> str:
        """First part of the label ``judge``."""
        return self.name or self.kind

    @model_validator(mode="after")
    def _has_model(self) -> Self:
        if self.kind == "llm" and not self.model:
            raise ValueError("model is missing, kind llm needs one, like openai/gpt-4o-mini")
        return self
