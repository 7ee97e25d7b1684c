"""Batches that no ordinary client writes: made by hand, compressed as they are made.

A record of 300 MB is 12 KB on the topic, and never stands in this process as a whole.
"""

from __future__ import annotations

import gzip
import io
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import cramjam
from aiokafka import AIOKafkaProducer
from aiokafka.record.util import calc_crc32c

#: The codec's number in the attributes of a batch.
CODECS = {"none": 0, "gzip": 1, "zstd": 4}
_NOT_IDEMPOTENT = struct.pack(">qhi", -1, -1, -1)
_PIECE = 1 << 20


class Long(NamedTuple):
    """A value that is ``head``, ``filler`` as often as it fits in ``size`` bytes, and ``tail``."""

    head: bytes
    filler: bytes
    tail: bytes
    size: int

    @property
    def length(self) -> int:
        """Bytes in all."""
        return len(self.head) + self._times * len(self.filler) + len(self.tail)

    @property
    def _times(self) -> int:
        return self.size // len(self.filler)

    def pieces(self) -> Iterator[bytes]:
        """The value, bit by bit."""
        at_once = max(1, _PIECE // len(self.filler))
        yield self.head
        for begun in range(0, self._times, at_once):
            yield self.filler * min(at_once, self._times - begun)
        yield self.tail


def one_record(
    key: bytes, value: Long, headers: Iterable[tuple[bytes, bytes]] = (), codec: str = "zstd"
) -> bytes:
    """A batch of one record."""
    return batch(_pieces(key, value, list(headers)), codec)


def batch(records: Iterable[bytes], codec: str, count: int = 1, now_ms: int = 0) -> bytes:
    """A batch (format 2) of ``count`` records that are already encoded."""
    packed = _packed(records, codec)
    summed = struct.pack(">hiqq", CODECS[codec], count - 1, now_ms, now_ms) + _NOT_IDEMPOTENT
    summed += struct.pack(">i", count) + packed
    told = struct.pack(">ibI", -1, 2, calc_crc32c(summed))
    return struct.pack(">qi", 0, len(told) + len(summed)) + told + summed


async def produce_batch(bootstrap: str, topic: str, made: bytes, partition: int) -> int:
    """Write a batch as it is; its first offset."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", max_request_size=2**26)
    await producer.start()
    try:
        # What is handed over is the buffer of an ordinary batch, with other bytes in it.
        ordinary = producer.create_batch()
        ordinary.append(key=None, value=b"-", timestamp=None)
        ordinary._build()[:] = made
        written = await (await producer.send_batch(ordinary, topic, partition=partition))
        return int(written.offset)
    finally:
        await producer.stop()


def _pieces(key: bytes, value: Long, headers: Sequence[tuple[bytes, bytes]]) -> Iterator[bytes]:
    before = b"\x00" + _varint(0) + _varint(0) + _varint(len(key)) + key + _varint(value.length)
    after = io.BytesIO()
    after.write(_varint(len(headers)))
    for name, said in headers:
        after.write(_varint(len(name)) + name + _varint(len(said)) + said)
    yield _varint(len(before) + value.length + after.tell()) + before
    yield from value.pieces()
    yield after.getvalue()


def _packed(pieces: Iterable[bytes], codec: str) -> bytes:
    if codec == "none":
        return b"".join(pieces)
    out = io.BytesIO()
    if codec == "gzip":
        with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as packer:
            for piece in pieces:
                packer.write(piece)
        return out.getvalue()
    found: Any = cramjam.zstd.Compressor()
    for piece in pieces:
        found.compress(piece)
        out.write(bytes(found.flush()))
    out.write(bytes(found.finish()))
    return out.getvalue()


def _varint(number: int) -> bytes:
    """Zigzag, seven bits a byte.

    >>> _varint(0), _varint(-1), _varint(300)
    (b'\\x00', b'\\x01', b'\\xd8\\x04')
    """
    left = (number << 1) ^ (number >> 63)
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)
