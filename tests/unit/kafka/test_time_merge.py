"""Partitions are read side by side in time, however unlike they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from monitor.kafka.record import KafkaRecord
from monitor.kafka.time_merge import Head, in_time
from tests.stages.loop import Record


@dataclass
class Log:
    """A partition, fetched a few records at a time."""

    records: list[KafkaRecord]
    at_once: int
    fetched: list[int] = field(default_factory=list)

    async def fetch(self) -> Sequence[KafkaRecord]:
        found, self.records = self.records[: self.at_once], self.records[self.at_once :]
        self.fetched.append(len(found))
        return found


@given(
    st.lists(st.lists(st.integers(0, 10_000), max_size=40), max_size=4),
    st.integers(1, 7),
    st.integers(1, 9),
)
async def test_all_come_once_and_in_time(
    partitions: list[list[int]], at_once: int, most: int
) -> None:
    """Each partition in its order; where that is the order of time, none is a slice too late."""
    logs = [
        Log([Record(n, number, timestamp=ms) for n, ms in enumerate(sorted(times))], at_once)
        for number, times in enumerate(partitions)
    ]
    heads = [Head(log.fetch) for log in logs]
    batches = [batch async for batch in in_time(heads, 100, most)]
    assert all(len({one.partition for one in batch}) == 1 for batch in batches)
    assert all(0 < len(batch) <= most for batch in batches)
    read = [one for batch in batches for one in batch]
    for number, times in enumerate(partitions):
        own = [one.timestamp for one in read if one.partition == number]
        assert own == sorted(times)
    latest = 0
    for one in read:
        assert one.timestamp >= latest - 100
        latest = max(latest, one.timestamp)


async def test_a_record_out_of_time_holds_nothing_up() -> None:
    """It comes with its own partition, and others go on."""
    logs = [
        Log([Record(n, 0, timestamp=ms) for n, ms in enumerate([5_000, 10, 6_000])], 1),
        Log([Record(n, 1, timestamp=ms) for n, ms in enumerate([4_000, 5_500])], 2),
    ]
    heads = [Head(log.fetch) for log in logs]
    read = [one.timestamp async for batch in in_time(heads, 0, 5) for one in batch]
    assert read == [4_000, 5_000, 10, 5_500, 6_000]
