"""The scorer as a worker of the consuming loop: counting, stuck judges, unreadable records."""

from __future__ import annotations

import asyncio
import json

import pytest

from monitor.kafka.record import Unreadable
from tests.stages.process import until
from tests.stages.scorer_bench import Bench, Hanging
from tests.stages.scoring import TEXTS, Record

VALUE = json.dumps(TEXTS).encode()


@pytest.mark.parametrize("deaf", [False, True])
async def test_a_stuck_judgement_becomes_a_dead_letter(deaf: bool) -> None:
    """Also when the judge does not heed that it is cancelled."""
    bench = Bench(Hanging(deaf=deaf))
    work = bench.begin(Record(VALUE))
    await until(lambda: work.is_busy, "the judge", every_s=0.002)
    assert bench.is_balanced()
    work.end("stuck")
    await work.task
    assert bench.ended("dead_lettered", "stuck") == 1
    assert work.task.cancelling() == 0, "a time limit that comes later would take it for its own"
    assert bench.is_balanced()
    assert [(topic, value) for topic, value in bench.written.values] == [("dead", VALUE)]
    assert not work.is_busy


async def test_waiting_for_a_place_is_not_busy() -> None:
    """One place: the second waits for it, for as long as the first one takes."""
    bench = Bench(Hanging())
    first, second = bench.begin(Record(VALUE)), bench.begin(Record(VALUE, offset=8))
    await until(lambda: first.is_busy, "the judge", every_s=0.002)
    await asyncio.sleep(0)
    assert not second.is_busy
    for work in (second, first):
        work.end("revoked")
    await asyncio.gather(first.task, second.task, return_exceptions=True)
    assert bench.ended("handed_over", "revoked") == 2
    assert bench.is_balanced()


async def test_a_deaf_judge_does_not_hold_up_a_rebalance() -> None:
    """The interaction is handed over while the judge still sleeps, and nothing is written."""
    bench = Bench(Hanging(deaf=True))
    work = bench.begin(Record(VALUE))
    await until(lambda: work.is_busy, "the judge", every_s=0.002)
    work.end("revoked")
    await asyncio.wait({work.task}, timeout=4)
    assert work.task.cancelled()
    assert bench.ended("handed_over", "revoked") == 1
    assert bench.written.values == []


async def test_a_judge_that_cancels_itself_is_a_bug() -> None:
    """Nobody told it to end: handed over, the interaction would be open for ever."""
    bench = Bench(Hanging(itself=True))
    await bench.begin(Record(VALUE)).task
    assert bench.ended("dead_lettered", "internal_error") == 1


async def test_an_unreadable_record_is_a_bare_dead_letter() -> None:
    """Key and value are unknown; the headers say where it stands."""
    bench = Bench(Hanging())
    record = Unreadable("rag.interactions.v1", 3, 42, 1_795_176_000_000, "UnicodeDecodeError")
    await bench.begin(record).task
    assert bench.ended("dead_lettered", "unreadable_record") == 1
    assert bench.written.values == [("dead", b"")]
    assert bench.is_balanced()


@pytest.mark.parametrize("key", ["interaction_id", "record_key"])
def test_a_batch_is_counted_in_one_step(key: str) -> None:
    """Those that are not taken have been consumed and ended; those that are left, neither."""
    bench = Bench(Hanging(), rate=0.2, key=key)
    batch = [
        Record(json.dumps({"interaction_id": f"i{i}"}).encode(), offset=i, key=b"k%d" % i)
        for i in range(500)
    ]
    left = bench.scorer.prefilter([*batch, Record(None, offset=500)])
    assert 60 < len(left) < 150
    assert left[-1].value is None
    assert bench.ended("not_sampled", "hash") == 501 - len(left)
    assert bench.is_balanced()
    assert bench.count("sampling_key_fallbacks_total") == 0


def test_missing_keys_are_counted_where_they_are_dropped() -> None:
    """As they are where they are taken: the id was hashed instead."""
    bench = Bench(Hanging(), rate=0.2, key="record_key")
    batch = [Record(json.dumps({"interaction_id": f"i{i}"}).encode()) for i in range(300)]
    batch = [record._replace(offset=i) for i, record in enumerate(batch)]
    left = bench.scorer.prefilter(batch)
    assert bench.count("sampling_key_fallbacks_total") == 300 - len(left) > 200


@pytest.mark.parametrize("id_", ['"i%d"', "%d"])
async def test_ids_read_on_the_way_do_not_hide_a_wrong_format(id_: str) -> None:
    """All that is decoded lacks its fields: the circuit opens, though one in ten is decoded."""
    bench = Bench(Hanging(), rate=0.1)
    batch = [Record(f'{{"interaction_id": {id_ % i}}}'.encode(), offset=i) for i in range(1_500)]
    for record in bench.scorer.prefilter(batch):
        await bench.begin(record).task
    assert bench.count("dead_letter_circuit_open") == 1
