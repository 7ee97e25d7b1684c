"""The settings that an application may have of its own: how it is sampled, and who judges it."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from monitor.config.base import Age, Fraction, Section, Texts, Url, mapping
from monitor.config.parts import may_miss
from monitor.config.rules import Rules

#: Longer blocks would hold too many interactions in memory.
LONGEST_BLOCK = 4_096
#: For how long an interaction waits for the end of its block, at most.
LONGEST_BLOCK_WAIT_S = 600


#: The one way of litellm to a model that follows redirects.
FOLLOWS_REDIRECTS = "aiohttp_openai/"


class RateSettings(Section):
    """Which interactions may be judged, by a hash."""

    rate: Fraction = Field(1.0, description="share of the interactions to judge, 0 to 1")
    key: str = Field(
        "interaction_id",
        description="key that sampling hashes: interaction_id, record_key or header:NAME",
        json_schema_extra={"pattern": "^(interaction_id|record_key|header:.+)$"},
    )

    @field_validator("key")
    @classmethod
    def _known(cls, key: str) -> str:
        if key in ("interaction_id", "record_key") or (key.startswith("header:") and key[7:]):
            return key
        raise ValueError(f"found {key!r}, expected interaction_id, record_key or header:NAME")


class Sampling(RateSettings):
    """Which interactions are judged."""

    block: int | Literal["auto"] = Field(
        1,
        description="offsets in a block: a power of two up to 4096, or auto (by the limits). One "
        "interaction of each application in it is judged (one with and one without a reference). "
        "With 1, every sampled interaction is",
        json_schema_extra={"enum": ["auto", *(2**n for n in range(LONGEST_BLOCK.bit_length()))]},
    )
    directed: bool = Field(
        True,
        description="within blocks, prefer interactions that the offline judge rates as risky, "
        "once its signal is calibrated. Each record stores its pick weight",
    )
    floors: Annotated[dict[str, Fraction], BeforeValidator(mapping)] = Field(
        {}, description="in blocks, the least share of the judged interactions by segment"
    )
    forced: Rules = Field(
        (),
        description="in blocks, rules like ingest.include: an interaction that matches one ends in"
        " a judgement, picked or not, and counts in no gauge. Not of traces, nor of applications "
        "with when",
    )

    force_unanswered: bool = Field(
        False,
        description="in blocks, also judge interactions with a blank response, like "
        "sampling.forced",
    )

    @field_validator("block")
    @classmethod
    def _is_power_of_two(cls, block: int | str) -> int | str:
        if isinstance(block, str) or (0 < block <= LONGEST_BLOCK and block & (block - 1) == 0):
            return block
        raise ValueError(f"found {block}, expected a power of two up to {LONGEST_BLOCK}")

    @field_validator("floors")
    @classmethod
    def _fit_into_one(cls, floors: dict[str, float]) -> dict[str, float]:
        # Fifty shares of 0.02 are a little more than 1 as they are added.
        if sum(floors.values()) > 1 + 1e-9:
            raise ValueError("the shares add up to more than 1")
        return floors


class Cache(Section):
    """Where claims that were extracted once are kept, for all interactions with the same text."""

    kind: Literal["memory", "redis", "none"] = Field(
        "memory", description="memory of the process, redis (shared by replicas), or none"
    )
    ttl: Age = Field("1d", description="how long to keep a value")
    max_entries: int = Field(10_000, ge=1, description="memory: values kept at most")
    max_bytes: int = Field(
        64_000_000, ge=10_000, description="memory: bytes of keys and values kept at most"
    )
    url: SecretStr | None = Field(
        None, description="redis: redis://, rediss:// (TLS) or unix://, with the password if any"
    )
    prefix: str = Field(
        "rag-monitor", min_length=1, description="redis: prefix of the names of all keys"
    )
    timeout_s: float = Field(
        0.5, gt=0, description="redis: seconds for one request. Then judging goes on without it"
    )

    @model_validator(mode="after")
    def _has_url(self, info: ValidationInfo) -> Self:
        if may_miss(info.context, "judge"):
            return self
        if self.kind == "redis" and not (self.url and self.url.get_secret_value()):
            raise ValueError("url is missing, kind redis needs one, like redis://host:6379/0")
        return self


class Price(Section):
    """What tokens cost; both or none."""

    input_usd_per_million: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="US dollars for a million tokens of prompts. Default: litellm's list",
    )
    output_usd_per_million: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="US dollars for a million tokens of replies. Default: as above",
    )

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.input_usd_per_million is None) != (self.output_usd_per_million is None):
            raise ValueError("one is missing: give input_ and output_usd_per_million, or none")
        return self

    @property
    def pair(self) -> tuple[float, float] | None:
        """Input and output; None where litellm's list holds."""
        if self.input_usd_per_million is None or self.output_usd_per_million is None:
            return None
        return self.input_usd_per_million, self.output_usd_per_million


