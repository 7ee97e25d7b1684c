"""Do names cost the exporter anything? Memory and scrapes by how many there are.

Score records of 20 applications and one judge version, beside as many of 20,000 applications, of
4,000 judge versions, and of both. Each case in a process of its own: resident memory of the book
with detectors and learning, and CPU seconds of a scrape after the clock has moved by a minute (the
median of nine). The bar: no case takes more than 1.5 times of the first.

    python -m tests.benchmarks.exporter_names [--full] [--records 40000] [--segments]

Without --full there are fewer records and names; the figures are for those.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import random
import time
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.learning import Learner, LearningSettings
from monitor.exporter.scores.aggregator import ScoreAggregator, SegmentLabels
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings
from monitor.exporter.serve.collector import QualityCollector
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import SamplingRecord, ScoreRecord
from monitor.stats.baseline import NOTHING
from tests.benchmarks._sizes import parser
from tests.benchmarks.exporter import memory_mb
from tests.benchmarks.exporting.traffic import ALARMED, DAY, JUDGE, START, WINDOWS
from tests.stages.score_records import record

BAR: Final = 1.5
SCRAPES: Final = 9
DRIFT: Final = DriftSettings(ALARMED, 1.0, None, NOTHING, DAY, 60)


class Case(NamedTuple):
    """So many names of each."""

    applications: int
    judges: int


class Cost(NamedTuple):
    """Megabytes, CPU seconds of the reading and of a scrape, and lines of the page."""

    memory_mb: float
    reading_s: float
    scrape_s: float
    lines: int


def made(rng: random.Random, case: Case, number: int, records: int) -> ScoreRecord:
    """One of the records: each name about as often as any other."""
    judge = JUDGE.model_copy(
        update={"version": f"v{rng.randrange(case.judges)}", "model": "a/model"}
    )
    scores = {name: rng.randint(0, 4) / 4 for name in CATALOGUE}
    found = record(
        str(number),
        0.0,
        application=f"app-{rng.randrange(case.applications)}",
        judge=judge,
        scores=scores,
        segment=f"tenant-{rng.randrange(30)}",
    )
    moment = found.event_time.fromtimestamp(
        START + number * 2 * DAY / records, tz=found.event_time.tzinfo
    )
    sampling = SamplingRecord(first_offset=number, last_offset=number, kind="with_reference")
    return found.model_copy(
        update={"event_time": moment, "judged_at": moment, "sampling": sampling}
    )


def measured(case: Case, records: int, segments: bool) -> Cost:
    """In this process, which has done nothing else."""
    drift = DriftDetectors(DRIFT)
    aggregator = ScoreAggregator(
        WINDOWS, DAY, drift=drift, segments=SegmentLabels() if segments else None
    )
    baselines = Baselines(drift, Learner(LearningSettings(1_000, 600)))
    now, rng = START + 2 * DAY - 3_600.0, random.Random(1)
    aggregator.advance(now)
    gc.collect()
    before, began = memory_mb(), time.process_time()
    for number in range(records):
        each = made(rng, case, number, records)
        aggregator.add(each, each.to_json())
    baselines.learn(aggregator.training_slots, now)
    reading = time.process_time() - began
    registry = CollectorRegistry()
    clock = [now]
    registry.register(QualityCollector(aggregator, lambda: clock[0], lambda: True))
    page = generate_latest(registry)
    gc.collect()
    held = memory_mb() - before
    took = []
    for _ in range(SCRAPES):
        clock[0] += 60.0
        began = time.process_time()
        page = generate_latest(registry)
        took.append(time.process_time() - began)
    return Cost(held, reading, sorted(took)[SCRAPES // 2], page.count(b"\n"))


def alone(case: Case, records: int, segments: bool) -> Cost:
    """In a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (case, records, segments))


def main() -> None:
    """Print all cases, and how they stand to the first."""
    line = parser(__doc__)
    line.add_argument("--records", type=int)
    line.add_argument("--segments", action=argparse.BooleanOptionalAction, default=False)
    chosen = line.parse_args()
    names, judges = (20_000, 4_000) if chosen.full else (2_000, 400)
    records = chosen.records or (40_000 if chosen.full else 4_000)
    cases = [Case(20, 1), Case(names, 1), Case(20, judges), Case(names, judges)]
    print(f"{records:,} records, segments: {chosen.segments}")
    first: Cost | None = None
    for case in cases:
        found = alone(case, records, chosen.segments)
        first = first or found
        ratios = found.memory_mb / first.memory_mb, found.scrape_s / first.scrape_s
        verdict = "ok" if max(ratios) <= BAR else "MISSED"
        print(
            f"  {case.applications:6,} applications, {case.judges:5,} judges: "
            f"{found.memory_mb:7.1f} MB ({ratios[0]:5.2f}), read in {found.reading_s:5.1f} s, "
            f"scrape {found.scrape_s * 1e3:8.1f} ms ({ratios[1]:6.2f}), "
            f"{found.lines:8,} lines  bar {BAR:g}  {verdict}"
        )


if __name__ == "__main__":
    main()
