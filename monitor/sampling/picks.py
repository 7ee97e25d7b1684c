"""Which member of a slot is judged, and what the pick stands for.

Member i is picked with probability w_i / m, where the weights average to 1. The pick is the member
with the least −ln(h_i) / w_i (h_i uniform, from a hash of its id): that has these probabilities
(Efraimidis and Spirakis, 2006), and is the same on every replica and redelivery.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

#: What every member keeps of a fair share, so that u = 1/w is at most 5.
LEAST_WEIGHT: Final = 0.2
#: A pick is expected to have at most this part of its weight, so that u·f is at most a quarter.
MOST_EXPECTED: Final = 0.25
#: Another hash than that of the rate, or picks among the sampled would be foretold.
#: Copied, as to make one takes half as long again.
_LUCK: Final = blake2b(person=b"monitor pick")


class Signalled(NamedTuple):
    """A member before the pick: ``spread`` is v, ``expected`` per metric what is expected.

    Larger means worse in ``expected``; neither may depend on a judgement of a member.
    """

    interaction_id: str
    segment: str
    spread: float = 1.0
    expected: Mapping[str, float] = {}


class Picked(NamedTuple):
    """The number of the pick, its u, members by segment, and per metric (mean, of the pick)."""

    number: int
    u: float
    segments: dict[str, int]
    expected: dict[str, tuple[float, float]]


def luck(interaction_id: str) -> float:
    """A number in (0, 1) from the id.

    >>> 0 < luck("a") < 1, luck("a") == luck("a"), luck("a") == luck("b")
    (True, True, False)
    """
    found = _LUCK.copy()
    found.update(interaction_id.encode("utf-8", "surrogatepass"))
    return (int.from_bytes(found.digest()[:8], "big") >> 11) / 2**53 + 2**-54


def waiting(interaction_id: str) -> float:
    """−ln(h_i): how long a member of the weight 1 waits; the one that waits least is picked.

    >>> waiting("a") == -math.log(luck("a"))
    True
    """
    return -math.log(luck(interaction_id))


def weights(spreads: Sequence[float]) -> list[float]:
    """w_i = 0.2 + 0.8·v_i/v̄: their mean is 1. Without any spread all are alike.

    >>> weights([0.0, 1.0, 2.0]), weights([0.0, 0.0])
    ([0.2, 1.0, 1.8], [1.0, 1.0])
    """
    mean = math.fsum(spreads) / len(spreads)
    if not mean > 0 or len(set(spreads)) == 1:
        return [1.0] * len(spreads)
    return [LEAST_WEIGHT + (1 - LEAST_WEIGHT) * v / mean for v in spreads]


def pick(members: Sequence[Signalled], waits: Sequence[float] | None = None) -> Picked:
    """Pick one of at least one members, with different ids.

    ``waits`` is ``waiting`` of their ids, where it is known already.

    >>> alone = pick([Signalled("a", "acme")])
    >>> alone.number, alone.u, alone.segments, alone.expected
    (0, 1.0, {'acme': 1}, {})
    """
    w = weights([member.spread for member in members])
    if waits is None:
        waits = [waiting(member.interaction_id) for member in members]
    waited = [*map(operator.truediv, waits, w)]
    number = waited.index(min(waited))
    segments = Counter([member.segment for member in members])
    return Picked(
        number,
        1.0 / w[number],
        dict(sorted(segments.items())),
        {name: _expected(name, members, w, number) for name in members[number].expected},
    )


def _expected(
    name: str, members: Sequence[Signalled], w: Sequence[float], number: int
) -> tuple[float, float]:
    """f̄ and the pick's f: each at most a quarter of its weight, known before the judgement."""
    most = [MOST_EXPECTED * weight for weight in w]
    f = [*map(min, [member.expected[name] for member in members], most)]
    return min(1.0, math.fsum(f) / len(f)), f[number]
