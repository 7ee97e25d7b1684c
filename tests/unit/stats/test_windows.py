"""Rolling sums, the horizon and durations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import ConfigurationError
from monitor.stats.horizon import horizon_start
from monitor.stats.sums import ZERO, Sums, terms
from monitor.stats.windows import RollingSums, bucket_seconds

Timed = tuple[float, Sums]

BUCKET_S = 10
WINDOWS = {"short": 30, "one": 10, "long": 200}
SLOT = terms(1, 1.0, 1.0, 0.0, 0.0, 0.5, False)

TIMES = st.integers(0, 159).map(lambda quarters: quarters * 2.5)
SLOTS = st.builds(
    terms,
    m=st.integers(1, 50),
    q=st.floats(0.01, 1),
    u=st.floats(0.1, 5),
    f_mean=st.floats(0, 1),
    f=st.floats(0, 0.25),
    value_as_worse=st.one_of(st.none(), st.floats(0, 1)),
    failed=st.booleans(),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), TIMES, SLOTS),
        st.tuples(st.just("take away"), st.integers(0, 30), st.just(ZERO)),
        st.tuples(st.just("advance"), TIMES, st.just(ZERO)),
        st.tuples(st.just("drop"), TIMES, st.just(ZERO)),
    ),
    max_size=40,
)


def held(slots: list[Timed], start: float, end: float) -> Sums:
    """The sums of the slots with an event time in [start, end), one by one."""
    found = ZERO
    for time, slot in slots:
        if start <= time < end:
            found = found.plus(slot)
    return found


def assert_holds(rolling: RollingSums, slots: list[Timed], now: float) -> None:
    """Every window is, bit for bit, the sum of its slots; so are all of them and a part."""
    end = (now // BUCKET_S + 1) * BUCKET_S
    for name, seconds in WINDOWS.items():
        assert rolling.window(name) == held(slots, end - seconds, end)
    assert rolling.horizon() == held(slots, 0, end)
    assert rolling.between(40, 120) == held(slots, 40, 120)


@given(STEPS)
def test_windows_are_the_sums_of_their_slots_after_every_step(
    steps: list[tuple[str, float, Sums]],
) -> None:
    """Slots come, go and are dropped, the clock jumps on and back: always the same bits."""
    rolling = RollingSums(BUCKET_S, WINDOWS)
    slots: list[Timed] = []
    now, dropped = -1.0, 0.0
    for step, number, sums in steps:
        if step == "add":
            rolling.add(number, sums, +1)
            slots += [(number, sums)] * (number >= dropped)
        elif step == "take away" and slots:
            time, slot = slots.pop(int(number) % len(slots))
            rolling.add(time, slot, -1)
        elif step == "advance":
            now = number
            rolling.advance(now)
        elif step == "drop":
            dropped = max(dropped, number // BUCKET_S * BUCKET_S)
            rolling.drop_before(number)
            slots = [slot for slot in slots if slot[0] >= dropped]
        assert_holds(rolling, slots, now)


@given(st.data(), st.lists(st.tuples(TIMES, SLOTS), max_size=12), TIMES)
def test_order_of_adding_leaves_no_trace(
    data: st.DataObject, slots: list[Timed], now: float
) -> None:
    """Two orders, one unread until the end and one read after each slot: the same bits."""
    first, second = RollingSums(BUCKET_S, WINDOWS), RollingSums(BUCKET_S, WINDOWS)
    second.advance(now)
    for time, slot in slots:
        first.add(time, slot, +1)
    for time, slot in data.draw(st.permutations(slots)):
        second.add(time, slot, +1)
        second.horizon()
    first.advance(now)
    assert [first.window(name) for name in WINDOWS] == [second.window(name) for name in WINDOWS]
    assert first.horizon() == second.horizon()


def test_a_window_is_the_current_bucket_and_those_before_it() -> None:
    """A slot of second 9.9 is in a window of three 10 s buckets until second 30."""
    rolling = RollingSums(BUCKET_S, WINDOWS)
    rolling.add(9.9, SLOT, +1)
    seen = []
    for now in (0.0, 29.999, 30.0):
        rolling.advance(now)
        seen.append((rolling.window("short").scored, rolling.window("one").scored))
    assert seen == [(1, 1), (1, 0), (0, 0)]


def test_a_slot_later_than_now_waits() -> None:
    """A slot of the next bucket counts nowhere until the clock is there."""
    rolling = RollingSums(BUCKET_S, WINDOWS)
    rolling.advance(5.0)
    rolling.add(10.0, SLOT, +1)
    before = (rolling.window("long"), rolling.horizon())
    rolling.advance(10.0)
    assert before == (ZERO, ZERO)
    assert (rolling.window("long"), rolling.horizon()) == (SLOT, SLOT)


def test_a_clock_that_steps_back_is_followed() -> None:
    """After a step back the windows are those of the earlier time."""
    rolling = RollingSums(BUCKET_S, WINDOWS)
    rolling.add(5.0, SLOT, +1)
    rolling.add(35.0, SLOT, +1)
    seen = []
    for now in (35.0, 15.0, 35.0):
        rolling.advance(now)
        seen.append((rolling.window("short").scored, rolling.horizon().scored))
    assert seen == [(1, 2), (1, 1), (1, 2)]


def test_a_dropped_bucket_stays_dropped() -> None:
    """Taking a slot away after its bucket was dropped does not take it away twice."""
    rolling = RollingSums(BUCKET_S, WINDOWS)
    rolling.advance(50.0)
    rolling.add(5.0, SLOT, +1)
    rolling.drop_before(19.9)
    rolling.drop_before(0.0)
    rolling.add(5.0, SLOT, -1)
    rolling.add(10.0, SLOT, +1)
    assert rolling.horizon() == rolling.window("long") == SLOT


@pytest.mark.parametrize("seconds", [0, -10, 15])
def test_a_window_must_be_whole_buckets(seconds: int) -> None:
    """The error names the window and the bucket."""
    with pytest.raises(ConfigurationError, match=f"window w: {seconds} s .* 10 s buckets"):
        RollingSums(BUCKET_S, {"w": seconds})


@pytest.mark.parametrize(
    ("windows", "expected"), [([300], 60), ([299, 3_600], 1), ([3_600, 15], 1), ([], 60)]
)
def test_buckets_are_seconds_below_five_minutes(windows: list[int], expected: int) -> None:
    """One short window makes the buckets of all windows short."""
    assert bucket_seconds(windows) == expected


@pytest.mark.parametrize(
    ("now", "longest", "expected"),
    [
        pytest.param(1_000.0, 60, 0, id="the first moment of a period"),
        pytest.param(1_999.9, 60, 0, id="the last moment of a period"),
        pytest.param(2_000.0, 60, 1_000, id="the next period"),
        pytest.param(5_000.0, 3_000, 2_020, id="a window longer than two periods"),
        pytest.param(5_000.0, 1_020, 4_000, id="a window that just fits"),
        pytest.param(5_000.0, 1_040, 3_980, id="a window that reaches one bucket further"),
        pytest.param(5_019.9, 1_040, 3_980, id="the last moment of that bucket"),
    ],
)
def test_horizon_begins_with_the_previous_period_or_the_longest_window(
    now: float, longest: int, expected: int
) -> None:
    """Periods of 1,000 s and buckets of 20 s; whichever reaches further back."""
    assert horizon_start(now, 1_000, longest, 20) == expected
