"""Settings → which format the records of each topic have."""

from __future__ import annotations

import time
from functools import partial
from zoneinfo import ZoneInfo

from monitor.config import Settings
from monitor.config.mapping import (
    FUNCTION,
    KNOWN_ATTRIBUTES,
    OPTIONAL,
    REST,
    LogFormatName,
    LogMapping,
    PassageMapping,
)
from monitor.errors import ConfigurationError
from monitor.ingest.formats import native
from monitor.ingest.formats.by_topic import TopicFormats
from monitor.ingest.formats.mapped import Mapped, json_object
from monitor.ingest.formats.mapping import PassagePlaces, Place, RecordMapping
from monitor.ingest.formats.otlp import has_protobuf
from monitor.ingest.formats.otlp_format import SPAN_FORMATS
from monitor.ingest.formats.protocol import LogFormat
from monitor.ingest.formats.reshaping import Reshaping, Step
from monitor.ingest.formats.schema_registry import Registered, Schemas
from monitor.ingest.registry.client import RegistryAccess
from monitor.ingest.registry.store import SchemaStore
from monitor.runtime.expressions import Expression
from monitor.runtime.functions import named
from monitor.runtime.health import Health

_TEXTS = ("user_input", "response", "reference")
_RECORD = "@"


def topic_formats(settings: Settings, health: Health | None = None) -> TopicFormats:
    """The formats; ``health`` is told of a schema registry that is waited for.

    Raises ``ConfigurationError`` for a function that is not there.
    """
    ingest, schemas = settings.ingest, registry_schemas(settings, health)
    otherwise = log_format(ingest.format, ingest.mapping, "ingest.mapping", schemas)
    of_sources = {
        source.topic: log_format(
            source.format, source.mapping, f"ingest.sources.{n}.mapping", schemas
        )
        for n, source in enumerate(ingest.sources)
    }
    topics = dict.fromkeys(settings.kafka.topics.interactions, otherwise)
    return TopicFormats(otherwise, topics | of_sources)


def span_topics(settings: Settings) -> frozenset[str]:
    """The input topics whose records are parts of traces; none of their packages is needed."""
    names = dict.fromkeys(settings.kafka.topics.interactions, settings.ingest.format)
    names |= {source.topic: source.format for source in settings.ingest.sources}
    return frozenset(topic for topic, name in names.items() if name in SPAN_FORMATS)


def file_format(settings: Settings, topic: str | None = None) -> LogFormat:
    """That of the rows of a file: of ``topic``, or the short form where none is named.

    What a schema registry decodes on a topic is JSON in a file. Raises ``ConfigurationError`` for
    spans, of which a row is only a part of an interaction.
    """
    ingest = settings.ingest
    found = next((each for each in ingest.sources if each.topic == topic), None)
    path = "ingest" if found is None else f"ingest.sources.{ingest.sources.index(found)}"
    name, mapping = (found or ingest).format, (found or ingest).mapping
    if name in SPAN_FORMATS:
        raise ConfigurationError(
            f"{path}.format: found {name}: a row of a file is one interaction, and spans are parts "
            "of one; set native or json"
        )
    return log_format("json" if name == "registry" else name, mapping, f"{path}.mapping")


def registry_schemas(settings: Settings, health: Health | None) -> SchemaStore | None:
    """Those of ``ingest.registry``; None where none is set."""
    registry = settings.ingest.registry
    if registry.url is None:
        return None
    access = RegistryAccess(
        registry.url,
        registry.username,
        None if registry.password is None else registry.password.get_secret_value(),
        None if registry.token is None else registry.token.get_secret_value(),
        registry.ca_file,
    )
    return SchemaStore(access, health or Health(time.monotonic), time.monotonic)


def log_format(
    name: LogFormatName, mapping: LogMapping | None, path: str, schemas: Schemas | None = None
) -> LogFormat:
    """One format; ``path`` is where the mapping was set, ``schemas`` are those of a registry.

    Raises ``ConfigurationError`` for a function or a package that is not there.
    """
    if name == "otlp_json" or name == "otlp_proto":
        if name == "otlp_proto" and not has_protobuf():
            raise ConfigurationError(
                f"{path.removesuffix('mapping')}format: otlp_proto needs the package "
                'opentelemetry-proto, which is not installed; pip install "rag-monitor[otlp]"'
            )
        return SPAN_FORMATS[name]
    if mapping is None:
        assert name == "native", "the settings say otherwise"
        return native
    if name == "registry":
        assert schemas is not None, "the settings say otherwise"
        return Registered(_record_mapping(mapping, path), schemas)
    return Mapped(_record_mapping(mapping, path), json_object)


def _record_mapping(mapping: LogMapping, path: str) -> RecordMapping:
    place = partial(_place, path=path)
    attributes = {name: getattr(mapping, name) for name in KNOWN_ATTRIBUTES} | {
        name: text for name, text in mapping.attributes.items() if name != REST
    }
    whole = mapping.attributes.get(REST)
    return RecordMapping(
        texts={name: place(getattr(mapping, name)) for name in _TEXTS if getattr(mapping, name)},
        passages=_passage_places(mapping.retrieved_contexts, path),
        interaction_id=_place_if(mapping.interaction_id, path),
        timestamp=_place_if(mapping.timestamp, path),
        application=_place_if(mapping.application, path),
        attributes={name: place(text) for name, text in attributes.items() if text},
        objects=() if whole in (None, REST) else (place(whole),),
        rest=whole == REST,
        reshaping=Reshaping(
            tuple(map(_step, mapping.parse)),
            None if mapping.unflatten is None else _step(mapping.unflatten),
        ),
        zone=None if mapping.timezone is None else ZoneInfo(mapping.timezone),
    )


def _passage_places(mapping: PassageMapping, path: str) -> PassagePlaces:
    place = partial(_place_if, path=path)
    return PassagePlaces(
        _place(mapping.from_, path),
        text=place(mapping.text),
        id=place(mapping.id),
        score=place(mapping.score),
        relevant=place(mapping.relevant),
    )


def _place_if(text: str | None, path: str) -> Place | None:
    return None if text is None else _place(text, path)


def _place(text: str, path: str) -> Place:
    bare = text.removesuffix(OPTIONAL)
    is_optional = bare != text
    if not FUNCTION.fullmatch(bare):
        return Place(bare, Expression(bare), is_optional)
    try:
        return Place(bare, named(bare), is_optional)
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def _step(text: str) -> Step:
    bare = text.removesuffix(OPTIONAL)
    return Step(() if bare == _RECORD else tuple(bare.split(".")), bare != text)
