"""The seal of a partition: whatever is changed, taken away or put in shows, and where."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from random import Random

import pytest

from monitor.report.chain import KEEP_EVERY, PartitionChain, SealedPartition, difference


@dataclass(frozen=True)
class Written:
    """A record as it was read."""

    offset: int
    value: bytes | None
    key: bytes | None = b"k"
    topic: str = "t"
    partition: int = 0
    timestamp: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = ()


def records(number: int) -> list[Written]:
    """So many in a row."""
    return [Written(i, str(i).encode()) for i in range(number)]


def sealed(found: list[Written], partition: int = 0) -> SealedPartition:
    """Their seal."""
    chain = PartitionChain("t", partition)
    for one in found:
        chain.add(one)
    return chain.sealed()


def test_the_seal_is_what_the_page_says() -> None:
    """Computed here from its words alone."""
    link = hashlib.sha256(b"rag-monitor report 1\x00t\x000").digest()
    for offset, key, value in ((7, b"k", b"v"), (9, None, b"w")):
        digests = bytes(32) if key is None else hashlib.sha256(key).digest()
        digests += hashlib.sha256(value).digest()
        link = hashlib.sha256(link + offset.to_bytes(8, "big") + digests).digest()
    found = sealed([Written(7, b"v"), Written(9, b"w", None)])
    assert found.seal == link.hex()
    assert [(gap.first, gap.last) for gap in found.gaps] == [(8, 8)]
    assert (found.first_offset, found.last_offset, found.records, found.missing) == (7, 9, 2, 1)


@pytest.mark.parametrize("seed", range(30))
def test_every_change_shows_with_its_place(seed: int) -> None:
    """One record changed, gone, put in, swapped or given another key, anywhere."""
    rng = Random(seed)
    number = 3 * KEEP_EVERY + 17
    before = records(number)
    at = rng.randrange(1, number - 1)
    after = list(before)
    how = seed % 5
    if how == 0:
        after[at] = replace(after[at], value=b"another")
    elif how == 1:
        del after[at]
    elif how == 2:
        after[at] = replace(after[at], value=None)
    elif how == 3:
        first, second = after[at], after[at + 1 if at + 1 < number else at - 1]
        after[at] = replace(first, value=second.value)
    else:
        after[at] = replace(after[at], key=b"another")
    said = difference(sealed(before), sealed(after))
    assert said is not None
    found = re.search(r"between the offsets (\d+) and (\d+)", said)
    assert found is not None
    start, end = map(int, found.groups())
    assert start <= at <= end
    assert end - start <= KEEP_EVERY
    assert difference(sealed(before), sealed(list(before))) is None


def test_what_was_deleted_by_age_is_told_apart() -> None:
    """Its beginning is gone: nobody can check the rest."""
    whole = records(10)
    said = difference(sealed(whole), sealed(whole[4:]))
    assert said == (
        "partition 0: up to offset 3 was deleted since; what is left cannot be checked against "
        "the seal"
    )
    assert "all of it was deleted" in (difference(sealed(whole), sealed([])) or "")
    assert sealed([], 1).seal != sealed([], 0).seal
