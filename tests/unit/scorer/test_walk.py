"""A record that stands alone goes straight down: into few files, and into none twice."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path
from types import FrameType

from prometheus_client import CollectorRegistry

import monitor
from monitor.app.formats import topic_formats
from monitor.config import load
from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.judge.limits.limits import Limits
from monitor.runtime.health import Health
from monitor.sampling.hashing import Sampler
from monitor.sampling.pace import Pace
from monitor.sampling.slot_buffer import SlotBuffer
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.picking import Member, Picker, PickSettings
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.scorer.slots import Slots
from monitor.telemetry import ScorerTelemetry
from tests.stages.loop import Record
from tests.stages.producers import Memory
from tests.stages.scorer_bench import Hanging
from tests.stages.scoring import TEXTS

PACKAGE = Path(monitor.__file__).parent
MOST_MOVES = 15


def files_on_the_way(call: Callable[[], object]) -> list[str]:
    """Files of the package in the order in which their functions are called: one entry a move."""
    way: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            way.append(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    inside = [Path(name) for name in way if Path(name).is_relative_to(PACKAGE)]
    return [file.relative_to(PACKAGE).as_posix() for file, _ in groupby(inside)]


def scorer() -> Scorer:
    """One that takes all, at blocks of one offset, and writes nowhere."""
    telemetry, written = ScorerTelemetry(CollectorRegistry()), Memory()
    gate = DeadLetterGate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
    pace = Pace(1, sheds=False, behind_s=600.0)
    slot_buffer: SlotBuffer[Member] = SlotBuffer(pace, time.monotonic)
    return Scorer(
        ScorerSettings("scores", 1_000_000),
        Policies(ScoringPolicy(Sampler(1.0), Hanging(), Limits(8, 60.0))),
        written,
        DeadLetters(written, "dead", gate, group="g", version="1"),
        telemetry,
        lambda: 1_795_176_000.0,
        slots=Slots(slot_buffer, Picker(PickSettings()), pace),
        formats=topic_formats(load({})),
    )


def test_a_record_goes_straight_down() -> None:
    """Whoever reads how a record begins turns a page seldom, and never back."""
    worker = scorer()
    value = json.dumps(
        {
            **TEXTS,
            "interaction_id": "i-1",
            "timestamp": "2026-11-20T12:00:00Z",
            "application": "support-bot",
            "retrieved_contexts": ["The warranty is 24 months."],
            "attributes": {"model": "m"},
        }
    ).encode()
    first = Record(0, topic="rag.interactions.v1", value=value)
    second = first._replace(offset=1, value=value.replace(b"i-1", b"i-2"))
    for record in worker.prefilter([first, second]):
        way = files_on_the_way(partial(worker.begin, record))
    assert way[0] == "scorer/scorer.py"
    assert way[-1] == "ingest/work.py"
    assert len(set(way)) == len(way), "back to a file that was left"
    assert len(way) - 1 <= MOST_MOVES, way
