"""Conditions under which a file is not good enough: ``--fail-if "faithfulness<0.8"``. Pure.

``NAME[_STATISTIC] OP NUMBER`` with OP one of ``<``, ``<=``, ``>``, ``>=``, and a number from 0 to
1, as all values are. Without a statistic the
mean counts. Each application and judge is held to it by itself.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final, NamedTuple

from monitor.errors import ConfigurationError
from monitor.evaluate.summary import MetricGroups, MetricSums
from monitor.evaluate.thresholds import as_number
from monitor.metrics.catalogue import CATALOGUE

_GATE = re.compile(r"\s*([\w-]+)\s*([^\w\s.+-]+)\s*(\S+)\s*")
OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: What is written for an operator elsewhere.
_MEANT: Final = MappingProxyType(
    {"≤": "<=", "≥": ">=", "=<": "<=", "=>": ">=", "\uff1c": "<", "\uff1e": ">"}
)
STATISTICS: Final = ("mean", "median", "min", "max", "deviation", "lower", "upper")


class FileGate(NamedTuple):
    """One condition; where it holds the file fails. ``text`` is as it was given."""

    text: str
    metric: str
    statistic: str
    op: str
    number: float


class FileVerdict(NamedTuple):
    """A gate, and why it says no: what was found; empty where it lets pass."""

    gate: str
    failed: tuple[str, ...]


def parse(text: str) -> FileGate:
    """The gate; raises ``ConfigurationError`` that lists what there is.

    >>> parse("noise_sensitivity_relevant_upper > 0.2")[1:]
    ('noise_sensitivity_relevant', 'upper', '>', 0.2)
    """
    match = _GATE.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f"--fail-if: found {text!r}, expected NAME<NUMBER, like faithfulness<0.8"
        )
    name, op, number = match.groups()
    metric, statistic = _split(name)
    if op not in OPERATORS:
        meant = f": did you mean {_MEANT[op]}?" if op in _MEANT else ""
        raise ConfigurationError(
            f"--fail-if: {op!r} is no operator, expected one of {', '.join(OPERATORS)}{meant}"
        )
    return FileGate(text, metric, statistic, op, _number(text, op, number))


def _number(text: str, op: str, number: str) -> float:
    """A share; raises ``ConfigurationError``, also where no value is beyond it."""
    found = as_number(number)
    if found is None:
        raise ConfigurationError(f"--fail-if: found {number!r}, expected a number from 0 to 1")
    if (op, found) in (("<", 0.0), (">", 1.0)):
        raise ConfigurationError(f"--fail-if: {text!r} never holds: every value is from 0 to 1")
    return found


def _split(name: str) -> tuple[str, str]:
    if name in CATALOGUE:
        return name, "mean"
    metric, _, statistic = name.rpartition("_")
    if metric in CATALOGUE and statistic in STATISTICS:
        return metric, statistic
    names = (*CATALOGUE, *(f"{each}_{one}" for each in CATALOGUE for one in STATISTICS))
    if near := get_close_matches(name.lower().replace("-", "_"), names, n=1, cutoff=0.8):
        raise ConfigurationError(f"--fail-if: found {name!r}, did you mean {near[0]}?")
    raise ConfigurationError(
        f"--fail-if: found {name!r}, expected one of {', '.join(CATALOGUE)}; with _ and one of "
        f"{', '.join(STATISTICS)} behind it, or nothing for the mean"
    )


def judged(gate: FileGate, groups: MetricGroups) -> FileVerdict:
    """Whether the gate lets pass; a metric without a value does not: it is not known."""
    return FileVerdict(gate.text, tuple(_failures(gate, groups)))


def _failures(gate: FileGate, groups: MetricGroups) -> Iterator[str]:
    if not groups:
        yield "nothing was judged"
    for (application, judge), metrics in groups.items():
        found = metrics.get(gate.metric, MetricSums())
        value = _value(found, gate)
        where = f"{application}, judged by {judge or 'nobody'}"
        if value is None:
            reasons = ", ".join(f"{n:,} {reason}" for reason, n in found.missing.most_common())
            yield f"{where}: no value ({reasons or 'it was not asked for'})"
        elif OPERATORS[gate.op](value, gate.number):
            yield f"{where}: {gate.statistic} {value:.4g}"


def _value(found: MetricSums, gate: FileGate) -> float | None:
    column = found.statistics()
    interval = found.interval(CATALOGUE[gate.metric].higher_is_better)
    if column is None or interval is None:
        return None
    if gate.statistic in ("lower", "upper"):
        return interval[gate.statistic == "upper"]
    value: float | None = getattr(column, gate.statistic)
    return value
