"""What a provisional baseline sees: judged from a change on the first day to the alarm.

Installations with three metrics whose traffic does not change begin with a provisional baseline,
from their first 1,000 scores. At a random moment of the time that it holds, in its first half, the
mean is ×1.5, ×2 or ×3. Judged until the first alarm: the median, and the least and the most.
"never" is later than 20,000 judged. It goes by arrays, as ``promise.py`` does.

    python -m tests.benchmarks.first_day [--full] [--seed 1] [--installations 9]
"""

from __future__ import annotations

import math
import time
from typing import Final

from tests.benchmarks._sizes import parser
from tests.benchmarks.promising.installation import settings
from tests.benchmarks.promising.quiet import Quiet
from tests.benchmarks.promising.results import quantiles
from tests.benchmarks.promising.weeks import Change, Plan
from tests.benchmarks.promising.worlds import DAY, Cell

#: Of those that have a provisional baseline at all.
RATES: Final = ("50/h", "10/min", "1/s")
CHANGES: Final = (Change(1.5), Change(2.0), Change(3.0))
LAW: Final = "claims 0.08"
INSTALLATIONS, FULL_INSTALLATIONS = 9, 41


def judged(rate: str, seed: int, number: int) -> list[float]:
    """Of one installation until each of the changes is seen; ∞: never."""
    cell = Cell(rate, "i.i.d.", LAW)
    one = Quiet(cell, seed, number, settings(), Plan(1.0, ()))
    while one.began == math.inf:
        one.run(one.now + 60.0)
    left = one.traffic.start + DAY - one.began
    one.run(one.began + one.traffic.rng(3).random() * left / 2)
    delays = [one.delay(change).judged for change in CHANGES]
    return [math.inf if delay is None else float(delay) for delay in delays]


def shown(delay: float) -> str:
    """As a whole number.

    >>> shown(1_234.0), shown(math.inf)
    ('1,234', 'never')
    """
    return "never" if math.isinf(delay) else f"{delay:,.0f}"


def main() -> None:
    """Print a line for each rate."""
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--installations", type=int, help="default 9; full: 41")
    chosen = line.parse_args()
    number = chosen.installations or (FULL_INSTALLATIONS if chosen.full else INSTALLATIONS)
    began = time.monotonic()
    for rate in RATES:
        found = [judged(rate, chosen.seed, each) for each in range(number)]
        cells = []
        for change, delays in zip(CHANGES, zip(*found, strict=True), strict=True):
            median, _ = quantiles(delays)
            least, most = map(shown, (min(delays), max(delays)))
            cells.append(f"×{change.times:g} {shown(median)} ({least} to {most})")
        print(f"{rate:7} {number} installations, judged: {'; '.join(cells)}", flush=True)
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
