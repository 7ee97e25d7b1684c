"""The consuming loop: what it commits, and what it does not, whatever happens when."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from monitor.errors import DependencyRefused
from tests.stages.captured_log import captured_log
from tests.stages.loop import LIMITS, A, B, C, Record, batch, staged
from tests.stages.process import until

SLOW_DRAIN = replace(LIMITS, drain_s=30.0)


async def soon(said: Callable[[], Any], what: str) -> None:
    """Wait for a condition."""
    await until(said, what, every_s=0.002)


async def test_only_what_is_done_is_committed() -> None:
    """The first offset under way holds the watermark; records that need no work go with it."""
    async with staged(A) as stage:
        skipped = [Record(offset, key=b"skip") for offset in (3, 5, 6)]
        await stage.read([*batch(A, 1, 2), skipped[0], *batch(A, 4), *skipped[1:]])
        stage.worker.end(A, 2, 4)
        await soon(lambda: len(stage.worker.done) == 2, "two ends")
        await stage.end()
        assert stage.consumer.committed(A) == 1
        assert stage.worker.cancelled == {(0, 1): "shutdown"}
    async with staged(A) as stage:
        await stage.read([*batch(A, 1, 2), skipped[0], *batch(A, 4), *skipped[1:]])
        stage.worker.end(A, 1, 2)
        await soon(lambda: stage.consumer.committed(A) == 4, "up to the one under way")
        stage.worker.end(A, 4)
        await soon(lambda: stage.consumer.committed(A) == 7, "to the end")


async def test_a_batch_that_needs_no_work_is_committed() -> None:
    """Nothing begins, and the watermark stands behind its last record."""
    async with staged(A) as stage:
        await stage.read([Record(offset, key=b"skip") for offset in range(10, 20)])
        await soon(lambda: stage.consumer.committed(A) == 20, "the commit")
        assert stage.worker.begun == []


async def test_what_is_no_record_is_committed_when_all_before_it_is_done() -> None:
    """Marks of transactions and gaps take offsets; the position knows, and the watermark waits."""
    async with staged(A, B) as stage:
        stage.consumer.positions_now[B] = 30
        await soon(lambda: stage.consumer.committed(B) == 30, "where nothing was read yet")
        await stage.read(batch(A, 1, 2))
        stage.consumer.positions_now[A] = 9
        stage.worker.end(A, 1)
        await soon(lambda: stage.consumer.committed(A) == 2, "the one under way holds it")
        await asyncio.sleep(5 * LIMITS.commit_interval_s)
        assert stage.consumer.committed(A) == 2
        stage.worker.end(A, 2)
        await soon(lambda: stage.consumer.committed(A) == 9, "the position")
        await stage.read(batch(A, 12))
        stage.worker.end(A, 12)
        await soon(lambda: stage.consumer.committed(A) == 13, "on from there")


async def test_records_that_wait_for_a_place_hold_the_watermark() -> None:
    """Read, prefiltered and not begun: whatever needs no work behind them is not committed."""
    limits = replace(LIMITS, max_in_flight=4)
    async with staged(A, limits=limits) as stage:
        await stage.read(batch(A, 0, 1, 2, 3, 4), [Record(5, key=b"skip")])
        assert len(stage.worker.begun) == 4
        stage.worker.end(A, 0, 1, 2, 3)
        await soon(lambda: len(stage.worker.begun) == 5, "the fifth")
        await soon(lambda: stage.consumer.committed(A) == 4, "the commit")
        stage.worker.end(A, 4)
        await soon(lambda: stage.consumer.committed(A) == 6, "the rest")


async def test_a_rebalance_lets_work_end_and_commits_it() -> None:
    """Within the drain; meanwhile nothing new begins, and what was waiting is the next owner's."""
    async with staged(A, limits=replace(SLOW_DRAIN, max_in_flight=4)) as stage:
        await stage.read(batch(A, *range(6)))
        revoking = asyncio.create_task(stage.loop.revoked([A]))
        await asyncio.sleep(0)
        await stage.read(batch(A, 6))
        assert stage.worker.prefiltered == [(0, offset) for offset in range(6)]
        stage.worker.end(A, *range(6))
        await revoking
        assert stage.consumer.committed(A) == 4
        assert sorted(stage.worker.done) == [(0, offset) for offset in range(4)]
        await stage.read(batch(A, 6))
        assert len(stage.worker.begun) == 4