#: Settings of a judge that ask a model for something. (The cache only keeps what was asked.)
OF_MODELS: Final = (
    *(
        "model",
        "extract_model",
        "fallback_models",
        "pipeline",
        "relevant_to_question",
        "answer_relevance",
    ),
    *("claims_per_call", "passages_per_call", "prompt_tokens", "version_from", "structured"),
    *("examples", "max_tokens", "reasoning_effort", "evidence", "api_base", "api_key", "headers"),
    *("attempt_timeout_s", "recheck_rate", "canaries", "not_judging", "price"),
)
#: What asks a model for nothing, and is no default.
_OFF: Final = {"recheck_rate": 0.0, "canaries": 0.0}


class JudgeSettings(Section):
    """Who judges."""

    kind: Literal["offline", "llm"] = Field(
        "offline", description="offline is a lexical check. Kind llm asks a model through litellm"
    )
    name: str | None = Field(None, description="first part of the label judge. Default: the kind")
    model: str | None = Field(None, description="litellm model id, like openai/gpt-4o-mini")
    extract_model: str | None = Field(
        None, description="model that takes the claims out of the texts. Default: model"
    )
    fallback_models: Texts = Field(
        (),
        description="models to ask, in this order, when model does not answer, will not judge, "
        "or guesses (by its canaries). Each is a judge version of its own",
    )
    pipeline: Literal["joint", "single", "ragas", "pairs"] = Field(
        "joint",
        description="call structure of the llm judge. For small and local models: pairs, one "
        "claim and one document a call",
    )
    threshold: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="with pipeline pairs: probability from which a document supports a claim, "
        "between 0 and 1 (default 0.5). With the offline judge: score from which it does "
        "(default 0.4). To learn it from labels: judge-check --fit",
    )
    verifier: str | None = Field(
        None,
        description="module:function that verifies in a model's place: (document, claim) pairs "
        "in, probabilities out. With kind offline claims are sentences. With llm the model finds "
        "them",
        json_schema_extra={"pattern": r"^([^\s\d:/.-][^\s:/-]*:[^\s\d:/.-][^\s:/-]*)?$"},
    )
    verifier_batch: int = Field(32, ge=1, description="pairs in one call of the verifier")
    verifier_device: str | None = Field(
        None, description="given to the verifier as device, like cpu or cuda:0"
    )
    relevance: Literal["reference", "labels"] = Field(
        "reference",
        description="which passages are relevant: those that support the reference. With labels, "
        "a label in the log overrides that",
    )
    relevant_to_question: Literal["labels", "judged"] = Field(
        "labels",
        description="which passages are relevant to user_input: those that the log labels so. "
        "With judged, the llm judge decides about passages without a label",
    )
    answer_relevance: Literal["off", "judged"] = Field(
        "off",
        description="judged: the llm judge also says whether the response addresses user_input, "
        "in a call that it makes anyway. That is another version of the judge",
    )
    claims_per_call: int = Field(
        8,
        ge=1,
        le=12,
        description="claims in one verify call. With examples: auto, fewer where the model needs "
        "that",
    )
    passages_per_call: int = Field(12, ge=1, le=12, description="passages in one verify call")
    prompt_tokens: int = Field(
        16_000, ge=2_000, description="largest prompt of a verify call, in tokens, by estimate"
    )
    version_from: Literal["reply", "configured"] = Field(
        "reply",
        description="name of the model in the judge's version: the id in its replies, or always "
        "the configured one. Parts of an id that vary by request are left out. Beyond 8 ids in "
        "two weeks the configured one is taken",
    )
    structured: Literal["auto", "json_object", "json_schema", "prompt"] = Field(
        "auto",
        description="how to hold replies to JSON. With auto, the cheapest way that the model has",
    )
    examples: Literal["fixed", "shaped", "auto"] = Field(
        "auto",
        description="worked example in the instructions: fixed, or shaped like the request, for "
        "small models. With auto: fixed, then shaped, then one claim a call too, as the model "
        "needs it. Each is another version of the judge",
    )
    max_tokens: int | None = Field(
        None,
        ge=16,
        description="tokens of one reply, without reasoning. Default: twice the needs of the "
        "answer, and 2048 for claims and quotes. The one word of a pair gets 8",
    )
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] = Field(
        "minimal", description="of models that reason. With minimal, the least that the model has"
    )
    evidence: Literal["off", "quote"] = Field(
        "off", description="quote: the words that support each claim, checked against the passage"
    )
    api_base: Url | None = Field(
        None, description="base URL, for self-hosted models, without a user in it"
    )
    api_key: SecretStr | None = Field(None, description="key of the provider")
    headers: Annotated[dict[str, SecretStr], BeforeValidator(mapping)] = Field(
        {}, description="extra HTTP headers"
    )
    deadline_s: float = Field(
        60.0, gt=0, description="seconds for one judgement, from when the limits admit it"
    )
    attempt_timeout_s: float = Field(30.0, gt=0, description="seconds for one HTTP request")
    concurrency: int = Field(
        8, ge=1, description="judgements at the same time, and calls of one judgement"
    )
    max_calls: int = Field(
        64,
        ge=4,
        description="most calls to models about one interaction. One that needs more is "
        "unscorable (too_large): without a call, or once its claims are known",
    )
    max_input_tokens: int = Field(
        256_000,
        ge=2_000,
        description="most tokens of all prompts about one interaction, by estimate. More is "
        "too_large as well",
    )
    recheck_rate: Fraction = Field(
        0.01,
        description="share of the judged interactions that the llm judge judges again, one "
        "passage a call, to measure what batching costs. 0 switches it off",
    )
    canaries: float = Field(
        50,
        ge=0,
        allow_inf_nan=False,
        description="judgements of the llm judge to one canary, an interaction with known "
        "verdicts. Up to 1 it is the share of canaries. With 0 there are none, and a judge that "
        "guesses goes unnoticed",
    )
    not_judging: Literal["fail", "score"] = Field(
        "fail",
        description="while canaries show that the judge guesses: fail, or score (go on as "
        "usual). With fail, another of fallback_models judges. Without one, interactions end as "
        "judge_failed (not_judging), without a call",
    )
    price: Price = Price()
    cache: Cache = Cache()

    @property
    def label_name(self) -> str:
        """First part of the label ``judge``."""
        local = self.kind == "offline" and self.verifier is not None
        return self.name or ("verifier" if local else self.kind)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Keys that were given and ask something of a model, where no model is asked.

        >>> JudgeSettings(model="openai/gpt-4o-mini", recheck_rate=0, evidence="off").without_effect
        ('model',)
        """
        if self.asks_a_model:
            return ()
        fields = type(self).model_fields
        return tuple(
            key
            for key in OF_MODELS
            if key in self.model_fields_set
            and getattr(self, key) not in (fields[key].default, _OFF.get(key))
        )

    @property
    def asks_a_model(self) -> bool:
        """Whether it is judged by a model that is called, and costs."""
        return self.kind == "llm"

    @property
    def asks_pairs(self) -> bool:
        """Whether claims are verified pair by pair."""
        return self.pipeline == "pairs" or self.verifier is not None

    @field_validator("verifier")
    @classmethod
    def _is_path(cls, verifier: str | None) -> str | None:
        module, _, function = (verifier or "a:b").partition(":")
        if not all(part.isidentifier() for part in (*module.split("."), *function.split("."))):
            raise ValueError(f"found {verifier!r}, expected module:function")
        return verifier

    @property
    def judgements_to_a_canary(self) -> int:
        """At least 1; 0 where no canary is asked: without a model that verifies, as well."""
        if not self.asks_a_model or self.verifier is not None or not self.canaries:
            return 0
        return round(self.canaries if self.canaries > 1 else 1 / self.canaries)

    @model_validator(mode="after")
    def _has_model(self) -> Self:
        if self.asks_a_model and not self.model:
            raise ValueError("model is missing, kind llm needs one, like openai/gpt-4o-mini")
        models = [self.model, *self.fallback_models]
        if len(set(models)) != len(models) or "" in models:
            raise ValueError(f"fallback_models: found {models[1:]}, expected others than model")
        return self

    @model_validator(mode="after")
    def _asks_for_a_batch(self) -> Self:
        if self.answer_relevance == "judged" and self.asks_pairs:
            raise ValueError(
                "answer_relevance: found 'judged', expected 'off' with pipeline pairs or a "
                "verifier: those are asked about one claim and one document only"
            )
        return self

    @model_validator(mode="after")
    def _goes_nowhere_else(self) -> Self:
        for model in filter(None, (self.model, self.extract_model, *self.fallback_models)):
            if model.startswith(FOLLOWS_REDIRECTS):
                name = model.removeprefix(FOLLOWS_REDIRECTS)
                raise ValueError(
                    f"model: found {model!r}, expected openai/{name}: by the other way litellm "
                    "follows redirects, with key, headers and texts"
                )
        return self
