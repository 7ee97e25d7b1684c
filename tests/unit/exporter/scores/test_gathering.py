"""Scored slots gathered in steps: whatever comes and goes meanwhile, they are those at the end."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from monitor.exporter.scores.observation import Observation
from monitor.exporter.scores.scored import STEP, Scored, ScoredByHour, gathered, teaches
from monitor.records import ScoreRecord
from monitor.stats.selection import Selection, SlotChange
from tests.stages.candidates import candidate_of
from tests.stages.properties import costly
from tests.stages.score_records import FIRST, START, pools, record

HOUR = 3_600.0


def listed(found: dict[tuple[str, str], Scored]) -> dict[tuple[str, str], list[object]]:
    """All of the slots in their order."""
    return {pair: [scored[n] for n in range(len(scored))] for pair, scored in found.items()}


def tell(gathering: ScoredByHour, changes: list[SlotChange]) -> None:
    """As the training slots are told, and tell."""
    for candidate, sign in changes:
        slot = candidate.payload
        if isinstance(slot, Observation) and teaches(slot):
            pair = candidate.application, slot.judge_label
            place = candidate.event_time, candidate.interaction_id
            if sign > 0:
                gathering.put(pair, place, slot)
            else:
                gathering.take(pair, place)


def spread(pool: list[ScoreRecord], rng: random.Random) -> list[ScoreRecord]:
    """The same over some hours: those of one interaction may be far apart."""
    return [
        each.model_copy(update={"event_time": each.event_time.replace(hour=rng.randrange(4))})
        for each in pool
    ]


@costly
@given(pools(directed=False), st.integers(1, 5), st.integers(0, 20), st.integers(0, 10**9))
def test_slots_that_come_and_go_meanwhile(
    pool: list[ScoreRecord], step: int, first: int, seed: int
) -> None:
    """Before they are looked at, afterwards, and while they are put in order."""
    rng = random.Random(seed)  # drawn from hypothesis it would take minutes to make smaller
    pool = spread(pool, rng)
    selection, coming = Selection(), [candidate_of(each, each.to_json()) for each in pool]
    for candidate in coming[:first]:
        selection.add(candidate)
    pairs = {(each.application, each.judge.label) for each in pool}
    gathering = ScoredByHour(pairs, step)
    steps = gathering.done(selection.counted())
    left = coming[first:]
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found = end.value
            break
        while left and rng.random() < 0.6:
            tell(gathering, selection.add(left.pop()))
        if rng.random() < 0.1:
            floor = START + rng.randrange(3) * HOUR + rng.randrange(200)
            gathering.drop_before(floor)
            tell(gathering, selection.remove_before(floor))
    expected = gathered(selection.counted(), pairs.__contains__)
    assert listed(found) == listed(expected)


def test_a_day_is_gathered_in_many_steps() -> None:
    """So many candidates at a time, and then an hour at a time."""
    one = record("0", 0.0)
    candidate, selection = candidate_of(one, one.to_json()), Selection()
    for number in range(4 * STEP):
        moment, name = START + number * 86_400 / (4 * STEP), f"{number:06d}"
        made = candidate._replace(event_time=moment, interaction_id=name)
        selection.add(made._replace(first_offset=number, last_offset=number))
    pair = "bot", FIRST.label
    steps = ScoredByHour([pair]).done(selection.counted())
    assert len(list(steps)) == 4 + 24
