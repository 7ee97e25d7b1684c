"""Screening a batch drops exactly what sampling would not take, without decoding it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import MessageRejected
from monitor.ingest.formats.native import decode, logged_id
from monitor.kafka.record import Unreadable
from monitor.records import Source
from monitor.sampling.hashing import Sampler, threshold
from monitor.sampling.prefilter import prefilter_for
from tests.stages.loop import Record

LEAST = {"user_input": "q", "response": "a", "retrieved_contexts": []}
#: Anything that may stand where an id should, and ids.
IDS = st.none() | st.text(max_size=4) | st.integers() | st.just("x" * 1_001) | st.just([1])


@st.composite
def records(draw: st.DrawFn) -> list[Record]:
    """A batch: with and without keys, ids, values, headers; broken ones among them."""
    found = []
    for offset in range(draw(st.integers(1, 12))):
        value = draw(
            IDS.map(lambda name: json.dumps({**LEAST, "interaction_id": name}).encode())
            | st.just(json.dumps(LEAST).encode())
            | st.just(b'{"interaction_id": "a", "interaction_id": "b"}')
            | st.sampled_from([b"", b"{", b"[]", b"null", b'"x"', b'{"x": "\\ud800"}', None])
        )
        header = draw(st.sampled_from([(), (("s", b""),), (("s", b"1"), ("s", b"2"))]))
        found.append(Record(offset, key=draw(st.none() | st.binary(max_size=2)), value=value))
        found[-1] = found[-1]._replace(headers=header)
    return found


def old_way(record: Record, sampler: Sampler) -> bool | None:
    """Whether the record is taken, one by one, by decoding and by the formula with numbers.

    None for one that needs an ending of its own, whatever the hash says.
    """
    if record.value is None:
        return None
    key = sampler.record_key(record.key, record.headers)
    if key is None:
        try:
            source = Source(topic=record.topic, partition=record.partition, offset=record.offset)
            key = decode(record.value, source, 0).interaction.interaction_id.encode()
        except MessageRejected:
            return None
    number: int = int.from_bytes(blake2b(key).digest()[:8], "big")
    return sampler.rate >= 1.0 or number / 2**64 < sampler.rate


@given(
    records(),
    st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from(["interaction_id", "record_key", "header:s"]),
)
def test_nothing_that_is_taken_is_dropped_and_the_rest_is(
    batch: list[Record], rate: float, key: str
) -> None:
    """In order; what has an ending of its own stays, but for a record whose id says «no»."""
    sampler = Sampler(rate, key)
    left, read = prefilter_for([sampler])(batch)
    kept = [record.offset for record in left]
    assert kept == sorted(kept)
    unread = 0
    for record in batch:
        expected = old_way(record, sampler)
        if expected is None:
            unread += record.offset not in kept
            assert record.offset in kept or _has_id(record)
        elif rate < 1.0:
            assert expected == (record.offset in kept)
        else:
            assert record.offset in kept
    assert 0 <= unread <= read <= len(batch) - len(left)


def _has_id(record: Record) -> bool:
    """Whether the id can be read, though the rest is no interaction."""
    try:
        logged_id(record.value or b"")
    except ValueError:
        return False
    return True


@given(st.floats(0, 1, exclude_max=True), st.integers(-3_000, 3_000), st.binary(max_size=4))
def test_the_bytes_below_the_threshold_are_the_hashes_below_the_rate(
    q: float, near: int, rest: bytes
) -> None:
    """Also next to it, where the quotient rounds: the same numbers as by dividing."""
    number = min(max(int(q * 2**64) + near, 0), 2**64 - 1)
    digest = number.to_bytes(8, "big") + rest
    assert (digest < threshold(q)) == (number / 2**64 < q)


def test_samplers_of_one_key_are_nested_and_others_leave_all() -> None:
    """The largest rate decides; of two keys either may take a record."""
    batch = [Record(i, key=b"%d" % i, value=b"{}") for i in range(400)]
    small, large = Sampler(0.1, "record_key"), Sampler(0.4, "record_key")
    both = prefilter_for([small, large])(batch)
    assert both == prefilter_for([large])(batch)
    assert len(both.left) < 220
    assert list(prefilter_for([small, Sampler(0.1)])(batch).left) == batch


def test_without_samplers_only_tombstones_are_left() -> None:
    """A rate of 0 everywhere: nothing has to be read."""
    batch = [Record(0, value=None), Record(1), Record(2, value=b"{")]
    assert [record.offset for record in prefilter_for([])(batch).left] == [0]


@pytest.mark.parametrize("key", ["interaction_id", "record_key", "header:s"])
def test_a_record_that_cannot_be_unpacked_is_left(key: str) -> None:
    """Nothing of it can be hashed: it is a dead letter at any rate."""
    batch: Sequence[Unreadable] = [Unreadable("t", 0, 5, 0, "UnicodeDecodeError")]
    assert list(prefilter_for([Sampler(1e-9, key)])(batch).left) == batch


def test_a_record_without_its_key_is_sampled_by_its_id_and_counted() -> None:
    """Of the 400 dropped or left, all were read for their id."""
    batch = [Record(i, value=json.dumps({"interaction_id": f"i{i}"}).encode()) for i in range(400)]
    left, read = prefilter_for([Sampler(0.3, "record_key")])(batch)
    assert read == 400 - len(left)
    assert list(left) == list(prefilter_for([Sampler(0.3)])(batch).left)
