"""Which records of a batch are certainly not judged: found by their hash, without decoding them.

What a batch costs at a small sampling rate is decided here: one tight loop, and nothing made of the
records that it drops. Whatever is left is sampled once more when it has been decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

from monitor.ingest.formats.by_topic import NATIVE, TopicFormats
from monitor.ingest.formats.otlp_format import SpanFormat
from monitor.ingest.reading import place_of
from monitor.kafka.record import KafkaRecord, Unreadable
from monitor.sampling.hashing import MultiPrefilter, Sampler, threshold


class Prefiltered(NamedTuple):
    """What is left of a batch, and how many were dropped after their id had been read."""

    left: Sequence[KafkaRecord]
    read: int = 0


Prefilter = Callable[[Sequence[KafkaRecord]], Prefiltered]


def prefilter_for(samplers: Collection[Sampler], formats: TopicFormats = NATIVE) -> Prefilter:
    """Drops what none of the samplers takes of a batch of one partition.

    Samplers that hash the same key are nested.

    Tombstones and records whose id cannot be read are left: their ending is not about sampling.
    """
    keys = {sampler.key for sampler in samplers}
    if not keys:
        return lambda records: Prefiltered(
            [one for one in records if one.value is None or isinstance(one, Unreadable)]
        )
    rate = max(sampler.rate for sampler in samplers)
    if rate >= 1.0:
        return Prefiltered
    if len(keys) > 1:
        return partial(_prefiltered_by_any, MultiPrefilter(samplers))
    sampler = Sampler(rate, keys.pop())
    if sampler.needs_decoding:
        return lambda records: _prefiltered_by_id(records, sampler.rate, formats)
    return lambda records: _prefiltered_by_key(records, sampler, formats)


def _prefiltered_by_any(prefilter: MultiPrefilter, records: Sequence[KafkaRecord]) -> Prefiltered:
    """What one of several samplers may take, each by a key of its own."""
    return Prefiltered(
        [one for one in records if one.value is None or prefilter.may_take(one.key, one.headers)]
    )


def _prefiltered_by_id(
    records: Sequence[KafkaRecord], rate: float, formats: TopicFormats
) -> Prefiltered:
    left = _taken_by_id(records, rate, formats)
    return Prefiltered(left, len(records) - len(left))


def _prefiltered_by_key(
    records: Sequence[KafkaRecord], sampler: Sampler, formats: TopicFormats
) -> Prefiltered:
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
        return Prefiltered(left)
    taken = {record.offset for record in _taken_by_id(keyless, sampler.rate, formats)}
    dropped = {record.offset for record in keyless} - taken
    return Prefiltered([record for record in left if record.offset not in dropped], len(dropped))


def _taken_by_id(
    records: Sequence[KafkaRecord], rate: float, formats: TopicFormats
) -> list[KafkaRecord]:
    if not records:
        return []
    log_format = formats[records[0].topic]
    if isinstance(log_format, SpanFormat):
        return list(records)  # their traces are sampled one by one
    below, left, logged_id = threshold(rate), [], log_format.logged_id
    for record in records:
        try:
            # A record without an id is named by where it stood first, as in decoding.
            name = logged_id(record.value or b"") or str(place_of(record)[0])
        except ValueError:
            left.append(record)
        else:
            if blake2b(name.encode()).digest() < below:
                left.append(record)
    return left
