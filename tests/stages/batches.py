"""Batches of records as no ordinary producer makes them, written byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import cramjam
from aiokafka import AIOKafkaProducer
from aiokafka.codec import gzip_encode, lz4_encode, snappy_encode, zstd_encode
from aiokafka.record.util import calc_crc32c, encode_varint

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
ENCODERS = {GZIP: gzip_encode, SNAPPY: snappy_encode, LZ4: lz4_encode, ZSTD: zstd_encode}
MB = 1_048_576
_HEAD = struct.Struct(">qiibIhiqqqhii")
_SUMMED_FROM, _BEHIND_LENGTH = 21, 12


def varint(value: int) -> bytes:
    """A number as records have them."""
    found = bytearray()
    encode_varint(value, found.append)
    return bytes(found)


def record(
    delta: int,
    value: bytes,
    headers: int = 0,
    *,
    stated: int | None = None,
    key: bytes = b"k",
) -> bytes:
    """One record, ``delta`` offsets behind its batch's first; ``stated`` is its length."""
    head, tail = _around(delta, len(value), headers, key)
    return varint(len(head) + len(value) + len(tail) if stated is None else stated) + (
        head + value + tail
    )


def _around(delta: int, size: int, headers: int, key: bytes = b"k") -> tuple[bytes, bytes]:
    head = b"\0" + varint(0) + varint(delta) + varint(len(key)) + key + varint(size)
    return head, varint(headers) + (varint(1) + b"h" + varint(-1)) * headers


def batch(
    payload: bytes, codec: int = 0, *, count: int = 1, last: int | None = None, base: int = 0
) -> bytes:
    """A batch of packed records, its head saying what it is told to say, its checksum right."""
    last = count - 1 if last is None else last
    size = _HEAD.size + len(payload) - _BEHIND_LENGTH
    fields = (codec, last, 1_700_000_000_000, 1_700_000_000_000, -1, -1, -1, count)
    return signed(bytearray(_HEAD.pack(base, size, -1, 2, 0, *fields) + payload))


def signed(raw: bytearray) -> bytes:
    """A batch with the checksum of what stands in it now."""
    struct.pack_into(">I", raw, 17, calc_crc32c(bytes(raw[_SUMMED_FROM:])))
    return bytes(raw)


def packed(records: Iterable[bytes], codec: int, **head: int) -> bytes:
    """A batch of these records, compressed."""
    parts = list(records)
    return batch(bytes(ENCODERS[codec](b"".join(parts))), codec, **{"count": len(parts), **head})


def bomb(megabytes: int) -> bytes:
    """One record of so many megabytes, packed with zstd; never held unpacked."""
    head, tail = _around(0, megabytes * MB, 0)
    packer = cramjam.zstd.Compressor()
    packer.compress(varint(len(head) + megabytes * MB + len(tail)) + head)
    for _ in range(megabytes):
        packer.compress(b"a" * MB)
    packer.compress(tail)
    return batch(bytes(packer.finish()), ZSTD)


async def produce_batch(bootstrap: str, topic: str, raw: bytes, partition: int = 0) -> int:
    """Write a batch as it is; its first offset. Now is the time of its records."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", max_request_size=2**26)
    await producer.start()
    try:
        builder = producer.create_batch()
        builder.append(key=None, value=b"", timestamp=None)
        timed = bytearray(raw)
        timed[27:43] = builder._build()[27:43]
        struct.pack_into(">I", timed, 17, calc_crc32c(bytes(timed[_SUMMED_FROM:])))
        builder._buffer[:] = timed
        written = await (await producer.send_batch(builder, topic, partition=partition))
        return int(written.offset)
    finally:
        await producer.stop()
