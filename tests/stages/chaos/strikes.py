"""What is struck, and when: a seeded schedule in the progress of the run, not in its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random


class Kind(StrEnum):
    """What a strike does; whatever it ends is started again at once."""

    KILL = "SIGKILL to a scorer"
    TERM = "SIGTERM to a scorer"
    BROKER_KILL = "SIGKILL to the broker"
    BROKER_STOP = "orderly stop of the broker"


@dataclass(frozen=True)
class Strike:
    """One strike ``delay_s`` after its burst begins; ``pick`` in [0, 1) chooses the scorer."""

    kind: Kind
    delay_s: float
    pick: float


@dataclass(frozen=True)
class Burst:
    """Strikes that overlap, begun when ``at`` interactions are done."""

    at: int
    strikes: tuple[Strike, ...]


@dataclass(frozen=True)
class Blows:
    """How many strikes of each kind, dealt into how many bursts within ``spread_s`` seconds each.

    A killed member costs its group the session time-out, so strikes come in bursts that share it.
    """

    kills: int
    terms: int
    broker_kills: int
    broker_stops: int
    bursts: int
    spread_s: float

    def kinds(self) -> list[Kind]:
        """Every strike's kind."""
        return (
            [Kind.KILL] * self.kills
            + [Kind.TERM] * self.terms
            + [Kind.BROKER_KILL] * self.broker_kills
            + [Kind.BROKER_STOP] * self.broker_stops
        )


def schedule(blows: Blows, interactions: int, seed: int) -> list[Burst]:
    """Bursts in the order of their progress, none of them empty.

    The last one begins before nine tenths of the interactions are done.

    >>> bursts = schedule(Blows(6, 4, 1, 0, bursts=4, spread_s=5), 1_000, seed=1)
    >>> sum(len(burst.strikes) for burst in bursts), len(bursts), bursts[-1].at < 900
    (11, 4, True)
    """
    rng = Random(f"strikes/{seed}")
    kinds = blows.kinds()
    rng.shuffle(kinds)
    cuts = [0, *sorted(rng.sample(range(1, len(kinds)), blows.bursts - 1)), len(kinds)]
    step = 0.9 * interactions / blows.bursts
    return [
        Burst(
            int(step * (i + rng.uniform(0.2, 0.99))),
            _within(kinds[cuts[i] : cuts[i + 1]], blows.spread_s, rng),
        )
        for i in range(blows.bursts)
    ]


def _within(kinds: Sequence[Kind], spread_s: float, rng: Random) -> tuple[Strike, ...]:
    """The first at once, while all is in full swing; the others somewhere in the trouble after."""
    delays = [0.0, *(rng.uniform(0, spread_s) for _ in kinds[1:])]
    return tuple(Strike(k, d, rng.random()) for k, d in zip(kinds, delays, strict=True))
