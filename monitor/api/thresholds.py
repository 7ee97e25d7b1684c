"""What an answer must reach, and what a failure says: the claims that are wrong, and from where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from monitor.api.arguments import meant
from monitor.api.explained import headline, wrong_lines
from monitor.api.judged_rows import judged_rows
from monitor.api.judges import JudgeChoice
from monitor.api.metric import warn_of_one_text
from monitor.api.problems import reason_in_words
from monitor.api.results import MetricResult
from monitor.api.running import to_its_end
from monitor.api.samples import turn_of
from monitor.lookup.shown import evidence_lines
from monitor.metrics.catalogue import CATALOGUE

_FIELDS: Final = ("user_input", "response", "reference", "retrieved_contexts")
_WHO: Final = ("llm", "judge", "relevance")


def bounded(given: Mapping[str, Any]) -> tuple[Mapping[str, MetricResult], list[str]]:
    """The results of an answer, and the lines of what is worse than its bounds; none: all is well.

    ``given`` holds the fields, who judges, and bounds by metric. Raises ``TypeError`` for a name
    that is none of these, and ``ValueError`` for a bound outside of [0, 1].
    """
    bounds = _bounds(given)
    turn = turn_of({name: given[name] for name in _FIELDS if name in given})
    choice = JudgeChoice.of(*(given.get(name) for name in _WHO))
    choice.warn()
    warn_of_one_text([turn], bounds)
    (record,) = to_its_end(lambda: judged_rows([turn], choice))
    results = {name: MetricResult(name, record) for name in bounds}
    broken = list(_broken(results, bounds))
    if broken:
        broken += evidence_lines(record)
    return results, broken


def _bounds(given: Mapping[str, Any]) -> dict[str, float]:
    known = (*_FIELDS, *_WHO, *CATALOGUE)
    for name in given:
        if name not in known:
            raise TypeError(f"rag_score() has no argument {name!r}: {meant(name, known)}")
    for name in ("user_input", "response"):
        if given.get(name) is None:
            raise TypeError(f"rag_score() needs {name}")
    bounds = {name: given[name] for name in CATALOGUE if name in given}
    for name, bound in bounds.items():
        if not isinstance(bound, int | float) or not 0 <= bound <= 1:
            raise ValueError(f"{name}: found {bound!r}, expected a bound from 0 to 1")
        if CATALOGUE[name].higher_is_better is None:
            raise ValueError(f"{name}: neither more nor less of it is a fault, so it has no bound")
    if bounds:
        return bounds
    # No claim may be wrong: by the reference, or where there is none by the passages.
    return {"faithfulness": 1.0} if given.get("reference") is None else {"incorrect_claims": 0.0}


def _broken(results: Mapping[str, MetricResult], bounds: Mapping[str, float]) -> Iterator[str]:
    for name, bound in bounds.items():
        result = results[name]
        if result.value is None:
            yield f"{name} has no value, so it cannot be {_wanted(name, bound)}: " + (
                reason_in_words(str(result.reason))
            )
        elif (result.value < bound) if CATALOGUE[name].higher_is_better else (result.value > bound):
            line = headline(result.record, name)
            value, share = line.split(": ", 1)
            side = "below" if CATALOGUE[name].higher_is_better else "above"
            yield f"{value} is {side} {bound:g}: {share}"
            yield from wrong_lines(result.record, name)


def _wanted(name: str, bound: float) -> str:
    return f"at {'least' if CATALOGUE[name].higher_is_better else 'most'} {bound:g}"
