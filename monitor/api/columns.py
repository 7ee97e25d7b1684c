"""Where the fields of a row stand: a column's name, a path, or a function of the row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from monitor.api.arguments import meant
from monitor.api.problems import InputRejected
from monitor.runtime.expressions import Expression, ExpressionFailed

#: A name of a column (also a number), a JMESPath expression, or a function of the row.
Column = str | int | Callable[[Mapping[str, Any]], Any]

_REQUIRED: Final = ("user_input", "response")
_PASSAGES: Final = "retrieved_contexts"
#: Of a row as it comes; those that a set for ragas has beside them say nothing to a judge.
FIELDS: Final = (*_REQUIRED, "reference", "retrieved_contexts", "interaction_id", "application")
#: What other tools call them, so that an error can say what to write.
_ELSEWHERE: Final = {
    "user_input": ("question", "query", "input", "prompt"),
    "response": ("answer", "output", "prediction", "actual_output"),
    "reference": ("ground_truth", "ground_truths", "gt_answer", "expected_output", "expected"),
    "retrieved_contexts": ("retrieval_context", "retrieved_context", "contexts", "context"),
}


@dataclass(frozen=True)
class ColumnPlace:
    """One field's place in every row."""

    field: str
    column: str | Callable[[Mapping[str, Any]], Any]
    expression: Expression | None = None
    why_none: str = ""

    @classmethod
    def of(cls, field: str, column: Column) -> ColumnPlace:
        """A text may be a name and no expression; what is wrong then is told of the row."""
        if callable(column):
            return cls(field, column)
        name = str(column)  # as those of rows are
        try:
            return cls(field, name, Expression(name))
        except ValueError as error:  # a column may be called anything
            return cls(field, name, why_none=str(error))

    def value(self, row: Mapping[str, Any], number: int) -> Any:
        """What stands there; None where nothing does, and nothing need to."""
        if not isinstance(self.column, str):
            return self._called(self.column, row, number)
        if self.column in row:
            return row[self.column]
        try:
            return None if self.expression is None else self.expression.value(row)
        except ExpressionFailed as error:
            raise InputRejected(f"row {number}: {self.field}_column: {error}") from None

    def _called(self, function: Callable[[Mapping[str, Any]], Any], row: Any, number: int) -> Any:
        try:
            return function(row)
        except Exception as error:
            raise InputRejected(
                f"row {number}: {self.field}_column: the function raised {type(error).__name__}: "
                f"{error}"
            ) from error


class RowColumns:
    """All places; ``given`` are those that were named, by field."""

    def __init__(self, given: Mapping[str, Column]) -> None:
        self._given = frozenset(given)
        self._places = [ColumnPlace.of(name, given.get(name, name)) for name in FIELDS]

    def fields(self, row: Mapping[str, Any], number: int) -> dict[str, Any]:
        """The fields in a row; raises ``InputRejected`` that names one that is not there."""
        found = {place.field: place.value(row, number) for place in self._places}
        for place in self._places:
            named = place.field in self._given
            if found[place.field] is None and (place.field in _REQUIRED or named):
                if named and place.field not in _REQUIRED and place.column in row:
                    continue  # an empty cell
                raise InputRejected(self._absent(place, row, number))
            if self._is_elsewhere(place, row):
                raise InputRejected(self._absent(place, row, number))
        return {name: value for name, value in found.items() if value is not None}

    def _is_elsewhere(self, place: ColumnPlace, row: Mapping[str, Any]) -> bool:
        """Whether a row has passages, but by another name: as if nothing had been retrieved."""
        if place.field != _PASSAGES or place.field in self._given or place.field in row:
            return False
        return any(_is_there(row.get(name)) for name in _ELSEWHERE[_PASSAGES])

    def _absent(self, place: ColumnPlace, row: Mapping[str, Any], number: int) -> str:
        return f"row {number}: no {place.field}{self._where(place)}; {_hint(place, row)}"

    def _where(self, place: ColumnPlace) -> str:
        if place.field not in self._given:
            return ""
        if not isinstance(place.column, str):
            return " from its function"
        why = f" (no column's name, nor an expression: {place.why_none})" if place.why_none else ""
        return f" at {place.column!r}{why}"


def _is_there(value: Any) -> bool:
    """Whether a cell holds anything."""
    return value is not None and (not hasattr(value, "__len__") or len(value) > 0)


def _hint(place: ColumnPlace, row: Mapping[str, Any]) -> str:
    names = list(row)
    if isinstance(place.column, str) and place.column in row:
        return "its cell is empty"
    if found := [repr(other) for other in _ELSEWHERE.get(place.field, ()) if other in row]:
        return f"the row has {', '.join(names)}: say {place.field}_column={' or '.join(found)}"
    near = meant(place.column, names) if isinstance(place.column, str) else ""
    return f"the row has {', '.join(names) or 'nothing'}{f': {near}' if 'did you' in near else ''}"
