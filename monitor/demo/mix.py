"""How often the made-up application answers well or badly, and what that makes each metric."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate


class ResponseKind(StrEnum):
    """How a response came about; the order is that of the rates in ``Mix``."""

    FOLLOWS = "follows"
    IGNORES = "ignores"
    MISLED_BY_RELEVANT = "misled_by_relevant"
    MISLED_BY_IRRELEVANT = "misled_by_irrelevant"
    REFUSES = "refuses"


SHAPES = (
    (1, 1),
    (1, 1),
    (2, 1),
    (2, 2),
    (3, 1),
    (3, 2),
    (3, 3),
    (4, 3),
    (4, 3),
    (4, 4),
)
"""Equally likely (claims, wrong claims) of a response that goes wrong."""

WRONG_SHARE = sum(Fraction(wrong, claims) for claims, wrong in SHAPES) / len(SHAPES)
"""The expected share of wrong claims in a response that goes wrong: 4/5."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Rates of the five kinds; raises ``ValueError`` unless they are rates that sum to one.

    A mix of refusals alone is refused too: no metric would be defined.
    """

    follows: float
    ignores: float
    misled_by_relevant: float
    misled_by_irrelevant: float
    refuses: float

    def __post_init__(self) -> None:
        """Refuse rates that are no distribution."""
        rates = astuple(self)
        if min(rates) < 0 or not math.isclose(sum(rates), 1, abs_tol=1e-9):
            raise ValueError(f"the rates of a mix must sum to one, found {rates}")
        if self.refuses >= 1:
            raise ValueError("a mix needs responses that claim something")

    def kind(self, u: float) -> ResponseKind:
        """The kind at ``u`` in [0, 1): the inverse of the cumulated rates.

        >>> NORMAL.kind(0.0), NORMAL.kind(0.999)
        (<ResponseKind.FOLLOWS: 'follows'>, <ResponseKind.REFUSES: 'refuses'>)
        """
        for kind, cumulated in zip(ResponseKind, _cumulated(self), strict=True):
            if u < cumulated:
                return kind
        return ResponseKind.REFUSES if self.refuses else ResponseKind.FOLLOWS


@lru_cache(maxsize=8)
def _cumulated(mix: Mix) -> tuple[float, ...]:
    return tuple(accumulate(astuple(mix)))


NORMAL = Mix(
    follows=0.775,
    ignores=0.05,
    misled_by_relevant=0.03,
    misled_by_irrelevant=0.095,
    refuses=0.05,
)
"""Everyday quality: ``noise_sensitivity_irrelevant`` is 0.08."""

INCIDENT = Mix(
    follows=0.395,
    ignores=0.05,
    misled_by_relevant=0.03,
    misled_by_irrelevant=0.475,
    refuses=0.05,
)
"""An outdated index went live: ``noise_sensitivity_irrelevant`` is 0.40, faithfulness as ever."""


def expected(mix: Mix) -> dict[str, float]:
    """The exact mean of each metric over the interactions for which it is defined.

    Those are the ones with claims and, but for ``faithfulness``, with a reference. Given claims,
    a response is of a bad kind with rate / (1 - refuses), and then ``WRONG_SHARE`` of its claims
    are wrong in the way of that kind, all others right. Whether a reference was logged does not
    depend on the kind.

    >>> {metric: round(mean, 4) for metric, mean in expected(NORMAL).items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'faithfulness': 0.9579, 'noise_sensitivity_relevant': 0.0253,
     'noise_sensitivity_irrelevant': 0.08, 'incorrect_claims': 0.1474, 'hallucination': 0.0421}
    >>> round(expected(INCIDENT)["noise_sensitivity_irrelevant"], 4)
    0.4
    """
    share = float(WRONG_SHARE) / (1 - mix.refuses)
    relevant = share * mix.misled_by_relevant
    irrelevant = share * mix.misled_by_irrelevant
    hallucination = share * mix.ignores
    return {
        "faithfulness": 1 - hallucination,
        "noise_sensitivity_relevant": relevant,
        "noise_sensitivity_irrelevant": irrelevant,
        "incorrect_claims": relevant + irrelevant + hallucination,
        "hallucination": hallucination,
    }
