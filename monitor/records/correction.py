"""What people's audits say of a judge: its errors by metric, and its agreement by kind of verdict.

The parts of a ``CorrectionRecord`` (``control``). Formulas: ``monitor/stats/correction.py``. Pure,
like ``records``.
"""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, model_validator

from monitor.records import Frozen, Score

#: Why a number has no correction: the values of ``NotCorrected``.
WHY_NOT_CORRECTED: Final = (
    "too_few_audits",
    "too_few_wrong",
    "weights_too_uneven",
    "judge_hardly_better_than_chance",
)
#: Seconds for which a label says how the judge errs.
LABELS_HOLD_S: Final = 28 * 86_400
#: A judge whose value rises by less than this for each 1 of the people's has no line.
LEAST_SLOPE: Final = 0.3
#: Kinds of verdicts: there are six, and ``reviewers``.
MOST_KINDS: Final = 20
#: No line through values in [0, 1] is steeper, or begins further away.
_MOST: Final = 1e6
#: Sums are rounded.
_ROUNDING: Final = 1e-9

Bounded = Annotated[float, Field(ge=-_MOST, le=_MOST, allow_inf_nan=False)]
#: Of whatever is counted: a float holds it, and it has a place in a gauge.
HowMany = Annotated[int, Field(ge=0, le=2**53)]
Square = Annotated[float, Field(ge=0.0, le=_MOST, allow_inf_nan=False)]


def _is_interval(
    found: tuple[float | None, float | None, float | None],
) -> tuple[float | None, float | None, float | None]:
    value, lower, upper = found
    if (lower is None) != (upper is None) or (value is None and lower is not None):
        raise ValueError("needs both bounds or none, and none without a value")
    if lower is not None and upper is not None and lower > upper:
        raise ValueError("the lower bound is above the upper one")
    return found


#: A measure with the bounds of its 95 % interval; null where it is not defined.
Interval = Annotated[
    tuple[Bounded | None, Bounded | None, Bounded | None], AfterValidator(_is_interval)
]


def _is_reason(text: str) -> str:
    if text not in WHY_NOT_CORRECTED:
        raise ValueError(f"found {text!r}, expected one of {', '.join(WHY_NOT_CORRECTED)}")
    return text


class JudgeErrorsFound(Frozen):
    """The judge's errors in one metric, with larger meaning worse.

    ``alpha`` and ``beta`` are the line E[judge] = α + β·E[people]; ``people`` and ``spread`` are
    mean and variance of the people's values. ``squares`` are Σ(ω/Ω)²r²(h − h̄)^p of its residuals
    for p of 0, 1 and 2, ``effective`` is the number of audits by their weights.
    """

    alpha: Bounded
    beta: Annotated[float, Field(ge=LEAST_SLOPE, le=_MOST, allow_inf_nan=False)]
    people: Score
    spread: Annotated[float, Field(gt=0.0, le=1.0, allow_inf_nan=False)]
    squares: tuple[Square, Bounded, Square]
    effective: Annotated[float, Field(gt=2.0, allow_inf_nan=False)]
    audits: int = Field(ge=1)

    @model_validator(mode="after")
    def _are_sums_of_squares(self) -> Self:
        first, second, third = self.squares
        if second * second > (1 + _ROUNDING) * first * third:
            raise ValueError("squares are of no residuals: the middle one is too large")
        return self


class MetricCorrection(Frozen):
    """The audits of one metric: how many there are, how many it takes, how many are wrong.

    ``wrong`` are those with a people's value worse than 0. There are ``errors``, or the reason why
    they are ``missing``. ``moved``: whether the latest audits show other errors of the judge than
    those before; null where there are too few.
    """

    audits: HowMany
    needed: HowMany
    wrong: HowMany
    errors: JudgeErrorsFound | None = None
    missing: Annotated[str, AfterValidator(_is_reason)] | None = None
    moved: bool | None = None

    @model_validator(mode="after")
    def _has_errors_or_a_reason(self) -> Self:
        if (self.errors is None) == (self.missing is None):
            raise ValueError("needs errors, or the reason why they are missing")
        if self.wrong > self.audits:
            raise ValueError(f"{self.wrong} of {self.audits} audits cannot be wrong")
        return self


class VerdictAgreement(Frozen):
    """How far a judge's verdicts of one kind are the people's, on so many audited interactions."""

    audits: HowMany
    verdicts: HowMany
    kappa: Interval
    precision: Interval
    recall: Interval

    @model_validator(mode="after")
    def _are_in_range(self) -> Self:
        for name, found, least in (
            ("kappa", self.kappa, -1.0),
            ("precision", self.precision, 0.0),
            ("recall", self.recall, 0.0),
        ):
            if any(number is not None and not least <= number <= 1.0 for number in found):
                raise ValueError(f"{name} lies outside {least:g} to 1")
        return self


#: A kind of verdict, as ``Verdicts`` names it, or ``reviewers``: two people's, side by side.
_KindOfVerdicts = Annotated[str, Field(pattern="^[a-z][a-z_]{0,39}$")]
Agreements = Annotated[dict[_KindOfVerdicts, VerdictAgreement], Field(max_length=MOST_KINDS)]
