"""A scorer with prices and a budget, whose clock a test holds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tests.stages.clocked import CLOCK

#: A million US dollars for a million tokens: a judgement costs some thousand.
PRICES = {"judge__price__input_usd_per_million": 1e6, "judge__price__output_usd_per_million": 1e6}
BUDGET = 20_000.0


@contextmanager
def clocked_by(clock: Path) -> Iterator[None]:
    os.environ[CLOCK] = str(clock)
    try:
        yield
    finally:
        del os.environ[CLOCK]


def noon_zone(now: float) -> str:
    """A time zone where it is noon: no day of the budget ends within the next eleven hours.

    Of use where the rules' clock is the machine's: they are silent about a budget that is spent
    within the half hour before its day ends.

    >>> noon_zone(0.0), noon_zone(43_200.0), noon_zone(86_399.0)
    ('Etc/GMT-12', 'Etc/GMT+0', 'Etc/GMT+11')
    """
    east = 12 - datetime.fromtimestamp(now, UTC).hour
    return f"Etc/GMT{-east:+d}"
