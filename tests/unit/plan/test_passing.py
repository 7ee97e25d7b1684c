"""The clock of a rehearsal: records' own times, and limits."""

from __future__ import annotations

import pytest

from monitor.plan.passing import LONGEST_GAP_S, STEP_S, Passing
from monitor.sampling.meters import Meter

NOW = 1_000_000.0


class Bench:
    """A clock, and what it says; every record that comes is judged with three calls."""

    def __init__(self, *per_minute: float, most: int = 10) -> None:
        self.judged, self.heard = 0, list[tuple[float, float]]()
        meters = [Meter(each, lambda: 3.0 * self.judged) for each in per_minute]
        self.passing = Passing(NOW, meters, lambda: self.judged, self._hear, most=most)

    def _hear(self, lag_s: float) -> None:
        self.heard.append((self.passing.now - NOW, lag_s))

    def come(self, *times: float) -> list[float]:
        """When each of these is read, in seconds from the start."""
        found = []
        for each in times:
            self.passing.comes(each)
            self.judged += 1
            found.append(round(self.passing.now - NOW, 3))
        return found


def test_without_limits_it_is_the_records_time() -> None:
    """From the first one on, whenever that was; older ones, and those without a time, are late."""
    assert Bench().come(50.0, 57.0, 51.0, -0.001, 58.0) == [0, 7, 7, 7, 8]


def test_who_looks_once_a_minute_is_told_in_time() -> None:
    """Also through a silence; and none is longer than a day."""
    bench = Bench()
    bench.come(50.0, 50.0 + 3_600)
    steps = [now for now, _ in bench.heard]
    assert steps == [STEP_S * n for n in range(1, 121)]
    assert bench.come(1e12) == [3_600 + LONGEST_GAP_S]


@pytest.mark.parametrize("limits", [(60.0,), (600.0, 60.0)])
def test_records_wait_for_the_tightest_limit(limits: tuple[float, ...]) -> None:
    """Twenty judgements a minute: ten wait, and then a record comes with each that ends."""
    bench = Bench(*limits)
    read = bench.come(*[50.0] * 30)
    assert read == [0] * 10 + [3 * n for n in range(1, 21)]
    assert bench.heard[-1] == (60, 60)


def test_who_has_caught_up_is_not_behind() -> None:
    """Slower traffic than the limit allows is read when it comes."""
    bench = Bench(60.0)
    assert bench.come(*(50.0 + 4 * n for n in range(20))) == [4 * n for n in range(20)]
    assert {lag for _, lag in bench.heard} == {0.0}
