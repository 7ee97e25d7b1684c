"""The pick of one slot: floors, forced interactions, and what is known of the signal."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from monitor.control.calibrations import Calibrations
from monitor.judge.limits.limits import Limits
from monitor.judge.offline.judge import OfflineJudge
from monitor.records import Interaction, Passage, Source
from monitor.records.control import CalibrationRecord
from monitor.sampling.blocks import BlockSpan
from monitor.sampling.hashing import Sampler
from monitor.sampling.rules import Filter
from monitor.sampling.slot_buffer import Block, Slot
from monitor.scorer.judging import JudgingInput, ScoringPolicy
from monitor.scorer.picking import Choice, Member, Picker, PickSettings, signalled
from tests.stages.control import applied
from tests.stages.loop import A, Record

JUDGE = OfflineJudge()
POLICY = ScoringPolicy(Sampler(1.0), JUDGE, Limits(8, 60.0), segment_by=("tenant",))
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
WARRANTY = "The warranty lasts 24 months."


def member(name: str, tenant: str, policy: ScoringPolicy = POLICY, **fields: Any) -> Member:
    """One that the offline judge can look at."""
    given: Mapping[str, Any] = {
        "interaction_id": name,
        "event_time": NOON,
        "application": "bot",
        "user_input": "How long is the warranty?",
        "response": WARRANTY,
        "retrieved_contexts": (Passage(text=WARRANTY),),
        "reference": WARRANTY,
        "attributes": {"tenant": tenant},
        "source": Source(topic="t", partition=0, offset=0),
        **fields,
    }
    return Member(Record(0), JudgingInput(Interaction.model_validate(given)), policy, 1.0)


async def chosen(picker: Picker, *members: Member) -> Choice:
    """The pick of a slot that has these members."""
    slot: Slot[Member] = Slot(Block(A, BlockSpan(0, 31), 0.0))
    for offset, one in enumerate(members):
        slot.put(offset, one.interaction.interaction_id, one)
    return await picker.choose(slot)


async def test_a_floor_is_held_over_many_slots() -> None:
    """One of ten with a floor of a third gets near a third of the picks, and counts for less."""
    picker, rare = Picker(PickSettings(directed=False, floors={"rare": 1 / 3})), []
    for run in range(300):
        tenants = ["rare", *["usual"] * 9]
        members = [member(f"{run}/{n}", tenant) for n, tenant in enumerate(tenants)]
        found = await chosen(picker, *members)
        if found.member.interaction.attributes["tenant"] == "rare":
            rare.append(found.sampling.u)
    assert 0.28 < len(rare) / 300 < 0.4
    assert min(u for u in rare if u) < 1


async def test_the_pick_is_not_forced_besides() -> None:
    """All others that a rule wants are; the pick is judged for its slot, and once."""
    rule = [lambda found: found.attributes["tenant"] == "bad"]
    picker = Picker(PickSettings(directed=False, forced=Filter(tuple(rule))))
    members = [member(str(n), "bad" if n < 6 else "good") for n in range(8)]
    found = await chosen(picker, *members)
    ids = {one.interaction.interaction_id for one in found.forced}
    assert ids == {str(n) for n in range(6)} - {found.member.interaction.interaction_id}
    assert len(ids) == len(found.forced)


@pytest.mark.parametrize(("forces", "blank"), [(True, {"1", "2"}), (False, set())])
async def test_a_blank_response_is_no_answer(forces: bool, blank: set[str]) -> None:
    """With ``force_unanswered`` it is judged, also where it is white space."""
    picker = Picker(PickSettings(directed=False, force_unanswered=forces))
    unanswered = [member(name, "a", response=said) for name, said in (("1", ""), ("2", " \n"))]
    found = await chosen(picker, *unanswered, *(member(name, "a") for name in "345"))
    forced = {one.interaction.interaction_id for one in found.forced}
    assert forced == blank - {found.member.interaction.interaction_id}


def calibration(application: str = "bot") -> CalibrationRecord:
    """Two bins, of which the upper one spreads."""
    return CalibrationRecord(
        application=application,
        judge=JUDGE.identity.label,
        effective_from=NOON,
        slots=100,
        edges=(0.5,),
        spreads=(0.2, 1.8),
        expected={"faithfulness": (0.1, 0.6), "incorrect_claims": (0.1, 0.6)},
    )


def test_a_calibration_holds_until_it_is_removed() -> None:
    """A tombstone takes it back; what is not ours is left to others, broken or not."""
    held, record = Calibrations(), calibration()
    judge, key = JUDGE.identity.label, record.key.encode()
    assert applied(held, key, record.to_json()) is None
    assert held.of("bot", judge) is not None
    assert held.of("other", judge) is None
    assert applied(held, b"baseline/bot/x@1", b"{") is None
    assert applied(held, None, b"{") is None
    skipped = applied(held, key, b"{")
    assert skipped is not None
    assert key.decode() in str(skipped)
    assert applied(held, key, None) is None
    assert held.of("bot", judge) is None


async def test_nothing_is_expected_of_what_is_not_recorded() -> None:
    """An application with metrics of its own: the record says nothing of others."""
    held, record = Calibrations(), calibration()
    applied(held, record.key.encode(), record.to_json())
    picker = Picker(PickSettings(), calibrations=held, signal=lambda _: 1.0)
    few = ScoringPolicy(Sampler(1.0), JUDGE, Limits(8, 60.0), metrics=("faithfulness",))
    for policy, expected in ((POLICY, {*record.expected}), (few, {"faithfulness"})):
        found = await chosen(picker, member("1", "a", policy), member("2", "a", policy))
        assert found.directed
        assert found.sampling.expected.keys() == expected


def test_a_segment_behind_is_likelier_whatever_its_signal() -> None:
    """Its factor multiplies what the signal says."""
    held = Calibrations()
    applied(held, calibration().key.encode(), calibration().to_json())
    known = held.of("bot", JUDGE.identity.label)
    spreads = [signalled("i", "s", z, known, factor).spread for z in (0, 1) for factor in (1, 8)]
    assert spreads == pytest.approx([0.2, 1.6, 1.8, 14.4])
    assert signalled("i", "s", None, known, 8.0).spread == 8.0
