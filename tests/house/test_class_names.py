"""A class name is used once: whoever reads it, or looks for it, finds one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "monitor"
#: Name → why it may stand for several things.
ALLOWED: dict[str, str] = {}


def test_a_class_name_is_used_once() -> None:
    """In the whole package; what has to be an exception stands in ``ALLOWED`` with its reason."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert len(places) > 500
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert twice.keys() == ALLOWED.keys(), twice
