"""A provider away, then a storm of 429s, then slow answers: what becomes of what is judged.

A real broker, a judge server, and ``rag-monitor score`` and ``export`` under steady traffic, all
settings at their defaults. The judge's port is closed, then it answers 503; then everybody is told
429, with and without Retry-After; then answers take long; then all is well. Nobody lends a hand.

Looked at twice a second: consumed = outcomes + in flight, and both processes are healthy. Printed
by phase: requests at the provider (refused ones too), calls of the scorer (also those that found
nobody), what was scored and what has failed why, the most requests within a second of its second
half, and the longest time without an outcome. At the end every interaction has one score record,
the group was never rebalanced, and how long it took to be scoring again, and to have caught up.

    python tests/benchmarks/provider_trouble.py [--full]

``--quick`` takes a minute, ``--full`` (away for five minutes, two of 429, three of 20 s answers)
about a quarter of an hour.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from confluent_kafka import Producer

from monitor.records import ScoreRecord
from tests.benchmarks._sizes import parser
from tests.benchmarks._stage import Settings, new_topics, score_records
from tests.benchmarks.troubled.provider import OVERLOADED, RATE_LIMITED, Phase, Provider, Refusal
from tests.benchmarks.troubled.watching import Look, Watch, between, longest_stall
from tests.servers.kafka_broker import KafkaBroker
from tests.stages.labelled import Case, all_labels, case
from tests.stages.process import MonitorProcess, Samples, asking, total, until

A_SECOND: Final = 2.0
#: The circuit's longest wait between two probes, and how many there are before it is that long.
LONGEST_PROBE_S: Final = 30.0
FIRST_PROBES: Final = 5
#: With a call's own wait.
LONGEST_WAIT_S: Final = LONGEST_PROBE_S + 5.0
#: Judgements at once: ``judge.concurrency``.
UNDER_WAY: Final = 8
#: Two calls of one judgement, and two of another.
MOST_A_SECOND: Final = 4
PATIENCE_S: Final = 600.0


def phases(full: bool) -> list[Phase]:
    """The plan."""
    storm, slow_s = (60.0, 20.0) if full else (6.0, 2.0)
    told: Refusal = 429, RATE_LIMITED, {"Retry-After": "2"}
    return [
        Phase("calm", 20 if full else 5),
        Phase("away", 240 if full else 12, is_there=False),
        Phase("503", 60 if full else 6, refusal=(503, OVERLOADED, {})),
        Phase("429, 2 s", storm, refusal=told),
        Phase("429", storm, refusal=(429, RATE_LIMITED, {})),
        Phase("slow", 180 if full else 20, latency_s=slow_s),
        Phase("healthy", 20 if full else 5),
    ]


class Span(NamedTuple):
    """When a phase was, monotonic and in epoch seconds."""

    phase: Phase
    begin: float
    end: float
    wall: float


class Stage:
    """A scorer and an exporter, and traffic for them."""

    def __init__(self, bootstrap: str, topics: Settings, directory: Path, provider: Provider):
        self.bootstrap, self.topics = bootstrap, topics
        settings = asking(provider.server, **topics)
        self.scorer, self.exporter = (
            MonitorProcess(role, bootstrap, directory, role, **settings)
            for role in ("score", "export")
        )
        self._producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})

    async def send(self, cases: Sequence[Case]) -> None:
        """Steadily, one after the other."""
        began = time.monotonic()
        for number, each in enumerate(cases):
            await asyncio.sleep(max(0.0, began + number / A_SECOND - time.monotonic()))
            self._producer.produce(
                self.topics["kafka__topics__interactions"], each.value, each.id.encode()
            )
            self._producer.poll(0)
        if left := await asyncio.to_thread(self._producer.flush, 60):
            raise RuntimeError(f"{left} records were not written")

    async def records(self) -> list[ScoreRecord]:
        """All score records."""
        read = await score_records(self.bootstrap, self.topics["kafka__topics__scores"])
        return [record for record, _ in read]

    async def end(self) -> None:
        """End both."""
        await asyncio.gather(self.scorer.end(), self.exporter.end())


class Result(NamedTuple):
    """What was seen; ``caught_up`` is monotonic."""

    spans: list[Span]
    caught_up: float
    watch: Watch
    sent: set[str]
    records: list[ScoreRecord]
    samples: Samples
    provider: Provider


async def troubled(plan: Sequence[Phase], bootstrap: str, directory: Path) -> Result:
    """Play the plan, and wait until all has ended."""
    cases = made(plan)
    topics = await new_topics(bootstrap, 4)
    async with Provider(all_labels(cases)) as provider:
        stage = Stage(bootstrap, topics, directory, provider)
        watch = Watch(stage.scorer, stage.exporter)
        try:
            await asyncio.gather(stage.scorer.ready(), stage.exporter.ready())
            looking = asyncio.create_task(watch.run())
            sending = asyncio.create_task(stage.send(cases))
            spans = [await played(phase, provider) for phase in plan]
            await sending
            caught_up = await _caught_up(watch, looking, len(cases))
            samples = await stage.scorer.metrics()
        finally:
            await stage.end()
        ids = {each.id for each in cases}
        records = await stage.records()
        return Result(spans, caught_up, watch, ids, records, samples, provider)


def made(plan: Sequence[Phase]) -> list[Case]:
    """Interactions for the whole plan."""
    rng, count = Random(5), int(A_SECOND * sum(phase.seconds for phase in plan))
    began = time.time()
    return [case(f"t{i:05d}", rng, began + i / A_SECOND, together=True) for i in range(count)]


async def played(phase: Phase, provider: Provider) -> Span:
    """One phase."""
    await provider.becomes(phase)
    begin, wall = time.monotonic(), time.time()
    print(f"{phase.name} for {phase.seconds:g} s", file=sys.stderr, flush=True)
    await asyncio.sleep(phase.seconds)
    return Span(phase, begin, time.monotonic(), wall)


async def _caught_up(watch: Watch, looking: asyncio.Task[None], count: int) -> float:
    """When all had ended, and was committed; ``looking`` ends then."""

    async def done() -> bool:
        if looking.done():
            looking.result()
        return bool(watch.looks) and watch.looks[-1].ended >= count and watch.looks[-1].lag == 0

    await until(done, "all outcomes", PATIENCE_S)
    looking.cancel()
    with suppress(asyncio.CancelledError):
        await looking
    return watch.looks[-1].at


def rows(result: Result) -> Iterator[str]:
    """The table."""
    yield "  phase      seconds  requests  refused  calls  scored  failed  a second  stall  state"
    walls = [span.wall for span in result.spans[1:]] + [float("inf")]
    for span, until_wall in zip(result.spans, walls, strict=True):
        looks = between(result.watch.looks, span.begin, span.end)
        mine = [r for r in result.records if span.wall <= r.judged_at.timestamp() < until_wall]
        failed = Counter(str(r.reason) for r in mine if r.outcome != "scored")
        heard = result.provider.heard
        requests = [at for at in heard.requests if span.begin <= at < span.end]
        refused = [at for at in heard.refused if span.begin <= at < span.end]
        stall = longest_stall(result.watch.looks, span.begin, span.end)
        yield (
            f"  {span.phase.name:9} {span.phase.seconds:8.0f} {len(requests):9} {len(refused):8} "
            f"{looks[-1].calls - looks[0].calls:6} {sum(r.outcome == 'scored' for r in mine):7} "
            f"{failed.total():7} {busiest(requests, (span.begin + span.end) / 2):9} {stall:6.1f}  "
            f"{_states(looks)} {dict(failed) or ''}"
        )


def busiest(times: Sequence[float], since: float) -> int:
    """The most within a second, from a time on.

    >>> busiest([0.0, 1.0, 1.5, 1.9, 3.0], 0.5)
    3
    """
    later = [at for at in times if at >= since]
    return max((sum(at <= other < at + 1 for other in later) for at in later), default=0)


def _states(looks: Sequence[Look]) -> str:
    counted = Counter(each.state for each in looks)
    return ", ".join(f"{name} {n / len(looks):.0%}" for name, n in counted.most_common())


def first_scored(result: Result, name: str) -> float:
    """Seconds from the beginning of a phase to the first score in it."""
    (span,) = (each for each in result.spans if each.phase.name == name)
    scored = (r.judged_at.timestamp() for r in result.records if r.outcome == "scored")
    return min((at - span.wall for at in scored if at >= span.wall), default=float("inf"))


def bars(result: Result) -> Iterator[tuple[str, bool]]:
    """What has to hold, with the figure."""
    records, samples = result.records, result.samples
    ids = Counter(record.interaction_id for record in records)
    failed = [r for r in records if r.outcome != "scored"]
    wrong = result.watch.wrong
    yield f"{len(result.watch.looks)} looks, wrong: {wrong[:3]}", not wrong
    yield (
        f"{len(result.sent)} interactions, {len(ids)} with a score record, {len(records)} records",
        ids.keys() == result.sent and len(records) == len(ids),
    )
    named = all(r.outcome == "judge_failed" and r.reason for r in failed)
    yield f"{len(failed)} failed, each with its reason", named
    rebalances = int(total(samples, "rag_monitor_rebalances_total"))
    commits = int(total(samples, "rag_monitor_commits_total"))
    refused = commits - int(total(samples, "rag_monitor_commits_total", result="ok"))
    yield (
        f"assignments: {rebalances}; commits: {commits}, refused: {refused}",
        (rebalances == 1 and refused == 0),
    )
    yield from _patient(result)
    yield from _timely(result)


def _patient(result: Result) -> Iterator[tuple[str, bool]]:
    """Nobody hammers a provider: its circuit's probes, and few at once after a refusal."""
    heard = result.provider.heard
    for span in result.spans:
        if span.phase.answers:
            continue
        looks = between(result.watch.looks, span.begin, span.end)
        calls = looks[-1].calls - looks[0].calls
        # Those under way, and one judgement a probe: two calls at once, each made five times.
        probes = FIRST_PROBES + span.phase.seconds / LONGEST_PROBE_S
        most = 10 * (UNDER_WAY + probes)
        late = [at for at in heard.refused if (span.begin + span.end) / 2 <= at < span.end]
        a_second = busiest(late, 0.0)
        yield (
            f"{span.phase.name}: {calls} calls in vain (≤ {most:.0f}), later at most {a_second} "
            f"refusals a second (≤ {MOST_A_SECOND})",
            calls <= most and a_second <= MOST_A_SECOND,
        )


