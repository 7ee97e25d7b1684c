"""Which interactions are audited: drawn at random, each with a known probability. Pure.

Strata are drawn from separately (Cochran, "Sampling Techniques", 3rd ed., 1977, chapter 5): in one
of N of which n are drawn, each has the probability π = n/N. More from where scores are bad than
from where they are good teaches more about the judge's misses, and 1/π gives each its due.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, NamedTuple, TypeVar

MemberT = TypeVar("MemberT")
#: The share of the audits that goes to strata of bad scores, as far as there are enough.
SHARE_OF_BAD: Final = 0.5


class Stratum(NamedTuple):
    """What stands alike: its name, and whether its scores are bad."""

    name: str
    is_bad: bool


class Drawn(NamedTuple):
    """How many of a stratum are drawn, of how many there are."""

    places: int
    of: int

    @property
    def probability(self) -> float:
        """π of each of them."""
        return self.places / self.of


def allocated(sizes: Mapping[Stratum, int], places: int) -> dict[Stratum, Drawn]:
    """How many of each stratum are drawn: half of them bad ones, else in proportion.

    Each that is not empty gets at least one while there are enough places: what is never drawn has
    no probability. What one half cannot fill, the other gets.

    >>> bad, good = Stratum("bad", is_bad=True), Stratum("good", is_bad=False)
    >>> list(allocated({bad: 100, good: 900}, 60).values())
    [Drawn(places=30, of=100), Drawn(places=30, of=900)]
    >>> [one.places for one in allocated({bad: 10, good: 900}, 60).values()]
    [10, 50]
    """
    filled = {stratum: size for stratum, size in sizes.items() if size}
    bad = {stratum: size for stratum, size in filled.items() if stratum.is_bad}
    good = {stratum: size for stratum, size in filled.items() if not stratum.is_bad}
    places = min(places, sum(filled.values()))
    is_enough = places >= len(filled)
    least = max(len(bad) * is_enough, places - sum(good.values()))
    most = min(sum(bad.values()), places - len(good) * is_enough)
    for_bad = min(most, max(least, round(places * SHARE_OF_BAD)))
    found = _in_proportion(bad, for_bad) | _in_proportion(good, places - for_bad)
    return {stratum: Drawn(found[stratum], size) for stratum, size in filled.items()}


def drawn_from(members: Sequence[MemberT], places: int, random: Random) -> list[MemberT]:
    """So many of them, each alike, without replacement; in the order that they stand in."""
    chosen = sorted(random.sample(range(len(members)), min(places, len(members))))
    return [members[index] for index in chosen]


def _in_proportion(sizes: Mapping[Stratum, int], places: int) -> dict[Stratum, int]:
    """By largest remainders; at least one each while there are enough."""
    total = sum(sizes.values())
    if not total:
        return {}
    exact = {stratum: places * size / total for stratum, size in sizes.items()}
    least = 1 if places >= len(sizes) else 0
    found = {stratum: max(least, int(share)) for stratum, share in exact.items()}
    by_remainder = sorted(exact, key=lambda s: (exact[s] - int(exact[s]), s), reverse=True)
    while (left := places - sum(found.values())) > 0:
        room = [s for s in by_remainder if found[s] < sizes[s]]
        for stratum in room[:left]:
            found[stratum] += 1
    while sum(found.values()) > places:
        largest = max(found, key=lambda s: (found[s], s))
        found[largest] -= 1
    return found
