"""Where the fields of an interaction stand in a log of another shape, topic by topic."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from monitor.config.base import TOPIC_SCHEMA, Section, TimeZone, items, mapping, split
from monitor.runtime.expressions import Expression

LogFormatName = Literal["native", "json", "otlp_json", "otlp_proto", "registry"]

#: A function of the record, as `module:function`.
FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", re.ASCII)
#: Behind a name or an expression: the field may be absent.
OPTIONAL = "?"
#: In the place of an expression, of `attributes`: all fields that no expression reads.
REST = "*"
#: Fields of attributes that have a name of their own in a mapping.
KNOWN_ATTRIBUTES = ("model", "prompt_version", "session", "user", "deployment")
_STEP = re.compile(r"(@|[^.?\s]+(\.[^.?\s]+)*)\??")


def _is_place(text: str) -> str:
    """An expression or a function; raises ``ValueError``."""
    bare = text.removesuffix(OPTIONAL)
    if not FUNCTION.fullmatch(bare):
        Expression(bare)
    return text


def _is_step(text: str) -> str:
    if not _STEP.fullmatch(text):
        raise ValueError(f"found {text!r}, expected a path of names, like payload.body, or @")
    return text


def _marked(value: Any) -> Any:
    """`name?: path` as `name: path?`, which the environment can give, too."""
    found = mapping(value)
    if not isinstance(found, dict):
        return found
    made: dict[Any, Any] = {}
    for key, each in found.items():
        bare = key.removesuffix(OPTIONAL) if isinstance(key, str) else key
        if bare in made or (bare != key and bare in found):
            raise ValueError(f"{bare} is given twice, with and without {OPTIONAL}")
        made[bare] = each if bare == key else _as_optional(each)
    return made


def _as_optional(value: Any) -> Any:
    if isinstance(value, str):
        return value.removesuffix(OPTIONAL) + OPTIONAL
    if isinstance(value, dict) and isinstance(value.get("from"), str):
        return {**value, "from": _as_optional(value["from"])}
    return value


PlaceText = Annotated[str, AfterValidator(_is_place)]
StepText = Annotated[
    str,
    AfterValidator(_is_step),
    WithJsonSchema({"type": "string", "pattern": f"^{_STEP.pattern}$"}),
]


class PassageMapping(Section):
    """Where passages are, and within each its text and what is known of it."""

    from_: PlaceText = Field(alias="from", description="where the passages are")
    text: PlaceText | None = Field(None, description="within a passage: its text")
    id: PlaceText | None = Field(None, description="within a passage: its id")
    score: PlaceText | None = Field(None, description="within a passage: the retriever's score")
    relevant: PlaceText | None = Field(None, description="within a passage: true or false")


def _passages(value: Any) -> Any:
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return {"from": value}
    return _marked(value)


def _attributes(value: Any) -> Any:
    """One expression stands for all fields of the object that it finds."""
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return {REST: value}
    return _marked(value)


def _are_places(found: dict[str, str]) -> dict[str, str]:
    for name, text in found.items():
        if (name, text) != (REST, REST):
            try:
                _is_place(text)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
    return found


class LogMapping(Section):
    """An expression, or `module:function`, for each field; `name?` where it may be absent."""

    parse: Annotated[
        tuple[StepText, ...],
        BeforeValidator(split, json_schema_input_type=tuple[StepText, ...] | str),
    ] = Field((), description="places of texts that are JSON")
    unflatten: StepText | None = Field(
        None, description="place of an object of names with dots; @ is the record"
    )
    timezone: TimeZone | None = Field(
        None, description="zone of times without an offset, like UTC or Europe/Berlin"
    )
    interaction_id: PlaceText | None = Field(None, description="its id")
    timestamp: PlaceText | None = Field(None, description="when it happened")
    application: PlaceText | None = Field(None, description="the application's name")
    user_input: PlaceText = Field(description="the question")
    response: PlaceText = Field(description="the answer")
    retrieved_contexts: Annotated[
        PassageMapping,
        BeforeValidator(_passages, json_schema_input_type=PassageMapping | PlaceText),
    ] = Field(description="the passages: a place, or {from, text, id, score, relevant}")
    reference: PlaceText | None = Field(None, description="a right answer, where one is logged")
    model: PlaceText | None = Field(None, description="attribute: the answering model")
    prompt_version: PlaceText | None = Field(None, description="attribute: the prompt's version")
    session: PlaceText | None = Field(None, description="attribute: the session")
    user: PlaceText | None = Field(None, description="attribute: who asked")
    deployment: PlaceText | None = Field(None, description="attribute: what is deployed")
    attributes: Annotated[
        dict[str, str],
        BeforeValidator(_attributes, json_schema_input_type=dict[str, str] | PlaceText),
        AfterValidator(_are_places),
    ] = Field({}, description="other attributes: {name: place}, a place of an object, or * (rest)")

    @model_validator(mode="before")
    @classmethod
    def _with_marks(cls, found: Any) -> Any:
        return _marked(found)

    @model_validator(mode="after")
    def _names_attributes_once(self) -> Self:
        for name in KNOWN_ATTRIBUTES:
            if name in self.attributes and getattr(self, name) is not None:
                raise ValueError(f"{name} is given twice, in the mapping and in its attributes")
        return self


def _fits(found: LogMapping | None, info: ValidationInfo) -> LogMapping | None:
    """Raises ``ValueError`` where the format needs a mapping and has none, or has one in vain."""
    log_format = info.data.get("format")
    needs_one = log_format in ("json", "registry")
    if needs_one and found is None:
        raise ValueError(
            f"missing, and format {log_format} needs it; rag-monitor ingest guess --topic NAME "
            "proposes one"
        )
    if not needs_one and found is not None:
        raise ValueError(f"has no effect while format is {log_format}; set format: json")
    return found


#: Of a section that has a ``format`` before it.
FittingMapping = Annotated[LogMapping | None, AfterValidator(_fits)]


class LogSource(Section):
    """One topic of interactions, and the shape of its records."""

    topic: str = Field(description="the topic's name", min_length=1, json_schema_extra=TOPIC_SCHEMA)
    format: LogFormatName = Field("native", description="as ingest.format")
    mapping: FittingMapping = Field(None, description="as ingest.mapping")


def with_topics_of_sources(tree: Any) -> Any:
    """The settings as they were given, with the topics of ``ingest.sources`` among those read.

    What is malformed is left to the fields it stands in.
    """
    if not isinstance(tree, dict) or not isinstance(ingest := tree.get("ingest"), dict):
        return tree
    try:
        sources = items(ingest.get("sources", ()))
        kafka = dict(tree.get("kafka") or {})
        topics = dict(kafka.get("topics") or {})
        given = list(split(topics.get("interactions") or ()))
        names = [source["topic"] for source in sources]
        together = list(dict.fromkeys([*given, *names]))
    except (KeyError, TypeError, ValueError):
        return tree
    if not names:
        return tree
    kafka["topics"] = topics | {"interactions": together}
    return tree | {"kafka": kafka}
