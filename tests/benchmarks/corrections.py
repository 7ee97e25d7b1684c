"""Does a number that audits have corrected hold the truth, also in a window of another quality?

A month of 3,000 judged interactions is audited: n of them, uniformly or half of those that the
judge finds bad (``monitor.stats.audit_drawing``, with its probabilities). Then windows of another
400 judged are corrected, with a quality of ×½, ×1, ×1.5, ×2 and ×3 of the audited one. An
interaction has one to six claims, which are wrong together (a beta distribution); the judge misses
wrong claims, and raises false alarms on right ones. Printed are how often the interval holds the
window's true mean, half its width beside that of people alone (as many audits, drawn uniformly,
without a judge), the judge's own number's coverage, and how often there is no correction.

Then the level of ``has_moved``: how often it warns of a judge that has not changed, and of one
whose false alarms have become twice as many.

    python -m tests.benchmarks.corrections [--full] [--runs 3000] [--seed 1]
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.stats.audit_drawing import Stratum, allocated
from monitor.stats.correction import (
    LEAST_STRATIFIED,
    LEAST_UNIFORM,
    Audited,
    Corrected,
    NotCorrected,
    corrected,
    corrected_over_audits,
    has_moved,
    judge_errors,
)
from monitor.stats.estimate import Z95
from tests.benchmarks._sizes import parser

Numbers = NDArray[np.float64]

MONTH: Final = 3_000
WINDOW: Final = 400
BAR: Final = 0.92
TIMES: Final = (0.5, 1.0, 1.5, 2.0, 3.0)
BAD, GOOD = Stratum("bad", is_bad=True), Stratum("good", is_bad=False)
#: How alike the claims of an answer are: the sum of the two numbers of the beta distribution.
ALIKE: Final = 1.0


class Judge(NamedTuple):
    """What it does to claims that are wrong, and to those that are right."""

    name: str
    misses: float
    false_alarms: float


class Case(NamedTuple):
    """One row: a judge, and how it was audited."""

    judge: Judge
    mean: float
    audits: int
    is_stratified: bool


JUDGES: Final = (
    Judge("95 %", 0.05, 0.05),
    Judge("15 / 3 %", 0.15, 0.03),
    Judge("85 %", 0.15, 0.15),
)


class Result(NamedTuple):
    """Of one run and window."""

    held: bool | None
    half: float | None
    plain_held: bool


def judged(
    mean: float, number: int, judge: Judge, rng: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """The shares of wrong claims, truly and by the judge, of shape (number,)."""
    claims = rng.integers(1, 7, number)
    chance = rng.beta(ALIKE * mean, ALIKE * (1 - mean), number)
    wrong = rng.binomial(claims, chance)
    said = rng.binomial(wrong, 1 - judge.misses) + rng.binomial(claims - wrong, judge.false_alarms)
    return wrong / claims, said / claims


def audited(case: Case, rng: np.random.Generator) -> list[Audited]:
    """A month's audits, in the order in which they were drawn."""
    people, judge = judged(case.mean, MONTH, case.judge, rng)
    if not case.is_stratified:
        chosen = rng.choice(MONTH, case.audits, replace=False)
        return [Audited(judge[i], people[i], MONTH / case.audits) for i in chosen]
    found = []
    members = {BAD: np.flatnonzero(judge > 0), GOOD: np.flatnonzero(judge == 0)}
    for stratum, drawn in allocated({s: len(m) for s, m in members.items()}, case.audits).items():
        chosen = rng.choice(members[stratum], drawn.places, replace=False)
        found += [Audited(judge[i], people[i], 1 / drawn.probability) for i in chosen]
    rng.shuffle(found)
    return [Audited(*one) for one in found]


def run_windows(case: Case, rng: np.random.Generator) -> tuple[list[Result], list[Result]]:
    """One month and its windows: by the inverse, and (×1 only) over the audited span."""
    audits = audited(case, rng)
    least = LEAST_STRATIFIED if case.is_stratified else LEAST_UNIFORM
    errors = judge_errors(audits, least=least)
    found = []
    for times in TIMES:
        truth = case.mean * times
        mean, variance = _estimated(judged(truth, WINDOW, case.judge, rng)[1])
        half = Z95 * math.sqrt(variance)
        plain = mean - half <= truth <= mean + half
        one = errors if isinstance(errors, NotCorrected) else corrected(errors, mean, variance)
        found.append(_result(one, truth, plain))
    mean, variance = _estimated(judged(case.mean, MONTH, case.judge, rng)[1])
    same = corrected_over_audits(audits, mean, variance)
    return found, [_result(same, case.mean, plain_held=False)]


