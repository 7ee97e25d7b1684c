"""Which interactions are judged: a consistent hash, the same on every replica and redelivery.

h = first 8 bytes of BLAKE2b(sampling key) / 2^64, screened when h < q. Nested: whatever is screened
at q is screened at every larger q.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple


def unit_hash(key: bytes) -> float:
    """A number in [0, 1) that depends on nothing but ``key``.

    >>> round(unit_hash(b"interaction-1"), 6) == round(unit_hash(b"interaction-1"), 6)
    True
    """
    return int.from_bytes(blake2b(key).digest()[:8], "big") / 2**64


def screened(key: bytes, q: float) -> bool:
    """Whether an interaction with this sampling key is taken at probability ``q``.

    >>> screened(b"x", 1.0), screened(b"x", 0.0)
    (True, False)
    """
    # The quotient may round up to 1.0 for the very last hashes; q = 1 takes all.
    return q >= 1.0 or unit_hash(key) < q


class Sampler(NamedTuple):
    """``key`` is ``interaction_id``, ``record_key`` or ``header:NAME``; ``rate`` is q."""

    rate: float
    key: str = "interaction_id"

    def record_key(
        self, key: bytes | None, headers: Iterable[tuple[str, bytes | None]]
    ) -> bytes | None:
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

    def takes(self, key: bytes) -> bool:
        """Whether the interaction with this sampling key is judged."""
        return screened(key, self.rate)
