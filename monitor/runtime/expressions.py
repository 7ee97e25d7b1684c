"""Where a value stands in a JSON object: JMESPath, or a bare dotted path. Pure.

One thing is stricter than in JMESPath: of a projection (``docs[*].text``) every item must have a
value. JMESPath leaves out those that have none, and a passage would be lost without a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from jmespath import exceptions, functions, parser, visitor

_NAME = r"[^\W\d][\w-]*"
#: Names and positions with dots between: ``docs.0.user-id``; JMESPath wants them in its own form.
_DOTTED = re.compile(rf"{_NAME}(?:\.(?:{_NAME}|\d{{1,9}}))*")
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OUR_KINDS = {
    "null": "null",
    "string": "a text",
    "array": "a list",
    "array-string": "a list of texts",
    "array-number": "a list of numbers",
    "object": "an object",
}


class Nothing(NamedTuple):
    """How far an expression leads where it finds nothing.

    ``path`` is of the expression's own names ("" is the whole record), ``value`` what stands there,
    ``why`` what else is to be said of it.
    """

    path: str
    value: Any
    why: str = ""


class ExpressionFailed(Exception):
    """A function of JMESPath was given what it does not take; says what, and no value."""


class _ItemLacksValue(Exception):
    pass


class Expression:
    """One compiled expression.

    Raises ``ValueError`` that says what is wrong with the text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._parsed: Any = parser.Parser().parse(_as_jmespath(text)).parsed
        except exceptions.JMESPathError as error:
            raise ValueError(
                f"found {text!r}, expected JMESPath or a dotted path: {_why(error)}"
            ) from None
        _refuse_unknown_functions(self._parsed, text)

    def value(self, record: Any) -> Any:
        """What it finds; None for nothing.

        Raises ``ExpressionFailed``.

        >>> Expression("docs.0.user-id").value({"docs": [{"user-id": 7}]})
        7
        """
        try:
            return _Strict().visit(self._parsed, record)
        except _ItemLacksValue:
            return None
        except exceptions.JMESPathTypeError as error:
            kinds = " or ".join(map(_kind, error.expected_types))
            said = f"{error.function_name}() was given {_kind(error.actual_type)}"
            raise ExpressionFailed(f"{said}, and takes {kinds}") from None
        except exceptions.JMESPathError as error:
            raise ExpressionFailed(type(error).__name__) from None
        # What functions do with values that nobody foresaw, like adding texts.
        except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise ExpressionFailed(type(error).__name__) from None

    def end(self, record: Any) -> Nothing:
        """Where it ends, of a record in which it finds nothing.

        >>> Expression("a.b[0].c").end({"a": {"x": 1}})
        Nothing(path='a', value={'x': 1}, why='')
        >>> Expression("docs[*].text").end({"docs": [{"text": "t"}, {"body": "u"}]})
        Nothing(path='docs[1]', value={'body': 'u'}, why='')
        """
        return _end(self._parsed, record, "")

    @property
    def roots(self) -> frozenset[str]:
        """The record's own fields that it may read.

        >>> sorted(Expression("a.b || c[*].d").roots)
        ['a', 'c']
        """
        return frozenset(_roots(self._parsed))


def _as_jmespath(text: str) -> str:
    if not _DOTTED.fullmatch(text):
        return text
    first, *parts = text.split(".")
    return _quoted(first) + "".join(
        f"[{part}]" if part.isdigit() else f".{_quoted(part)}" for part in parts
    )


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name)


def _why(error: exceptions.JMESPathError) -> str:
    """The library's message up to where it repeats the expression."""
    said = str(error).partition("\n")[0].partition(", for expression")[0]
    return said.removeprefix("Bad jmespath expression: ").removesuffix(":") or "not readable"


def _refuse_unknown_functions(node: Any, text: str) -> None:
    if node["type"] == "function_expression" and node["value"] not in _FUNCTIONS:
        raise ValueError(
            f"found {text!r}, expected JMESPath: {node['value']}() is no function of it"
        )
    for child in node["children"]:
        if isinstance(child, dict):
            _refuse_unknown_functions(child, text)


def _kind(name: str) -> str:
    return _OUR_KINDS.get(name, f"a {name}")


