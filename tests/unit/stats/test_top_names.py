"""Who keeps a place: always what it would be if all counts were looked at once."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.top_names import Counts, Places, Shares

NAMES = ["a", "b", "c", "d", "e", "f", "vip", "other"]
#: Period and name, and how often it is counted there.
STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(NAMES), st.integers(1, 9)), max_size=40
)


def given_back(counts: Counts, held: Counter[tuple[int, str]], step: tuple[int, str, int]) -> None:
    """Every third step takes away half of what its name has in its period."""
    period, name, by = step
    if by % 3 == 0 and held[period, name]:
        by = -(held[period, name] // 2 or 1)
    counts.count(period, name, by)
    held[period, name] += by


def totals(held: Counter[tuple[int, str]]) -> Counter[str]:
    """By name, without those that count no longer."""
    found: Counter[str] = Counter()
    for (_, name), number in held.items():
        found[name] += number
    return +found


@given(STEPS, st.integers(0, 4), st.lists(st.booleans(), min_size=40, max_size=40), st.booleans())
def test_places_go_to_those_that_rank_highest(
    steps: list[tuple[int, str, int]], most: int, looks: list[bool], drops: bool
) -> None:
    """Whatever came in between, and whenever it was looked at; the named one has one anyway."""
    counts, held = Counts(), Counter[tuple[int, str]]()
    places = Places(counts, most, always={"vip"}, never={"other"})
    for step, looked in zip(steps, looks, strict=False):
        given_back(counts, held, step)
        if looked:
            places.settle()
    if drops:
        counts.drop(0)
        held = Counter({key: number for key, number in held.items() if key[0] > 0})
    places.settle()
    found = totals(held)
    always = {"vip"} & found.keys()
    ranked = sorted(
        found.keys() - {"vip", "other"}, key=lambda name: (-found[name].bit_length(), name)
    )
    assert places.kept == always.union(ranked[: max(0, most - len(always))])
    left = ranked[max(0, most - len(always)) :]
    assert places.waiting == (left[0] if left else None)
    assert (len(counts), counts.number) == (len(found), found.total())


@given(STEPS, st.integers(1, 4), st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_shares_are_those_of_all_counts_at_once(
    steps: list[tuple[int, str, int]], most: int, looks: list[int]
) -> None:
    """All while they are few; else by their share, and never twice as many as there may be."""
    counts, held = Counts(), Counter[tuple[int, str]]()
    shares = Shares(counts, most)
    for step, looked in zip(steps, looks, strict=False):
        given_back(counts, held, step)
        if looked:
            shares.flip(shares.moved(looked))
    shares.flip(shares.moved(2))
    found = totals(held)
    least = 2
    if len(found) > most:
        least = max(2, found.total().bit_length() - most.bit_length() + 1)
    assert shares.kept == {name for name in found if found[name].bit_length() >= least}
    assert len(shares.kept) < 2 * most


def test_a_place_is_not_lost_to_names_that_count_once() -> None:
    """Ten thousand of them, each before it by name: it has counted four times."""
    counts = Counts()
    places = Places(counts, 1)
    counts.count(0, "zoo", 4)
    for number in range(10_000):
        counts.count(0, f"a{9_999 - number:05}", +1)
        places.settle()
        assert places.kept == {"zoo"}


def test_two_of_a_size_do_not_change_places_with_every_record() -> None:
    """Counting in turns to a thousand, the place changes hands at powers of two only."""
    counts, changes, before = Counts(), 0, set[str]()
    places = Places(counts, 1)
    for number in range(2_000):
        counts.count(0, "ba"[number % 2], +1)
        places.settle()
        changes += places.kept != before
        before = places.kept
    assert changes <= 2 * 10 + 2
