"""Records that are made to stop their reader, one by one, with ordinary ones around each.

What must hold throughout: ``/healthz`` answers within 2 s, at most 500 MB resident, at most 64
calls for an interaction, every ordinary one scored just once, every record one outcome, and SIGTERM
ends the process within 30 s also while all of them are under way. The bound on ``/healthz`` is
never moved: from what an answer took, only that time is left out in which the kernel says that the
process could have run and had no core, or its host had taken it, and never the CPU time that it
used itself (``tests/stages/poison/probe.py``). In its full form, with 100 ordinary ones before and
after each: ``tests/benchmarks/poison_records.py --full``.
"""

from __future__ import annotations

from pathlib import Path

from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.stages.poison.calls import Obliging, Tally
from tests.stages.poison.evaluated import evaluated
from tests.stages.poison.exporter import exported
from tests.stages.poison.records import POISONS
from tests.stages.poison.score_records import poisons
from tests.stages.poison.scorer import scored

AROUND = 2
PATIENCE_S = 300.0


async def test_no_record_stops_a_scorer(kafka_broker: RunningBroker, tmp_path: Path) -> None:
    """30 hostile interactions, four good ones around each: all good ones are scored in time."""
    assert len(POISONS) >= 20
    tally = Tally()
    async with JudgeServer(Obliging(), gate=tally) as judge:
        found = await scored(
            kafka_broker.bootstrap, tmp_path, judge, tally, POISONS, AROUND, PATIENCE_S
        )
    assert found.faults() == [], str(found)


async def test_no_score_record_stops_an_exporter(
    kafka_broker: RunningBroker, tmp_path: Path
) -> None:
    """20 hostile score records, four good ones around each: the gauges show all good ones."""
    hostile = list(poisons())
    assert len(hostile) >= 20
    found = await exported(kafka_broker.bootstrap, tmp_path, hostile, AROUND, PATIENCE_S)
    assert found.faults() == [], str(found)


async def test_no_line_stops_evaluate(tmp_path: Path) -> None:
    """Every hostile interaction that a file can hold as a line: all good ones are judged."""
    hostile, tally = [one for one in POISONS if one.is_line], Tally()
    async with JudgeServer(Obliging(), gate=tally) as judge:
        assert await evaluated(tmp_path, judge, tally, hostile, AROUND, 300.0) == []
