"""``block: auto`` over hours of random traffic: lengths stay near those that fit the budget.

Records come at random, each to a random partition; a clock that is told the time; a pick as soon as
its block has closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import pytest

from monitor.kafka.record import KafkaRecord, Partition
from monitor.sampling.pace import FIRST_LENGTH, Pace
from monitor.sampling.slot_buffer import Slot, SlotBuffer
from tests.stages.loop import Record


class Minute(NamedTuple):
    """What was planned after it, and how much was picked in it."""

    length: int
    picks: int


@dataclass(frozen=True)
class Stream:
    """Interactions a minute, of so many applications, on so many partitions."""

    per_minute: float
    partitions: int = 2
    applications: int = 1


class Reader:
    """Blocks of a stream, and what is picked from them."""

    def __init__(self) -> None:
        self.now, self.picks = 0.0, 0
        self.pace = Pace(None, sheds=True, behind_s=600.0, first=FIRST_LENGTH)
        self.slot_buffer: SlotBuffer[KafkaRecord] = SlotBuffer(self.pace, self._clock)
        self._open: list[Slot[KafkaRecord]] = []
        self.pace.look(0.0, None, 0.0)

    def _clock(self) -> float:
        return self.now

    def passes(self, until: float) -> None:
        """Time, in steps of a second at most."""
        while self.now < until:
            self.now = min(until, self.now + 1.0)
            self.slot_buffer.turn()
            self._settle()

    def look(self, budget: float) -> Minute:
        """A minute is over."""
        plan = self.pace.look(self.now, budget, 0.0, 0, self.slot_buffer.under_way())
        picks, self.picks = self.picks, 0
        return Minute(plan.length, picks)

    def reads(self, record: KafkaRecord, application: int) -> None:
        """One more interaction."""
        partition, batch = Partition(record.topic, record.partition), [record]
        self.slot_buffer.read(batch)
        self.slot_buffer.left(batch, batch)
        if self.slot_buffer.begin(partition, record.offset).length == 1:
            self._pick(1)
        else:
            name = f"{record.partition}/{record.offset}"
            slot = self.slot_buffer.join(record, application, name, record)
            self._open += [] if slot is None else [slot]
        self.slot_buffer.passed(partition)
        self._settle()

    def _settle(self) -> None:
        closed = [slot for slot in self._open if slot.block.closed.is_set()]
        for slot in closed:
            self._open.remove(slot)
            self.slot_buffer.picked(slot)
            self._pick(slot.block.length)

    def _pick(self, offsets: int) -> None:
        self.picks += 1
        self.pace.picked(offsets=offsets)


def read(streams: Sequence[Stream], budget: float, seed: int) -> Iterator[Minute]:
    """Minute by minute, each of its own stream."""
    rng, reader, offsets = Random(seed), Reader(), Counter[int]()
    comes = 0.0
    for minute, stream in enumerate(streams, 1):
        while (then := comes + rng.expovariate(stream.per_minute / 60)) < 60.0 * minute:
            comes = then
            reader.passes(comes)
            number = rng.randrange(stream.partitions)
            record = Record(offsets[number], partition=number)
            offsets[number] += 1
            reader.reads(record, rng.randrange(stream.applications))
        comes = 60.0 * minute  # what has no memory may as well begin anew
        reader.passes(comes)
        yield reader.look(budget)


@pytest.mark.parametrize(
    ("stream", "budget", "shortest", "longest"),
    [
        (Stream(40), 3.8, 4, 32),
        (Stream(40, partitions=8), 3.8, 2, 32),
        (Stream(40, applications=3), 3.8, 8, 128),
        (Stream(10, partitions=1), 0.5, 4, 128),
        (Stream(400, partitions=16), 10.0, 16, 128),
        (Stream(120), 57.0, 2, 4),
    ],
)
def test_the_length_stays_near_the_one_that_fits(
    stream: Stream, budget: float, shortest: int, longest: int
) -> None:
    """However few come in a minute, and however long blocks take: two steps from it at most."""
    found = list(read([stream] * 150, budget, seed=1))[30:]
    lengths = [minute.length for minute in found]
    assert shortest <= min(lengths) <= max(lengths) <= longest
    picks = sum(minute.picks for minute in found) / len(found)
    assert 0.85 * budget <= picks <= 1.15 * budget


@pytest.mark.parametrize(("per_minute", "shortest", "longest"), [(12.0, 1, 4), (1_200.0, 64, 256)])
def test_other_traffic_is_followed_within_minutes(
    per_minute: float, shortest: int, longest: int
) -> None:
    """Ten times as much as before, or a tenth: in a quarter of an hour the new length is found."""
    before, after = [Stream(120)] * 40, [Stream(per_minute)] * 40
    found = list(read([*before, *after], 10.0, seed=2))
    lengths = [minute.length for minute in found]
    assert {8, 16} >= set(lengths[20:40])
    assert shortest <= min(lengths[55:]) <= max(lengths[55:]) <= longest