async def test_what_waits_for_a_place_is_handed_over_at_once() -> None:
    """A rebalance drains what is judged, and leaves the rest to the next owner without a wait."""
    async with staged(A, limits=SLOW_DRAIN) as stage:
        await stage.read(batch(A, 1, 2, 3, 4))
        stage.worker.queued = {(0, 3), (0, 4)}
        revoking = asyncio.create_task(stage.loop.revoked([A]))
        await soon(lambda: len(stage.worker.cancelled) == 2, "the two that wait")
        assert stage.worker.cancelled == {(0, 3): "revoked", (0, 4): "revoked"}
        assert not revoking.done()
        stage.worker.end(A, 1, 2)
        await revoking
        assert stage.consumer.committed(A) == 3
        assert stage.worker.done == [(0, 1), (0, 2)]


async def test_what_cannot_end_within_the_drain_is_not_waited_for() -> None:
    """Half done, and held by a limit for longer: handed over; what has time enough may end."""
    async with staged(A, limits=SLOW_DRAIN) as stage:
        await stage.read(batch(A, 1, 2, 3))
        stage.worker.late = {(0, 2): 60.0, (0, 3): 3.0}
        revoking = asyncio.create_task(stage.loop.revoked([A]))
        await soon(lambda: stage.worker.cancelled, "the one that waits for longer")
        stage.worker.end(A, 1, 3)
        await revoking
        assert stage.worker.cancelled == {(0, 2): "revoked"}
        assert stage.worker.done == [(0, 1), (0, 3)]
        assert stage.consumer.committed(A) == 2


async def test_what_has_just_begun_is_handed_over_too_when_it_waits() -> None:
    """A rebalance that begins before its first step finds it waiting all the same."""
    async with staged(A, limits=replace(LIMITS, drain_s=20.0)) as stage:
        stage.worker.queued = {(0, 0)}
        stage.loop._dispatcher.receive(batch(A, 0))
        stage.loop._dispatcher.hand_out()
        await asyncio.wait_for(stage.loop.revoked([A]), 5.0)
        assert stage.worker.cancelled == {(0, 0): "revoked"}
        assert stage.consumer.committed(A) is None or stage.consumer.committed(A) == 0


async def test_what_ends_after_the_fence_is_not_committed() -> None:
    """Work that swallows its cancellation and ends later moves no watermark, also not the one of
    a new assignment of the same partition."""
    async with staged(A) as stage:
        stage.worker.deaf.add((0, 0))
        await stage.read(batch(A, 0, 1))
        stage.worker.end(A, 1)
        await stage.loop.revoked([A])
        assert stage.worker.cancelled == {(0, 0): "revoked"}
        before = list(stage.consumer.commits)
        await stage.loop.assigned([A])
        await stage.read(batch(A, 0))
        stage.worker.may_end[0, 0].set()  # of both, the old work and the new
        await soon(lambda: stage.worker.done.count((0, 0)) == 2, "both ends")
        await soon(lambda: stage.consumer.committed(A) == 1, "the new assignment's commit")
        assert {A: 2} not in stage.consumer.commits[len(before) :]


async def test_a_rebalance_while_a_commit_is_in_flight() -> None:
    """The last commit says all that is done, and it is the last one."""
    async with staged(A, limits=SLOW_DRAIN) as stage:
        stage.consumer.may_commit.clear()
        await stage.read(batch(A, 0, 1))
        stage.worker.end(A, 0)
        await soon(lambda: stage.consumer.begun_commits, "a commit in flight")
        revoking = asyncio.create_task(stage.loop.revoked([A]))
        stage.worker.end(A, 1)
        await soon(lambda: stage.consumer.begun_commits > 1, "the commit of the rebalance")
        stage.consumer.may_commit.set()
        await revoking
        assert stage.consumer.committed(A) == 2
        commits = len(stage.consumer.commits)
        await stage.read()
        assert len(stage.consumer.commits) == commits


