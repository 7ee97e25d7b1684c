"""How long interactions wait for their block where there are few, and how old the watermark gets.

First one interaction, and nothing else; then one every 20 seconds on three of four partitions in
turn. Blocks are of 32, and wait for T = max(60 s, twice the time that blocks take to fill), at most
ten minutes. The age is that of the oldest record that is not committed, as the topic and the
group's offsets say.

    python -m tests.benchmarks.low_traffic [--full] [--times N]

``--quick`` takes four minutes, in which half an hour passes for the blocks (``--times 10``);
``--full`` takes half an hour. Exit code 1 when something waits for longer than T and ten seconds.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from monitor.records import read_score_record
from monitor.sampling.blocks import LONGEST_WAIT_S, SHORTEST_WAIT_S
from tests.benchmarks._sizes import parser
from tests.benchmarks._stage import Settings, new_topics
from tests.servers.kafka_broker import KafkaBroker
from tests.servers.kafka_topics import Record, committed, produce, read_all
from tests.stages.hurried import MODULE, hurried
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, until

PARTITIONS, USED, BLOCK = 4, 3, 32
#: Seconds of the blocks' time.
EVERY_S, LASTS_S = 20.0, 1_800.0
#: Seconds of the clock: to read, judge, write and commit.
JUDGED_S = 10.0


class Sent(NamedTuple):
    """An interaction on its way; ``at`` is in epoch seconds."""

    name: str
    partition: int
    offset: int
    at: float


class Stage:
    """A scorer, and what was sent to it. ``times``: seconds of the blocks in one of the clock."""

    def __init__(self, broker: str, settings: Settings, times: float) -> None:
        self.broker, self.settings, self.times = broker, settings, times
        self.topic = settings["kafka__topics__interactions"]
        self.sent: list[Sent] = []
        #: The age of the watermark, time after time, in seconds of the blocks.
        self.ages: list[float] = []

    async def send(self, partition: int) -> None:
        """One more interaction."""
        name = f"i{len(self.sent)}"
        at = time.time()
        record = Record(encoded(interaction(name)), name.encode(), partition)
        (placed,) = await produce(self.broker, self.topic, [record])
        self.sent.append(Sent(name, partition, placed.offset or 0, at))

    async def age(self) -> float:
        """How old the oldest record is that is not committed, in seconds of the clock."""
        marks = await committed(self.broker, self.settings["kafka__group_id"], self.topic)
        open_ = [one.at for one in self.sent if one.offset >= marks.get(one.partition, 0)]
        return time.time() - min(open_) if open_ else 0.0

    async def watch(self) -> None:
        """Follow the age, for ever."""
        while True:
            self.ages.append(self.times * await self.age())
            await asyncio.sleep(0.5)

    async def waits(self) -> list[float]:
        """How long each that has a record waited for it, in seconds of the blocks."""
        read = await read_all(self.broker, self.settings["kafka__topics__scores"])
        at = {one.name: one.at for one in self.sent}
        records = [read_score_record(one.value or b"") for one in read]
        return [self.times * (r.judged_at.timestamp() - at[r.interaction_id]) for r in records]


async def lone(stage: Stage) -> bool:
    """One interaction and no other; whether it was in time."""
    await stage.send(0)

    async def is_judged() -> bool:
        return bool(await stage.waits())

    await until(is_judged, "its record", 2 * SHORTEST_WAIT_S / stage.times + JUDGED_S, 0.5)
    (wait,) = await stage.waits()
    bar = SHORTEST_WAIT_S + stage.times * JUDGED_S
    print(f"a lone interaction: judged after {wait:.0f} s of the blocks' time (T is 60 s)")
    return SHORTEST_WAIT_S <= wait <= bar


async def trickle(stage: Stage) -> bool:
    """One every 20 seconds, in turn on three of four partitions; whether all were in time."""
    watching = asyncio.create_task(stage.watch())
    begun, count = time.monotonic(), int(LASTS_S / EVERY_S)
    for number in range(count):
        due = begun + number * EVERY_S / stage.times
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await stage.send(number % USED)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    waits, bar = await stage.waits(), LONGEST_WAIT_S + stage.times * JUDGED_S
    print(
        f"{count} interactions, one every {EVERY_S:.0f} s: {len(waits) - 1} judged, after at most "
        f"{max(waits):.0f} s; age of the watermark at most {max(stage.ages):.0f} s in "
        f"{len(stage.ages)} looks (mean {_mean(stage.ages):.0f} s); T is at most 600 s, and "
        f"{JUDGED_S * stage.times:.0f} s are for judging"
    )
    return max(*waits, *stage.ages) <= bar


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


async def run(times: float, directory: Path) -> bool:
    """Both, on a broker of their own; whether all was in time."""
    with KafkaBroker(directory) as broker:
        settings = await new_topics(broker.bootstrap, PARTITIONS)
        scorer = MonitorProcess(
            "score",
            broker.bootstrap,
            directory,
            "scorer",
            module=MODULE,
            sampling__block=BLOCK,
            **settings,
        )
        try:
            await scorer.ready()
            stage = Stage(broker.bootstrap, settings, times)
            return all([await lone(stage), await trickle(stage)])
        finally:
            await scorer.end()


def main() -> int:
    """Run it; the exit code."""
    line = parser(__doc__)
    line.add_argument("--times", type=float, help="seconds that pass for blocks in one")
    options = line.parse_args()
    times = options.times or (1.0 if options.full else 10.0)
    with tempfile.TemporaryDirectory(prefix="low-traffic-") as directory, hurried(times):
        return 0 if asyncio.run(run(times, Path(directory))) else 1


if __name__ == "__main__":
    sys.exit(main())
