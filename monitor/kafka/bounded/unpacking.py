"""Unpacking what was compressed, up to a bound: a batch states no size that could be trusted.

aiokafka unpacks whole batches, however large they become: a few kilobytes may be gigabytes. Here
the room for the result is given beforehand, and a result that does not fit is none.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import cramjam

#: The numbers that Kafka's batches give their codecs.
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
_STREAMS: Final[dict[int, Any]] = {GZIP: cramjam.gzip, LZ4: cramjam.lz4, ZSTD: cramjam.zstd}
#: What cramjam says when there is no room left; it has no class of its own for that.
_NO_ROOM = "failed to write whole buffer"
#: The first guess at how much larger a batch becomes, and the least room that is tried.
_GROWS, _LEAST = 8, 65_536
#: Begins snappy as Java's clients frame it: blocks, each with its packed size in front.
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEAD = 16


class BatchTooLarge(Exception):
    """Unpacked it would be more than may be held."""


def unpacked(codec: int, packed: bytes, most: int, head: bytes = b"") -> bytearray:
    """``head`` and, behind it, what ``packed`` becomes: ``most`` bytes at most, without the head.

    Raises ``BatchTooLarge``, having held no more than that; the codecs' errors for what is broken;
    and ``ValueError`` for a codec that Kafka does not have.
    """
    if codec == SNAPPY:
        return _snappy(packed, most, head)
    if codec not in _STREAMS:
        raise ValueError(f"unknown compression codec {codec}")
    room = min(most, max(_LEAST, _GROWS * len(packed)))
    while (found := _within(room, _STREAMS[codec], packed, head)) is None:
        if room == most:
            raise BatchTooLarge
        room = min(most, _GROWS * room)
    return found


def _within(room: int, codec: Any, packed: bytes, head: bytes) -> bytearray | None:
    """The result, None when it does not fit."""
    found = bytearray(len(head) + room)
    found[: len(head)] = head
    with memoryview(found) as whole, whole[len(head) :] as rest:
        try:
            size = codec.decompress_into(packed, rest)
        except cramjam.DecompressionError as error:
            if _NO_ROOM in str(error):
                return None
            raise
    del found[len(head) + size :]
    return found


def _snappy(packed: bytes, most: int, head: bytes) -> bytearray:
    """A block of snappy begins with its size, and the library holds it to that."""
    found = bytearray(head)
    if not packed.startswith(_XERIAL):
        return _with_block(found, packed, len(head) + most)
    place = _XERIAL_HEAD
    while place < len(packed):
        (size,) = struct.unpack_from(">I", packed, place)
        place += 4
        _with_block(found, packed[place : place + size], len(head) + most)
        place += size
    return found


def _with_block(found: bytearray, block: bytes, most: int) -> bytearray:
    if len(found) + cramjam.snappy.decompress_raw_len(block) > most:
        raise BatchTooLarge
    found += memoryview(cramjam.snappy.decompress_raw(block))
    return found