async def test_records_of_a_partition_that_was_revoked_are_left() -> None:
    """Read before, come after: the next owner reads them, nobody else counts them."""
    async with staged(A, B) as stage:
        await stage.loop.revoked([A, B])
        await stage.read(batch(A, 0))
        await stage.loop.assigned([B])
        await stage.read(batch(A, 1), batch(B, 0))
        assert stage.worker.begun == [(1, 0)]


async def test_two_rebalances_in_a_row() -> None:
    """A, then nothing, then A and B: each begins afresh."""
    async with staged(A) as stage:
        await stage.read(batch(A, 0))
        await stage.loop.revoked([A])
        await stage.loop.assigned([])
        await stage.loop.revoked([])
        await stage.loop.assigned([A, B])
        await stage.read(batch(A, 0), batch(B, 7))
        stage.worker.end(A, 0)
        stage.worker.end(B, 7)
        await soon(lambda: stage.consumer.committed(A) == 1, "the commit of A")
        await soon(lambda: stage.consumer.committed(B) == 8, "the commit of B")


async def test_an_assignment_that_nobody_revoked_is_fenced_by_the_next() -> None:
    """Whatever the client does: two owners of one partition there are not."""
    async with staged(A) as stage:
        await stage.read(batch(A, 0))
        await stage.loop.assigned([A])
        await soon(lambda: stage.worker.cancelled, "the end of the old work")
        assert stage.worker.cancelled == {(0, 0): "revoked"}
        await stage.read(batch(A, 0))
        assert stage.worker.begun == [(0, 0), (0, 0)]


async def test_a_member_without_partitions_goes_on_polling() -> None:
    """Else it would be taken for dead, and nobody would give it any."""
    async with staged() as stage:
        polls = stage.consumer.polls
        await soon(lambda: stage.consumer.polls > polls + 3, "polls")
        assert stage.consumer.commits == []


async def test_the_end_during_a_rebalance() -> None:
    """Both drain the same work: it is committed once it is done, and the loop ends."""
    async with staged(A, limits=SLOW_DRAIN) as stage:
        await stage.read(batch(A, 0, 1))
        revoking = asyncio.create_task(stage.loop.revoked([A]))
        await asyncio.sleep(0)
        stage.stop.set()
        stage.worker.end(A, 0, 1)
        await asyncio.gather(revoking, stage.running)
        assert stage.consumer.committed(A) == 2
        assert stage.consumer.stopped


async def test_the_end_during_a_rebalance_does_not_wait_for_what_is_fenced() -> None:
    """What the rebalance has left to the next owner is over: nobody drains it any further."""
    limits = replace(LIMITS, drain_s=0.3)
    async with staged(A, limits=limits) as stage:
        await stage.read(batch(A, 0))
        revoking = asyncio.create_task(stage.loop.revoked([A]))
        for _ in range(10):
            await asyncio.sleep(0)  # until its drain has begun
        object.__setattr__(limits, "drain_s", 36_000.0)  # one that began now would never end
        stage.stop.set()
        await revoking
        await stage.running
        assert stage.worker.cancelled == {(0, 0): "revoked"}


async def test_what_ends_during_the_drain_is_committed_during_the_drain() -> None:
    """Who is killed then has less to read again."""
    async with staged(A, limits=SLOW_DRAIN) as stage:
        await stage.read(batch(A, 0, 1))
        stage.stop.set()
        stage.worker.end(A, 0)
        await soon(lambda: stage.consumer.committed(A) == 1, "a commit before the end")
        assert not stage.running.done()
        stage.worker.end(A, 1)


@pytest.mark.parametrize("result", ["timeout", "error", "rebalance"])
async def test_a_commit_that_fails_is_tried_again(result: str) -> None:
    """At the next interval, with what is due then."""
    async with staged(A) as stage:
        stage.consumer.results = [result, result]
        await stage.read(batch(A, 0))
        stage.worker.end(A, 0)
        await soon(lambda: stage.consumer.committed(A) == 1, "the commit")
        count = stage.telemetry.commits.labels(result)
        assert next(iter(count.collect())).samples[0].value == 2


