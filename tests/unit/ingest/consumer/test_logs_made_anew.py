"""The consuming loop where offsets go back, stand for many, or their records are large."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from structlog.testing import capture_logs

from monitor.kafka.fair_reader import RecordBatch
from monitor.kafka.record import Unreadable
from tests.stages.loop import LIMITS, A, B, Record, Stage, batch, staged
from tests.stages.process import until


async def soon(said: Callable[[], bool], what: str) -> None:
    """Wait for it, looking often."""
    await until(said, what, every_s=0.002)


def begun(stage: Stage) -> list[int]:
    """The offsets of A that have begun, in order."""
    return [offset for partition, offset in stage.worker.begun if partition == 0]


async def ten_are_done_and_not_committed(stage: Stage) -> None:
    """Of offsets 20 to 29 of A; the next commit succeeds."""
    stage.consumer.results = ["rebalance"] * 1000
    await stage.read(batch(A, *range(20, 30)))
    stage.worker.end(A, *range(20, 30))
    await soon(lambda: len(stage.worker.done) == 10, "the work")
    stage.consumer.results = []


async def test_the_next_log_begins_when_all_of_the_last_has_ended() -> None:
    """What was read of a log that is no more can be read only now: it ends as it would have, each
    record once, and only then does the new log begin; its beginning is committed at once."""
    async with staged(A) as stage:
        await stage.read(batch(A, 5, 6))
        await stage.read(batch(A, 0, 1), batch(A, 2))
        assert begun(stage) == [5, 6]
        assert stage.consumer.paused == {A}
        await soon(lambda: stage.consumer.committed(A) == 0, "where the new log begins")
        stage.worker.end(A, 5, 6)
        await soon(lambda: begun(stage) == [5, 6, 0, 1, 2], "the new log")
        stage.worker.end(A, 0, 1, 2)
        await soon(lambda: stage.consumer.committed(A) == 3, "the commit of the new log")
        assert stage.worker.cancelled == {}
        assert stage.consumer.paused == set()


async def test_a_log_made_anew_before_anything_was_read_is_read() -> None:
    """A position was committed in the old log, and nothing of it was left to read."""
    async with staged(A) as stage:
        stage.consumer.positions_now[A] = 7
        await soon(lambda: stage.consumer.committed(A) == 7, "the commit of the position")
        stage.consumer.positions_now[A] = 0
        await stage.read(batch(A, 0, 1))
        assert begun(stage) == [0, 1]
        stage.worker.end(A, 0, 1)
        await soon(lambda: stage.consumer.committed(A) == 2, "the commit of the new log")


async def test_a_revocation_commits_where_a_log_begins_of_which_nothing_was_read_yet() -> None:
    """What is done of the last one would be in the middle of it."""
    async with staged(A) as stage:
        await stage.read(batch(A, *range(20, 30)))
        stage.worker.end(A, *range(20, 30))
        stage.consumer.positions_now[A] = 0
        await stage.loop.revoked([A])
        assert stage.consumer.committed(A) == 0


async def test_a_revocation_looks_whether_the_log_is_still_there() -> None:
    """What is done, and not committed yet, may be of one that is no more."""
    async with staged(A) as stage:
        await ten_are_done_and_not_committed(stage)
        stage.consumer.begun_anew[A] = 0
        await stage.loop.revoked([A])
        assert stage.consumer.committed(A) == 0


async def test_nothing_is_committed_at_the_end_where_nobody_tells_what_log_there_is() -> None:
    """It is read again, where the other way might lose what is in a new log."""
    async with staged(A) as stage:
        await ten_are_done_and_not_committed(stage)
        stage.consumer.tells_logs = False
        with capture_logs() as logs:
            await stage.loop.revoked([A])
        assert stage.consumer.committed(A) is None
    assert [each["partitions"] for each in logs if each["event"] == "last_commit_left_out"] == [
        [f"{A.topic}/{A.partition}"]
    ]


async def test_what_is_done_of_a_log_that_is_gone_is_committed_when_it_is_there_again() -> None:
    """One broker did not know it for a moment."""
    async with staged(A) as stage:
        stage.consumer.old = {A}
        await stage.read(batch(A, 5, 6))
        stage.worker.end(A, 5, 6)
        await soon(lambda: len(stage.worker.done) == 2, "the work")
        await asyncio.sleep(3 * LIMITS.commit_interval_s)
        assert stage.consumer.begun_commits == 0
        stage.consumer.old = set()
        await soon(lambda: stage.consumer.committed(A) == 7, "the commit")


async def test_offsets_that_go_back_within_a_batch_are_two_logs() -> None:
    """The client may have been moved to the beginning between two of its answers."""
    async with staged(A) as stage:
        await stage.read([*batch(A, 7), *batch(A, 0, 1)])
        assert begun(stage) == [7]
        stage.worker.end(A, 7, 0, 1)
        await soon(lambda: stage.consumer.committed(A) == 2, "the commit of the new log")


async def test_a_revocation_leaves_the_next_log_to_the_next_owner() -> None:
    """From its beginning: what was committed of the old one would be in the middle of it."""
    async with staged(A) as stage:
        await stage.read(batch(A, 5), batch(A, 0, 1))
        await stage.loop.revoked([A])
        assert begun(stage) == [5]
        assert stage.consumer.committed(A) == 0


async def test_what_stands_for_many_offsets_is_committed_to_its_last() -> None:
    """A batch that nobody unpacks is one work; behind it reading goes on."""
    async with staged(A) as stage:
        left_out = Unreadable("t", 0, 1, 1_000, "BatchTooLarge", through=99, records=99)
        await stage.read([*batch(A, 0), left_out, *batch(A, 100)])
        stage.worker.end(A, 0, 1)
        await soon(lambda: stage.consumer.committed(A) == 100, "the commit behind it")
        stage.worker.end(A, 100)
        await soon(lambda: stage.consumer.committed(A) == 101, "the commit of all")


async def test_large_records_take_turns() -> None:
    """No more of them are under way than may be held, and one more; meanwhile nothing is read of
    who has some."""
    async with staged(A, B, limits=replace(LIMITS, most_bytes=10)) as stage:
        large: RecordBatch = [Record(offset, value=b"x" * 8) for offset in range(4)]
        await stage.read(large, [Record(0, 1, value=b"x")])
        assert len(stage.worker.begun) <= 3
        assert A in stage.consumer.paused
        for offset in range(4):
            stage.worker.end(A, offset)
        stage.worker.end(B, 0)
        await soon(lambda: stage.consumer.committed(A) == 4, "all of A")
        await soon(lambda: stage.consumer.committed(B) == 1, "all of B")
        await soon(lambda: not stage.consumer.paused, "that both are read again")
