"""``rag-monitor plan`` beside the table for users, which was played: docs/statistics.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from monitor.config import load
from monitor.plan.plan import FACTORS, Assumed, Takes, bought, simulation
from monitor.plan.quantities import USUAL_MEAN, per_minute

PAGE = Path(__file__).parents[3] / "docs/statistics.md"
#: The column of what is shipped, after the rate and the change.
ONE_A_WEEK = 3
#: Of the median, beside two standard errors of the table's.
TOLERATED = {"20/day": 0.2, "100/day": 0.2, "50/h": 0.2, "1/s": 0.2}
#: Of what nine of ten are below. A plan leaves out that a week may end in the midst of a change.
LEAST_OF_MOST = 0.5


class Shown(NamedTuple):
    """The judged: median, its standard error, and what nine of ten are below (None: never)."""

    median: float
    error: float
    most: float | None


def shown(rate: str) -> dict[float, Shown]:
    """By change, as the page has them."""
    found = {}
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == rate and cells[1].startswith("×"):
            judged = re.search(r"\), ([\d,]+) ± ([\d,.]+) \((.*)\)", cells[ONE_A_WEEK])
            if judged is not None:
                median, error = map(_number, judged.groups()[:2])
                most = None if judged[3] == "never" else _number(judged[3])
                found[float(cells[1][1:])] = Shown(median, error, most)
    return found


def _number(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.parametrize("rate", TOLERATED)
def test_a_plan_agrees_with_the_table(rate: str) -> None:
    """Medians of ×1.5, ×2 and ×3 with the settings that are shipped; and who sees it late."""
    table, chosen = shown(rate), load({})
    assumed = Assumed(per_minute("--traffic", rate), USUAL_MEAN, 0.0)
    judged = bought(chosen, assumed, Takes(0.0, 0.0, 0.0, 0.0, "nothing"))
    factors = [factor for factor in FACTORS if factor in table and factor > 1.2]
    assert factors[-2:] == [2.0, 3.0]
    delays = simulation(chosen, assumed, judged).delays(factors)
    for factor, delay in zip(factors, delays, strict=True):
        median, error, most = table[factor]
        assert delay.median == pytest.approx(median, abs=TOLERATED[rate] * median + 2 * error), (
            factor
        )
        if most is None:
            assert delay.most is None, factor
        elif delay.most is not None:
            assert delay.most >= LEAST_OF_MOST * most, factor