class _Strict(visitor.TreeInterpreter):
    def visit_projection(self, node: Any, value: Any) -> Any:
        base = self.visit(node["children"][0], value)
        return self._items(node["children"][1], base) if isinstance(base, list) else None

    def visit_filter_projection(self, node: Any, value: Any) -> Any:
        base, right, wanted = node["children"]
        items = self.visit(base, value)
        if not isinstance(items, list):
            return None
        return self._items(right, [each for each in items if self.is_wanted(wanted, each)])

    def visit_value_projection(self, node: Any, value: Any) -> Any:
        base = self.visit(node["children"][0], value)
        return self._items(node["children"][1], base.values()) if isinstance(base, dict) else None

    def visit_or_expression(self, node: Any, value: Any) -> Any:
        try:
            return super().visit_or_expression(node, value)
        except _ItemLacksValue:
            return self.visit(node["children"][1], value)

    def is_wanted(self, wanted: Any, each: Any) -> bool:
        found = self.visit(wanted, each)
        # As JMESPath has it: 0 is true.
        return found is not None and found is not False and found not in ("", [], {})

    def _items(self, right: Any, items: Iterable[Any]) -> list[Any]:
        found = [self.visit(right, each) for each in items]
        if None in found:
            raise _ItemLacksValue
        return found


#: How the items stand in a path of which the rest is about all of them.
_PROJECTIONS = {"projection": "[*]", "filter_projection": "[?]", "value_projection": "[*]"}
_FUNCTIONS = frozenset(functions.Functions.FUNCTION_TABLE)


def _found(node: Any, value: Any) -> Any:
    try:
        return _Strict().visit(node, value)
    except (_ItemLacksValue, exceptions.JMESPathError):
        return None
    except (TypeError, ValueError, ArithmeticError, RecursionError):  # of functions, as above
        return None


def _end(node: Any, value: Any, path: str) -> Nothing:
    kind, children = node["type"], node["children"]
    if kind in ("subexpression", "index_expression", "pipe"):
        empty: Nothing | None = None
        for child in children:
            found = _found(child, value)
            if found is None:
                return empty or _end(child, value, path)
            # The first of none is nothing because of what it is the first of.
            is_none = found == [] and child["type"] in ("filter_projection", "or_expression")
            empty = _end(child, value, path) if is_none else None
            value, path = found, path + _step(child, path)
    elif kind in _PROJECTIONS:
        return _end_of_items(node, value, path)
    elif kind in ("or_expression", "and_expression", "function_expression"):
        without = (child for child in children if _found(child, value) in (None, [], ""))
        ends = [_end(child, value, path) for child in without]
        return max(reversed(ends), key=_depth, default=Nothing(path, value))
    return Nothing(path, value)


def _depth(end: Nothing) -> int:
    return bool(end.path) + end.path.count(".") + end.path.count("[")


def _end_of_items(node: Any, value: Any, path: str) -> Nothing:
    left, right, *wanted = node["children"]
    base = _found(left, value)
    if base is None:
        return _end(left, value, path)
    path += _step(left, path)
    matching = 0
    for name, each in _numbered(base, of_object=node["type"] == "value_projection"):
        is_wanted = not wanted or _is_wanted(wanted[0], each)
        matching += is_wanted
        if is_wanted and _found(right, each) is None:
            return _end(right, each, f"{path}[{name}]")
    is_unmatched = wanted and base and not matching
    return Nothing(path, base, "none matches the filter" if is_unmatched else "")


def _is_wanted(wanted: Any, each: Any) -> bool:
    try:
        return _Strict().is_wanted(wanted, each)
    except (_ItemLacksValue, exceptions.JMESPathError):
        return False


def _numbered(base: Any, *, of_object: bool) -> Iterable[tuple[int | str, Any]]:
    """Items with their place; of an object none is named, as its keys may be anything."""
    if of_object:
        return (("*", each) for each in base.values()) if isinstance(base, dict) else ()
    return enumerate(base) if isinstance(base, list) else ()


def _step(node: Any, path: str) -> str:
    """A node as a piece of a path; of what is more than names and positions nothing."""
    kind, children = node["type"], node["children"]
    if kind == "field":
        return f".{node['value']}" if path else str(node["value"])
    if kind == "index":
        return f"[{node['value']}]"
    if kind in _PROJECTIONS:
        base = _step(children[0], path)
        return f"{base}{_PROJECTIONS[kind]}{_step(children[1], f'{path}{base}.')}"
    said = ""
    if kind in ("subexpression", "index_expression", "pipe", "flatten"):
        for child in children:
            said += _step(child, path + said)
    return said


def _roots(node: Any) -> set[str]:
    kind, children = node["type"], node["children"]
    if kind == "field":
        return {node["value"]}
    if kind in ("subexpression", "index_expression", "pipe", "projection", "value_projection"):
        # What stands behind the first is read of what the first has found.
        behind = kind == "pipe" or children[0]["type"] in ("current", "identity")
        return _roots(children[1]) if behind and not _roots(children[0]) else _roots(children[0])
    if kind == "filter_projection":
        return _roots(children[0])
    return {root for child in children if isinstance(child, dict) for root in _roots(child)}
