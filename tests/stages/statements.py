"""The statements of a module, for tests of what it defines and imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def statements(of: ast.AST) -> Iterator[ast.AST]:
    """All of them, at any depth, and the handlers and cases that hold some.

    ``ast.walk`` gives ten times as many nodes: also what stands in expressions.

    >>> source = "try:\\n  import a\\nexcept E:\\n  def f():\\n    if b:\\n      import c"
    >>> [type(each).__name__ for each in statements(ast.parse(source))]
    ['Try', 'Import', 'ExceptHandler', 'FunctionDef', 'If', 'Import']
    """
    for each in ast.iter_child_nodes(of):
        if isinstance(each, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield each
            yield from statements(each)
