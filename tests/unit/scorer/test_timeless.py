"""Records whose producer set no time: Kafka gives -1."""

from __future__ import annotations

import json

import pytest

from monitor.ingest.consumer.assignment import PartitionState
from monitor.ingest.formats import native
from monitor.ingest.reading import read
from monitor.kafka.record import Partition
from tests.stages.loop import Record
from tests.stages.scorer_bench import Bench, Hanging
from tests.stages.scoring import TEXTS


def test_how_long_it_waits_nobody_knows() -> None:
    """Not since 1970: the lag in seconds would be 56 years."""
    held, record = PartitionState(Partition("t", 0)), Record(0, timestamp=-1)
    held.read([record], [record])
    assert held.oldest_time == 0.0
    held.tracker.take(0, taken_at=5.0, record_time=-0.001)
    assert held.oldest_time == 0.0


@pytest.mark.parametrize(
    ("logged", "event_time"),
    [
        ("2026-11-20T10:00:00Z", "2026-11-20T10:00:00+00:00"),
        (None, "2026-11-20T12:00:00+00:00"),
        ("1999-11-20T10:00:00Z", "2026-11-20T12:00:00+00:00"),
    ],
)
def test_its_event_time_is_its_own_or_that_of_its_reading(
    logged: str | None, event_time: str
) -> None:
    """Never 1970, where no window would ever show it. The bench's clock says 12:00."""
    intake = Bench(Hanging()).scorer._intake
    value = json.dumps({**TEXTS, "timestamp": logged}).encode()
    record = Record(0, timestamp=-1, value=value)
    found = intake.take(record, read(record, native, intake.now))
    assert found is not None
    assert found.interaction.event_time.isoformat() == event_time
