"""One run of the harness: a broker, an exporter, three scorers, traffic, blows, and the count."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from monitor.records import Outcome, ScoreRecord
from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer
from tests.servers.kafka_broker import KafkaBroker
from tests.servers.kafka_topics import committed, create_topic, read_all
from tests.stages.chaos.crew import Crew
from tests.stages.chaos.figures import Ends, Figures, Scraped
from tests.stages.chaos.slotted import MOST_DROPPED, Slots, slots_of
from tests.stages.chaos.strikes import Kind
from tests.stages.chaos.traffic import AGES, Feeder, Made, labels_of, make_all
from tests.stages.chaos.verdict import (
    differences,
    of_most_spans,
    on_topic,
    score_records,
    worst,
)
from tests.stages.chaos.watch import Watch
from tests.stages.chaos.weighed import Weighed, weighed
from tests.stages.process import MonitorProcess, asking, total, until

TOPICS = {
    name: f"chaos-{name}"
    for name in ("interactions", "scores", "dead_letters", "control", "alarms")
}
INPUT, SCORES, DEAD = (TOPICS[name] for name in ("interactions", "scores", "dead_letters"))
GROUP = "chaos"
#: Nothing new on the topic of score records for so long means that nothing will come any more.
STILL_S = 300.0


@dataclass(frozen=True)
class Setup:
    """The size of a run. ``judge_latency_s`` None is the offline judge, else an LLM over HTTP.

    ``module`` is the program that the scorers run, ``settings`` are theirs besides the usual.
    ``blocks`` are the lengths of blocks that new scorers take in turn; none: no blocks. With
    ``shares`` the program takes one of these of the traffic at a time, in blocks of 1.
    ``most_dropped`` is the share of the offsets that dropped slots alone may cover. As ``spans``
    each interaction comes in three records; who dies in the midst of one may judge a part of it.
    """

    interactions: int
    seed: int
    judge_latency_s: float | None = None
    scorers: int = 3
    partitions: int = 6
    module: str = "monitor"
    settings: Mapping[str, Any] = field(default_factory=dict)
    blocks: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    most_dropped: float = MOST_DROPPED
    spans: bool = False


class Stage:
    """Everything that runs, for those who feed and strike it."""

    def __init__(
        self, setup: Setup, traffic: list[Made], broker: KafkaBroker, exporter: MonitorProcess
    ) -> None:
        self.setup, self.traffic, self.broker, self.exporter = setup, traffic, broker, exporter
        self.feeder = Feeder(broker.bootstrap, INPUT, spans=setup.spans)
        self.watch = Watch()
        self.struck: Counter[Kind] = Counter()
        self.seen = self.given_up = 0
        self.crew: Crew

    @property
    def progress(self) -> int:
        """Interactions that are done, or for which nobody will do anything any more."""
        return self.seen + self.given_up

    async def look(self) -> None:
        """Keep up to date how many score records the exporter has read.

        Of blocks: how many interactions are committed.
        """
        while True:
            samples = await self.exporter.metrics()
            if self.setup.blocks:
                ends = total(samples, "rag_monitor_input_end_offset")
                self.seen = int(ends - total(samples, "rag_monitor_group_lag_records"))
            else:
                self.seen = int(total(samples, "rag_monitor_score_records_total", result="read"))
            await asyncio.sleep(0.2)

    async def give_up(self) -> None:
        """When no scorer has anything left to do, what has no score record will never have one."""
        while True:
            fed = self.feeder.fed
            if await self.all_done():
                self.given_up = max(self.given_up, fed - self.seen)
            await asyncio.sleep(1)

    async def reached(self, progress: int) -> None:
        """Wait for that much progress; ``TimeoutError`` when all stands."""
        while self.progress < progress:
            await self._news(self.progress)

    async def _news(self, before: int) -> None:
        await until(lambda: self.progress > before, f"more than {before} records", STILL_S)

    async def all_done(self) -> bool:
        """Whether all is committed and nothing in flight."""
        with suppress(aiohttp.ClientError):  # one that is struck just now
            exporter = await self.exporter.metrics()
            if total(exporter, "rag_monitor_input_end_offset") < self.feeder.fed:
                return False  # the exporter has not looked since
            if total(exporter, "rag_monitor_group_lag_records"):
                return False
            found = [await process.metrics() for process in self.crew.places if process.url]
            in_flight = sum(total(one, "rag_monitor_interactions_in_flight") for one in found)
            return len(found) == len(self.crew.places) and not in_flight
        return False


async def run(setup: Setup, directory: Path, act: Callable[[Stage], Awaitable[None]]) -> Figures:
    """Start everything, let ``act`` feed and strike it, wait until all is quiet, and count."""
    async with AsyncExitStack() as stack:
        stack.enter_context(_quiet_client())
        stage = await stack.enter_async_context(_staged(setup, directory))
        begun = time.monotonic()
        async with _background(stage.look(), stage.watch.follow(stage.crew.places)):
            async with _background(stage.crew.replace_deserters(), stage.give_up()):
                await act(stage)
                await _quiet(stage)
            seconds = time.monotonic() - begun
            await stage.crew.end()
        return await _counted(stage, seconds)


@contextmanager
def _quiet_client() -> Iterator[None]:
    """The feeder's client says that the broker is away a thousand times a second."""
    log = logging.getLogger("aiokafka")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