async def test_of_large_records_few_are_under_way_at_once() -> None:
    """What is made of them would not fit; ordinary ones of other partitions go on beside them."""
    large = b"[" + b"1," * 200_000
    async with staged(A, B) as stage:
        await stage.read([Record(offset, value=large) for offset in range(3)], batch(B, 0, 1))
        await soon(lambda: len(stage.worker.begun) == 3, "one large one, and both of the others")
        assert sorted(stage.worker.begun) == [(0, 0), (1, 0), (1, 1)]
        stage.worker.end(A, 0)
        await soon(lambda: (0, 1) in stage.worker.begun, "the next large one")
        assert (0, 2) not in stage.worker.begun
        stage.worker.end(A, 1, 2)
        stage.worker.end(B, 0, 1)
        await soon(lambda: stage.consumer.committed(A) == 3, "all of them")


class CountedBytes(bytes):
    """Bytes that know how often something was counted in them."""

    counted = 0

    def count(self, *searched: Any) -> int:
        """One more."""
        self.counted += 1
        return super().count(*searched)


async def test_what_waits_is_weighed_once() -> None:
    """To count the commas of megabytes takes milliseconds, and each work that ends asks for it."""
    weighed = [CountedBytes(b"[" + b"1," * 200_000) for _ in range(3)]
    async with staged(A, B) as stage:
        await stage.read(
            [Record(n, value=one) for n, one in enumerate(weighed)], batch(B, *range(7))
        )
        begun = stage.worker.begun
        await soon(lambda: len(begun) == 8, "the first of A, and all of B")
        for number in range(7):
            stage.worker.end(B, number)
        await soon(lambda: len(stage.worker.done) == 7, "their ends")
        stage.worker.end(A, 0, 1, 2)
        await soon(lambda: stage.consumer.committed(A) == 3, "all of them")
    assert [one.counted for one in weighed] == [1, 1, 1]


async def test_others_have_their_turn_between_records_that_begin() -> None:
    """To decode a megabyte takes a while, in which no health check would be answered."""
    some = b"a" * 100_000
    async with staged(A) as stage:
        turns = list[int]()

        def look() -> None:
            turns.append(len(stage.worker.begun))
            if len(stage.worker.begun) < 8:
                asyncio.get_running_loop().call_soon(look)

        look()
        await stage.read([Record(offset, value=some) for offset in range(8)])
        await soon(lambda: len(stage.worker.begun) == 8, "all of them")
        assert max(after - before for before, after in itertools.pairwise(turns)) <= 3
        stage.worker.end(A, *range(8))


async def test_a_stretched_partition_is_paused_alone() -> None:
    """One offset that is stuck must not let everything behind it be read again."""
    async with staged(A, B, limits=replace(LIMITS, most_span=100)) as stage:
        behind = [Record(offset, key=b"skip") for offset in range(1, 150)]
        await stage.read([*batch(A, 0), *behind], batch(B, 0))
        await soon(lambda: stage.consumer.paused == {A}, "the pause of A alone")
        stage.worker.end(A, 0)
        await soon(lambda: stage.consumer.paused == set(), "the end of the pause")


async def test_a_partition_without_room_is_paused_alone() -> None:
    """Its records wait, those of the others begin."""
    async with staged(A, B) as stage:
        stage.worker.shut.add(A)
        await stage.read(batch(A, 0), batch(B, 0))
        assert stage.worker.begun == [(1, 0)]
        assert stage.consumer.paused == {A}
        stage.worker.shut.clear()
        await soon(lambda: (0, 0) in stage.worker.begun, "the record of A")


