"""Records that a client cannot unpack: a header name that is no text, a batch with a wrong sum."""

from __future__ import annotations

import struct
from pathlib import Path

from aiokafka import AIOKafkaProducer
from aiokafka.record.util import calc_crc32c

#: Where a batch keeps its checksum, and where what it sums up begins.
CRC_AT, SUMMED_FROM = 17, 21


async def produce_strange_header(bootstrap: str, topic: str, value: bytes) -> int:
    """Write a record whose header's name is no UTF-8; its offset. No ordinary client can."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all")
    await producer.start()
    try:
        batch = producer.create_batch()
        batch.append(key=b"strange", value=value, timestamp=None, headers=[("zzzz", b"1")])
        built = batch._build()
        at = built.index(b"zzzz")
        built[at : at + 4] = b"\xff\xfe\xfd\xfc"
        built[CRC_AT:SUMMED_FROM] = struct.pack(">I", calc_crc32c(bytes(built[SUMMED_FROM:])))
        written = await (await producer.send_batch(batch, topic, partition=0))
        return int(written.offset)
    finally:
        await producer.stop()


def corrupt_on_disk(broker_directory: Path, topic: str, marker: bytes) -> None:
    """Flip one bit of the batch that holds ``marker`` (not compressed), while the broker is off."""
    (segment,) = (broker_directory / "data" / f"{topic}-0").glob("*.log")
    content = bytearray(segment.read_bytes())
    content[content.index(marker)] ^= 1
    segment.write_bytes(content)
