"""Every setting: its section, type, default and meaning."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    field_serializer,
    field_validator,
    model_validator,
)

from monitor.config.access import Access, KafkaOutput
from monitor.config.alerting import Alerts
from monitor.config.applications import Application, Effective, check, check_effect, resolved
from monitor.config.auditing import Audit
from monitor.config.base import (
    AGE_SCHEMA,
    TOPIC_PATTERN,
    TOPIC_SCHEMA,
    Age,
    Fraction,
    Section,
    Texts,
    items,
    seconds,
)
from monitor.config.evaluating import EvaluateSettings
from monitor.config.judging import JudgeSettings, Sampling
from monitor.config.limits import BudgetSettings, LimitSettings
from monitor.config.mapping import FittingMapping, LogFormatName, LogSource, with_topics_of_sources
from monitor.config.objectives import SharedObjective, check_shared
from monitor.config.redaction import Redaction
from monitor.config.registry import RegistrySettings
from monitor.config.rules import Rules
from monitor.config.watching import Drift, Export

#: Values of ``ingest.start`` besides a time ago.
STARTS = ("horizon", "latest", "earliest")
#: The topics that the monitor writes, as keys of ``kafka.topics``.
OUTPUTS = ("scores", "dead_letters", "control", "alarms")


class Topics(Section):
    """Names of the topics."""

    interactions: Texts = Field(
        ("rag.interactions.v1",),
        description="logged RAG interactions (read): one name, a,b or a list",
        json_schema_extra={
            "items": TOPIC_SCHEMA,
            "minItems": 1,
            "uniqueItems": True,
            "minLength": 1,
        },
    )
    scores: str = Field(
        "rag.scores.v1",
        description="score records (written, replayed)",
        json_schema_extra=TOPIC_SCHEMA,
    )
    dead_letters: str = Field(
        "rag.dead-letters.v1",
        description="records that could not be read",
        json_schema_extra=TOPIC_SCHEMA,
    )
    control: str = Field(
        "rag.control.v1",
        description="baselines, calibrations, pauses, bursts (compacted)",
        json_schema_extra=TOPIC_SCHEMA,
    )
    alarms: str = Field(
        "rag.alarms.v1", description="drift alarms (compacted)", json_schema_extra=TOPIC_SCHEMA
    )

    @field_validator("scores", "dead_letters", "control", "alarms")
    @classmethod
    def _is_a_topic(cls, name: str) -> str:
        if not re.fullmatch(TOPIC_PATTERN, name):
            raise ValueError(f"found {name[:80]!r}, expected letters, digits, dots, - and _")
        return name

    @field_validator("interactions")
    @classmethod
    def _each_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names or "" in names or len(set(names)) != len(names):
            raise ValueError(f"found {list(names)}, expected at least one name, each once")
        return tuple(map(cls._is_a_topic, names))

    @model_validator(mode="after")
    def _outputs_differ(self) -> Self:
        outputs = [getattr(self, key) for key in OUTPUTS]
        for key, name in zip(OUTPUTS, outputs, strict=True):
            if outputs.count(name) > 1:
                raise ValueError(f"{key} is {name!r}, and so is another topic that is written")
        return self

    @field_serializer("interactions")
    def _one_as_a_name(self, names: tuple[str, ...]) -> str | list[str]:
        return names[0] if len(names) == 1 else list(names)


class Kafka(Access):
    """How to reach Kafka, and what the monitor does there."""

    group_id: str = Field("rag-monitor", description="consumer group of the scorers")
    session_timeout_s: float = Field(
        10.0,
        ge=6,
        le=300,
        description="seconds without a heartbeat until other scorers get a scorer's partitions, "
        "and read again what it had under way. Raise it where machines freeze for that long. "
        "After a crash all scorers may wait that long, at most ingest.drain_s + 30",
    )
    max_record_bytes: int = Field(
        1_000_000, ge=10_000, description="larger score records go out without passage texts"
    )
    max_read_bytes: int = Field(
        33_554_432,
        ge=1_048_576,
        description="bytes that a batch of records may unpack to. A larger one is a dead letter",
    )
    isolation_level: Literal["read_committed", "read_uncommitted"] = Field(
        "read_committed",
        description="read_uncommitted also reads what transactions have aborted, or not ended yet",
    )
    create_topics: bool = Field(False, description="create missing topics at start")
    topics: Topics = Topics()


class CircuitSettings(Section):
    """When reading pauses because nearly every record becomes a dead letter."""

    share: Fraction = Field(
        0.95, description="share of dead letters that opens the circuit. 0 switches it off"
    )
    least: int = Field(100, ge=1, description="decoded or dead-lettered records it takes to open")
    window_s: float = Field(60.0, gt=0, description="seconds over which to take the share")
    probe: int = Field(20, ge=1, description="records tried at a time while it is open")
    wait_s: float = Field(
        1.0, gt=0, description="seconds until the first probe. Each further wait is twice as long"
    )
    longest_wait_s: float = Field(30.0, gt=0, description="most seconds between probes")


class Ingest(Section):
    """How interactions are read."""

    format: LogFormatName = Field(
        "native",
        description="format of the logged interactions. With json: another shape, by mapping. "
        "With otlp_json, otlp_proto: spans, as an OpenTelemetry collector's Kafka exporter writes "
        "them. With registry: Avro, Protobuf or JSON behind a schema registry, by mapping",
    )
    mapping: FittingMapping = Field(
        None,
        description="where the fields of an interaction are in JSON of another shape: {field: "
        "JMESPath or module:function, field?: … that may be absent}",
    )
    sources: Annotated[tuple[LogSource, ...], BeforeValidator(items)] = Field(
        (),
        description="topics of different shapes: a list of {topic, format, mapping}. They are "
        "read beside kafka.topics.interactions, where that is set",
    )
    registry: RegistrySettings = RegistrySettings()
    trace_quiet_s: float = Field(
        5.0,
        gt=0,
        description="seconds after the latest span of a trace whose root has ended, until it is "
        "taken for whole",
    )
    trace_wait_s: float = Field(
        300.0, gt=0, description="most seconds to wait for the rest of a trace, and for its root"
    )
    include: Rules = Field(
        (),
        description="rules {attribute: PATH, equals | in | exists | regex: …}. Only interactions "
        "that match one of them are sampled. Without any rule, all are",
    )
    exclude: Rules = Field(
        (), description="rules like include. Interactions that match one of them are not sampled"
    )
    max_record_bytes: int = Field(
        16_777_216,
        ge=1_048_576,
        le=33_554_432,
        description="bytes of a record, and of a line of evaluate. Each comma counts as 24 more, "
        "since small objects take more than texts. A larger one is a dead letter",
    )
    max_in_flight: int = Field(
        256, ge=4, description="interactions under way. Reading pauses at 75 % and resumes at 25 %"
    )
    commit_interval_s: float = Field(1.0, gt=0, description="seconds between offset commits")
    drain_s: float = Field(
        20.0, gt=0, description="seconds for work under way at shutdown or rebalance"
    )
    stuck_after_s: float = Field(
        600.0,
        gt=0,
        description="seconds of judging after which an interaction becomes a dead letter, far "
        "above judge.deadline_s. Redacting may take 60 at most",
    )
    when_behind: Literal["freshness", "completeness"] = Field(
        "freshness",
        description="freshness: a scorer that is more than behind_after behind, and not catching "
        "up, judges a smaller share of its unread records. Completeness judges all, however late",
    )
    behind_after: Age = Field("10m", description="how old the oldest unread record may become")
    start: str = Field(
        "horizon",
        description="where a new group begins: horizon (the oldest interactions that can count "
        "in a gauge), latest, earliest, or a time ago, like 24h. Interactions older than both "
        "that and the horizon are not sampled (too_old)",
        json_schema_extra={"anyOf": [{"enum": list(STARTS)}, AGE_SCHEMA]},
    )
    circuit: CircuitSettings = CircuitSettings()

    @model_validator(mode="after")
    def _has_a_registry(self) -> Self:
        formats = {self.format, *(source.format for source in self.sources)}
        if "registry" in formats and self.registry.url is None:
            raise ValueError("format registry needs registry.url, which is missing")
        return self

    @model_validator(mode="after")
    def _waits_longer_than_it_is_quiet(self) -> Self:
        if self.trace_wait_s < self.trace_quiet_s:
            raise ValueError(
                f"trace_wait_s is {self.trace_wait_s:g}, less than trace_quiet_s "
                f"({self.trace_quiet_s:g}): expected at least as much"
            )
        return self

    @model_validator(mode="after")
    def _names_sources_once(self) -> Self:
        topics = [source.topic for source in self.sources]
        if twice := [topic for topic in topics if topics.count(topic) > 1]:
            raise ValueError(f"sources: topic {twice[0]!r} is given twice, expected once")
        return self

    @field_validator("start")
    @classmethod
    def _is_a_start(cls, start: str) -> str:
        if start not in STARTS:
            try:
                seconds(start)
            except ValueError:
                raise ValueError(
                    f"found {start!r}, expected {', '.join(STARTS)}, or a time ago, like 24h"
                ) from None
        return start


#: A name, or all names that end like one.
_HOST_PATTERN: Final = r"^(\*|(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?)$"


class Http(Section):
    """The server of /metrics, /healthz and /readyz."""

    host: str = Field("127.0.0.1", description="address to bind")
    port: int = Field(9750, ge=0, le=65_535, description="port. 0 takes a free one")
    allowed_hosts: Texts = Field(
        (),
        description="names under which the port may be asked for, beside `host`, addresses and "
        "names of private networks. With *.NAME, all that end like it. With *, any",
        json_schema_extra={"items": {"pattern": _HOST_PATTERN}},
    )

    @field_validator("allowed_hosts")
    @classmethod
    def _are_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not re.fullmatch(_HOST_PATTERN, name):
                raise ValueError(
                    f"found {name!r}, expected a name without scheme and port, like "
                    "rag-monitor.monitoring.svc, *.example.com or *"
                )
        return names


class Log(Section):
    """The log on stderr. It holds no texts and no secrets."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="least severe")
    format: Literal["auto", "json", "console"] = Field(
        "auto", description="auto: console on a terminal, else JSON"
    )


