"""What was rolled out when: new values of an attribute, among interactions that come by chance."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

import pytest

from monitor.stats.releases import ByMinute, Rollout, ValueChange, rollout

HOUR = 60


def counted(seen: Iterable[tuple[int, str]]) -> ByMinute:
    """Interactions by minute and value."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for minute, value in seen:
        found[minute][value] += 1
    return found


def mixed(
    minutes: Iterable[int], shares: dict[str, float], rng: random.Random, each: int = 10
) -> list[tuple[int, str]]:
    """So many interactions a minute, of values by their shares."""
    names, weights = list(shares), list(shares.values())
    return [(m, v) for m in minutes for v in rng.choices(names, weights, k=each)]


def test_a_release_is_known_from_its_first_minute() -> None:
    """As soon as three interactions have it; one alone is a stray one."""
    usual = [(minute, "v1") for minute in range(60) for _ in range(10)]
    assert rollout(counted([*usual, (60, "v2")])).changes == ()
    found = rollout(counted([*usual, (60, "v2"), (61, "v2"), (61, "v2"), (61, "v1")]))
    assert found == Rollout((ValueChange("v1", "v2", 3_600.0),), ("v1", "v2"), 2)


def test_a_rolling_release_is_one_change_from_its_begin_to_its_end() -> None:
    """Old and new beside each other for half an hour: no minute of it shows another change."""
    rng = random.Random(1)
    seen = mixed(range(60), {"v1": 1.0}, rng)
    shown = set()
    for minute in range(60, 150):
        share = min(1.0, (minute - 59) / 30)
        seen += mixed([minute], {"v1": 1.0 - share, "v2": share}, rng)
        shown.add(rollout(counted(seen)).changes)
    begin = min(minute for minute, value in seen if value == "v2")
    began = ValueChange("v1", "v2", 60.0 * begin)
    last = max(minute for minute, value in seen if value == "v1")
    completed = ValueChange("v1", "v2", 60.0 * (last + 1), "completed")
    assert shown == {(), (began,), (began, completed)}
    assert rollout(counted(seen)).in_use == ("v2",)


def canary(seed: int, then: str) -> ByMinute:
    """5 % of v13 for an hour beside v12, and then one of them alone for two hours."""
    rng = random.Random(seed)
    usual = mixed(range(60), {"v12": 1.0}, rng)
    both = mixed(range(60, 120), {"v12": 0.95, "v13": 0.05}, rng)
    return counted([*usual, *both, *mixed(range(120, 240), {then: 1.0}, rng)])


@pytest.mark.parametrize("seed", range(5))
def test_the_end_of_a_canary_is_told_whichever_way_it_ends(seed: int) -> None:
    """Promoted, the old one is gone; rolled back, it is all there is again. Each to the minute."""
    promoted, rolled_back = (rollout(canary(seed, then)).changes for then in ("v13", "v12"))
    began = promoted[0]
    assert (began.before, began.value, began.change) == ("v12", "v13", "began")
    assert promoted[1:] == (ValueChange("v12", "v13", 7_200.0, "completed"),)
    assert rolled_back[0] == began
    (end,) = rolled_back[1:]
    assert (end.before, end.value, end.change) == ("v13", "v12", "rolled_back")
    assert began.at < end.at <= 7_200.0


def test_what_has_gone_is_told_when_that_is_sure_and_not_again() -> None:
    """While a minute more is seen at a time, no mark is moved or taken back."""
    minutes = canary(1, "v12")
    shown: list[tuple[ValueChange, ...]] = []
    for until in range(60, 240):
        found = rollout({m: counts for m, counts in minutes.items() if m < until}).changes
        if not shown or shown[-1] != found:
            shown.append(found)
    assert [[c.change for c in found] for found in shown] == [
        [],
        ["began"],
        ["began", "rolled_back"],
    ]


def parted(*parts: tuple[int, dict[str, float]], seed: int, each: int = 5) -> ByMinute:
    """One after the other: so many minutes, with values by their shares."""
    rng, at = random.Random(seed), 0
    seen: list[tuple[int, str]] = []
    for minutes, shares in parts:
        seen += mixed(range(at, at + minutes), shares, rng, each)
        at += minutes
    return counted(seen)


