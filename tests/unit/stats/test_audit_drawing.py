"""How audits are drawn: places among strata, and members of one stratum."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.audit_drawing import Drawn, Stratum, allocated, drawn_from

STRATA = st.builds(Stratum, st.sampled_from("abcdefgh"), st.booleans())
SIZES = st.dictionaries(STRATA, st.integers(0, 40), max_size=9)
#: Often about as many as there are strata.
PLACES = st.integers(0, 12) | st.integers(0, 400)
BAD, GOOD = Stratum("bad", is_bad=True), Stratum("good", is_bad=False)


@given(SIZES, PLACES)
def test_all_places_are_given_as_far_as_there_are_members(
    sizes: dict[Stratum, int], places: int
) -> None:
    """Exactly so many, never more than a stratum has, and of an empty one nothing is said."""
    found = allocated(sizes, places)
    assert sum(one.places for one in found.values()) == min(places, sum(sizes.values()))
    assert {stratum: one.of for stratum, one in found.items()} == {
        stratum: size for stratum, size in sizes.items() if size
    }
    assert all(0 <= one.places <= one.of for one in found.values())


@given(SIZES, PLACES)
def test_each_stratum_has_a_place_while_there_are_enough(
    sizes: dict[Stratum, int], places: int
) -> None:
    """What is never drawn has no probability; that holds before any share does."""
    found = allocated(sizes, places)
    if places >= len(found):
        assert all(one.places >= 1 for one in found.values())


@given(SIZES, PLACES, st.randoms(use_true_random=False))
def test_the_order_of_the_strata_says_nothing(
    sizes: dict[Stratum, int], places: int, random: Random
) -> None:
    """Two who draw from the same strata give them the same places."""
    shuffled = list(sizes.items())
    random.shuffle(shuffled)
    assert allocated(dict(shuffled), places) == allocated(sizes, places)


def test_half_goes_to_bad_scores_and_the_rest_by_size() -> None:
    """Within a half in proportion, by largest remainders."""
    good = {Stratum(name, is_bad=False): size for name, size in {"a": 50, "b": 30, "c": 20}.items()}
    found = allocated({BAD: 100, **good}, 20)
    assert [one.places for one in found.values()] == [10, 5, 3, 2]


@pytest.mark.parametrize(
    ("bad", "good", "expected"),
    [(10, 900, (10, 50)), (900, 10, (50, 10)), (0, 900, (60,)), (20, 20, (20, 20))],
)
def test_one_half_fills_up_what_the_other_has_not(
    bad: int, good: int, expected: tuple[int, ...]
) -> None:
    """No place is left free for the sake of a share."""
    found = allocated({BAD: bad, GOOD: good}, 60)
    assert tuple(one.places for one in found.values()) == expected


def test_a_crowd_of_small_strata_leaves_none_out() -> None:
    """Three of bad scores and one of good ones: half of four places would be two."""
    bad = {Stratum(name, is_bad=True): 5 for name in "abc"}
    found = allocated({**bad, GOOD: 900}, 4)
    assert [one.places for one in found.values()] == [1, 1, 1, 1]


def test_the_probability_is_places_by_members() -> None:
    """π = n/N."""
    assert Drawn(30, 120).probability == 0.25


@given(st.lists(st.integers(), unique=True), st.integers(0, 60), st.integers())
def test_so_many_are_drawn_each_once_in_their_order(
    members: list[int], places: int, seed: int
) -> None:
    """Without replacement, the same by the same seed, and all where there are no more."""
    found = drawn_from(members, places, Random(seed))
    assert len(found) == min(places, len(members))
    assert found == [member for member in members if member in found]
    assert found == drawn_from(members, places, Random(seed))


def test_each_is_drawn_as_often() -> None:
    """3 of 10 in 4,000 draws: each 1,200 times, within four standard errors (116)."""
    random = Random(20_261_123)
    times = Counter(member for _ in range(4_000) for member in drawn_from("0123456789", 3, random))
    assert all(abs(number - 1_200) < 116 for number in times.values())
    assert len(times) == 10
