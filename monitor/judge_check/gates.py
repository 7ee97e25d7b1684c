"""Conditions under which a measured judge is not good enough: ``--fail-if "kappa<0.6"``. Pure.

``[PIPELINE/][SCOPE.]NAME[_lower|_upper] OP NUMBER`` with OP one of ``<``, ``<=``, ``>``, ``>=``.
The scope is a kind of verdict, or for ``bias`` and ``error`` a metric; without one every scope
counts, and without a pipeline every pipeline. A scope that has labels and no value does not pass.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from monitor.errors import ConfigurationError
from monitor.judge_check.labelled import KINDS, Labelled, VerdictKind, flat
from monitor.judge_check.report import JudgeReport, Measure, Report
from monitor.metrics.catalogue import CATALOGUE
from monitor.stats.clustered import UNDEFINED, Estimated

_GATE = re.compile(
    r"\s*(?:(?P<pipeline>[a-z]+)/)?(?:(?P<scope>[a-z_0-9]+)\.)?(?P<name>[a-z]+(?:_accuracy)?)"
    r"(?:_(?P<bound>lower|upper))?\s*(?P<op><=|>=|<|>)\s*(?P<number>-?[0-9.]+)\s*"
)
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OF_KINDS: Final = (
    "kappa", "balanced_accuracy", "accuracy", "precision", "recall", "specificity",
)  # fmt: skip
CHANCE: Final = 0.5
#: From here on a judge is nearer to perfect than to guessing.
HALFWAY: Final = 0.75
#: The condition that holds where no other is given.
DEFAULT: Final = "the judge is no better than guessing"
NAMES: Final = (*_OF_KINDS, "auc", "flips", "bias", "error", "coverage", "invention", "failed")


@dataclass(frozen=True, slots=True)
class QualityGate:
    """One condition; where it holds, the judge fails. ``text`` is as it was given."""

    text: str
    pipeline: str | None
    scope: str | None
    name: str
    bound: str | None
    op: str
    number: float


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate and why it says no: ``failed`` names what was found; empty if it lets pass."""

    gate: str
    failed: tuple[str, ...]


def parse(text: str) -> QualityGate:
    """The gate; raises ``ConfigurationError`` that says what can be asked.

    >>> parse("response_by_passage.kappa_lower < 0.5").bound
    'lower'
    """
    match = _GATE.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f"--fail-if: found {text!r}, expected [pipeline/][scope.]name<number, like kappa<0.6"
        )
    found = match.groupdict()
    scopes = _scopes(found["name"])
    if found["name"] not in NAMES:
        raise ConfigurationError(f"--fail-if: found {found['name']!r}, expected {', '.join(NAMES)}")
    if found["scope"] is not None and found["scope"] not in scopes:
        expected = ", ".join(scopes) or f"no scope: {found['name']} is of the whole judge"
        raise ConfigurationError(f"--fail-if: found {found['scope']!r}, expected {expected}")
    try:
        number = float(found.pop("number"))
    except ValueError:
        raise ConfigurationError(f"--fail-if: {text!r} has no number to compare with") from None
    return QualityGate(text=text, number=number, **found)


def require_labels(found: Sequence[Labelled], asked: str) -> None:
    """Raises ``ConfigurationError`` where a judge's verdicts stand in the place of labels.

    A judge always agrees with what it said itself. ``asked`` is the option that needs labels.
    """
    first = next((one for one in found if one.judged_by is not None), None)
    if first is not None:
        raise ConfigurationError(
            f"{first.place}: the verdicts are those of {first.judged_by}, not labels, and {asked} "
            "needs labels; say in labelled_by who has put them right, or compare two judges with "
            "--against-judge"
        )


def _scopes(name: str) -> tuple[str, ...]:
    if name in ("bias", "error"):
        return tuple(name for name, m in CATALOGUE.items() if m.source == "verdicts")
    return KINDS if name in (*_OF_KINDS, "auc", "flips") else ()


def labelled_kinds(found: Sequence[Labelled]) -> list[VerdictKind]:
    """The kinds of verdicts that somebody labelled."""
    return [
        kind
        for kind in KINDS
        if any(label is not None for one in found for label in flat(getattr(one.verdicts, kind)))
    ]


