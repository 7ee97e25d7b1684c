"""How fast a backlog is drained at 1 % sampling, against bare ``getmany`` on the same broker.

``python -m tests.benchmarks.drain [--records N] [--rounds N] [--full]`` starts a real broker,
writes backlogs (1 and 6 partitions, 1 and 4 KB, zstd and none), and reads each of them in turns:
bare aiokafka with the scorer's client options and without a bound on records, which is its fastest
way, then the scorer with ``sampling.key: record_key``, then with ``interaction_id``, again and
again, each time as a fresh group. Printed are medians: microseconds a record of bare reading, and
what share of its speed the scorer reaches (bare time / scorer's time), by CPU seconds of this
process and by the wall clock, each in two ways:

- *read*: fetching and unpacking, fairness, sampling, tracking, counting, decoding what is sampled,
  commits. A filter (``ingest.exclude``) then ends the decoded ones, so nothing is judged.
- *scored*: with all that follows: limits, metrics, building the score record, and writing it,
  acknowledged by all replicas. Only the judge itself is left out, for it answers at once. What is
  judged at 1 % sampling costs more than reading the other 99 %.

Out: what comes before the first assignment and after the last outcome (joining, leaving), and the
HTTP server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from confluent_kafka import Producer as BulkProducer
from prometheus_client import CollectorRegistry

from monitor.ingest.consumer.loop import POLL_MS, ConsumingLoop
from monitor.ingest.consumer.worker import LoopLimits
from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.judge.limits.limits import Limits
from monitor.judge.protocol import CostMeter
from monitor.kafka.connection import Connection
from monitor.kafka.group import GroupConsumer, member_options
from monitor.kafka.producer import Producer
from monitor.kafka.record import KafkaRecord, Partition
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement, Verdicts
from monitor.runtime import logs
from monitor.runtime.health import Health
from monitor.sampling.hashing import Sampler
from monitor.sampling.rules import EVERYTHING, Filter
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.servers.kafka_broker import KafkaBroker
from tests.servers.kafka_topics import create_topic
from tests.stages.process import until

RATE, DRAIN_S, SESSION_S, PASSAGES = 0.01, 20.0, 10.0, 3
WORDS = ("warranty", "returns", "shipping", "battery", "months", "days", "within", "lasts")
JUDGE = JudgeIdentity(name="instant", version="1", model="none", prompts="none", pipeline="none")


class Case(NamedTuple):
    """One backlog."""

    partitions: int
    size: int
    codec: str


class Spent(NamedTuple):
    """Seconds from the assignment to the last outcome."""

    cpu: float
    wall: float


class Instant:
    """A judge that says at once that one claim holds."""

    identity = JUDGE

    async def prepare(self) -> None:
        """Nothing to load."""

    async def judge(
        self, interaction: Interaction, cost_meter: CostMeter | None = None
    ) -> Judgement:
        """The same verdicts on everything."""
        row = (True,) + (False,) * (PASSAGES - 1)
        return Judgement(
            claims=Claims(response=(interaction.response[:40],)),
            passages=PASSAGES,
            has_reference=False,
            verdicts=Verdicts(response_by_passage=(row,), response_by_context=(True,)),
            judge=JUDGE,
        )

    async def aclose(self) -> None:
        """Nothing to close."""


class Clock:
    """Starts with the first assignment."""

    def __init__(self) -> None:
        self.begun: Spent | None = None

    def start(self) -> None:
        """The partitions are assigned."""
        self.begun = self.begun or Spent(time.process_time(), time.perf_counter())

    def stop(self) -> Spent:
        """All records have ended. Raises ``RuntimeError`` when there was no assignment."""
        if self.begun is None:
            raise RuntimeError("never assigned")
        return Spent(time.process_time() - self.begun.cpu, time.perf_counter() - self.begun.wall)


class _Starts(ConsumerRebalanceListener):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        return

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self._clock.start()


class _TimedLoop(ConsumingLoop):
    timing: Clock

    async def assigned(self, partitions: Sequence[Partition]) -> None:
        await super().assigned(partitions)
        self.timing.start()


class _CountingScorer(Scorer):
    left: int
    all_read: asyncio.Event

    def prefilter(self, batch: Sequence[KafkaRecord]) -> Sequence[KafkaRecord]:
        self.left -= len(batch)
        if self.left <= 0:
            self.all_read.set()
        return super().prefilter(batch)


async def bare(connection: Connection, topic: str, records: int) -> Spent:
    """Read everything, and do nothing with it."""
    options = member_options(f"bare-{uuid.uuid4().hex[:8]}", DRAIN_S, SESSION_S)
    client, timing, read = AIOKafkaConsumer(**connection.options(), **options), Clock(), 0
    await client.start()
    try:
        client.subscribe([topic], listener=_Starts(timing))
        while read < records:
            batches = await client.getmany(timeout_ms=POLL_MS)
            read += sum(map(len, batches.values()))
        return timing.stop()
    finally:
        await client.stop()


async def scored(
    connection: Connection,
    topic: str,
    records: int,
    key: str,
    scores: str,
    through: Filter,
    rate: float = RATE,
) -> Spent:
    """Read everything as the scorer does; to the last outcome."""
    registry, health = CollectorRegistry(), Health(time.monotonic)
    telemetry = ScorerTelemetry(registry)
    group = f"scorer-{uuid.uuid4().hex[:8]}"
    producer = await Producer.start(connection, health)
    consumer = await GroupConsumer.start(
        connection, group, health, drain_s=DRAIN_S, session_timeout_s=SESSION_S
    )
    gate = DeadLetterGate(CircuitLimits(), telemetry, health, time.monotonic)
    letters = DeadLetters(producer, "dead", gate, group=group, version="0")
    policy = ScoringPolicy(Sampler(rate, key), Instant(), Limits(8, 60.0))
    settings = ScorerSettings(scores, 1_000_000)
    scorer = _CountingScorer(
        settings, Policies(policy, (), through), producer, letters, telemetry, time.time
    )
    scorer.left, scorer.all_read = records, asyncio.Event()
    limits = LoopLimits(256, 1.0, DRAIN_S)
    loop = _TimedLoop(consumer, scorer, limits, telemetry, health, time.time)
    loop.timing, stop = Clock(), asyncio.Event()
    running = asyncio.create_task(loop.run([topic], stop))
    try:
        reading = asyncio.create_task(scorer.all_read.wait())
        await asyncio.wait({reading, running}, return_when="FIRST_COMPLETED")
        await until(lambda: not _in_flight(registry), "the last outcome", every_s=0.002)
        spent = loop.timing.stop()
    finally:
        stop.set()
        await running
        await producer.stop()
    return spent


def _in_flight(registry: CollectorRegistry) -> float:
    return registry.get_sample_value("rag_monitor_interactions_in_flight") or 0.0


def values(case: Case, records: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of about the size asked for, which compress as text does."""
    rng = Random(f"{case}")
    for number in range(records):
        spare = case.size - 350
        texts = [_text(rng, spare // PASSAGES) for _ in range(PASSAGES)]
        interaction = {
            "interaction_id": f"interaction-{number}",
            "timestamp": int(time.time() * 1000),
            "application": "support-bot",
            "user_input": _text(rng, 60),
            "response": _text(rng, 100),
            "retrieved_contexts": texts,
            "attributes": {"tenant": f"t{number % 50}"},
        }
        yield f"key-{number}".encode(), json.dumps(interaction).encode()


def _text(rng: Random, size: int) -> str:
    words = [f"{rng.choice(WORDS)}{rng.randrange(1000)}" for _ in range(size // 10)]
    return " ".join(words)[:size]


def fill(bootstrap: str, topic: str, case: Case, records: int) -> None:
    """Write a backlog, evenly over the partitions, in batches of 16 KiB as most producers do."""
    producer = BulkProducer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": case.codec,
            "linger.ms": 20,
            "batch.size": 16_384,
            "queue.buffering.max.kbytes": 1_048_576,
        }
    )
    for number, (key, value) in enumerate(values(case, records)):
        producer.produce(topic, value, key, partition=number % case.partitions)
        producer.poll(0)
    producer.flush()


async def measure(broker: KafkaBroker, case: Case, records: int, rounds: int) -> list[str]:
    """One line of the table."""
    connection = Connection(broker.bootstrap)
    run = uuid.uuid4().hex[:6]
    topic, scores = f"backlog-{run}", f"scores-{run}"
    await create_topic(broker.bootstrap, topic, case.partitions)
    await create_topic(broker.bootstrap, scores, 1)
    await asyncio.to_thread(fill, broker.bootstrap, topic, case, records)
    nothing = Filter((), (lambda _interaction: True,))
    contenders: dict[str, Callable[[], Awaitable[Spent]]] = {
        "bare": lambda: bare(connection, topic, records)
    }
    for key in ("record_key", "interaction_id"):
        for what, through in (("read", nothing), ("scored", EVERYTHING)):
            contenders[f"{what} {key}"] = partial(
                scored, connection, topic, records, key, scores, through
            )
    spent: dict[str, list[Spent]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            spent[name].append(await contender())
    return cells(case, records, list(spent.values()))


def cells(case: Case, records: int, spent: Sequence[Sequence[Spent]]) -> list[str]:
    """One row: microseconds a record of bare reading, then shares of its speed, round by round."""
    base, *others = spent
    found = [str(case.partitions), f"{case.size // 1000} KB", case.codec]
    found += [
        f"{statistics.median(column) / records * 1e6:.1f}" for column in zip(*base, strict=True)
    ]
    for other in others:
        pairs = list(zip(base, other, strict=True))
        cpu = statistics.median(bare.cpu / one.cpu for bare, one in pairs)
        wall = statistics.median(bare.wall / one.wall for bare, one in pairs)
        found.append(f"{cpu:.2f} / {wall:.2f}")
    return found


HEAD = ["partitions", "size", "codec", "bare CPU µs", "bare wall µs"]
HEAD += [
    f"{what} {key} CPU / wall"
    for key in ("record_key", "interaction_id")
    for what in ("read", "scored")
]


async def measure_all(cases: Sequence[Case], records: int, rounds: int) -> None:
    """Print the table, line by line."""
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        broker = KafkaBroker(Path(directory))
        await asyncio.to_thread(broker.start)
        try:
            for case in cases:
                row = await measure(broker, case, records, rounds)
                print("| " + " | ".join(row) + " |", flush=True)
        finally:
            await asyncio.to_thread(broker.stop)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=60_000, help="records of a backlog")
    parser.add_argument("--rounds", type=int, default=5, help="times that each is measured")
    parser.add_argument("--full", action="store_true", help="all eight backlogs, not only two")
    chosen = parser.parse_args()
    cases = [Case(p, s, c) for c in ("none", "zstd") for s in (1_000, 4_000) for p in (1, 6)]
    if not chosen.full:
        cases = [Case(6, 1_000, "zstd"), Case(1, 4_000, "none")]
    logs.configure("error", "console")
    asyncio.run(measure_all(cases, chosen.records, chosen.rounds))


if __name__ == "__main__":
    main()
