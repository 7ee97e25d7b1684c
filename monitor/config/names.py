"""Names of metrics, and patterns of the names of applications."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from monitor.config.base import split

#: The names of the catalogue of metrics, which settings may not import; a test compares them.
MetricName = Literal[
    "faithfulness",
    "faithfulness_by_passage",
    "noise_sensitivity_relevant",
    "noise_sensitivity_irrelevant",
    "incorrect_claims",
    "hallucination",
    "self_knowledge",
    "claim_precision",
    "claim_recall",
    "claim_f1",
    "context_recall",
    "context_precision",
    "context_utilization",
    "irrelevant_context_reliance",
    "answered",
    "retrieved",
    "answer_relevance",
]


def _has_direction(metric: str) -> str:
    if metric == "self_knowledge":
        raise ValueError("self_knowledge is neither better nor worse when it is higher")
    return metric


#: A metric that can be too low or too high.
DirectedMetric = Annotated[
    MetricName,
    AfterValidator(_has_direction),
    WithJsonSchema(
        {"type": "string", "enum": [m for m in get_args(MetricName) if m != "self_knowledge"]}
    ),
]
Metrics = Annotated[
    tuple[MetricName, ...] | None,
    BeforeValidator(split, json_schema_input_type=tuple[MetricName, ...] | str | None),
]


def one_or_more_names(value: Any) -> Any:
    """One name or a list; a name may hold a comma, so a list from the environment is JSON."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return [value]
    return split(value)


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(one_or_more_names, json_schema_input_type=tuple[str, ...] | str),
]


def no_empty_name(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names; raises ``ValueError`` for an empty one."""
    if "" in names:
        raise ValueError("found an empty name, expected a name or *")
    return names


def name_regex(pattern: str) -> str:
    """The regular expression of a pattern of names; it must match the whole name.

    >>> name_regex("bot_*")
    '(?s:bot_.*)'
    """
    parts = ({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in pattern)
    return f"(?s:{''.join(parts)})"


def all_covered(narrow: tuple[str, ...], wide: tuple[str, ...]) -> bool:
    """Whether every name that a pattern of ``narrow`` matches surely matches one of ``wide``.

    >>> all_covered(("ab", "a*"), ("a*", "b")), all_covered(("a*",), ("ab",))
    (True, False)
    """
    return all(any(_covers(other, one) for other in wide) for one in narrow)


def _covers(wide: str, narrow: str) -> bool:
    exact = "*" not in narrow and "?" not in narrow
    return wide in ("*", narrow) or (exact and re.fullmatch(name_regex(wide), narrow) is not None)
