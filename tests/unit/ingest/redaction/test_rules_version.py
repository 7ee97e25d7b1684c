"""What is found does not change under one version of the rules: scores would mix."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

import pytest

from monitor.ingest.redaction import keys, kinds, own, phones, pieces, reach, shadow
from monitor.ingest.redaction.redactor import RULES_VERSION
from tests.stages.redaction import ALL, REDACTOR

#: By version, of the code that finds values and of what it makes of the strings of the corpus.
PINNED = {"4": ("5f41d5f0161e55e1", "1f4b3cf34b27d65a")}


def code(source: str) -> str:
    """The source without comments of their own line, docstrings and empty lines."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for i in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[i] = ""
    return "\n".join(one for one in lines if one.strip() and not one.strip().startswith("#"))


def digest(text: str) -> str:
    """Short, as only a difference matters."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_other_rules_are_another_version() -> None:
    """Raise RULES_VERSION with every change of what is found, and write both digests here."""
    modules = (kinds, keys, own, phones, pieces, reach, shadow)
    sources = [Path(str(module.__file__)).read_text(encoding="utf-8") for module in modules]
    found = digest("\n".join(REDACTOR.text(one.text) for one in ALL))
    assert PINNED.get(RULES_VERSION) == (digest("\n".join(map(code, sources))), found)


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        ('"""Another docstring."""\n\n# A comment\nA = 1\n', True),
        ('"""A docstring."""\nA = 2\n', False),
    ],
)
def test_only_code_counts(changed: str, is_same: bool) -> None:
    """A better comment is no other rule; another number is."""
    assert (code(changed) == code('"""A docstring."""\nA = 1\n')) is is_same
