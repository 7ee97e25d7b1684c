"""People's audits correct a judge's number. Pure.

Of audits drawn with known probability π there are the judge's value j and the people's value h, by
the same formula from corrected verdicts, with larger meaning worse. An audit weighs ω = W·u/π.

Any window, as long as the judge's error rates hold: the judge's mean is a line of the true one,
E[j] = α + β·E[h], fitted to the audits and turned round: θ̂_c = (θ̂ − α)/β. That is the inverse
of calibration, whose variance is Fieller's to first order (Fuller, "Measurement Error Models",
Wiley 1987, section 1.1; Rogan & Gladen, "Estimating prevalence from the results of a screening
test", American Journal of Epidemiology 107 (1978) 71–76, is its case of 0 and 1). A regression of
h on j draws every window towards the quality that was audited: in a window twice as bad its
interval covers the truth 29 to 60 times in 100.

Exactly the span that was audited: θ̂_c = λ·θ̂ + Δ with λ the slope of h on j within [0, 1];
Angelopoulos et al., "PPI++: efficient prediction-powered inference" (2023). There it is narrower.

Coverage in simulations is printed by tests/benchmarks/corrections.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from monitor.stats.clustered import t_quantile
from monitor.stats.estimate import Estimate, turned, widened
from monitor.stats.sums import as_worse

#: Audits that it takes: drawn alike, and drawn with more of those that look bad.
LEAST_UNIFORM, LEAST_STRATIFIED = 100, 50
#: Of them with h > 0: the judge's misses are seen on nothing else.
LEAST_WRONG: Final = 10
#: A judge whose value rises by less than this for each 1 of the people's is hardly one.
LEAST_SLOPE: Final = 0.3
#: The effective number of audits, by their weights.
LEAST_EFFECTIVE: Final = 30.0
#: The latest audits are held against those before them; χ² with two degrees of freedom at 1 %.
LATEST: Final = 50
#: An audit that alone decides the line lies on it: its residual of 0 is divided by something.
_MOST_LEVERAGE: Final = 0.9
_CHI2_2_AT_1_PERCENT: Final = 9.210340371976182


class NotCorrected(StrEnum):
    """Why a number has no correction."""

    TOO_FEW = "too_few_audits"
    TOO_FEW_WRONG = "too_few_wrong"
    UNEVEN = "weights_too_uneven"
    NO_BETTER_THAN_CHANCE = "judge_hardly_better_than_chance"


class Audited(NamedTuple):
    """One audit of one metric: both values with larger meaning worse, and ω > 0."""

    judge: float
    people: float
    weight: float


class JudgeErrors(NamedTuple):
    """What audits say of a judge's errors; enough to correct any mean that it gives.

    ``alpha`` and ``beta`` are the line E[j] = α + β·E[h]; ``people`` is h̄, ``spread`` S_hh;
    ``squares`` are Σ(ω/Ω)²r², Σ(ω/Ω)²r²(h − h̄) and Σ(ω/Ω)²r²(h − h̄)² of its residuals r, each
    divided by 1 less its leverage (HC3: MacKinnon & White, "Some heteroskedasticity-consistent
    covariance matrix estimators", Journal of Econometrics 29 (1985) 305–325); ``effective`` is
    k = Ω²/Σω², ``audits`` n.
    """

    alpha: float
    beta: float
    people: float
    spread: float
    squares: tuple[float, float, float]
    effective: float
    audits: int


class Corrected(NamedTuple):
    """The corrected mean and its 95 % interval."""

    value: float
    lower: float
    upper: float


class _Moments(NamedTuple):
    total: float
    people: float
    judge: float
    s_hh: float
    s_hj: float
    s_jj: float
    effective: float


def judge_errors(
    audits: Sequence[Audited], *, least: int = LEAST_UNIFORM
) -> JudgeErrors | NotCorrected:
    """The judge's line through the audits, or why there is none.

    ``least`` is how many it takes: ``LEAST_UNIFORM``, or ``LEAST_STRATIFIED`` where those that look
    bad were drawn more often.

    >>> right = [Audited(x, x, 1.0) for x in [0.0] * 90 + [1.0] * 10]
    >>> found = judge_errors(right)
    >>> found.alpha, found.beta, found.people, found.audits
    (0.0, 1.0, 0.1, 100)
    >>> judge_errors(right[:99])
    <NotCorrected.TOO_FEW: 'too_few_audits'>
    """
    if len(audits) < least:
        return NotCorrected.TOO_FEW
    if sum(one.people > 0 for one in audits) < LEAST_WRONG:
        return NotCorrected.TOO_FEW_WRONG
    moments = _moments(audits)
    if moments.effective < LEAST_EFFECTIVE:
        return NotCorrected.UNEVEN
    found = _line(audits, moments)
    if found is None or found.beta < LEAST_SLOPE:
        return NotCorrected.NO_BETTER_THAN_CHANCE
    return found


def corrected(errors: JudgeErrors, mean: float, variance: float) -> Corrected:
    """The mean of a window as people would have it, with larger meaning worse.

    ``variance`` is that of the judge's mean.

    Var = [Var(θ̂) + k/(k − 2)·(Σg² + (1 + (θ̂_c − h̄)²/S_hh)/(4n²))]/β² with g =
    (ω/Ω)·r·(1 + (θ̂_c − h̄)(h − h̄)/S_hh); 1/(4n²) is half an error more, as none among n audits
    does not mean that there are none: it tells against the mean, and far from what was audited
    against the slope. The interval is ± t of k − 2 degrees of freedom, clipped to [0, 1].

    >>> right = judge_errors([Audited(x, x, 1.0) for x in [0.0] * 90 + [1.0] * 10])
    >>> [round(x, 3) for x in corrected(right, 0.2, 0.02**2)]
    [0.2, 0.159, 0.241]
    """
    value = (mean - errors.alpha) / errors.beta
    off = value - errors.people
    of_mean, of_both, of_slope = _covariance_at_mean(errors)
    of_audits = of_mean + 2 * off * of_both + off * off * of_slope
    return _interval(value, (variance + of_audits) / errors.beta**2, errors.effective)


def corrected_estimate(
    found: Estimate, errors: JudgeErrors, higher_is_better: bool | None
) -> Corrected | None:
    """The estimate of a window as people would have it, in the direction of its metric.

    None where there is nothing to correct. Bounds are widened for what is missing, as those of the
    estimate are.

    >>> from monitor.stats.estimate import estimate
    >>> from monitor.stats.sums import terms
    >>> half = terms(m=1, q=1.0, u=1.0, f_mean=0.0, f=0.0, value_as_worse=0.5, failed=False)
    >>> errors = judge_errors([Audited(0.8 * x, x, 1.0) for x in [0.0] * 90 + [1.0] * 10])
    >>> found = corrected_estimate(estimate(half, half, True), errors, higher_is_better=True)
    >>> round(found.value, 3)
    0.375
    """
    if found.value is None or found.variance is None:
        return None
    worse = corrected(errors, as_worse(found.value, higher_is_better), found.variance)
    bounds = widened((worse.lower, worse.upper), found.missing_ratio or 0.0)
    return Corrected(as_worse(worse.value, higher_is_better), *turned(bounds, higher_is_better))


def corrected_over_audits(
    audits: Sequence[Audited], mean: float, variance: float
) -> Corrected | NotCorrected:
    """The mean of exactly the span that the audits were drawn from.

    λ = S_hj/S_jj within [0, 1], Δ = Σω(h − λj)/Σω, θ̂_c = λ·θ̂ + Δ, Var = λ²·Var(θ̂) +
    k/(k − 2)·(Σω²(h − λj − Δ)² + (Ω/n)²/4)/Ω². It says nothing of any other window.

    >>> same = [Audited(x, x, 1.0) for x in [0.0] * 90 + [1.0] * 10]
    >>> round(corrected_over_audits(same, 0.12, 0.0).value, 3)
    0.12
    """
    if len(audits) < LEAST_STRATIFIED:
        return NotCorrected.TOO_FEW
    moments = _moments(audits)
    if moments.effective < LEAST_EFFECTIVE:
        return NotCorrected.UNEVEN
    slope = min(1.0, max(0.0, moments.s_hj / moments.s_jj)) if moments.s_jj else 0.0
    shift = moments.people - slope * moments.judge
    squares = math.fsum(
        (one.weight * (one.people - slope * one.judge - shift)) ** 2 for one in audits
    )
    squares += (moments.total / len(audits)) ** 2 / 4
    of_audits = _small_sample(moments.effective) * squares / moments.total**2
    return _interval(slope * mean + shift, slope**2 * variance + of_audits, moments.effective)


def has_moved(audits: Sequence[Audited]) -> bool | None:
    """Whether the latest 50 audits show other errors of the judge than those before, at 1 %.

    ``audits`` are in the order of time. A Wald test of both coefficients of the line; None where
    there are too few of either to fit one.
    """
    before, latest = audits[:-LATEST], audits[-LATEST:]
    if len(before) < LATEST or len(latest) < LATEST:
        return None
    lines = [_line(part, _moments(part)) for part in (before, latest)]
    if None in lines:
        return None
    one, other = (line for line in lines if line is not None)
    d_alpha, d_beta = other.alpha - one.alpha, other.beta - one.beta
    a, b, c = (x + y for x, y in zip(_covariance(one), _covariance(other), strict=True))
    determinant = a * c - b * b
    if determinant <= 0:
        return None
    wald = (c * d_alpha**2 - 2 * b * d_alpha * d_beta + a * d_beta**2) / determinant
    return wald > _CHI2_2_AT_1_PERCENT


def _moments(audits: Sequence[Audited]) -> _Moments:
    total = math.fsum(one.weight for one in audits)
    people = math.fsum(one.weight * one.people for one in audits) / total
    judge = math.fsum(one.weight * one.judge for one in audits) / total

    def spread(x: str, y: str, x_mean: float, y_mean: float) -> float:
        return (
            math.fsum(
                one.weight * (getattr(one, x) - x_mean) * (getattr(one, y) - y_mean)
                for one in audits
            )
            / total
        )

    return _Moments(
        total,
        people,
        judge,
        spread("people", "people", people, people),
        spread("people", "judge", people, judge),
        spread("judge", "judge", judge, judge),
        total**2 / math.fsum(one.weight**2 for one in audits),
    )


def _line(audits: Sequence[Audited], moments: _Moments) -> JudgeErrors | None:
    """None where all people's values are one: then there is no line."""
    if moments.s_hh <= 0 or moments.effective <= 2:
        return None
    beta = moments.s_hj / moments.s_hh
    alpha = moments.judge - beta * moments.people
    squares = [0.0, 0.0, 0.0]
    for one in audits:
        off = one.people - moments.people
        share, residual = one.weight / moments.total, one.judge - alpha - beta * one.people
        leverage = min(_MOST_LEVERAGE, share * (1 + off**2 / moments.s_hh))
        square = (share * residual / (1 - leverage)) ** 2
        for power in range(3):
            squares[power] += square * off**power
    return JudgeErrors(
        alpha,
        beta,
        moments.people,
        moments.s_hh,
        (squares[0], squares[1], squares[2]),
        moments.effective,
        len(audits),
    )


def _covariance_at_mean(line: JudgeErrors) -> tuple[float, float, float]:
    """Variance of the line at h̄, its covariance with the slope, and the variance of the slope.

    With half an error more in both variances.
    """
    first, second, third = line.squares
    spread, half_error = line.spread, 1 / (4 * line.audits**2)
    inflated = _small_sample(line.effective)
    return (
        inflated * (first + half_error),
        inflated * (second / spread),
        inflated * (third / spread / spread + half_error / spread),
    )


def _covariance(line: JudgeErrors) -> tuple[float, float, float]:
    """Var(α̂), Cov(α̂, β̂) and Var(β̂)."""
    of_mean, of_both, of_slope = _covariance_at_mean(line)
    h = line.people
    return of_mean - 2 * h * of_both + h * h * of_slope, of_both - h * of_slope, of_slope


def _small_sample(effective: float) -> float:
    return effective / (effective - 2)


def _interval(value: float, variance: float, effective: float) -> Corrected:
    """All of [0, 1] where the variance is beyond any number."""
    half = math.inf
    if math.isfinite(variance):
        half = t_quantile(0.975, max(1, int(effective) - 2)) * math.sqrt(max(0.0, variance))
    lower, upper = value - half, value + half
    clipped = [min(1.0, max(0.0, x)) for x in (value, lower, upper)]
    return Corrected(*clipped)