@asynccontextmanager
async def _background(*works: Any) -> AsyncIterator[None]:
    """Work that goes on meanwhile and never ends by itself, unless it fails."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        yield
        for task in tasks:
            task.cancel()


@asynccontextmanager
async def _staged(setup: Setup, directory: Path) -> AsyncIterator[Stage]:
    traffic = make_all(setup.interactions, setup.seed, time.time(), spans=setup.spans)
    broker = KafkaBroker(directory)
    async with AsyncExitStack() as stack:
        stack.callback(broker.kill)
        await asyncio.to_thread(broker.start)
        for name in TOPICS.values():
            await create_topic(broker.bootstrap, name, setup.partitions)
        usual: dict[str, Any] = {f"kafka__topics__{key}": name for key, name in TOPICS.items()}
        if setup.judge_latency_s is not None:
            judge = JudgeServer(labels_of(traffic), _latency(setup.judge_latency_s))
            usual |= asking(await stack.enter_async_context(judge), judge__model="judge")
        usual |= {"export__windows": ",".join(AGES), "kafka__group_id": GROUP, **setup.settings}
        exporter = MonitorProcess("export", broker.bootstrap, directory, "exporter", **usual)
        stack.callback(exporter.kill)
        stage = Stage(setup, traffic, broker, exporter)
        turns = [{"sampling__block": length} for length in setup.blocks]
        stage.crew = Crew(setup.scorers, broker.bootstrap, directory, usual, setup.module, turns)
        stack.callback(stage.crew.abandon)
        await exporter.ready()
        await stage.crew.ready()
        yield stage


def _latency(seconds: float) -> FaultPlan:
    return FaultPlan(rules=(FaultRule(fault=Fault.LATENCY, times=None, seconds=seconds),))


async def _quiet(stage: Stage) -> None:
    """Wait until no scorer has anything left to do, or until nothing moves any more."""
    quiet, seen, moved = 0, stage.seen, time.monotonic()
    while quiet < 3 and time.monotonic() - moved < STILL_S:
        quiet = quiet + 1 if await stage.all_done() else 0
        await asyncio.sleep(1)
        if stage.seen > seen:
            seen, moved = stage.seen, time.monotonic()


async def _counted(stage: Stage, seconds: float) -> Figures:
    bootstrap = stage.broker.bootstrap
    records = score_records(await read_all(bootstrap, SCORES))

    async def all_read() -> Any:
        samples = await stage.exporter.metrics()
        read = total(samples, "rag_monitor_score_records_total", result="read")
        return samples if read >= len(records) else None

    samples = await until(all_read, f"{len(records)} score records read by the exporter")
    if stage.setup.spans:
        records = of_most_spans(records)
    found = differences(samples, stage.traffic, records, time.time())
    blocks = stage.setup.blocks
    if blocks:  # a pick stands for others, whose values are not those of the estimates
        found = {name: value for name, value in found.items() if name.startswith("records:")}
    crew, watch = stage.crew, stage.watch
    return Figures(
        interactions=len(stage.traffic),
        seconds=seconds,
        struck=stage.struck,
        topic=on_topic(stage.traffic, records),
        dead_letters=len(await read_all(bootstrap, DEAD)),
        gauges=len(found),
        worst=worst(found),
        scraped=Scraped(
            watch.checked,
            tuple(watch.uneven),
            len(watch.last),
            watch.sum("rag_monitor_rebalances_total"),
            watch.outcomes().get(Outcome.HANDED_OVER, 0),
            watch.outcomes(),
        ),
        ends=Ends(tuple(crew.exits), tuple(crew.deserters)),
        slots=await _slots(stage, records) if blocks else None,
    )


async def _slots(stage: Stage, records: Sequence[ScoreRecord]) -> Slots | Weighed:
    bootstrap, rate = stage.broker.bootstrap, stage.setup.settings.get("sampling__rate", 1.0)
    fed = await read_all(bootstrap, INPUT)
    marks = await committed(bootstrap, GROUP, INPUT)
    if stage.setup.shares:
        return weighed(stage.traffic, fed, records, marks, min(stage.setup.shares))
    return slots_of(stage.traffic, fed, records, marks, rate, stage.setup.most_dropped)
