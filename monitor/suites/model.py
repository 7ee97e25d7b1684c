"""A suite: tests, what each asserts of an answer, and what of the file is not used. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Self

from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Passage

#: Type of the assertion whose metric goes by its mode.
NOISE_SENSITIVITY: Final = "noise-sensitivity"
#: Mode → metric.
NOISE_MODES: Final = MappingProxyType(
    {
        "relevant": "noise_sensitivity_relevant",
        "irrelevant": "noise_sensitivity_irrelevant",
    }
)
#: Most that there may be where a suite does not say.
DEFAULT_THRESHOLD: Final = 0.2
#: Type of an assertion → its metric: those of the catalogue, and promptfoo's names for them.
ASSERTION_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{name.replace("_", "-"): name for name in CATALOGUE},
        "context-faithfulness": "faithfulness",
    }
)


@dataclass(frozen=True)
class AskedAnswer:
    """An answer with what it is held against; what is judged once, however often it is asserted."""

    user_input: str
    response: str
    reference: str | None
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class SuiteAssertion:
    """One assertion: ``metric`` of ``answer`` must keep ``threshold``. ``line`` is from 1."""

    type: str
    metric: str
    threshold: float
    answer: AskedAnswer
    line: int | None = None


@dataclass(frozen=True)
class SkippedAssertion:
    """One that is not checked here, and why."""

    type: str
    why: str
    line: int | None = None


@dataclass(frozen=True)
class SuiteTest:
    """One test; it passes when all of its assertions hold.

    ``file``: where it stands, if not in the suite itself. ``broken``: why nothing can be said.
    """

    name: str
    assertions: tuple[SuiteAssertion, ...]
    skipped: tuple[SkippedAssertion, ...] = ()
    line: int | None = None
    file: str | None = None
    broken: str | None = None


@dataclass(frozen=True)
class SuiteNote:
    """Something in the file that is not used, and why."""

    text: str
    line: int | None = None


@dataclass(frozen=True)
class Suite:
    """All tests of a file, and what is said about it."""

    file: str
    tests: tuple[SuiteTest, ...]
    notes: tuple[SuiteNote, ...] = ()

    @classmethod
    def of(cls, file: str, tests: Iterable[SuiteTest], notes: Iterable[SuiteNote]) -> Self:
        """The suite; of tests with one name each but the first gets a number.

        CI servers take two tests of one name for one.
        """
        seen: Counter[str] = Counter()
        named = []
        for test in tests:
            seen[test.name] += 1
            times = seen[test.name]
            named.append(test if times == 1 else replace(test, name=f"{test.name} ({times})"))
        return cls(file, tuple(named), tuple(notes))

    def answers(self) -> list[AskedAnswer]:
        """Each answer once, in the order of the tests."""
        found = (each.answer for test in self.tests for each in test.assertions)
        return list(dict.fromkeys(found))