def _timely(result: Result) -> Iterator[tuple[str, bool]]:
    for span in result.spans:
        if span.phase.answers:
            # A judgement is two rounds of calls.
            most = LONGEST_WAIT_S + 2 * span.phase.latency_s
            stall = longest_stall(result.watch.looks, span.begin, span.end)
            yield f"{span.phase.name}: {stall:.1f} s without an outcome (≤ {most:g})", stall <= most
    slow = next(span.phase for span in result.spans if span.phase.name == "slow")
    again, most = first_scored(result, "slow"), LONGEST_WAIT_S + 2 * slow.latency_s
    yield f"scoring again {again:.1f} s after the provider answers (≤ {most:g})", again <= most
    healthy = result.spans[-1].begin
    worst = max(look.lag for look in result.watch.looks)
    took = result.caught_up - healthy
    yield f"{worst} records behind; caught up {took:.1f} s after all is well", took < PATIENCE_S


async def run(plan: Sequence[Phase], directory: Path) -> Result:
    """On a broker of its own."""
    (directory / "kafka").mkdir()
    broker = KafkaBroker(directory / "kafka")
    await asyncio.to_thread(broker.start)
    try:
        return await troubled(plan, broker.bootstrap, directory)
    finally:
        await asyncio.to_thread(broker.stop)


def main() -> int:
    """Print it all; the exit code says whether all bars are held."""
    options = parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        result = asyncio.run(run(phases(options.full), Path(name)))
    for line in rows(result):
        print(line)
    missed = 0
    for told, held in bars(result):
        missed += not held
        print(f"{told}: {'yes' if held else 'NO'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
