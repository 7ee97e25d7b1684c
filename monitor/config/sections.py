"""Every setting: its section, type, default and meaning."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def seconds(text: str) -> int:
    """Whole seconds of ``15s``, ``5m``, ``24h`` or ``7d``.

    >>> seconds("5m"), seconds("7d")
    (300, 604800)
    """
    number, unit = text[:-1], text[-1:]
    if unit not in SECONDS or not re.fullmatch("[0-9]{1,9}", number) or int(number) == 0:
        raise ValueError(f"found {text!r}, expected a whole number and s, m, h, d or w, like 5m")
    return int(number) * SECONDS[unit]


def _split(value: Any) -> Any:
    """Lists arrive from the environment as ``a,b`` or as JSON."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            raise ValueError('expected a list, like a,b or ["a", "b"]') from None
    return [part.strip() for part in value.split(",") if part.strip()]


def _mapping(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError('expected a JSON object, like {"name": "value"}') from None


Texts = Annotated[tuple[str, ...], BeforeValidator(_split)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


class Section(BaseModel):
    """Base of all sections: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class Topics(Section):
    """Names of the topics."""

    interactions: str = Field("rag.interactions.v1", description="logged RAG interactions (read)")
    scores: str = Field("rag.scores.v1", description="score records (written, replayed)")
    dead_letters: str = Field("rag.dead-letters.v1", description="records that could not be read")
    control: str = Field(
        "rag.control.v1", description="baselines, calibrations, pauses (compacted)"
    )
    alarms: str = Field("rag.alarms.v1", description="drift alarms (compacted)")


class Kafka(Section):
    """How to reach Kafka."""

    bootstrap_servers: str = Field("127.0.0.1:9092", description="host:port[,host:port…]")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="what the listener speaks"
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = Field(
        None, description="needed with a SASL protocol"
    )
    sasl_username: str | None = Field(None, description="needed with a SASL protocol")
    sasl_password: SecretStr | None = Field(None, description="needed with a SASL protocol")
    ssl_cafile: Path | None = Field(None, description="PEM of the CA; the system's CAs without it")
    ssl_certfile: Path | None = Field(None, description="PEM of the client certificate (mTLS)")
    ssl_keyfile: Path | None = Field(None, description="PEM of the client's key (mTLS)")
    group_id: str = Field("rag-monitor", description="consumer group of the scorers")
    max_record_bytes: int = Field(
        1_000_000, ge=10_000, description="larger score records go out without passage texts"
    )
    create_topics: bool = Field(False, description="create missing topics at start")
    topics: Topics = Topics()

    @field_validator("bootstrap_servers")
    @classmethod
    def _addresses(cls, servers: str) -> str:
        for address in servers.split(","):
            if not re.fullmatch(r"\S+:[0-9]{1,5}", address.strip(), re.ASCII):
                raise ValueError(f"found {address!r}, expected host:port")
        return servers

    @model_validator(mode="after")
    def _sasl_is_whole(self) -> Self:
        if self.security_protocol.startswith("SASL"):
            for key in ("sasl_mechanism", "sasl_username", "sasl_password"):
                if getattr(self, key) is None:
                    raise ValueError(f"{key} is missing, {self.security_protocol} needs it")
        if (self.ssl_certfile is None) != (self.ssl_keyfile is None):
            raise ValueError("ssl_certfile and ssl_keyfile go together; one of them is missing")
        return self


class Ingest(Section):
    """How interactions are read."""

    format: Literal["native"] = Field("native", description="format of the logged interactions")
    max_in_flight: int = Field(
        256, ge=4, description="interactions under way; reading pauses at 75 %, resumes at 25 %"
    )
    commit_interval_s: float = Field(1.0, gt=0, description="seconds between offset commits")
    drain_s: float = Field(
        20.0, gt=0, description="seconds for work under way at shutdown or rebalance"
    )


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
    pipeline: Literal["joint"] = Field("joint", description="call structure of the llm judge")
    claims_per_call: int = Field(8, ge=1, le=12, description="claims in one verify call")
    api_base: str | None = Field(None, description="base URL, for self-hosted models")
    api_key: SecretStr | None = Field(None, description="key of the provider")
    headers: Annotated[dict[str, SecretStr], BeforeValidator(_mapping)] = Field(
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


class Export(Section):
    """Which gauges are served."""

    windows: Texts = Field(
        ("5m", "1h", "24h"), description="rolling windows, event time; as a,b or a JSON list"
    )
    top_k: int = Field(
        20, ge=1, description="applications with label values of their own; the rest is `other`"
    )
    segment: str | None = Field(None, description="attribute that is stored as the segment")

    @field_validator("windows")
    @classmethod
    def _readable(cls, windows: tuple[str, ...]) -> tuple[str, ...]:
        if not windows or len(set(windows)) != len(windows):
            raise ValueError(f"found {list(windows)}, expected at least one, each once")
        for window in windows:
            if seconds(window) >= 300 and seconds(window) % 60:
                raise ValueError(f"found {window!r}, expected whole minutes from 5m up")
        return windows


class Drift(Section):
    """The detector's clockwork (the horizon follows from it)."""

    period: str = Field("1d", description="P: the horizon starts with the previous period")

    @field_validator("period")
    @classmethod
    def _whole_minutes(cls, period: str) -> str:
        if seconds(period) % 60:
            raise ValueError(f"found {period!r}, expected whole minutes")
        return period


class Http(Section):
    """The server of /metrics, /healthz and /readyz."""

    host: str = Field("127.0.0.1", description="address to bind")
    port: int = Field(9750, ge=0, le=65_535, description="port; 0 takes a free one")


class Log(Section):
    """The log on stderr; never texts, never secrets."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="least severe")
    format: Literal["auto", "json", "console"] = Field(
        "auto", description="auto: console on a terminal, else JSON"
    )


class Settings(Section):
    """All settings of one process."""

    kafka: Kafka = Kafka()
    ingest: Ingest = Ingest()
    sampling: Sampling = Sampling()
    judge: Judge = Judge()
    export: Export = Export()
    drift: Drift = Drift()
    http: Http = Http()
    log: Log = Log()
