"""The JSON Schema of the settings and the loader agree, as far as a schema can say it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from pydantic import ValidationError

from monitor.config import Settings, load
from monitor.config.explain import paths
from monitor.config.schema import config_schema, secret_paths
from monitor.errors import ConfigurationError
from tests.pages import blocks

ROOT = Path(__file__).parents[3]
SCHEMA = config_schema()
DEFINITIONS = SCHEMA["definitions"]
VALIDATOR = Draft7Validator(SCHEMA)

#: What stands beside a key, so that an entry of a list or a mapping is whole.
BESIDE: Final[dict[str, dict[str, Any]]] = {
    "Rule": {"attribute": "a", "exists": True},
    "Application": {"application": "bot"},
    "SharedObjective": {"metric": "faithfulness", "window": "5m", "bound": 0.5},
    "ObjectiveSettings": {"metric": "faithfulness", "window": "5m", "bound": 0.5},
    "LogSource": {"topic": "t"},
    "LogMapping": {"user_input": "q", "response": "a", "retrieved_contexts": "c"},
    "PassageMapping": {"from": "c"},
    "FixedBaseline": {"application": "b", "metrics": {"faithfulness": 0.5}},
}
#: Values of every kind that somebody writes in a file of settings.
VALUES: Final[list[Any]] = [
    *(None, True, 0, 1, -1, 3, 64, 5000, 0.5, 1.5, 1e9),
    *("", "x", "a b", "5m", "0s", "10%", "0m", "1234567890s", "a:b", "h:9092", "http://h"),
    *("https://u@h", "faithfulness", "self_knowledge", "auto", "header:", "header:a"),
    *([], ["x"], ["x", "x"], [""], ["5m"], ["faithfulness"], ["self_knowledge"], [1], [{}]),
    *(["key"], ["*.x"], ["http://x"], [True, "x", 1.5], {}, {"x": 1}, {"x": "y"}, {"x-y": "z"}),
    *({"auth": "x"}, {"faithfulness": 0.5}, {"faithfulness": {"mean": 2}}, {"severity": "x"}),
    *({"RagQualityDrift": "5m"}, {"RagQualityDrift": "x"}, {"email": "x"}, {"x": None}),
    *({"m": {"requests_per_minute": 0}}, {"m": {"requests_per_minute": 5}}),
]
#: What a library or another field decides, and no schema says; by the end of the loader's message.
LEFT_TO_THE_LOADER: Final = (
    "expected JMESPath or a dotted path",
    "expected a time zone",
    "no regular expression",
    "expected an IP address",
    "needs it; rag-monitor ingest guess",  # ingest.format and ingest.mapping together
    "expected at most 7d",
    "expected at most 1d",
)


class Place(NamedTuple):
    """One setting: its path, a configuration with a value there, and what may stand there."""

    path: tuple[str, ...]
    tree: Callable[[Any], dict[str, Any]]
    choices: list[Any]
    is_list_or_text: bool


def resolved(node: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of the definition that a node refers to, and what it says."""
    name = ""
    while reference := node.get("$ref") or node.get("allOf", [{}])[0].get("$ref"):
        name = reference.rpartition("/")[2]
        node = DEFINITIONS[name]
    return name, node