A, B, BOTH = {"a": 1.0}, {"b": 1.0}, {"a": 0.5, "b": 0.5}
TRAFFIC = {
    "canary rolled back": [(90, A), (150, {"a": 0.9, "b": 0.1}), (150, A)],
    "canary promoted": [(90, A), (150, {"a": 0.9, "b": 0.1}), (150, B)],
    "rolled out": [(60, A), (60, {"a": 0.7, "b": 0.3}), (60, {"a": 0.3, "b": 0.7}), (90, B)],
    "and back": [(60, A), (40, BOTH), (60, B), (40, BOTH), (90, A)],
    "a router pauses": [(90, BOTH), (60, A), (90, BOTH), (60, A), (60, BOTH)],
    "b by day": [(30, BOTH), (60, A), (60, BOTH), (60, A), (60, BOTH), (30, A)],
    "of three": [(60, A), (60, BOTH), (60, {"b": 0.8, "c": 0.2}), (60, {"c": 1.0})],
}
#: Of a value that jumps from few to all, what is kept just before the jump shows a begin there.
JUMPING = {"canary promoted", "of three"}


@cache
def as_the_floor_slides(name: str, seed: int) -> list[set[ValueChange]]:
    """The marks when ever less of this traffic is kept, minute by minute."""
    minutes = parted(*TRAFFIC[name], seed=seed)
    floors = range(max(minutes) + 1)
    kept = ({m: counts for m, counts in minutes.items() if m >= floor} for floor in floors)
    return [set(rollout(each).changes) for each in kept]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TRAFFIC)
def test_no_end_has_another_word_whatever_is_kept(name: str, seed: int) -> None:
    """While the horizon slides, and for an exporter that was started with another floor."""
    whole, *later = as_the_floor_slides(name, seed)
    for shown in later:
        assert {one for one in shown if one.change != "began"} <= whole
    assert not later[-1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(TRAFFIC.keys() - JUMPING))
def test_while_the_horizon_slides_marks_only_vanish(name: str, seed: int) -> None:
    """None is moved, and none comes anew or again."""
    shown = as_the_floor_slides(name, seed)
    assert all(later <= earlier for earlier, later in pairwise(shown))


def test_an_end_is_told_only_where_its_begin_was_seen() -> None:
    """Two values from the first minute on: nobody knows which one was there before."""
    for seed in range(5):
        pause = parted((90, BOTH), (60, A), seed=seed)
        assert rollout(pause).changes == ()
        by_day = parted((60, BOTH), (60, A), (60, BOTH), (60, A), seed=seed)
        assert [(c.value, c.change) for c in rollout(by_day).changes] == [
            ("b", "began"),
            ("a", "rolled_back"),
        ]


def test_a_rollback_is_a_change_too() -> None:
    """The old value had surely gone, and is back."""
    spans = ("v1", range(60)), ("v2", range(60, 80)), ("v1", range(80, 120))
    found = rollout(counted((m, value) for value, span in spans for m in span for _ in range(5)))
    assert found.changes == (ValueChange("v1", "v2", 3_600.0), ValueChange("v2", "v1", 4_800.0))
    assert found.in_use == ("v1",)


def test_values_side_by_side_change_nothing() -> None:
    """Two models by a router, tests of one in fifty: over two days, whatever has been seen."""
    flapped = 0
    for seed in range(20):
        rng = random.Random(seed)
        shares = {"large": 0.7, "small": 0.28, "canary": 0.02}
        seen = counted(mixed(range(48 * HOUR), shares, rng, each=3))
        for first in range(0, 24 * HOUR, 6 * HOUR):  # what lies before the horizon is forgotten
            found = rollout({at: values for at, values in seen.items() if at >= first})
            flapped += bool(found.changes)
            assert found.in_use == ("large", "small", "canary")
    assert flapped == 0


def test_what_names_single_interactions_is_no_release() -> None:
    """A text, or an id: its values come a few times each, and would be labels without bound."""
    rng = random.Random(2)
    seen = [(minute, f"id-{rng.randrange(400)}") for minute in range(2_000)]
    found = rollout(counted(seen))
    assert (found.changes, found.in_use) == ((), ())
    assert found.values > 300


def test_the_order_within_minutes_changes_nothing() -> None:
    """Nor that in which the minutes are given."""
    rng = random.Random(3)
    seen = mixed(range(60), {"a": 1.0}, rng) + mixed(range(50, 120), {"b": 0.9, "c": 0.1}, rng)
    expected = rollout(counted(seen))
    assert [one.value for one in expected.changes if one.change == "began"] == ["b", "c"]
    for _ in range(5):
        rng.shuffle(seen)
        assert rollout(counted(seen)) == expected
