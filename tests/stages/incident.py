"""A book of score records with an incident in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings, Normal
from monitor.exporter.scores.observation import Observation
from monitor.kafka.connection import Connection
from monitor.records import ScoreRecord
from monitor.stats.baseline import NOTHING, Baseline
from monitor.stats.candidates import Candidate
from tests.stages.candidates import candidate_of
from tests.stages.score_records import FIRST, SECOND, record

PERIOD = 3_600
SETTINGS = DriftSettings(("faithfulness",), 1.0, 1_000.0, NOTHING, PERIOD, 2)
NORMAL = Normal({"faithfulness": Baseline(0.1, 0.01, {"acme": 0.1})})
KEY = f"faithfulness/bot/{FIRST.label}"


def scored(number: int, faithfulness: float, segment: str = "acme", **fields: Any) -> ScoreRecord:
    """One judged interaction a second."""
    return record(str(number), float(number), faithfulness, segment=segment, **fields)


def usual(first: int, count: int) -> list[ScoreRecord]:
    """One answer of ten is unfaithful, in both segments."""
    return [
        scored(i, 0.0 if i % 10 == 0 else 1.0, "acme" if i % 2 else "bolt")
        for i in range(first, first + count)
    ]


def worse(first: int, count: int) -> list[ScoreRecord]:
    """Half of bolt's answers are unfaithful."""
    return [
        scored(i, 0.0 if i % 4 == 0 else 1.0, "acme" if i % 2 else "bolt")
        for i in range(first, first + count)
    ]


def fine(first: int, count: int) -> list[ScoreRecord]:
    """Nothing is wrong any more."""
    return [scored(i, 1.0) for i in range(first, first + count)]


def aggregator(records: Iterable[ScoreRecord], chosen: DriftSettings = SETTINGS) -> DriftDetectors:
    """Detectors that have seen the records."""
    return detectors(candidates(records), chosen)


def candidates(records: Iterable[ScoreRecord]) -> list[Candidate]:
    """The records as they are read from a topic: once, for detectors of many settings."""
    return [candidate_of(each, each.to_json()) for each in records]


def detectors(read: Iterable[Candidate], chosen: DriftSettings = SETTINGS) -> DriftDetectors:
    """Detectors that have seen what was read."""
    found = DriftDetectors(chosen)
    for judge in (FIRST, SECOND):
        for application in ("bot", "other"):
            found.set_normal(application, judge.label, NORMAL)
    for candidate in read:
        if isinstance(candidate.payload, Observation):
            found.apply(candidate, candidate.payload, +1)
    return found


INCIDENT = [*usual(0, 200), *worse(200, 100)]
OVER = [*INCIDENT, *fine(300, 200)]


NOWHERE_TO_CONNECT = Connection("127.0.0.1:1")
