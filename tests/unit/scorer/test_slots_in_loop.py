"""Slots from the Kafka record to the score record: the scorer as a worker of the consuming loop."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import pytest

from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.protocol import CostMeter
from monitor.metrics.redacted import redacted_metrics
from monitor.records import Interaction, Judgement, Usage
from monitor.sampling.pace import Pace
from monitor.sampling.rules import Filter, RuleCase
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.picking import PickSettings
from tests.stages.loop import A, Record
from tests.stages.plain import encoded, interaction
from tests.stages.process import until
from tests.stages.scorer_bench import Hanging
from tests.stages.slots_in_loop import LIMITS, Stage, record, staged


async def test_one_member_of_each_slot_is_judged_for_all() -> None:
    """Two applications, with and without a reference: a record each, and all else is counted."""
    async with staged() as stage:
        fields = [
            {"application": "ab"[n % 2], "reference": "x" if n < 6 else None} for n in range(8)
        ]
        await stage.read(*(record(n, **fields[n]) for n in range(8)))
        await stage.committed(8)
        found = {(one.application, one.sampling.kind): one.sampling for one in stage.scores}
        sizes = {key: (s.first_offset, s.last_offset, s.m, s.q, s.u) for key, s in found.items()}
        assert sizes == {
            ("a", "with_reference"): (0, 4, 3, 1.0, 1.0),
            ("a", "without_reference"): (6, 6, 1, 1.0, 1.0),
            ("b", "with_reference"): (1, 5, 3, 1.0, 1.0),
            ("b", "without_reference"): (7, 7, 1, 1.0, 1.0),
        }
        assert stage.ended("not_sampled", "slot") == 4
        assert stage.ended("scored") == 4
        assert stage.is_balanced()
        assert all(one.sampling.signal == 0.0 for one in stage.scores)


async def test_nothing_is_committed_before_the_block_is_done() -> None:
    """An open block holds the watermark at its first member, and its interactions in flight."""
    async with staged() as stage:
        await stage.read(*(record(n) for n in range(5)))
        assert stage.registry.get_sample_value("rag_monitor_interactions_in_flight") == 5
        assert stage.is_balanced()
        assert stage.scores == []
        assert stage.consumer.committed(A) in (None, 0)
        await stage.read(*(record(n) for n in range(5, 9)))
        await stage.committed(8)
        assert [one.sampling.m for one in stage.scores] == [8]


async def test_a_lone_interaction_is_judged_when_its_time_is_up() -> None:
    """The block closes early, at the last offset read; the rest is a block of its own."""
    async with staged(rate=0.9999999) as stage:
        await stage.read(record(8), record(9, response=""), Record(10, value=None))
        stage.waited[0] = 59.0
        await stage.read(record(11))
        assert stage.scores == []
        stage.waited[0] = 60.0
        await stage.committed(12)
        stage.waited[0] = 61.0
        await stage.read(record(15))
        await stage.committed(16)
        slots = [
            (s.sampling.first_offset, s.sampling.last_offset, s.sampling.m) for s in stage.scores
        ]
        assert slots == [(8, 11, 3), (15, 15, 1)]
        assert stage.ended("unscorable", "tombstone") == 1


async def test_a_block_ends_with_offsets_that_nobody_takes() -> None:
    """Its last records are dropped by their hash; it does not wait for the next ones."""
    async with staged(rate=0.3) as stage:
        await stage.read(*(record(n) for n in range(64)))
        await stage.committed(64)
        assert all(one.sampling.q == 0.3 for one in stage.scores)
        members = sum(one.sampling.m or 0 for one in stage.scores)
        assert stage.ended("not_sampled", "hash") == 64 - members
        assert stage.is_balanced()


async def test_an_open_slot_of_a_revoked_partition_is_left_to_the_next_owner() -> None:
    """Handed over with all its members; read again, the slot is the same."""
    async with staged() as stage:
        await stage.read(*(record(n) for n in range(5)))
        await stage.loop.revoked([A])
        assert stage.ended("handed_over", "revoked") == 5
        assert stage.scores == []
        await stage.loop.assigned([A])
        await stage.read(*(record(n) for n in range(9)))
        await stage.committed(8)
        assert [one.sampling.m for one in stage.scores] == [8]
        assert stage.is_balanced()


async def test_slots_of_one_block_are_committed_together() -> None:
    """While one of them is judged, nothing of the block is committed: it would be read in part."""
    judge = Hanging()
    ruled = OfflineJudge()

    class Both:
        """Hangs for one application."""

        identity = ruled.identity

        async def judge(self, found: Any, cost_meter: Any = None) -> Any:
            return await (judge if found.application == "slow" else ruled).judge(found, cost_meter)

        async def prepare(self) -> None:
            return

        async def aclose(self) -> None:
            return

    async with staged(judge=Both()) as stage:
        names = ["fast", "slow"] * 4
        await stage.read(*(record(n, application=names[n]) for n in range(8)))
        await until(lambda: bool(stage.scores and judge.asked), "the first record", every_s=0.002)
        assert stage.consumer.committed(A) in (None, 0)
        assert stage.ended("not_sampled", "slot") == 3
        await stage.loop.revoked([A])
        assert stage.ended("handed_over", "revoked") == 4
        assert stage.consumer.committed(A) in (None, 0)
        assert stage.is_balanced()


async def test_an_interaction_that_stands_in_a_block_twice_is_one_member() -> None:
    """A producer that writes it again does not make it likelier, nor the slot larger."""
    async with staged(4) as stage:
        values = [encoded(interaction("same", attributes={"attempt": n})) for n in range(3)]
        records = [record(n)._replace(value=value) for n, value in enumerate(values)]
        await stage.read(*records, record(3))
        await stage.committed(4)
        assert [one.sampling.m for one in stage.scores] == [2]
        assert stage.ended("not_sampled", "slot") == 3
        assert stage.is_balanced()


async def test_what_is_hidden_is_counted_before_the_pick() -> None:
    """It is no member and leaves no record."""
    async with staged(4) as stage:
        await stage.read(record(0), record(1, response="__REDACTED__"), record(2), record(3))
        await stage.committed(4)
        assert [one.sampling.m for one in stage.scores] == [3]
        assert stage.ended("unscorable", "redacted") == 1


async def test_what_is_redriven_joins_the_slot_of_its_new_place() -> None:
    """Its record names the place where it was read now, which lies in the slot; and its own id."""
    carried = {
        "topic": "t",
        "partition": "0",
        "offset": "1",
        "timestamp": "1795176000000",
        "attempts": "1",
        "first_failed_at": "2026-11-20T00:00:00+00:00",
    }
    headers = [(f"x-redrive.{key}", value.encode()) for key, value in carried.items()]
    async with staged(4) as stage:
        again = record(4)._replace(headers=headers)
        await stage.read(*map(record, range(4)), again, *map(record, range(5, 8)))
        await stage.committed(8)
        assert [one.sampling.m for one in stage.scores] == [4, 4]
        picked = stage.scores[1]
        places = {f"i{n}": n for n in range(4, 8)}
        assert picked.source.offset == places[picked.interaction_id]
        assert stage.is_balanced()


async def test_what_is_hidden_is_worked_out_once() -> None:
    """Of each member when it joins, and not again of the one that is picked."""
    looks = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal looks
        looks += event == "call" and frame.f_code is redacted_metrics.__code__

    async with staged(4) as stage:
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            await stage.read(*map(record, range(4)))
            await stage.committed(4)
        finally:
            sys.setprofile(before)
        assert [one.sampling.m for one in stage.scores] == [4]
    assert looks == 4


async def test_segments_of_a_slot_are_counted_by_member() -> None:
    """Not by pick: the mix within the slot is known before anything is judged."""
    async with staged(8, segment_by=("tenant",)) as stage:
        tenants = ["acme", "acme", "globex", None] * 2
        await stage.read(*(record(n, attributes={"tenant": t}) for n, t in enumerate(tenants)))
        await stage.committed(8)
        (found,) = stage.scores
        assert found.sampling.segments == {"": 2, "acme": 4, "globex": 2}


async def test_forced_interactions_are_judged_and_have_no_weight() -> None:
    """Those with bad feedback have their record, without a slot unless they are the pick."""
    bad: Sequence[Callable[[Any], bool]] = [lambda found: found.attributes.get("thumb") == -1]
    async with staged(8, settings=PickSettings(forced=Filter(tuple(bad)))) as stage:
        thumbs = [-1, 1, -1, 1, -1, 1, 1, 1]
        await stage.read(*(record(n, attributes={"thumb": t}) for n, t in enumerate(thumbs)))
        await stage.committed(8)
        forced = [one for one in stage.scores if one.sampling.forced]
        (picked,) = [one for one in stage.scores if not one.sampling.forced]
        ids = {one.interaction_id for one in forced} | {picked.interaction_id}
        assert {"i0", "i2", "i4"} <= ids
        assert picked.sampling.m == 8
        assert all(one.sampling.m is None for one in forced)
        assert stage.ended("not_sampled", "slot") == 8 - len(stage.scores)


async def test_a_dead_letter_in_a_block_is_buried_alone() -> None:
    """It ends by itself, and the block goes on without it."""
    async with staged(4) as stage:
        broken = Record(1, timestamp=1_000, value=json.dumps({"user_input": 1}).encode())
        await stage.read(record(0), broken, record(2), record(3))
        await stage.committed(4)
        assert [one.sampling.m for one in stage.scores] == [3]
        assert stage.ended("dead_lettered", "wrong_value") == 1
        assert stage.is_balanced()


async def test_blocks_of_one_offset_leave_the_records_that_no_blocks_leave() -> None:
    """Byte for byte, but for the times of judging; the unscorable ones included."""
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    same = {"judged_at": moment, "event_time": moment, "timings": {}}
    found = []
    for plain in (True, False):
        async with staged(1, plain=plain, rate=0.5, segment_by=("tenant",)) as stage:
            await stage.read(
                *(record(n, attributes={"tenant": "ab"[n % 2]}) for n in range(20)),
                *(record(n, response="__REDACTED__") for n in range(20, 40)),
                Record(40, value=None),
            )
            await stage.committed(41)
            assert stage.is_balanced()
            assert stage.ended("not_sampled", "hash") + len(stage.scores) == 40
            found.append([one.model_copy(update=same).to_json() for one in stage.scores])
    assert found[0] == found[1]


@pytest.mark.parametrize("length", [1, 8])
async def test_who_is_behind_takes_a_smaller_share_and_says_so(length: int) -> None:
    """Among those that the rate takes; q is the share of the rate, and the rest is lag."""
    async with staged(length, rate=0.8, share=0.25) as stage:
        await stage.read(*(record(n) for n in range(240)))
        await stage.committed(240)
        assert {one.sampling.q for one in stage.scores} == {0.8 * 0.25}
        members = sum(one.sampling.m or 0 for one in stage.scores)
        assert 25 <= members <= 75
        assert 30 <= stage.ended("not_sampled", "hash") <= 70
        lagging = stage.ended("not_sampled", "lag")
        assert lagging + members + stage.ended("not_sampled", "hash") == 240
        assert stage.is_balanced()


@pytest.mark.parametrize("key", ["interaction_id", "record_key"])
@pytest.mark.parametrize(("length", "m"), [(1, 1), (8, None)])
async def test_a_burst_takes_a_larger_share_of_blocks_that_begin_in_it(
    length: int, m: int | None, key: str
) -> None:
    """What the smaller share takes, and more; q says so, and afterwards it is what it was."""
    async with staged(length, rate=0.2, key=key) as stage:
        usual = await _taken(stage, 0)
    async with staged(length, rate=0.2, key=key, share=3.0) as stage:
        more = await _taken(stage, 0)
        assert {one.sampling.q for one in stage.scores} == {0.2 * 3.0}
        assert {one.sampling.m for one in stage.scores} == {m} or m is None
        assert stage.ended("not_sampled", "lag") == 0
        assert stage.is_balanced()
    async with staged(length, rate=0.2, key=key, share=9.0) as stage:
        everything = await _taken(stage, 0)
        assert {one.sampling.q for one in stage.scores} == {1.0}
    assert (usual < more < everything) if length == 1 else usual and more and everything
    assert len(everything) == 240 // length


async def test_a_burst_begins_with_the_next_block_and_ends_with_one() -> None:
    """What was read before is taken as it was meant to be then."""
    pace = Pace(8, sheds=True, behind_s=600.0)
    async with staged(judge=OfflineJudge(), pace=pace) as stage:
        pace.look(0.0, None, 0.0)
        await stage.read(*(record(n) for n in range(4)))
        pace.burst(4.0)
        await stage.read(*(record(n) for n in range(4, 16)))
        await stage.committed(16)
        pace.burst(1.0)
        await stage.read(*(record(n) for n in range(16, 32)))
        await stage.committed(32)
        assert [one.sampling.m for one in stage.scores] == [8, 2, 2, 2, 2, 8, 8]
        assert stage.is_balanced()


class Released:
    """The offline judge, once it may begin."""

    def __init__(self) -> None:
        self._judge, self.may_begin = OfflineJudge(), asyncio.Event()
        self.identity, self.aclose = self._judge.identity, self._judge.aclose
        self.prepare = self._judge.prepare

    async def judge(
        self, interaction: Interaction, cost_meter: CostMeter | None = None
    ) -> Judgement:
        await self.may_begin.wait()
        return await self._judge.judge(interaction, cost_meter)


@pytest.mark.parametrize(("length", "count"), [(1, 400), (8, 1_600)])
async def test_what_was_read_before_the_monitor_fell_behind_is_shed_too(
    length: int, count: int
) -> None:
    """All but what has begun by then; in one block all have the same share."""
    judge, pace = Released(), Pace(length, sheds=True, behind_s=600.0)
    async with staged(judge=judge, pace=pace) as stage:
        pace.look(0.0, None, 0.0)
        await stage.read(*(record(n) for n in range(count)))
        pace.look(60.0, None, 700.0)
        assert pace.look(120.0, None, 800.0).share == 0.25
        judge.may_begin.set()
        await stage.committed(count)
        begun = [s.sampling for s in stage.scores if s.sampling.q == 1.0]
        assert LIMITS.max_in_flight <= len(begun) <= LIMITS.max_in_flight + 1
        later = [s.sampling for s in stage.scores[len(begun) :]]
        assert {s.q for s in later} == {0.25}
        rest = count - length * len(begun)
        assert 0.15 * rest <= sum(s.m or 0 for s in later) <= 0.35 * rest
        assert stage.ended("not_sampled", "lag") == rest - sum(s.m or 0 for s in later)
        assert stage.is_balanced()


async def _taken(stage: Stage, first: int) -> set[str]:
    """Whom of 240 interactions there are records of."""
    records = [record(n)._replace(key=f"k{n}".encode()) for n in range(first, first + 240)]
    await stage.read(*records)
    await stage.committed(first + 240)
    return {one.interaction_id for one in stage.scores}


async def test_an_application_that_rules_split_has_no_slots() -> None:
    """Its interactions stand for themselves at an eighth of the rate; the other one's do not."""

    def ruled(otherwise: ScoringPolicy) -> Policies:
        def is_acme(found: Interaction) -> bool:
            return found.attributes.get("tenant") == "acme"

        return Policies(otherwise, [RuleCase("split".__eq__, (is_acme,), otherwise)])

    async with staged(8, traffic=ruled) as stage:
        names = ["split", "whole"] * 160
        await stage.read(*(record(n, application=name) for n, name in enumerate(names)))
        await stage.committed(320)
        split = [one.sampling for one in stage.scores if one.application == "split"]
        assert {(s.m, s.q) for s in split} == {(1, 1 / 8)}
        assert 8 <= len(split) <= 36
        whole = [one.sampling for one in stage.scores if one.application == "whole"]
        assert {(s.m, s.q) for s in whole} == {(4, 1.0)}
        assert stage.is_balanced()


