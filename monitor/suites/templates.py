"""``{{name}}`` in the values of a suite: variables, and nothing that would have to be run. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_VARIABLE = re.compile(r"\{\{-?\s*([A-Za-z_][\w.]*)\s*(\|\s*dump\s*)?-?\}\}")
_ANY = re.compile(r"\{\{|\{%|\{#")


def rendered(value: Any, variables: Mapping[str, Any]) -> Any:
    """The value with its variables; one that is all of a text keeps its kind.

    Raises ``ValueError`` for a variable that is not there, and for what is more than a variable.

    >>> rendered("{{chunks}}", {"chunks": [{"text": "a"}]})
    [{'text': 'a'}]
    >>> rendered("Paris is in {{ place.country }}.", {"place": {"country": "France"}})
    'Paris is in France.'
    """
    if isinstance(value, dict):
        return {key: rendered(each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [rendered(each, variables) for each in value]
    if not isinstance(value, str):
        return value
    whole = _VARIABLE.fullmatch(value.strip())
    if whole is not None:
        return _found(whole[1], variables)
    text = _VARIABLE.sub(lambda match: _as_text(_found(match[1], variables)), value)
    # What a variable holds may look like a template, and is a text.
    if _ANY.search(_VARIABLE.sub("", value)):
        raise ValueError("templates are not run here: only {{name}} of vars is")
    return text


def filled(value: Any, variables: Mapping[str, Any]) -> Any:
    """A variable, in which others may be named; braces of anything else are a part of its text.

    >>> filled("The capital of {{where}}: {{ x }}", {"where": "France"})
    'The capital of France: {{ x }}'
    """
    if not isinstance(value, str):
        return value

    def one(match: re.Match[str]) -> str:
        return _as_text(variables[match[1]]) if match[1] in variables else match[0]

    return _VARIABLE.sub(one, value)


def _found(name: str, variables: Mapping[str, Any]) -> Any:
    found: Any = variables
    for part in name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            there = ", ".join(sorted(map(str, variables))) or "nothing"
            raise ValueError(f"{{{{{name}}}}} is not in vars; there: {there}")
        found = found[part]
    return found


def _as_text(found: Any) -> str:
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
