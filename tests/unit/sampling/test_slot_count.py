"""What counts the slots of a chaos run must itself see everything that may be wrong with them."""

from __future__ import annotations

from random import Random

import pytest

from monitor.records import ScoreRecord, Source
from tests.servers.kafka_topics import Record
from tests.stages.chaos.slotted import slots_of
from tests.stages.chaos.traffic import Made, make
from tests.stages.plain import encoded
from tests.stages.score_records import record, slot

OFFSETS = 8


def traffic() -> list[Made]:
    """As many as there are offsets, all with a reference."""
    rng = Random(1)
    made = (make(f"c{n}", rng, 0.0) for n in range(10 * OFFSETS))
    return [one for one in made if one.incorrect_claims is not None][:OFFSETS]


def fed(made: list[Made]) -> list[Record]:
    """All on one partition, in order."""
    return [
        Record(encoded(one.interaction), one.id.encode(), partition=0, offset=n)
        for n, one in enumerate(made)
    ]


def scored(made: list[Made], first: int, last: int, m: int | None = None) -> ScoreRecord:
    """A slot whose pick is its last member, and has what is the mean of all."""
    values = [one.incorrect_claims or 0.0 for one in made]
    scores = {
        "faithfulness": sum(one.faithfulness for one in made) / len(made),
        "incorrect_claims": sum(values) / len(values),
    }
    sampling = slot(first, q=1.0, u=1.0)
    sampling = sampling.model_copy(update={"last_offset": last, "m": m or last - first + 1})
    source = Source(topic="t", partition=0, offset=last)
    return record(str(last), 0.0, sampling=sampling, scores=scores, source=source)


SOUND = ((0, 3), (4, 7))


@pytest.mark.parametrize(
    ("slots", "watermark", "fault"),
    [
        (SOUND, OFFSETS, None),
        (((0, 7), (0, 3)), OFFSETS, None),
        (((0, 3), (2, 7)), OFFSETS, "4 offsets dropped"),
        (((0, 3),), OFFSETS, "in no slot at all"),
        (((0, 3),), 4, "4 interactions not committed"),
        (((0, 3, 5), (4, 7)), OFFSETS, "m is not the number of members"),
    ],
)
def test_each_fault_has_its_words(
    slots: tuple[tuple[int, ...], ...], watermark: int, fault: str | None
) -> None:
    """And a run in which every offset is in one counted slot has none."""
    made = traffic()
    records = [scored(made, *each) for each in slots]
    found = slots_of(made, fed(made), records, {0: watermark})
    assert found.twice == ()
    if fault is None:
        assert found.faults() == []
        assert found.members == found.sampled == OFFSETS
    else:
        assert any(each.startswith(fault) for each in found.faults())


def test_estimates_that_are_off_are_a_fault() -> None:
    """A run whose slots all count, and whose values are others than they were made with."""
    made = traffic()
    wrong = [
        one.model_copy(update={"scores": {"faithfulness": 0.0, "incorrect_claims": 0.0}})
        for one in (scored(made, 0, 3), scored(made, 4, 7))
    ]
    faults = slots_of(made, fed(made), wrong, {0: OFFSETS}).faults()
    assert [fault.split()[0] for fault in faults] == ["faithfulness", "incorrect_claims"]
    assert all(fault.endswith("is off") for fault in faults)
