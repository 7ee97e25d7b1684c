"""A mapping as a setting: where it comes from, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.config import Settings, load
from monitor.config.mapping import LogMapping
from monitor.errors import ConfigurationError

LEAST = {"user_input": "q", "response": "a", "retrieved_contexts": "c"}


def refusal(ingest: dict[str, Any], tmp_path: Path) -> str:
    """What is said about settings of ``ingest``."""
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({"ingest": ingest}), encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        load({}, file)
    return str(caught.value)


@pytest.mark.parametrize(
    ("ingest", "said"),
    [
        ({"format": "json"}, "ingest.mapping: missing, and format json needs it"),
        ({"mapping": LEAST}, "ingest.mapping: has no effect while format is native"),
        (
            {"format": "json", "mapping": {"user_input": "q", "response": "a"}},
            "ingest.mapping.retrieved_contexts: missing",
        ),
        (
            {"format": "json", "mapping": LEAST | {"respnse": "a"}},
            "ingest.mapping.respnse: unknown setting, did you mean ingest.mapping.response?",
        ),
        (
            {"format": "json", "mapping": LEAST | {"response": "a b"}},
            "ingest.mapping.response: found 'a b', expected JMESPath",
        ),
        (
            {"format": "json", "mapping": LEAST | {"response?": "b"}},
            "ingest.mapping: response is given twice, with and without ?",
        ),
        (
            {"format": "json", "mapping": LEAST | {"timezone": "Mars"}},
            "ingest.mapping.timezone: found 'Mars', expected a time zone",
        ),
        (
            {"format": "json", "mapping": LEAST | {"parse": ["a..b"]}},
            "ingest.mapping.parse.0: found 'a..b', expected a path of names",
        ),
        (
            {"format": "json", "mapping": LEAST | {"attributes": {"x": "a b"}}},
            "ingest.mapping.attributes: x: found 'a b', expected JMESPath",
        ),
        (
            {"format": "json", "mapping": LEAST | {"model": "m", "attributes": {"model": "n"}}},
            "ingest.mapping: model is given twice, in the mapping and in its attributes",
        ),
        (
            {"sources": [{"topic": "a", "format": "json"}]},
            "ingest.sources.0.mapping: missing, and format json needs it",
        ),
        (
            {"sources": [{"topic": "a"}, {"topic": "a"}]},
            "ingest: sources: topic 'a' is given twice",
        ),
    ],
)
def test_what_is_wrong_is_named(ingest: dict[str, Any], said: str, tmp_path: Path) -> None:
    """By its path."""
    assert refusal(ingest, tmp_path).startswith(said)


def test_a_mapping_comes_from_the_environment() -> None:
    """As a whole; and in parts, with the mark behind the expression."""
    whole = load(
        {
            "RAG_MONITOR_INGEST__FORMAT": "json",
            "RAG_MONITOR_INGEST__MAPPING": json.dumps(LEAST | {"reference?": "r"}),
        }
    )
    parts = load(
        {
            "RAG_MONITOR_INGEST__FORMAT": "json",
            "RAG_MONITOR_INGEST__MAPPING__USER_INPUT": "q",
            "RAG_MONITOR_INGEST__MAPPING__RESPONSE": "a",
            "RAG_MONITOR_INGEST__MAPPING__RETRIEVED_CONTEXTS": "c",
            "RAG_MONITOR_INGEST__MAPPING__REFERENCE": "r?",
        }
    )
    assert whole.ingest.mapping == parts.ingest.mapping
    assert whole.ingest.mapping is not None
    assert whole.ingest.mapping.reference == "r?"


def test_a_mapping_is_written_as_it_is_read() -> None:
    """What ``config show`` prints can be given again."""
    mapping = LogMapping.model_validate(
        {
            "user_input": "q",
            "response": "a",
            "retrieved_contexts?": {"from": "c", "text": "t", "id?": "i"},
            "attributes": "*",
        }
    )
    assert mapping.retrieved_contexts.from_ == "c?"
    assert LogMapping.model_validate(mapping.model_dump(mode="json")) == mapping


def test_topics_of_sources_are_read() -> None:
    """Alone where no others are set; behind those that are."""
    source = {"topic": "logs", "format": "json", "mapping": LEAST}
    alone = Settings.model_validate({"ingest": {"sources": [source]}})
    assert alone.kafka.topics.interactions == ("logs",)
    beside = load(
        {
            "RAG_MONITOR_KAFKA__TOPICS__INTERACTIONS": "a,logs",
            "RAG_MONITOR_INGEST__SOURCES": json.dumps([source]),
        }
    )
    assert beside.kafka.topics.interactions == ("a", "logs")