class Settings(Section):
    """All settings of one process."""

    kafka: Kafka = Kafka()
    kafka_output: KafkaOutput = KafkaOutput()
    ingest: Ingest = Ingest()
    redaction: Redaction = Redaction()
    sampling: Sampling = Sampling()
    judge: JudgeSettings = JudgeSettings()
    limits: LimitSettings = LimitSettings()
    budget: BudgetSettings = BudgetSettings()
    export: Export = Export()
    drift: Drift = Drift()
    alerts: Alerts = Alerts()
    audit: Audit = Audit()
    evaluate: EvaluateSettings = EvaluateSettings()
    http: Http = Http()
    log: Log = Log()
    applications: Annotated[tuple[Application, ...], BeforeValidator(items)] = Field(
        (),
        description="settings of single applications: a list, the first that matches wins",
    )
    objectives: Annotated[tuple[SharedObjective, ...], BeforeValidator(items)] = Field(
        (),
        description="promises of applications: a list, the first that matches an application, "
        "metric and window wins. An objective of `applications` goes before them",
    )

    _secret_files: dict[str, Path] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _reads_its_sources(cls, tree: Any) -> Any:
        return with_topics_of_sources(tree)

    def secret_file(self, path: str) -> Path | None:
        """The file that gave the setting with this dotted path; None when another source did."""
        return self._secret_files.get(path)

    @model_validator(mode="after")
    def _reads_nothing_that_it_writes(self) -> Self:
        """Its own dead letters would become dead letters again, without an end."""
        other = self.kafka_output.bootstrap_servers
        if other and other != self.kafka.bootstrap_servers:
            return self
        topics = self.kafka.topics
        for key in OUTPUTS:
            if (name := getattr(topics, key)) in topics.interactions:
                raise ValueError(
                    f"kafka.topics.{key}: {name!r} is also in kafka.topics.interactions, and the "
                    "monitor would read what it writes; set another name"
                )
        return self

    @model_validator(mode="after")
    def _applications_fit(self) -> Self:
        windows, exported = self.export.windows, self.export.metrics
        check(self.applications, self.base, windows, exported)
        # What is set for all may be for the entries that ask a model.
        if not any(whole.judge.asks_a_model for whole in self.effective):
            check_effect(self.judge, self.judge, "judge")
        check_shared(self.objectives, windows, exported)
        return self

    @property
    def effective(self) -> tuple[Effective, ...]:
        """What holds for each entry of ``applications``, in their order."""
        return tuple(resolved(entry, self.base) for entry in self.applications)

    @property
    def rates(self) -> tuple[float, ...]:
        """Every ``sampling.rate`` that may hold: of the base, and of each of ``applications``."""
        return tuple(whole.sampling.rate for whole in (self.base, *self.effective))

    @property
    def named_applications(self) -> frozenset[str]:
        """The applications that are named in full: however many others come, they are told."""
        patterns = [pattern for entry in self.applications for pattern in entry.patterns]
        patterns += [pattern for promised in self.objectives for pattern in promised.application]
        patterns += [entry.application for entry in self.drift.baselines]
        # What all others are called is nobody's name.
        return frozenset(p for p in patterns if "*" not in p and "?" not in p) - {"other"}

    @property
    def only_rate(self) -> float | None:
        """The ``sampling.rate`` of all traffic; None where it depends on the application.

        How much of the traffic would be taken is then known to nobody before it was seen.
        """
        return self.sampling.rate if len({*self.rates}) == 1 else None

    @property
    def base(self) -> Effective:
        """What holds where no entry of ``applications`` matches, and what entries inherit."""
        return Effective(judge=self.judge, sampling=self.sampling, segment=self.export.segment)
