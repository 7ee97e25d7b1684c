"""A record is read: its place, its time, and whether garbage is looked for meanwhile."""

from __future__ import annotations

import gc
import json

import pytest

from monitor.errors import MessageRejected
from monitor.ingest.formats import native
from monitor.ingest.formats.protocol import Decoded, LogFormat
from monitor.ingest.offload import LONG
from monitor.ingest.reading import place_of, read
from monitor.kafka.record import Unreadable
from monitor.records import Source
from tests.stages.loop import Record
from tests.stages.scoring import TEXTS

NOW = 1_795_176_000.0


class Watching:
    """The native format; it notes whether garbage may be looked for while it decodes."""

    def __init__(self) -> None:
        self.collects: list[bool] = []

    def decode(
        self, value: bytes, source: Source, broker_ms: int, *, of_file: bool = False
    ) -> Decoded:
        """The interaction."""
        self.collects.append(gc.isenabled())
        return native.decode(value, source, broker_ms, of_file=of_file)

    def logged_id(self, value: bytes) -> str | None:
        """Its id."""
        return native.logged_id(value)


class Broken(Watching):
    """One with a bug."""

    def decode(
        self, value: bytes, source: Source, broker_ms: int, *, of_file: bool = False
    ) -> Decoded:
        """Nothing."""
        raise KeyError("a bug")


def of_texts(**fields: object) -> Record:
    """A record with these fields beside its texts."""
    return Record(7, value=json.dumps({**TEXTS, **fields}).encode())


def test_only_an_id_of_its_own_is_one() -> None:
    """Without one it is named by its place, and a name like that is none."""
    for fields, expected in (({"interaction_id": "i-1"}, True), ({}, False)):
        arrived = read(of_texts(**fields), native, NOW)
        assert arrived is not None
        assert (arrived.has_own_id, arrived.is_redriven) == (expected, False)


def test_a_tombstone_is_no_interaction() -> None:
    """It is nothing that could be decoded."""
    assert read(Record(7, value=None), native, NOW) is None


@pytest.mark.parametrize(
    ("record", "log_format", "cause"),
    [
        (Unreadable("t", 0, 7, 0, "CorruptRecordException"), native, "unreadable_record"),
        (of_texts(), Broken(), "internal_error"),
        (Record(7, value=b"{"), native, "invalid_json"),
    ],
)
def test_what_cannot_be_read_is_refused(
    record: Record | Unreadable, log_format: LogFormat, cause: str
) -> None:
    """Whether the record is at fault, or we are."""
    with pytest.raises(MessageRejected) as refused:
        read(record, log_format, NOW)
    assert refused.value.cause == cause


def test_garbage_waits_for_long_records_only() -> None:
    """To an ordinary one it is no matter, and to switch it off and on takes time, too."""
    watching = Watching()
    read(of_texts(), watching, NOW)
    read(of_texts(more="x" * LONG), watching, NOW)
    assert watching.collects == [True, False]
    assert gc.isenabled()


def test_headers_of_others_are_no_history() -> None:
    """Of a first failure nothing is known, whatever else the headers say."""
    here = Record(7, headers=(("x-errors", b"1"), ("x-error.topic", b"another")))
    origin, is_redriven = place_of(here)
    assert (origin.offset, is_redriven) == (7, False)
