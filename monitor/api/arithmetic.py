"""A score counted with as a number, as code for ragas does. Pure."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any

_TwoNumbers = Callable[[Any, Any], Any]


def _number(other: object) -> float | None:
    """Of a score or of a number; None of anything else."""
    return float(other) if isinstance(other, ScoreNumber | Real) else None


def _with(apply: _TwoNumbers, *, swapped: bool = False) -> Callable[[ScoreNumber, object], Any]:
    def method(self: ScoreNumber, other: object) -> Any:
        number = _number(other)
        if number is None:
            return NotImplemented
        return apply(number, float(self)) if swapped else apply(float(self), number)

    return method


class ScoreNumber(ABC):
    """Arithmetic and order by the value; ``float`` raises ``NothingToScore`` where there is none.

    Two are equal where their values are; one without a value is equal to None.
    """

    @property
    @abstractmethod
    def value(self) -> float | None:
        """The number, if there is one."""

    @abstractmethod
    def __float__(self) -> float:
        """The value."""

    __add__, __radd__ = _with(operator.add), _with(operator.add, swapped=True)
    __sub__, __rsub__ = _with(operator.sub), _with(operator.sub, swapped=True)
    __mul__, __rmul__ = _with(operator.mul), _with(operator.mul, swapped=True)
    __truediv__ = _with(operator.truediv)
    __rtruediv__ = _with(operator.truediv, swapped=True)
    __lt__, __le__ = _with(operator.lt), _with(operator.le)
    __gt__, __ge__ = _with(operator.gt), _with(operator.ge)

    def __eq__(self, other: object) -> bool:
        """By the value, and never an error."""
        return bool(self.value == (other.value if isinstance(other, ScoreNumber) else other))

    def __hash__(self) -> int:
        """That of the value, to which it is equal."""
        return hash(self.value)

    def __bool__(self) -> bool:
        """Raises ``TypeError``, as in ragas: whether 0 is good is for the metric to say."""
        raise TypeError("a score is neither true nor false: compare it, or look at .value")

    def __int__(self) -> int:
        return int(float(self))

    def __round__(self, digits: int | None = None) -> float:
        return round(float(self), digits)

    def __format__(self, spec: str) -> str:
        """As a number where it is said how."""
        return format(float(self), spec) if spec else str(self)
