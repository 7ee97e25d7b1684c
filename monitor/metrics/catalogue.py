"""Every metric in one place: its formula, its direction, what it needs and whose it equals.

Symbols: T_i, response claim i follows from the reference; F_i, from all passages together; A_ij,
from passage j alone; rel_j, passage j supports any reference claim; RF_i = any_j(rel_j ∧ A_ij);
IF_i = any_j(¬rel_j ∧ A_ij) ∧ ¬RF_i.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from monitor.metrics.correctness import hallucination, incorrect_claims
from monitor.metrics.noise import noise_sensitivity_irrelevant, noise_sensitivity_relevant
from monitor.metrics.support import faithfulness
from monitor.records import Judgement, Kind, Unscored


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; ``higher_is_better`` is None where neither direction is a fault."""

    name: str
    formula: str
    higher_is_better: bool | None
    needs_reference: bool
    needs_contexts: bool
    function: Callable[[Judgement], float | Unscored]
    meaning: str
    same_as: str


_METRICS = (
    Metric(
        name="faithfulness",
        formula="mean_i F_i",
        higher_is_better=True,
        needs_reference=False,
        needs_contexts=True,
        function=faithfulness,
        meaning="Share of response claims that the retrieved passages together support.",
        same_as="ragas Faithfulness (contexts joined)",
    ),
    Metric(
        name="noise_sensitivity_relevant",
        formula="mean_i(RF_i ∧ ¬T_i)",
        higher_is_better=False,
        needs_reference=True,
        needs_contexts=True,
        function=noise_sensitivity_relevant,
        meaning="Share of response claims that are incorrect, taken from a relevant passage.",
        same_as='ragas mode="relevant"; RAGChecker noise_sensitivity_in_relevant',
    ),
    Metric(
        name="noise_sensitivity_irrelevant",
        formula="mean_i(IF_i ∧ ¬T_i)",
        higher_is_better=False,
        needs_reference=True,
        needs_contexts=True,
        function=noise_sensitivity_irrelevant,
        meaning="Share of response claims that are incorrect, taken from irrelevant passages only.",
        same_as='ragas mode="irrelevant"; RAGChecker noise_sensitivity_in_irrelevant',
    ),
    Metric(
        name="incorrect_claims",
        formula="mean_i ¬T_i",
        higher_is_better=False,
        needs_reference=True,
        needs_contexts=False,
        function=incorrect_claims,
        meaning="Share of response claims that the reference does not support.",
        same_as="the formula printed in the ragas and ValidMind documents; "
        "promptfoo mode: relevant",
    ),
    Metric(
        name="hallucination",
        formula="mean_i(¬any_j A_ij ∧ ¬T_i)",
        higher_is_better=False,
        needs_reference=True,
        needs_contexts=True,
        function=hallucination,
        meaning="Share of response claims that are incorrect and that no passage supports.",
        same_as="RAGChecker hallucination",
    ),
)

CATALOGUE: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _METRICS})
"""The metrics by name, in the order in which they are shown."""


def score_all(judgement: Judgement) -> dict[str, float | Unscored]:
    """Every metric of the catalogue: its value in [0, 1], or the reason why it has none."""
    return {metric.name: metric.function(judgement) for metric in CATALOGUE.values()}


def defined_for(metric: Metric, kind: Kind) -> bool:
    """Whether a metric can have a value for interactions of this kind at all.

    >>> defined_for(CATALOGUE["faithfulness"], "without_reference")
    True
    >>> defined_for(CATALOGUE["hallucination"], "without_reference")
    False
    """
    return kind == "with_reference" or not metric.needs_reference