def alternatives(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A node, and all that it may be instead."""
    yield node
    for each in node.get("anyOf", ()):
        yield from alternatives(each)


def places() -> list[Place]:
    """Every setting once, also those of entries of lists."""
    seen: set[str] = set()

    def below(
        node: dict[str, Any], path: tuple[str, ...], wrap: Callable[[Any], Any]
    ) -> Iterator[Place]:
        name, section = resolved(node)
        if name in seen:
            return
        seen.update({name} - {""})
        for key, inner in section.get("properties", {}).items():
            beside = BESIDE.get(name, {})

            def tree(value: Any, key: str = key, beside: dict[str, Any] = beside) -> Any:
                return wrap({**beside, key: value})

            forms = list(alternatives(inner))
            choices = [word for form in forms for word in form.get("enum", ())]
            is_either = {"array", "string"} <= {form.get("type") for form in forms}
            yield Place((*path, key), tree, choices, is_either)
            for each in forms:
                yield from below(each, (*path, key), tree)
                if "items" in each:

                    def as_list(entry: Any, tree: Callable[[Any], Any] = tree) -> Any:
                        return tree([entry])

                    yield from below(each["items"], (*path, key), as_list)

    return list(below(SCHEMA, (), lambda tree: tree))


PLACES: Final = places()


def refusals(tree: dict[str, Any]) -> list[Any]:
    """What the loader says of a configuration."""
    try:
        Settings.model_validate(tree)
    except ValidationError as error:
        return error.errors(include_url=False, include_context=False, include_input=False)
    return []


def about_a_field(error: Any, path: tuple[str, ...]) -> bool:
    """Whether it is about this very setting, and not about several together."""
    names = [part for part in error["loc"] if isinstance(part, str)]
    return len(names) >= len(path) and not any(w in error["msg"] for w in LEFT_TO_THE_LOADER)


@pytest.mark.parametrize("section", sorted(SCHEMA["properties"]))
def test_the_schema_agrees_with_the_loader(section: str) -> None:
    """Value by value: a schema refuses nothing that loads, and all that one field alone forbids."""
    for place in (place for place in PLACES if place.path[0] == section):
        for value in [*VALUES, *place.choices]:
            tree = place.tree(value)
            accepted, found = VALIDATOR.is_valid(tree), refusals(tree)
            if not found:
                # pydantic reads true as 1, and 1 as true.
                assert accepted or (value in (0, 1) and value is not None), (place.path, value)
            elif any(about_a_field(error, place.path) for error in found):
                # Of a,b in place of a list only the loader sees the parts.
                in_a_text = place.is_list_or_text and isinstance(value, str)
                assert not accepted or in_a_text, (place.path, value, found)


@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(VALUES)), max_size=5))
def test_they_agree_about_several_settings(drawn: list[tuple[Place, Any]]) -> None:
    """A configuration drawn at random that the schema refuses is one that does not load."""
    tree: dict[str, Any] = {}
    for place, value in drawn:
        section = place.path[0]
        tree[section] = (
            # The whole section may have been drawn before, as something else.
            {**(found if isinstance(found := tree.get(section), dict) else {}), **own}
            if isinstance(own := place.tree(value)[section], dict)
            else own
        )
    quoted = any(value in (0, 1) and value is not None for _, value in drawn)
    assert VALIDATOR.is_valid(tree) or refusals(tree) or quoted, tree


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("sampling: {rate: '0.1'}", "a number in quotes, as the environment gives it"),
        ("kafka: {create_topics: 'true'}", "true in quotes"),
        ("redaction: {patterns: '{}'}", "a mapping as JSON in a text"),
        ("applications: {'0': {application: bot}}", "a list by number"),
    ],
)
def test_the_forms_of_the_environment_are_not_those_of_a_file(
    text: str, what: str, tmp_path: Path
) -> None:
    """The loader takes them from a file, too; the schema wants what YAML has types for."""
    file = tmp_path / "monitor.yaml"
    file.write_text(text, encoding="utf-8")
    load({}, file)
    assert not VALIDATOR.is_valid(yaml.safe_load(text)), what


def test_it_is_a_schema_of_the_draft_that_it_names() -> None:
    """Nothing in it is unknown to draft 7, and each pattern is one of RE2, as Helm reads them."""
    import re2

    Draft7Validator.check_schema(SCHEMA)
    for node in nodes(SCHEMA):
        for pattern in [node.get("pattern"), *node.get("patternProperties", ())]:
            if isinstance(pattern, str):
                re2.compile(pattern)
        assert "$ref" not in node or set(node) == {"$ref"}


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """All objects of a schema."""
    if isinstance(node, dict):
        yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(each)


def test_every_setting_is_described() -> None:
    """With meaning and default, no unknown keys, and secrets that an editor does not show."""
    for path, field in paths():
        node = SCHEMA
        for key in path.split("."):
            node = resolved(node)[1]
            assert node["additionalProperties"] is False
            node = node["properties"][key]
        assert node["description"] == field.description
        assert "default" in node, path
        hidden = any("writeOnly" in each for each in nodes(node))
        assert hidden == (path in secret_paths()), path
    assert "judge.api_key" in secret_paths()


def test_what_an_entry_inherits_has_no_default() -> None:
    """An editor that filled in defaults there would override what is set for all."""
    for name in ("JudgeOverride", "RateSettings"):
        properties = DEFINITIONS[name]["properties"]
        assert not any("default" in each for each in properties.values())


@pytest.mark.parametrize(
    "page", [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"], ids=lambda page: page.name
)
def test_what_the_pages_show_is_valid(page: Path) -> None:
    """Every example of settings on a page passes the schema."""
    sections = set(SCHEMA["properties"])
    for block in blocks(page.read_text(encoding="utf-8"), "yaml"):
        tree = yaml.safe_load(block)
        if isinstance(tree, dict) and set(tree) <= sections:
            assert [error.message for error in VALIDATOR.iter_errors(tree)] == []


def test_the_command_writes_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """To a file or to the screen; where it cannot, it says so."""
    from monitor.cli import app

    file = tmp_path / "schema.json"
    app(["config", "schema", "--out", str(file)], standalone_mode=False)
    app(["config", "schema"], standalone_mode=False)
    assert json.loads(file.read_text("utf-8")) == json.loads(capfd.readouterr().out) == SCHEMA
    with pytest.raises(ConfigurationError, match=r"--out: .*: Is a directory"):
        app(["config", "schema", "--out", str(tmp_path)], standalone_mode=False)
