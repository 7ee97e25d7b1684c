"""A type's name is used once: whoever reads it, or looks for it, finds one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.stages.statements import statements

PACKAGE = Path(__file__).parents[2] / "monitor"
#: Name → why it may stand for several things.
ALLOWED: dict[str, str] = {}


def type_names(source: str) -> Iterator[tuple[str, int]]:
    """Names of classes and of the module's aliases, without leading underscores, and their lines.

    An alias is a module-level name in CamelCase: constants are written in capitals here.

    >>> [name for name, _ in type_names("class _Pair: ...\\nPair = tuple[str, str]\\nLEAST = 3")]
    ['Pair', 'Pair']
    """
    module = ast.parse(source)
    for node in statements(module):
        if isinstance(node, ast.ClassDef):
            yield node.name.strip("_"), node.lineno
    for node in module.body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        for target in targets:
            name = target.id.strip("_") if isinstance(target, ast.Name) else ""
            if name[:1].isupper() and not name.isupper():
                yield name, node.lineno


def test_a_type_name_is_used_once() -> None:
    """In the whole package; what has to be an exception stands in ``ALLOWED`` with its reason."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name, line in type_names(path.read_text("utf-8")):
            places[name].append(f"{path.relative_to(PACKAGE)}:{line}")
    assert len(places) > 600
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert twice.keys() == ALLOWED.keys(), twice
