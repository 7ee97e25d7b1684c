"""The families of rolling numbers: nearly all of a page, written once for as long as they hold.

A page of 85,000 lines is written as text at once: as objects that the interpreter looks through
for garbage they would hold up everything else for a fifth of a second.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString


class RollingRow(Protocol):
    """One window of one series: what stands in its labels, and a value for each family."""

    @property
    def key(self) -> tuple[str, ...]:
        """The metric, and what is behind the window."""

    @property
    def window(self) -> str:
        """The name of the window."""

    @property
    def values(self) -> tuple[float | None, ...]:
        """In the order of the families; None where there is no value."""


#: Rows that are the same object for as long as none of them has changed.
RollingBlock = Sequence[RollingRow]
#: The lines of one block, and how many they are, family by family.
_Lines = tuple[tuple[str, int], ...]


class Written(NamedTuple):
    """A family as both formats of Prometheus have it, in parts, and the number of its samples."""

    parts: Sequence[str]
    samples: int


class Prepared(NamedTuple):
    """A part of a page: some families as objects, and nearly all of it as text."""

    families: Sequence[Metric]
    written: Sequence[Written]


class Rolling:
    """Families of rolling numbers, in the order of the values of a row.

    ``families`` are names and meanings, ``labels`` those of a block's keys with the window behind
    the metric.
    """

    def __init__(self, families: Mapping[str, str], labels: Sequence[str]) -> None:
        self._families, self._labels = families, labels
        # In the order in which the client library writes them.
        self._order = sorted(range(len(labels)), key=labels.__getitem__)
        self._made: dict[int, tuple[RollingBlock, _Lines]] = {}

    def families(self, blocks: Iterable[RollingBlock] = ()) -> list[GaugeMetricFamily]:
        """The families with all samples, as objects."""
        found = [
            GaugeMetricFamily(name, meaning, labels=self._labels)
            for name, meaning in self._families.items()
        ]
        for block in blocks:
            for row in block:
                labels = dict(zip(self._labels, _label_values(row), strict=True))
                for family, value in zip(found, row.values, strict=True):
                    if value is not None:
                        family.samples.append(Sample(family.name, labels, value))
        return found

    def written(self, blocks: Iterable[RollingBlock]) -> Generator[None, None, list[Written]]:
        """The families as text, block by block; a block is written once."""
        made: dict[int, tuple[RollingBlock, _Lines]] = {}
        for block in blocks:
            # Held together with the block: its id is not given to another one meanwhile.
            made[id(block)] = self._made.get(id(block)) or (block, self._lines(block))
            yield
        self._made = made
        found = []
        for number, (name, meaning) in enumerate(self._families.items()):
            lines = [of[number] for _, of in made.values()]
            head = f"# HELP {name} {meaning}\n# TYPE {name} gauge\n"
            found.append(Written([head, *(text for text, _ in lines)], sum(n for _, n in lines)))
        return found

    def _lines(self, block: RollingBlock) -> _Lines:
        lines: list[list[str]] = [[] for _ in self._families]
        for row in block:
            labels = self._as_text(row)
            for name, of, value in zip(self._families, lines, row.values, strict=True):
                if value is not None:
                    of.append(f"{name}{labels} {_number(value)}\n")
        return tuple(("".join(of), len(of)) for of in lines)

    def _as_text(self, row: RollingRow) -> str:
        values = list(_label_values(row))
        pairs = (f'{self._labels[i]}="{_escaped(values[i])}"' for i in self._order)
        return "{" + ",".join(pairs) + "}"


def _number(value: float) -> str:
    found: str = floatToGoString(value)  # type: ignore[no-untyped-call]
    return found


def _escaped(value: str) -> str:
    r"""As a label's value.

    >>> print(_escaped('a"b\\c'))
    a\"b\\c
    """
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _label_values(row: RollingRow) -> Iterator[str]:
    metric, *others = row.key
    return iter((metric, row.window, *others))
