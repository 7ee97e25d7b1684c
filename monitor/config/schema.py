"""The settings as a JSON Schema: for editors, and for the values of the Helm chart.

It says what one field may hold. What several fields say together, and what a library reads (time
zones, regular expressions, JMESPath), the loader alone decides. As YAML has types, a number or
``true`` is written as such; in quotes, as the environment gives it, only the loader takes it.

Draft 7, and patterns of RE2: what editors and every Helm 3 understand.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from pydantic.fields import FieldInfo

from monitor.config.applications import Application, JudgeOverride
from monitor.config.explain import paths
from monitor.config.judging import RateSettings
from monitor.config.mapping import OPTIONAL, LogMapping, PassageMapping
from monitor.config.parts import OF_ENTRY
from monitor.config.sections import Settings

Json = dict[str, Any]

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
#: Their defaults are what is set for all, and not what their fields say.
_INHERITING: Final = (JudgeOverride, RateSettings)
#: Their keys may have a mark behind them.
_MARKED: Final = (LogMapping, PassageMapping)


def config_schema() -> Json:
    """The schema of a configuration file; the same at every call."""
    made = Settings.model_json_schema(ref_template="#/definitions/{model}")
    definitions = made.pop("$defs")
    for inheriting in _INHERITING:
        _without_defaults(definitions[inheriting.__name__])
    for marked in _MARKED:
        _with_marks(definitions[marked.__name__])
    whole = {**made, "definitions": definitions}
    return {"$schema": DRAFT, "title": "Settings of rag-monitor", **_tidied(whole)}


def secret_paths() -> list[str]:
    """Settings whose values no one but the process may see, without those of ``applications``."""
    return [path for path, field in paths() if _is_secret(field)]


def is_secret(path: str) -> bool:
    """Whether a dotted path is one of them, of an entry of ``applications``, or a single header.

    >>> is_secret("judge.api_key"), is_secret("applications.0.judge.headers.authorization")
    (True, True)
    >>> is_secret("judge.model"), is_secret("applications.0.judge.apy_key")
    (False, False)
    """
    inner = OF_ENTRY.sub("", path, count=1)
    known = _secrets() if inner == path else _secrets_of_entries()
    return inner in known or inner.startswith("judge.headers.")


@cache
def _secrets() -> frozenset[str]:
    return frozenset(secret_paths())


@cache
def _secrets_of_entries() -> frozenset[str]:
    return frozenset(path for path, field in paths(Application) if _is_secret(field))


def file_paths() -> list[str]:
    """Settings that name a file, such as a certificate."""
    return [path for path, _ in paths() if path.endswith("file")]


def _is_secret(field: FieldInfo) -> bool:
    return "SecretStr" in repr(field.annotation)


def _without_defaults(section: Json) -> None:
    for each in section["properties"].values():
        each.pop("default", None)


def _with_marks(section: Json) -> None:
    """``name?`` beside ``name``: the field may be absent."""
    section["patternProperties"] = {
        f"^{name}[{OPTIONAL}]$": each for name, each in section["properties"].items()
    }
    needed = section.pop("required")
    section["allOf"] = [
        {"oneOf": [{"required": [name]}, {"required": [name + OPTIONAL]}]} for name in needed
    ]


def _tidied(node: Any) -> Any:
    """Without titles, and without defaults of whole sections; what stands beside ``$ref`` counts.

    The first line of a docstring says what a section is; the rest is for who reads the code.
    """
    if isinstance(node, list):
        return [_tidied(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {
        key: {name: _tidied(each) for name, each in inner.items()}
        if key in ("properties", "patternProperties", "definitions")
        else (inner if key in ("default", "enum", "const") else _tidied(inner))
        for key, inner in node.items()
        if not (key == "title" and isinstance(inner, str))
    }
    if isinstance(said := found.get("description"), str):
        found["description"] = said.partition("\n")[0].replace("``", "`")
    if "$ref" in found:
        found.pop("default", None)
        if len(found) > 1:  # draft 7 passes over what stands beside a reference
            found["allOf"] = [{"$ref": found.pop("$ref")}]
    return found
