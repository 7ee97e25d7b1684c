"""Which traffic: rules by attribute, and the first of several cases that matches.

A path like ``model.name`` finds the key ``model.name``, or ``name`` within ``model``; a path that
is ``application`` is the interaction's own, and ``attributes.application`` an attribute of that
name. A list matches when one of its elements does. Texts, numbers and truth values are never
equal to one another: ``"1"``, ``1`` and ``true`` are three things.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from monitor.records import Interaction
from monitor.runtime import patterns

#: So much of a text a regular expression sees.
MOST_CHARACTERS = 1_000
#: Traffic names applications: so many of them are remembered with their cases.
MOST_NAMES = 10_000

T = TypeVar("T")
Test = Callable[[Interaction], bool]


class RuleSpec(Protocol):
    """A rule as it is configured; ``operator`` is equals, in, exists or regex."""

    @property
    def attribute(self) -> str:
        """``application``, or a dotted path into the attributes."""

    @property
    def operator(self) -> str:
        """The one operator."""

    @property
    def operand(self) -> Any:
        """What it compares with."""


def compiled(rule: RuleSpec) -> Test:
    """The rule as a function. Raises ``ValueError`` for what is no regular expression of RE2."""
    find, holds = _finder(rule.attribute), _holder(rule.operator, rule.operand)
    if rule.operator == "exists":
        return lambda interaction: any(holds(found) for found in find(interaction)) is rule.operand
    return lambda interaction: any(
        holds(each) for found in find(interaction) for each in _elements(found)
    )


def _elements(found: Any) -> Sequence[Any]:
    return found if isinstance(found, list) else (found,)


def _finder(attribute: str) -> Callable[[Interaction], Iterator[Any]]:
    if attribute == "application":
        return lambda interaction: iter((interaction.application,))
    path = attribute.removeprefix("attributes.")
    return lambda interaction: _values(interaction.attributes, path)


def _values(found: Mapping[str, Any], path: str) -> Iterator[Any]:
    """Every value at a path: keys may hold dots themselves."""
    if path in found:
        yield found[path]
    dot = path.find(".")
    while dot > 0:
        inner = found.get(path[:dot])
        if isinstance(inner, dict):
            yield from _values(inner, path[dot + 1 :])
        dot = path.find(".", dot + 1)


def _holder(operator: str, operand: Any) -> Callable[[Any], bool]:
    if operator == "exists":
        return lambda found: found is not None
    if operator == "regex":
        search = patterns.compiled(operand).search
        return lambda found: (
            isinstance(found, str)
            and search(patterns.readable(found[:MOST_CHARACTERS])) is not None
        )
    wanted = frozenset(_typed(each) for each in (operand if operator == "in" else (operand,)))
    return lambda found: isinstance(found, str | int | float) and _typed(found) in wanted


def _typed(value: str | int | float) -> tuple[bool, str | int | float]:
    """Python takes True for 1; texts and numbers differ already."""
    return isinstance(value, bool), value


class Filter(NamedTuple):
    """What is let through: at least one of ``include``, if there are any; none of ``exclude``."""

    include: tuple[Test, ...] = ()
    exclude: tuple[Test, ...] = ()

    @classmethod
    def of(cls, include: Iterable[RuleSpec], exclude: Iterable[RuleSpec]) -> Filter:
        """A filter from rules."""
        return cls(tuple(map(compiled, include)), tuple(map(compiled, exclude)))

    def against(self, interaction: Interaction) -> str | None:
        """What holds it back (``include``: no rule matches; ``exclude.N``); None: nothing."""
        if self.include and not any(test(interaction) for test in self.include):
            return "include"
        for number, test in enumerate(self.exclude):
            if test(interaction):
                return f"exclude.{number}"
        return None


EVERYTHING = Filter()


@dataclass(frozen=True)
class RuleCase(Generic[T]):
    """``then`` holds where ``named`` takes the application's name and all of ``when`` match."""

    named: Callable[[str], object]
    when: tuple[Test, ...]
    then: T


class FirstMatch(Generic[T]):
    """The first case that matches wins; ``otherwise`` where none does."""

    def __init__(self, cases: Iterable[RuleCase[T]], otherwise: T) -> None:
        self._cases, self._otherwise = tuple(cases), otherwise
        self._by_name: dict[str, tuple[RuleCase[T], ...]] = {}
        self._ruled = [case.named for case in self._cases if case.when]
        self._split: dict[str, bool] = {}

    def __call__(self, interaction: Interaction) -> T:
        """What holds for this interaction."""
        for case in self._named(interaction.application):
            if not case.when or all(test(interaction) for test in case.when):
                return case.then
        return self._otherwise

    def is_split(self, application: str) -> bool:
        """Whether interactions of this application may have different ones."""
        if not self._ruled:
            return False
        found = self._split.get(application)
        if found is None:
            found = any(named(application) for named in self._ruled)
            if len(self._split) < MOST_NAMES:
                self._split[application] = found
        return found

    def _named(self, application: str) -> tuple[RuleCase[T], ...]:
        """The cases of this name, up to the first that asks for nothing more."""
        found = self._by_name.get(application)
        if found is None:
            found = tuple(self._upto_certain(application))
            if len(self._by_name) < MOST_NAMES:
                self._by_name[application] = found
        return found

    def _upto_certain(self, application: str) -> Iterator[RuleCase[T]]:
        for case in self._cases:
            if case.named(application):
                yield case
                if not case.when:
                    return
