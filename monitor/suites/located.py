"""YAML with the line of every value, so that a mistake is told where it stands. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from monitor.config.yaml_errors import broken

TreePath = tuple[str | int, ...]
_DEEPEST: Final = 30
_MOST_NODES: Final = 200_000


class Located:
    """A tree of plain values; ``line`` of a path that stands in no text is that of what holds it.

    >>> found = parsed("tests: [{vars: {query: Why}}]")
    >>> found.tree, found.line(("tests", 0, "vars", "query"))
    ({'tests': [{'vars': {'query': 'Why'}}]}, 1)
    """

    def __init__(self, tree: Any, lines: Mapping[TreePath, int]) -> None:
        self.tree = tree
        self._lines = lines

    def line(self, path: TreePath) -> int | None:
        """Counted from 1; None where lines are not known."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path)


def parsed(text: str) -> Located:
    """The tree of a text; raises ``ValueError`` that names the line."""
    lines: dict[TreePath, int] = {}
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML{broken(error)}") from None
    except RecursionError:
        raise ValueError("too deep") from None
    if node is None:
        return Located(None, lines)
    _place(node, (), lines)
    try:
        return Located(loader.construct_document(node), lines)
    except (yaml.YAMLError, ValueError) as error:  # a date that is none
        raise ValueError(f"not YAML{broken(error)}") from None


def _place(node: yaml.Node, path: TreePath, lines: dict[TreePath, int]) -> None:
    """Note the line of a node and of all below it; anchors count wherever they are used."""
    if len(path) > _DEEPEST or len(lines) > _MOST_NODES:
        raise ValueError(f"line {node.start_mark.line + 1}: too deep, or too much of it")
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            _place(item, (*path, number), lines)
    elif isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in names:
                raise ValueError(f"line {key.start_mark.line + 1}: {name} is given twice")
            names.add(name)
            lines[*path, name] = key.start_mark.line + 1
            _place(value, (*path, name), lines)
