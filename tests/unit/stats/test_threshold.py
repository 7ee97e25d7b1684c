"""How many slots there are in a week, and the threshold that follows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.threshold import WEEK_S, SlotsPerWeek, in_steps

DAY = 86_400


@given(st.integers(1, 10_000_000))
def test_a_growing_count_is_never_taken_for_less(count: int) -> None:
    """At most 5 % more, and exact up to a thousand."""
    found = in_steps(count)
    assert count * (1 - 1e-9) <= found <= count * 1.05 * (1 + 1e-9)
    assert count > 1_000 or found == count


def test_a_day_of_traffic_changes_the_threshold_some_hundred_times_at_most() -> None:
    """And not with every slot: an alarm that is open computes its evidence again each time."""
    assert len({in_steps(count) for count in range(1_000, 86_400)}) < 100


@given(st.lists(st.integers(0, 3 * DAY), max_size=200), st.integers(DAY, 3 * DAY))
def test_the_larger_of_two_periods_counts(times: list[int], now: int) -> None:
    """Whole days, and at least sixty a day; whatever was dropped from before them."""
    pace = SlotsPerWeek(DAY)
    for time in times:
        pace.add(float(time))
    start = now // DAY * DAY
    previous = sum(start - DAY <= time < start for time in times)
    current = sum(start <= time <= now for time in times)
    expected = max(previous, current, 60) * WEEK_S / DAY
    assert pace.per_week(now) == expected
    pace.drop_before(start - DAY)
    assert pace.per_week(now) == expected