def _estimated(values: Numbers) -> tuple[float, float]:
    """The mean and its variance, as of a window: D·p(1 − p)/n with D the values' own."""
    return float(values.mean()), float(values.var() / len(values))


def _result(found: Corrected | NotCorrected, truth: float, plain_held: bool) -> Result:
    if isinstance(found, NotCorrected):
        return Result(None, None, plain_held)
    return Result(found.lower <= truth <= found.upper, (found.upper - found.lower) / 2, plain_held)


def people_alone(case: Case, runs: int, rng: np.random.Generator) -> float:
    """Half the width of ± 1.96 standard errors of as many audits, drawn uniformly; the mean."""
    halves = []
    for _ in range(runs):
        people, _judge = judged(case.mean, case.audits, case.judge, rng)
        halves.append(Z95 * math.sqrt(float(people.var(ddof=1)) / case.audits))
    return sum(halves) / runs


def show(case: Case, runs: int, seed: int) -> bool:
    """Print the rows of one case; whether all hold the bar."""
    rng = np.random.default_rng(
        [seed, case.audits, int(case.is_stratified), JUDGES.index(case.judge)]
    )
    results = [run_windows(case, rng) for _ in range(runs)]
    alone = people_alone(case, min(runs, 1_000), rng)
    how = "stratified" if case.is_stratified else "uniform"
    label = f"{case.judge.name:>9} {case.mean:>5} {case.audits:>4} {how:<10}"
    holds = True
    for index, times in enumerate(TIMES):
        holds &= _row(f"{label} ×{times:<4}", [windows[index] for windows, _ in results], alone)
    _row(f"{label} span ", [same[0] for _, same in results], alone)
    return holds


def _row(label: str, results: list[Result], alone: float) -> bool:
    there = [one for one in results if one.held is not None]
    none = 1 - len(there) / len(results)
    if not there:
        print(f"{label}  no correction in any run", flush=True)
        return True
    held = sum(bool(one.held) for one in there) / len(there)
    half = sum(one.half or 0.0 for one in there) / len(there)
    plain = sum(one.plain_held for one in results) / len(results)
    verdict = "ok" if held >= BAR else f"BELOW {BAR}"
    print(
        f"{label}  held {held:.3f}  ± {half:.3f}  people alone ± {alone:.3f}"
        f"  the judge's own held {plain:.3f}  none {none:.3f}  {verdict}",
        flush=True,
    )
    return held >= BAR


def show_moved(runs: int, seed: int) -> None:
    """How often a warning is given, by the number of audits before the latest 50."""
    judge, worse = JUDGES[1], Judge("worse", 0.15, 0.06)
    for before in (50, 100, 200):
        for name, later in (("as before", judge), ("false alarms ×2", worse)):
            rng = np.random.default_rng([seed, before, len(name)])
            said = []
            for _ in range(runs):
                audits = []
                for number, one in ((before, judge), (50, later)):
                    people, verdict = judged(0.08, number, one, rng)
                    audits += [Audited(j, h, 1.0) for j, h in zip(verdict, people, strict=True)]
                said.append(has_moved(audits))
            known = [one for one in said if one is not None]
            print(
                f"has_moved: {before} + 50 audits, {name}: {sum(known) / len(known):.3f}",
                flush=True,
            )


def main() -> None:
    """Print the tables."""
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=int)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    runs = options.runs or (3_000 if options.full else 300)
    numbers = ((100, True), (100, False), (200, True)) if options.full else ((100, True),)
    holds = [
        show(Case(judge, mean, audits, is_stratified), runs, options.seed)
        for mean in ((0.08, 0.3) if options.full else (0.08,))
        for audits, is_stratified in numbers
        for judge in JUDGES
    ]
    show_moved(runs, options.seed)
    print(f"every window of every judge holds {BAR}: {'yes' if all(holds) else 'no'}")


if __name__ == "__main__":
    main()
