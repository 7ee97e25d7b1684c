"""Records that are sent again, in the running loop: judged once, counted once, for one only."""

from __future__ import annotations

import time

import pytest

from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, Judgement
from tests.stages.loop import Record
from tests.stages.plain import encoded, interaction
from tests.stages.slots_in_loop import record, staged


class Counting(OfflineJudge):
    """The offline judge, which counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        self.asked.append(interaction.interaction_id)
        return await super().judge(interaction, cost_meter, claims)


def again(found: Record, offset: int) -> Record:
    """The same record at another offset."""
    return found._replace(offset=offset)


@pytest.mark.parametrize("plain", [True, False])
async def test_every_record_three_times_is_judged_as_once(plain: bool) -> None:
    """Also while the first is still being judged; each copy has one outcome, and no record."""
    judge, records = Counting(), [record(n) for n in range(8)]
    async with staged(1, judge=judge, plain=plain) as stage:
        await stage.read(*(again(records[n // 3], n) for n in range(24)))
        await stage.committed(24)
        assert sorted(judge.asked) == sorted(f"i{n}" for n in range(8))
        assert stage.ended("scored") == 8
        assert stage.ended("not_sampled", "duplicate") == 16
        assert len(stage.scores) == 8
        assert stage.is_balanced()


async def test_a_copy_is_no_member_of_a_slot() -> None:
    """Neither of its first one's block nor of a later one: m counts interactions, not records."""
    records = [record(n) for n in range(8)]
    async with staged(8) as stage:
        await stage.read(*records[:6], again(records[0], 6), again(records[5], 7))
        await stage.read(*(again(records[n % 6], 8 + n) for n in range(7)), again(records[7], 15))
        await stage.read(*(again(records[n % 6], 16 + n) for n in range(8)))
        await stage.committed(24)
        slots = [(s.sampling.first_offset, s.sampling.m) for s in stage.scores]
        assert slots == [(0, 6), (15, 1)]
        assert stage.ended("not_sampled", "duplicate") == 17
        assert stage.ended("not_sampled", "slot") == 5
        assert stage.is_balanced()


async def test_what_was_redriven_is_no_copy() -> None:
    """It says where it failed first, and somebody wants it to be judged."""
    said = {"topic": b"t", "partition": b"0", "offset": b"0", "timestamp": b"0", "attempts": b"1"}
    said["first_failed_at"] = b"2026-11-20T12:00:00Z"
    headers = [(f"x-redrive.{key}", value) for key, value in said.items()]
    judge, first = Counting(), record(0)
    async with staged(1, judge=judge, plain=True) as stage:
        await stage.read(first, again(first, 1)._replace(headers=headers), again(first, 2))
        await stage.committed(3)
        assert judge.asked == ["i0", "i0"]
        assert stage.ended("not_sampled", "duplicate") == 1


async def test_equal_records_without_an_id_are_traffic() -> None:
    """Two people may be told the same, and both count: each is named by its place."""
    value = encoded({k: v for k, v in interaction("x").items() if k != "interaction_id"})
    async with staged(8) as stage:
        now = int(time.time() * 1000)
        await stage.read(*(Record(n, timestamp=now, value=value) for n in range(8)))
        await stage.committed(8)
        assert [one.sampling.m for one in stage.scores] == [8]
        assert stage.ended("not_sampled", "duplicate") == 0


async def test_what_cannot_be_read_leaves_a_letter_each_time() -> None:
    """Nothing is known of such a record, so nothing is said of its copy either."""
    async with staged(1) as stage:
        await stage.read(*(Record(n, value=b'{"user_input": 7}') for n in range(3)))
        await stage.committed(3)
        assert stage.ended("dead_lettered", "wrong_value") == 3
        assert stage.is_balanced()
