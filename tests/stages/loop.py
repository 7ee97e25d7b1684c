"""A consumer and a worker for the consuming loop that do exactly what a test tells them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from prometheus_client import CollectorRegistry

from monitor.ingest.consumer.loop import ConsumingLoop
from monitor.ingest.consumer.worker import LoopLimits
from monitor.ingest.work import Work, Works
from monitor.kafka.fair_reader import RecordBatch
from monitor.kafka.group import Assignment, GroupConsumer
from monitor.kafka.record import KafkaRecord, Partition, last_offset
from monitor.runtime.health import Health
from monitor.telemetry import ScorerTelemetry
from tests.stages.process import until

A, B, C = (Partition("t", number) for number in range(3))
LIMITS = LoopLimits(max_in_flight=8, commit_interval_s=0.01, drain_s=0.05)


class Record(NamedTuple):
    """A consumed record."""

    offset: int
    partition: int = 0
    topic: str = "t"
    timestamp: int = 1_000
    key: bytes | None = None
    value: bytes | None = b"{}"
    headers: Sequence[tuple[str, bytes | None]] = ()


def batch(partition: Partition, *offsets: int) -> RecordBatch:
    """Records of one partition."""
    return [Record(offset, partition.partition, partition.topic) for offset in offsets]


class Told(GroupConsumer):
    """A consumer that reads what it is told, and keeps what is committed."""

    def __init__(self) -> None:
        self.assignment: Assignment | None = None
        self.topics: Sequence[str] = ()
        self.batches: asyncio.Queue[RecordBatch | BaseException] = asyncio.Queue()
        self.polls = 0
        self.commits: list[dict[Partition, int]] = []
        self.begun_commits = 0
        self.results: list[str | BaseException] = []
        self.may_commit = asyncio.Event()
        self.may_commit.set()
        self.may_poll = asyncio.Event()
        self.may_poll.set()
        self.paused: Set[Partition] = frozenset()
        self.positions_found: dict[Partition, tuple[int, int]] = {}
        self.positions_now: dict[Partition, int] = {}
        #: What a look finds to be in another log, and where that begins.
        self.begun_anew: dict[Partition, int] = {}
        self.tells_logs = True
        self.old = set[Partition]()
        self.answers = True
        self.stopped = False

    def subscribe(self, topics: Sequence[str], assignment: Assignment) -> None:
        self.topics, self.assignment = topics, assignment

    async def poll(self, timeout_ms: int, max_records: int) -> list[RecordBatch]:
        await self.may_poll.wait()
        self.polls += 1
        with suppress(TimeoutError):
            found = await asyncio.wait_for(self.batches.get(), 0.002)
            if isinstance(found, BaseException):
                raise found
            last = found[-1]
            self.positions_now[Partition(last.topic, last.partition)] = last_offset(last) + 1
            return [found]
        return []

    def is_old(self, partition: Partition) -> bool:
        return partition in self.old

    async def look_at_logs(self) -> bool:
        self.positions_now |= self.begun_anew
        return self.tells_logs

    async def commit(self, offsets: Mapping[Partition, int]) -> str:
        self.begun_commits += 1
        await self.may_commit.wait()
        result = self.results.pop(0) if self.results else "ok"
        if isinstance(result, BaseException):
            raise result
        if result == "ok":
            self.commits.append(dict(offsets))
        return result

    def pause_only(self, partitions: Set[Partition]) -> None:
        self.paused = partitions

    def end_offset(self, partition: Partition) -> int | None:
        return None

    def position(self, partition: Partition) -> int | None:
        return self.positions_now.get(partition)

    async def positions(self, partitions: Sequence[Partition]) -> dict[Partition, tuple[int, int]]:
        return {p: self.positions_found[p] for p in partitions if p in self.positions_found}

    async def group_answers(self, topic: str) -> bool:
        return self.answers

    async def stop(self) -> None:
        self.stopped = True

    def committed(self, partition: Partition) -> int | None:
        """The offset that was committed last."""
        found = [offsets[partition] for offsets in self.commits if partition in offsets]
        return found[-1] if found else None


class ToldWork(Work):
    """Says of itself what its worker is told to say of it."""

    def __init__(self, record: KafkaRecord, worker: ToldWorker) -> None:
        super().__init__(record, worker.do, worker.works)
        self.name, self._worker = (record.partition, record.offset), worker

    @property
    def is_busy(self) -> bool:
        return self.name in self._worker.busy

    def may_be_left(self, within_s: float) -> bool:
        return self.name in self._worker.queued or self._worker.late.get(self.name, 0.0) > within_s


class ToldWorker:
    """A worker whose works end when they are told; records with the key ``skip`` need none."""

    def __init__(self) -> None:
        self.works = Works()
        self.may_end: dict[tuple[int, int], asyncio.Event] = {}
        self.begun: list[tuple[int, int]] = []
        self.done: list[tuple[int, int]] = []
        self.prefiltered: list[tuple[int, int]] = []
        self.cancelled: dict[tuple[int, int], str] = {}
        self.tellings = 0
        self.busy: set[tuple[int, int]] = set()
        self.queued: set[tuple[int, int]] = set()
        self.late: dict[tuple[int, int], float] = {}
        self.deaf: set[tuple[int, int]] = set()
        self.shut: set[Partition] = set()
        self.error: BaseException | None = None

    def prefilter(self, batch: Sequence[KafkaRecord]) -> Sequence[KafkaRecord]:
        self.prefiltered += [(record.partition, record.offset) for record in batch]
        return [record for record in batch if record.key != b"skip"]

    def begin(self, record: KafkaRecord) -> Work | None:
        name = (record.partition, record.offset)
        self.begun.append(name)
        self.may_end.setdefault(name, asyncio.Event())
        return ToldWork(record, self)

    async def do(self, work: Work) -> None:
        """Wait until it may end."""
        assert isinstance(work, ToldWork)
        name = work.name
        while not self.may_end[name].is_set():
            try:
                await self.may_end[name].wait()
            except asyncio.CancelledError:
                self.cancelled[name] = work.reason or ""
                self.tellings += 1
                if work.reason != "stuck" and name not in self.deaf:
                    raise
        if self.error is not None:
            raise self.error
        self.done.append(name)

    def awaits(self, record: KafkaRecord) -> bool:
        return record.key == b"later"

    def room(self, partition: Partition) -> int | None:
        return 0 if partition in self.shut else None

    def log_ended(self, partition: Partition) -> None:
        """Nothing here waits for more of a log."""

    def behind(self, seconds: float) -> None:
        return

    def turn(self) -> None:
        return

    def end(self, partition: Partition, *offsets: int) -> None:
        """Let works end."""
        for offset in offsets:
            self.may_end.setdefault((partition.partition, offset), asyncio.Event()).set()


@dataclass
class Stage:
    """A running loop."""

    consumer: Told
    worker: ToldWorker
    loop: ConsumingLoop
    health: Health
    telemetry: ScorerTelemetry
    stop: asyncio.Event
    running: asyncio.Task[None]

    async def read(self, *batches: RecordBatch) -> None:
        """Have batches read, to the last."""
        for each in batches:
            self.consumer.batches.put_nowait(each)
        polls = self.consumer.polls
        await until(
            lambda: (
                self.consumer.batches.empty() and self.consumer.polls > polls + len(batches) + 1
            ),
            "the batches to be read",
            every_s=0.002,
        )

    async def end(self) -> None:
        """Stop in an orderly way."""
        self.stop.set()
        await self.running


@asynccontextmanager
async def staged(*partitions: Partition, limits: LoopLimits = LIMITS) -> AsyncIterator[Stage]:
    """A loop that has these partitions."""
    consumer, worker, stop = Told(), ToldWorker(), asyncio.Event()
    telemetry, health = ScorerTelemetry(CollectorRegistry()), Health(time.monotonic)
    loop = ConsumingLoop(consumer, worker, limits, telemetry, health, time.time)
    running = asyncio.create_task(loop.run(["t"], stop))
    await until(lambda: consumer.assignment is not None, "the subscription", every_s=0.002)
    await loop.assigned(list(partitions))
    stage = Stage(consumer, worker, loop, health, telemetry, stop, running)
    try:
        yield stage
    finally:
        consumer.may_commit.set()
        consumer.may_poll.set()
        stop.set()
        await asyncio.wait({running})
