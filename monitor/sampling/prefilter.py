"""Which records of a batch are certainly not judged: found by their hash, without decoding them.

What a batch costs at a small sampling rate is decided here: one tight loop, and nothing made of the
records that it drops. Whatever is left is sampled once more when it has been decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

from monitor.ingest import headers
from monitor.ingest.formats.native import logged_id
from monitor.kafka.record import KafkaRecord, Unreadable
from monitor.sampling.hashing import HashScreen, Sampler, threshold


class Screened(NamedTuple):
    """What is left of a batch, and how many were dropped after their id had been read."""

    left: Sequence[KafkaRecord]
    read: int = 0


Screen = Callable[[Sequence[KafkaRecord]], Screened]


def screen_for(samplers: Collection[Sampler]) -> Screen:
    """Drops what none of the samplers takes; those that hash the same key are nested.

    Tombstones and records whose id cannot be read are left: their ending is not about sampling.
    """
    keys = {sampler.key for sampler in samplers}
    if not keys:
        return lambda records: Screened(
            [one for one in records if one.value is None or isinstance(one, Unreadable)]
        )
    rate = max(sampler.rate for sampler in samplers)
    if rate >= 1.0:
        return Screened
    if len(keys) > 1:
        return partial(_screened_by_any, HashScreen(samplers))
    sampler = Sampler(rate, keys.pop())
    if sampler.needs_decoding:
        return lambda records: _screened_by_id(records, sampler.rate)
    return lambda records: _screened_by_key(records, sampler)


def _screened_by_any(screen: HashScreen, records: Sequence[KafkaRecord]) -> Screened:
    """What one of several samplers may take, each by a key of its own."""
    return Screened(
        [one for one in records if one.value is None or screen.may_take(one.key, one.headers)]
    )


def _screened_by_id(records: Sequence[KafkaRecord], rate: float) -> Screened:
    left = _taken_by_id(records, rate)
    return Screened(left, len(records) - len(left))


def _screened_by_key(records: Sequence[KafkaRecord], sampler: Sampler) -> Screened:
    below, key_of = threshold(sampler.rate), sampler.record_key
    if sampler.key == "record_key":  # the loop that has to be fast
        left = [
            record
            for record in records
            if not (key := record.key) or record.value is None or blake2b(key).digest() < below
        ]
    else:
        left = [
            record
            for record in records
            if not (key := key_of(record.key, record.headers))
            or record.value is None
            or blake2b(key).digest() < below
        ]
    keyless = [record for record in left if not key_of(record.key, record.headers)]
    if not keyless:
        return Screened(left)
    taken = {record.offset for record in _taken_by_id(keyless, sampler.rate)}
    dropped = {record.offset for record in keyless} - taken
    return Screened([record for record in left if record.offset not in dropped], len(dropped))


def _taken_by_id(records: Sequence[KafkaRecord], rate: float) -> list[KafkaRecord]:
    below, left = threshold(rate), []
    for record in records:
        try:
            # A record without an id is named by where it stood first, as in decoding.
            name = logged_id(record.value or b"") or str(headers.origin_of(record))
        except ValueError:
            left.append(record)
        else:
            if blake2b(name.encode()).digest() < below:
                left.append(record)
    return left
