"""How soon is the exporter ready, how much does it hold, and how long does a scrape take?

One score a second over five applications and 1,000 tenants, 14 metrics (the catalogue's and copies
of them), windows 5m, 1h and 24h, three drift detectors for each application.

1. Replay of 24 h: from lines to the first page; and through Kafka, where a broker can be started.
2. Many records: time, memory, and the memory after two more periods.
3. Scrapes every 15 s with 15 new records before each, over a midnight, and scrapes amid a replay.
4. The same with 20 segments, beside a page of as many constant gauges.
5. Scrapes, and the steps between them, while baselines are learned, set, reset and deleted.

    python -m tests.benchmarks.exporter [--full] [--seed 1] [--records 1000000] [--without-kafka]
        [--only 5]

Without --full there are fewer records; the figures are for those.
"""

from __future__ import annotations

import gc
import time
from argparse import Namespace
from collections.abc import Iterator
from itertools import islice
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from monitor.exporter.from_file import gauges
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.pages import whole
from monitor.records import read_score_record
from tests.benchmarks._sizes import parser
from tests.benchmarks.exporting.baselines_served import serve
from tests.benchmarks.exporting.through_kafka import replay_through_kafka
from tests.benchmarks.exporting.traffic import APPLICATIONS, DAY, START, WINDOWS, aggregators, lines

METRICS: Final = 14
EVERY_S: Final = 15
#: So many records are read between two steps of the exporter's loop.
BATCH: Final = 200


class Scene:
    """A book behind a page, and the traffic that goes into it."""

    def __init__(self, seed: int, start: float, step_s: float, *, segments: bool) -> None:
        self.aggregator, _ = aggregators(METRICS, segments=segments)
        self.now = start
        self._traffic = lines(seed, start, step_s, METRICS)
        self._collector = QualityCollector(self.aggregator, lambda: self.now, lambda: True)

    def read(self, count: int) -> float:
        """Take in so many records; the seconds that took, without making them up."""
        spent = 0.0
        while count > 0:
            batch = list(islice(self._traffic, min(count, 2_000)))
            count -= len(batch)
            began = time.perf_counter()
            apply(self.aggregator, batch)
            spent += time.perf_counter() - began
        return spent

    def page(self) -> tuple[float, bytes]:
        """The seconds of a scrape, and what it gave."""
        began = time.perf_counter()
        for _ in self._collector.steps():
            pass
        found = whole(generate_latest, self._collector.prepared)
        return time.perf_counter() - began, found


def apply(into: ScoreAggregator, batch: list[bytes]) -> None:
    """As the exporter reads them."""
    for line in batch:
        into.add(read_score_record(line), line)