async def test_what_stands_for_itself_is_unbiased_whatever_its_rules_take() -> None:
    """Tenant acme, always wrong, at twice the others' rate: each weighs what it was taken for."""

    def ruled(otherwise: ScoringPolicy) -> Policies:
        def is_acme(found: Interaction) -> bool:
            return found.attributes.get("tenant") == "acme"

        return Policies(otherwise.at(0.5), [RuleCase("split".__eq__, (is_acme,), otherwise)])

    def one(n: int) -> Record:
        if n % 10 < 3:
            wrong = {"response": "Nobody mends it.", "attributes": {"tenant": "acme"}}
            return record(n, application="split", **wrong)
        return record(n, application="split")

    async with staged(8, traffic=ruled) as stage:
        for first in range(0, 4_000, 500):
            await stage.read(*map(one, range(first, first + 500)))
        await stage.committed(4_000)
        assert {score.sampling.q for score in stage.scores} == {1 / 8, 1 / 16}
        x = [float(str(score.scores["faithfulness"])) for score in stage.scores]
        w = [1 / (score.sampling.q or 1.0) for score in stage.scores]
    estimate = sum(a * b for a, b in zip(w, x, strict=True)) / sum(w)
    error = math.sqrt(0.7 * 0.3 * sum(a * a for a in w)) / sum(w)
    assert abs(estimate - 0.7) < 2 * error
    assert abs(sum(x) / len(x) - 0.7) > 4 * error, "without weights it would be"