def judged(gate: QualityGate, found: Report, labelled: Collection[VerdictKind] = ()) -> GateResult:
    """Whether the gate lets pass. What cannot be measured does not pass: it is not known.

    ``labelled`` are the kinds that have labels: where the judge gave no verdict of one, since each
    of its judgements failed, that is no reason to pass.
    """
    values = [
        (f"{judge.pipeline}{'/' + scope if scope else ''}", value)
        for judge in found.judges
        if gate.pipeline in (None, judge.pipeline)
        for scope, estimated in _values(judge, gate.name, labelled)
        if gate.scope in (None, scope)
        for value in [_read(estimated, gate)]
    ]
    if all(value is None for _, value in values):
        return GateResult(gate.text, ("not measured",))
    holds = _OPERATORS[gate.op]
    failed = [
        f"{where} not measured" if value is None else f"{where} {value:.4g}"
        for where, value in values
        if value is None or holds(value, gate.number)
    ]
    return GateResult(gate.text, tuple(failed))


def guesses(measured: Estimated) -> bool:
    """Whether a balanced accuracy is that of a guesser: 0.5 is in its interval, and it is near.

    Or of one that is worse: the interval lies below. Undefined ones, and those without an
    interval, are not known to be.

    >>> guesses(Estimated(0.52, 0.49, 0.55)), guesses(Estimated(0.6, 0.55, 0.65))
    (True, False)
    >>> guesses(Estimated(1.0, 0.4, 1.0))
    False
    """
    value, lower, _ = measured
    return value is not None and lower is not None and lower <= CHANCE and value < HALFWAY


def guessing(judge: JudgeReport) -> list[VerdictKind]:
    """The kinds of verdicts on which a judge is no better than guessing."""
    return [
        kind
        for kind, measure in judge.kinds.items()
        if guesses(measure.agreement.balanced_accuracy)
    ]


def is_worse(measured: Estimated) -> bool:
    """Whether it is surely below that of a guesser: mostly wrong, as where verdicts are mixed up.

    >>> is_worse(Estimated(0.0, 0.0, 0.127)), is_worse(Estimated(0.48, 0.44, 0.5))
    (True, False)
    """
    return measured.upper is not None and measured.upper < CHANCE


def by_default(found: Report) -> GateResult:
    """Fails where a pipeline is no better than guessing on every kind that says anything.

    And where none does, though it was asked about labelled claims: no reply was read, or all labels
    are alike.
    """
    failed = []
    for judge in found.judges:
        bounds = [m.agreement.balanced_accuracy.lower for m in judge.kinds.values()]
        known = len(bounds) - bounds.count(None)
        if judge.verifying.judgements and not known:
            failed.append(f"{judge.pipeline} not measured")
        elif known and len(guessing(judge)) == known:
            failed.append(judge.pipeline)
    return GateResult(DEFAULT, tuple(failed))


def _read(estimated: Estimated, gate: QualityGate) -> float | None:
    value: float | None = getattr(estimated, gate.bound or "value")
    # A bias to either side is one.
    return abs(value) if value is not None and gate.name == "bias" else value


def _values(
    judge: JudgeReport, name: str, labelled: Collection[VerdictKind]
) -> Iterator[tuple[str, Estimated]]:
    """The values of one name, by scope."""
    if name in (*_OF_KINDS, "auc"):
        for kind in KINDS:
            if kind in judge.kinds:
                yield kind, _of_kind(judge.kinds[kind], name)
            elif kind in labelled:
                yield kind, UNDEFINED
    elif name == "flips":
        yield from ((kind, flips.rate) for kind, flips in judge.flips.items())
    elif name in ("bias", "error"):
        yield from ((metric, getattr(error, name)) for metric, error in judge.metrics.items())
    elif name in ("coverage", "invention"):
        texts = judge.extraction.get("all")
        yield "", UNDEFINED if texts is None else getattr(texts, name)
    elif name == "failed":
        yield "", Estimated(judge.failed_share)


def _of_kind(measure: Measure, name: str) -> Estimated:
    found: Estimated = measure.auc if name == "auc" else getattr(measure.agreement, name)
    return found