def memory_mb() -> float:
    """Resident memory of this process."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / 1e6


def verdict(value: float, bar: float) -> str:
    """How a figure stands to its bar."""
    return f"bar {bar:g}  {'ok' if value <= bar else 'MISSED'}"


def replay(seed: int, step_s: float, *, segments: bool) -> None:
    """Part 1, as ``export --from-file`` does it: all lines, then one page."""
    made = list(islice(lines(seed, START, step_s, METRICS), int(DAY / step_s)))
    began = time.perf_counter()
    page = gauges(*aggregators(METRICS, segments=segments), made, START + DAY - 1)
    spent = time.perf_counter() - began
    print(
        f"  {len(made):9,} records, {page.count(chr(10)):6,} lines of page, "
        f"{'20 segments' if segments else 'no segments':11}: {spent:6.2f} s, "
        f"{spent / len(made) * 1e6:4.0f} µs each  {verdict(spent, 10.0)}"
    )


def many(seed: int, records: int) -> None:
    """Part 2: a horizon of two days full of records; then two more days of few."""
    before = memory_mb()
    scene = Scene(seed, START, 2 * DAY / records, segments=True)
    scene.now = START + 2 * DAY - 1
    scene.aggregator.advance(scene.now)
    spent = scene.read(records)
    first, _ = scene.page()
    held = memory_mb() - before
    print(
        f"  {records:9,} records: {spent:6.1f} s, first page {first:5.2f} s, {held:7,.0f} MB, "
        f"{held / records * 1e6:5,.0f} bytes each; {scene.aggregator.held:,} held"
    )
    for day in (2, 3):
        scene.now = START + (day + 1) * DAY - 1
        took, _ = scene.page()
        print(
            f"  a day later: first page {took:5.2f} s, {memory_mb() - before:7,.0f} MB, "
            f"{scene.aggregator.held:,} held"
        )


def scrapes(seed: int, step_s: float, *, segments: bool) -> tuple[float, int]:
    """Part 3: the median, and the number of samples."""
    scene = Scene(seed, START, step_s, segments=segments)
    scene.now = START + 2 * DAY - 60 * EVERY_S
    scene.aggregator.advance(scene.now)
    while_reading = sorted(amid_replay(scene, int((scene.now - START) / step_s)))
    gc.collect()
    gc.freeze()  # as the exporter does once it is ready
    took, midnight, page = [], 0.0, b""
    for number in range(120):
        scene.now += EVERY_S
        scene.read(int(number * EVERY_S / step_s) - int((number - 1) * EVERY_S / step_s))
        spent, page = scene.page()
        if number == 59:
            midnight = spent
        else:
            took.append(spent)
    took.sort()
    samples = sum(not line.startswith(b"#") for line in page.splitlines())
    p99 = while_reading[int(0.99 * (len(while_reading) - 1))]
    median = took[len(took) // 2]
    bar = "" if segments else verdict(median * 1e3, 50)
    print(
        f"  {samples:6,} samples: median {median * 1e3:6.1f} ms  {bar}\n"
        f"     longest {took[-1] * 1e3:6.1f} ms, at midnight {midnight * 1e3:6.1f} ms; "
        f"amid a replay p50 {while_reading[len(while_reading) // 2] * 1e3:6.1f}, "
        f"p99 {p99 * 1e3:6.1f} ms  {'' if segments else verdict(p99 * 1e3, 200)}"
    )
    gc.unfreeze()
    return median, samples


def amid_replay(scene: Scene, records: int) -> Iterator[float]:
    """Seconds of scrapes while records are read, as if the exporter were ready already."""
    pages = 200
    for number in range(pages):
        scene.read(records * (number + 1) // pages - records * number // pages)
        yield scene.page()[0]


def constant(samples: int) -> float:
    """The median seconds of a page of so many gauges that nobody changes."""
    registry = CollectorRegistry()
    labels = ("metric", "window", "application", "judge", "segment")
    families = [
        Gauge(f"constant_score_{n}", "A constant.", labels, registry=registry) for n in range(5)
    ]
    for number in range(samples):
        rest, metric = divmod(number // 5, METRICS)
        rest, window = divmod(rest, len(WINDOWS))
        segment, application = divmod(rest, APPLICATIONS)
        families[number % 5].labels(
            f"noise_sensitivity_{metric}",
            list(WINDOWS)[window],
            f"app-{application}",
            "llm@3f2a91",
            f"tenant-{segment}",
        ).set(1 / (number + 1))
    took = []
    for _ in range(15):
        began = time.perf_counter()
        generate_latest(registry)
        took.append(time.perf_counter() - began)
    return sorted(took)[len(took) // 2]


def main() -> None:
    """Print all parts."""
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--records", type=int, help="of part 2")
    line.add_argument("--step", type=float, help="seconds from record to record, parts 1 and 3")
    line.add_argument("--without-kafka", action="store_true")
    line.add_argument("--only", type=int, choices=[5], help="this part alone")
    chosen = line.parse_args()
    if chosen.only != 5:
        first_parts(chosen)
    print("5. Scrapes while baselines are learned, set, reset and deleted")
    sizes = (86_400, 1_000_000) if chosen.full else (50_000,)
    for records in (chosen.records,) if chosen.records else sizes:
        serve(chosen.seed, records, METRICS)


def first_parts(chosen: Namespace) -> None:
    """Print parts 1 to 4."""
    step_s = chosen.step or (1.0 if chosen.full else 10.0)
    print(f"1. Replay of 24 h at one score every {step_s:g} s, 14 metrics")
    for segments in (False, True):
        replay(chosen.seed, step_s, segments=segments)
    if not chosen.without_kafka:
        replay_through_kafka(chosen.seed, step_s, METRICS)
    print("2. A full horizon")
    many(chosen.seed, chosen.records or (1_000_000 if chosen.full else 50_000))
    print(f"3. Scrapes, 14 metrics × 3 windows × {APPLICATIONS} applications")
    scrapes(chosen.seed, step_s, segments=False)
    print("4. The same with 20 segments")
    ours, samples = scrapes(chosen.seed, step_s, segments=True)
    theirs = constant(samples)
    ratio = ours / theirs
    print(
        f"  as many constant gauges {theirs * 1e3:6.1f} ms: ours is {ratio:.2f} times as long  "
        f"{verdict(ratio, 1.5)}"
    )


if __name__ == "__main__":
    main()