async def test_partitions_take_turns() -> None:
    """A partition with one record gets the next place but one, however many wait elsewhere; and
    it is read even though there is no place."""
    async with staged(A, B, C, limits=replace(LIMITS, max_in_flight=4)) as stage:
        await stage.read(batch(A, *range(50)), batch(B, *range(50)))
        assert stage.consumer.paused == {A, B}
        await stage.read(batch(C, 0))
        first = stage.worker.begun[0]
        stage.worker.may_end[first].set()
        await soon(lambda: len(stage.worker.begun) == 5, "the fifth")
        stage.worker.may_end[stage.worker.begun[1]].set()
        await soon(lambda: len(stage.worker.begun) == 6, "the sixth")
        stage.worker.may_end[stage.worker.begun[2]].set()
        await soon(lambda: (2, 0) in stage.worker.begun, "the record of C")
        assert stage.worker.begun.index((2, 0)) <= 6


async def test_fetching_stops_at_three_quarters_and_resumes_at_one() -> None:
    """Of the places in flight."""
    async with staged(A, limits=LIMITS) as stage:
        await stage.read(batch(A, *range(5)))
        assert stage.consumer.paused == set()
        await stage.read(batch(A, 5))
        await soon(lambda: stage.consumer.paused == {A}, "the pause")
        stage.worker.end(A, 0, 1, 2)
        await soon(lambda: len(stage.worker.done) == 3, "three ends")
        await stage.read()
        assert stage.consumer.paused == {A}
        stage.worker.end(A, 3)
        await soon(lambda: stage.consumer.paused == set(), "the end of the pause")


async def test_work_that_is_busy_for_too_long_is_stuck() -> None:
    """It is told so once, and its partition goes on; work that only waits is not stuck."""
    async with staged(A, B, limits=replace(LIMITS, stuck_after_s=0.05)) as stage:
        stage.worker.busy.add((0, 0))
        await stage.read(batch(A, 0, 1), batch(B, 0))
        stage.worker.end(A, 1)
        await soon(lambda: stage.worker.cancelled, "somebody to be told")
        polls = stage.consumer.polls
        await soon(lambda: stage.consumer.polls > polls + 50, "time to pass")
        assert stage.worker.cancelled == {(0, 0): "stuck"}
        assert stage.worker.tellings == 1
        stage.worker.end(A, 0)  # its dead letter is written
        await soon(lambda: stage.consumer.committed(A) == 2, "the partition to go on")


SECRET = "the patient's secret"


@pytest.mark.parametrize("error", [KeyError(SECRET), asyncio.CancelledError(SECRET)])
@pytest.mark.parametrize("place", ["poll", "commit", "work"])
async def test_a_part_that_dies_ends_the_loop(place: str, error: BaseException) -> None:
    """Never silently, also when it was cancelled from inside; what the error says is not said."""
    with captured_log("debug", "json") as said:
        async with staged(A) as stage:
            if place == "poll":
                stage.consumer.batches.put_nowait(error)
            elif place == "commit":
                stage.consumer.results = [error]
            else:
                stage.worker.error = error
            stage.consumer.batches.put_nowait(batch(A, 0))
            stage.worker.end(A, 0)
            with pytest.raises(RuntimeError, match="the scorer failed with") as caught:
                await stage.running
            assert stage.consumer.stopped
        log = said()
    assert "scorer_failed" in log
    assert SECRET not in log
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__


async def test_a_refusal_ends_the_loop_with_its_words() -> None:
    """They are ours, name what to do, and make exit code 3."""
    async with staged(A) as stage:
        await stage.read(batch(A, 0))
        stage.consumer.results = [DependencyRefused("no right to Read group g")]
        stage.worker.end(A, 0)
        with pytest.raises(DependencyRefused, match="no right to Read group g"):
            await stage.running


async def test_a_refusal_during_a_rebalance_ends_the_loop() -> None:
    """The client swallows what its listeners raise: it must not get lost there."""
    async with staged(A, limits=replace(SLOW_DRAIN, commit_interval_s=30.0)) as stage:
        await stage.read(batch(A, 0))
        stage.worker.end(A, 0)
        await soon(lambda: stage.worker.done, "the end")
        stage.consumer.results = [DependencyRefused("no")]
        await stage.loop.revoked([A])
        with pytest.raises(DependencyRefused, match="no"):
            await stage.running
