"""One assertion of a suite: which metric it holds to which threshold. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from monitor.evaluate.thresholds import as_number
from monitor.metrics.catalogue import CATALOGUE
from monitor.suites.answers import CONTEXTS, REFERENCE, passages_of, question_of, text_of
from monitor.suites.keys import ASSERT_REFUSED, CONFIG_USED, CONTEXT_TRANSFORM
from monitor.suites.model import (
    ASSERTION_TYPES,
    DEFAULT_THRESHOLD,
    NOISE_MODES,
    NOISE_SENSITIVITY,
    AskedAnswer,
    SuiteAssertion,
)
from monitor.suites.templates import rendered

_DEFAULTED: Final = frozenset(NOISE_MODES.values())


class NotSupportedError(ValueError):
    """An assertion that is not checked here; says why, and what there is in its place.

    ``key``: that of the assertion which is the reason, if it is one.
    """

    def __init__(self, why: str, instead: str = "", key: str | None = None) -> None:
        super().__init__(why if key is None else f"{key}: {why}")
        self.why, self.instead, self.key = why, instead, key


def assertion_of(
    raw: Mapping[str, Any],
    variables: Mapping[str, Any],
    response: str,
    line: int | None,
    transformed: Any = None,
) -> SuiteAssertion:
    """The assertion, with what it is about; ``transformed``: what its contextTransform gave.

    Raises ``NotSupportedError`` for one that is not ours, and ``ValueError`` for a mistake.
    """
    type_ = raw.get("type")
    metric = _metric(type_, raw.get("config") or {})
    for key in raw:
        if key in ASSERT_REFUSED and (key != CONTEXT_TRANSFORM or transformed is None):
            raise NotSupportedError(f"is not supported: {ASSERT_REFUSED[key]}", key=key)
    config = rendered(raw.get("config") or {}, variables)
    answer = AskedAnswer(
        question_of(variables),
        response,
        _reference(raw, variables, metric),
        passages_of(variables, config, transformed),
    )
    if CATALOGUE[metric].needs_contexts and not answer.passages:
        raise ValueError(f"{type_} needs passages: vars.{', vars.'.join(CONTEXTS)}")
    return SuiteAssertion(str(type_), metric, _threshold(raw, metric), answer, line)


def _metric(type_: Any, config: Any) -> str:
    if not isinstance(config, dict):
        raise ValueError("config: expected an object")
    if unknown := sorted(set(config) - CONFIG_USED):
        raise ValueError(f"config.{unknown[0]}: expected one of {', '.join(sorted(CONFIG_USED))}")
    mode = config.get("mode")
    if type_ == NOISE_SENSITIVITY:
        if (mode or "relevant") not in NOISE_MODES:
            raise ValueError(f"config.mode: found {mode!r}, expected {' or '.join(NOISE_MODES)}")
        return NOISE_MODES[mode or "relevant"]
    if mode is not None:
        raise ValueError(f"config.mode: goes with {NOISE_SENSITIVITY} only")
    if type_ not in ASSERTION_TYPES:
        expected = ", ".join((NOISE_SENSITIVITY, *ASSERTION_TYPES))
        raise NotSupportedError(
            f"{type_} is no type of ours", f"; expected one of {expected}, or --skip-unsupported"
        )
    return ASSERTION_TYPES[type_]


def _threshold(raw: Mapping[str, Any], metric: str) -> float:
    given = raw.get("threshold")
    if given is None:
        if metric in _DEFAULTED:
            return DEFAULT_THRESHOLD
        raise NotSupportedError("threshold: missing: without one this could not fail")
    number = None if isinstance(given, str) else as_number(given)
    if number is None:
        raise ValueError(f"threshold: found {given!r}, expected a number from 0 to 1")
    return number


def _reference(raw: Mapping[str, Any], variables: Mapping[str, Any], metric: str) -> str | None:
    if not CATALOGUE[metric].needs_reference:
        return None
    found = raw.get("value")
    if found is None:
        found = variables.get(REFERENCE)
    if found is None:
        raise ValueError(f"value: missing: {raw.get('type')} needs the right answer")
    return text_of(rendered(found, variables), "value")