async def test_a_bug_in_picking_costs_one_slot() -> None:
    """A dead letter for its first member; the block ends, and the next one is picked from."""

    def fails_at_first(text: str) -> str:
        if text == "bad":
            raise KeyError(text)
        return text

    async with staged(4, segment_by=("tenant",), segment_text=fails_at_first) as stage:
        tenants = ["good", "bad", "good", "good"] + ["good"] * 4
        await stage.read(*(record(n, attributes={"tenant": t}) for n, t in enumerate(tenants)))
        await stage.committed(8)
        assert stage.ended("dead_lettered", "internal_error") == 1
        assert stage.ended("not_sampled", "slot") == 6
        assert [one.sampling.first_offset for one in stage.scores] == [4]
        assert stage.is_balanced()


async def test_a_blank_response_is_judged_where_that_is_asked_for() -> None:
    """Its record says that it is unscorable, and has no slot."""
    async with staged(8, settings=PickSettings(force_unanswered=True)) as stage:
        await stage.read(*(record(n, response="" if n % 2 else "Yes.") for n in range(8)))
        await stage.committed(8)
        forced = [one for one in stage.scores if one.sampling.forced]
        assert len(forced) >= 3
        assert {one.interaction["response"] for one in forced} == {""}


async def test_blocks_grow_with_what_judgements_take() -> None:
    """Two calls each, and 60 a minute: after a minute of 600 interactions one of 16 is judged."""
    offline = OfflineJudge()

    class Calling:
        """Takes two calls."""

        identity = offline.identity

        async def judge(self, found: Any, cost_meter: Any = None) -> Judgement:
            judgement = await offline.judge(found, cost_meter)
            return judgement.model_copy(update={"usage": Usage(calls=2)})

        async def prepare(self) -> None:
            return

        async def aclose(self) -> None:
            return

    pace = Pace(None, sheds=True, behind_s=600.0)
    async with staged(judge=Calling(), pace=pace) as stage:
        await stage.read(*(record(n) for n in range(600)))
        await stage.committed(600)
        assert len(stage.scores) == 600
        stage.waited[0] = 60.0
        await until(lambda: pace.plan.length == 16, "a look", every_s=0.002)
        await stage.read(*(record(n) for n in range(600, 672)))
        await stage.committed(672)
        later = [one.sampling.m for one in stage.scores][600:]
        assert later == [8] + [16] * 4, "600 is a multiple of 8, and 608 of 16"
        assert stage.registry.get_sample_value("rag_monitor_sampling_block") == 16
        assert stage.is_balanced()
