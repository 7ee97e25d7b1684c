"""The same answer again: what is new does not depend on the order in which slots come."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.exporter.scores.repeats import Repeats, content_of
from monitor.exporter.scores.scored import WITHIN_S
from monitor.records import Outcome
from monitor.stats.candidates import Candidate
from tests.stages.candidates import candidate_of
from tests.stages.score_records import START, record


def asked(
    minute: float, content: str | None = "refund", *, name: str = "", score: float | None = 0.5
) -> Candidate:
    """A scored slot whose answer is ``content``; without one its texts are not on the record."""
    texts = {} if content is None else {"user_input": "When?", "response": content}
    one = record(
        "1",
        minute * 60.0,
        interaction_id=name or f"{minute:g}/{content}",
        scores={} if score is None else {"faithfulness": score},
        outcome=Outcome.JUDGE_FAILED if score is None else Outcome.SCORED,
        interaction=texts,
    )
    return candidate_of(one, one.to_json())


def told(changes: Iterable[tuple[Candidate, int]], into: dict[str, int]) -> dict[str, int]:
    """How often each slot counts, after some changes."""
    for candidate, sign in changes:
        into[candidate.interaction_id] = into.get(candidate.interaction_id, 0) + sign
    return into


def new(slots: Sequence[Candidate], start: float = 0.0) -> set[str]:
    """What says something new, looked at one by one."""
    left = sorted(
        (s for s in slots if s.event_time >= start),
        key=lambda one: (one.event_time, one.interaction_id),
    )
    found = set()
    for index, slot in enumerate(left):
        content = content_of(slot)
        before = [one for one in left[:index] if content and content_of(one) == content]
        if not before or slot.event_time - before[-1].event_time > WITHIN_S:
            found.add(slot.interaction_id)
    return found


def test_the_first_of_an_hour_counts() -> None:
    """And one after more than an hour without it; another answer is another one."""
    repeats, counted = Repeats(), dict[str, int]()
    slots = [asked(0), asked(10), asked(10, "other"), asked(65), asked(126), asked(10, None)]
    for slot in slots:
        told(repeats.changes(slot, +1), counted)
    assert {name for name, times in counted.items() if times} == {
        "0/refund",
        "10/other",
        "126/refund",
        "10/None",
    }


def test_the_first_that_comes_late_takes_the_place_of_the_second() -> None:
    """And gives it back when it goes."""
    repeats, counted = Repeats(), dict[str, int]()
    told(repeats.changes(asked(10), +1), counted)
    told(repeats.changes(asked(5), +1), counted)
    assert counted == {"10/refund": 0, "5/refund": 1}
    told(repeats.changes(asked(5), -1), counted)
    assert counted == {"10/refund": 1, "5/refund": 0}


def test_a_pick_that_failed_says_nothing() -> None:
    """So the next one with its question and response is the first."""
    repeats, counted = Repeats(), dict[str, int]()
    told(repeats.changes(asked(0, score=None), +1), counted)
    told(repeats.changes(asked(1), +1), counted)
    assert counted == {"0/refund": 1, "1/refund": 1}


def test_what_repeats_only_what_is_forgotten_counts() -> None:
    """As it does after a restart, which never read the first one."""
    repeats, counted = Repeats(), dict[str, int]()
    for minute in (10, 50, 70, 200):
        told(repeats.changes(asked(minute), +1), counted)
    assert repeats.drop_before(START) == []
    told(repeats.drop_before(START + 3_600.0), counted)
    assert counted["70/refund"] == 1
    assert counted["200/refund"] == 1


MINUTES = st.integers(0, 400)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("come"), MINUTES, st.sampled_from(["a", "b", None])),
        st.tuples(st.just("go"), st.integers(0, 50), st.none()),
        st.tuples(st.just("drop"), MINUTES, st.none()),
    ),
    max_size=60,
)


@given(STEPS, st.integers(0, 1_000))
@settings(deadline=None)
def test_after_every_step_it_is_what_it_would_be_from_the_start(
    steps: list[tuple[str, int, str | None]], seed: int
) -> None:
    """Slots come in any order, go and are dropped; nothing counts twice."""
    repeats, counted, start = Repeats(), dict[str, int](), 0.0
    held: list[Candidate] = []
    for number, (step, value, content) in enumerate(steps):
        if step == "come" and START + value * 60.0 >= start:
            held.append(asked(value, content, name=f"{number}"))
            told(repeats.changes(held[-1], +1), counted)
        elif step == "go" and held:
            told(repeats.changes(held.pop(value % len(held)), -1), counted)
        elif step == "drop":
            start = max(start, START + value * 60.0)
            told(repeats.drop_before(start), counted)
            held = [slot for slot in held if slot.event_time >= start]
        shown = {name for name, times in counted.items() if times}
        names = {slot.interaction_id for slot in held}
        assert shown & names == new(held, start)
        assert set(counted.values()) <= {0, 1}
    random.Random(seed).shuffle(held)
    anew, again = Repeats(), dict[str, int]()
    for slot in held:
        told(anew.changes(slot, +1), again)
    assert {name for name, times in again.items() if times} == new(held, start)
