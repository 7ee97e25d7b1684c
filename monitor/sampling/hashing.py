"""Which interactions are judged: a consistent hash, the same on every replica and redelivery.

h = first 8 bytes of BLAKE2b(sampling key) / 2^64, sampled when h < the
probability. Nested: whatever is sampled at one is sampled at every larger one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from monitor.records import Reason
from monitor.records.base import Headers

#: Larger than every digest, which has 64 bytes.
_ABOVE_ALL = b"\xff" * 65


def unit_hash(key: bytes) -> float:
    """A number in [0, 1) that depends on nothing but ``key``.

    >>> round(unit_hash(b"interaction-1"), 6) == round(unit_hash(b"interaction-1"), 6)
    True
    """
    return int.from_bytes(blake2b(key).digest()[:8], "big") / 2**64


@lru_cache(maxsize=64)
def threshold(probability: float) -> bytes:
    """The bytes below which a digest lies exactly when its ``unit_hash`` is below ``probability``.

    Comparing bytes takes a third of the time of making a number of them. The quotient rounds, so
    the first hash that is not below it is searched for, not calculated.

    >>> threshold(0.5).hex(), blake2b(b"x").digest() < threshold(1.0)
    ('7ffffffffffffe00', True)
    """
    # The quotient may round up to 1.0 for the very last hashes; 1 takes all.
    if probability >= 1.0:
        return _ABOVE_ALL
    low, high = 0, 2**64 - 1
    while low < high:
        middle = (low + high) // 2
        if middle / 2**64 < probability:
            low = middle + 1
        else:
            high = middle
    return low.to_bytes(8, "big")


def is_sampled(key: bytes, probability: float) -> bool:
    """Whether an interaction with this sampling key is taken.

    >>> is_sampled(b"x", 1.0), is_sampled(b"x", 0.0)
    (True, False)
    """
    return probability >= 1.0 or blake2b(key).digest() < threshold(probability)


class Sampler(NamedTuple):
    """``key`` is ``interaction_id``, ``record_key`` or ``header:NAME``; ``rate`` a probability."""

    rate: float
    key: str = "interaction_id"

    def record_key(self, key: bytes | None, headers: Headers) -> bytes | None:
        """The sampling key that is known without decoding; None when the id must be hashed.

        An empty or missing key would take all or nothing, so it counts as none.
        """
        if self.key == "record_key":
            return key or None
        if self.key.startswith("header:"):
            return next((v for k, v in headers if k == self.key[7:] and v), None)
        return None

    @property
    def needs_decoding(self) -> bool:
        """Whether the configured key stands inside the record."""
        return self.key == "interaction_id"

    def at(self, share: float) -> Sampler:
        """The same at a share of its rate: the one that takes less takes nothing else.

        A share above 1 is more, up to all.
        """
        return self._replace(rate=min(1.0, self.rate * share))

    def draw(self, key: bytes | None, headers: Headers, interaction_id: str) -> tuple[bytes, bool]:
        """The digest of the sampling key, and whether the configured key is missing.

        Then the interaction's id is hashed in its place.
        """
        found = self.record_key(key, headers)
        is_missing = found is None and not self.needs_decoding
        return blake2b(interaction_id.encode() if found is None else found).digest(), is_missing

    def lies_below(self, digest: bytes, share: float = 1.0) -> bool:
        """Whether the interaction with this digest is taken at a share of the rate."""
        return digest < threshold(min(1.0, self.rate * share))

    def takes(self, key: bytes) -> bool:
        """Whether the interaction with this sampling key is judged."""
        return is_sampled(key, self.rate)


class MultiPrefilter:
    """What may be taken by any of several samplers, as far as it can be told without decoding.

    Of samplers with the same key only the largest rate counts, since the hashes are nested.
    """

    def __init__(self, samplers: Iterable[Sampler]) -> None:
        largest: dict[str, float] = {}
        for sampler in samplers:
            largest[sampler.key] = max(sampler.rate, largest.get(sampler.key, 0.0))
        self.samplers = tuple(Sampler(rate, key) for key, rate in largest.items() if rate > 0)

    def may_take(self, key: bytes | None, headers: Headers) -> bool:
        """False when no sampler takes the record, whatever stands in it."""
        for sampler in self.samplers:
            found = sampler.record_key(key, headers)
            if found is None or sampler.takes(found):
                return True
        return False

    def left_out(
        self, key: bytes | None, headers: Headers, trace_id: str, share: float
    ) -> Reason | None:
        """Why a trace is not judged of which only its id is known; None where it may be.

        ``share`` is what its block takes of all: beyond it stands another one for it (``slot``).
        """
        reason = Reason.HASH
        for sampler in self.samplers:
            digest, _ = sampler.draw(key, headers, trace_id)
            if sampler.lies_below(digest, share):
                return None
            if sampler.lies_below(digest):
                reason = Reason.SLOT
        return reason
