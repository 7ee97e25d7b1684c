"""BLAKE2b written down from RFC 7693, without a key: slow, and not from ``hashlib``."""

from __future__ import annotations

import math

MASK = 2**64 - 1
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)
SIGMA = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)
COLUMNS_AND_DIAGONALS = (
    (0, 4, 8, 12),
    (1, 5, 9, 13),
    (2, 6, 10, 14),
    (3, 7, 11, 15),
    (0, 5, 10, 15),
    (1, 6, 11, 12),
    (2, 7, 8, 13),
    (3, 4, 9, 14),
)
# The fractional parts of the square roots of the first primes, 64 bits of each.
START = tuple(math.isqrt(prime << 128) & MASK for prime in PRIMES)


def blake2b(message: bytes) -> bytes:
    """The 64-byte digest of RFC 7693."""
    state = list(START)
    state[0] ^= 0x01010000 ^ 64
    blocks = max(1, -(-len(message) // 128))
    for i in range(blocks):
        block = message[128 * i : 128 * (i + 1)]
        _compress(state, block.ljust(128, b"\0"), 128 * i + len(block), i == blocks - 1)
    return b"".join(word.to_bytes(8, "little") for word in state)


def _compress(state: list[int], block: bytes, count: int, last: bool) -> None:
    words = [int.from_bytes(block[i : i + 8], "little") for i in range(0, 128, 8)]
    v = [*state, *START]
    v[12] ^= count
    v[14] ^= MASK if last else 0
    for turn in range(12):
        order = SIGMA[turn % 10]
        for i, places in enumerate(COLUMNS_AND_DIAGONALS):
            _mix(v, places, words[order[2 * i]], words[order[2 * i + 1]])
    for i in range(8):
        state[i] ^= v[i] ^ v[i + 8]


def _mix(v: list[int], places: tuple[int, int, int, int], x: int, y: int) -> None:
    a, b, c, d = places
    for word, first, second in ((x, 32, 24), (y, 16, 63)):
        v[a] = (v[a] + v[b] + word) & MASK
        v[d] = _right(v[d] ^ v[a], first)
        v[c] = (v[c] + v[d]) & MASK
        v[b] = _right(v[b] ^ v[c], second)


def _right(word: int, bits: int) -> int:
    return (word >> bits | word << (64 - bits)) & MASK
