"""Whether a judge guesses: found soon where it does, and never said of one that is right."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from random import Random

import pytest

from monitor.ingest.event_time import EPOCH
from monitor.judge.canaries import in_turn
from monitor.stats.guessing import SOON, THRESHOLD, Guessing, after
from tests.stages.stub_judges import HABITS, Erring, Stub, asked_pairs
from tests.stages.truthful import made

#: So many canaries fall within the first 50 judgements: the 8th, and every second from there on.
FIRST_50 = 21


def found_at(results: Iterable[tuple[int, int]]) -> int | None:
    """After how many canaries a judge is called guessing; None: never."""
    state = Guessing()
    for number, (right, asked) in enumerate(results, 1):
        state = after(state, right, asked)
        if state.is_guessing:
            return number
    return None


async def results(model: Stub, seed: int, number: int) -> list[tuple[int, int]]:
    """(right, asked) of so many canaries, by the ordinary pipeline."""
    rng, pipeline, found = Random(seed), made(model), []  # type: ignore[arg-type]  # is the port
    turns = in_turn(str(seed))
    for _ in range(number):
        canary = next(turns)
        interaction = canary.interaction(f"{rng.getrandbits(64):x}", EPOCH)
        graded = canary.graded(await pipeline.judge(interaction, None, canary.claims))
        found.append((sum(e.equal for e in graded.values()), canary.verdicts))
    return found


def drawn(judge: Erring, seed: int, number: int) -> list[tuple[int, int]]:
    """(right, asked) of so many canaries, by what the judge errs in alone."""
    found = []
    for canary in islice(in_turn(str(seed)), number):
        errs = [(truth, judge.errs(claim, text)) for claim, text, truth in asked_pairs(canary)]
        graded = [err for truth, err in errs if truth is not None]
        found.append((graded.count(False), len(graded)))
    return found


@pytest.mark.parametrize("habit", HABITS)
async def test_whoever_does_not_judge_is_found_within_the_first_50_judgements(habit: str) -> None:
    """Always n, always y, the example's letters, taking turns: wherever the set begins."""
    for seed in range(20):
        at = found_at(await results(Stub(HABITS[habit]), seed, FIRST_50))
        assert at is not None, seed


async def test_a_good_judge_is_never_called_so() -> None:
    """5 % of its verdicts are wrong, in 10,000 canaries: 500,000 judgements at one in 50.

    By the ordinary pipeline it is graded by what it errs in, which 1,000 of them show.
    """
    found = drawn(Erring(0.05, seed=1), 1, 10_000)
    assert await results(Erring(0.05, seed=1), 1, 1_000) == found[:1_000]
    assert found_at(found) is None


def test_neither_is_one_whose_errors_come_together() -> None:
    """In one canary of ten all is as good as guessed, and in one of 100 all is wrong."""
    for seed in range(5):
        rng = Random(seed)
        drawn = [rng.random() for _ in range(10_000)]
        shares = ((0, 4) if d < 0.01 else (2, 4) if d < 0.11 else (4, 4) for d in drawn)
        assert found_at(shares) is None


def test_a_weak_judge_is_no_guesser() -> None:
    """Three of four verdicts right: not useful for sure, and far from chance."""
    for seed in range(20):
        rng = Random(seed)
        drawn = ((sum(rng.random() < 0.75 for _ in range(6)), 6) for _ in range(1_000))
        assert found_at(drawn) is None


def test_looking_again_and_again_does_not_add_up() -> None:
    """At the worst mean that is still useful the bound holds: evidence e comes at most n/e often.

    300 runs of 100 canaries, each all right or half right, so that on average 0.9 is: a level of
    500 may be crossed in at most 20 % of them.
    """
    crossed = 0
    for seed in range(300):
        rng, state, most = Random(seed), Guessing(), 0.0
        for _ in range(100):
            state = after(state, 2 if rng.random() < 0.2 else 4, 4)
            most = max(most, state.evidence)
        crossed += most >= 500
    assert 0 < crossed <= 60


def test_a_good_judge_that_stops_judging_is_found_as_soon() -> None:
    """What it got right before is no credit."""
    before = [(4, 4)] * 1_000
    assert found_at(before + [(2, 4)] * 20) == 1_000 + (found_at([(2, 4)] * 20) or 0)


def test_it_recovers_when_canaries_pass_again() -> None:
    """Right ones without end: within 15; one that goes on guessing does not."""
    state = Guessing()
    while not state.is_guessing:
        state = after(state, 2, 4)
    guesses = state
    for _ in range(200):
        guesses = after(guesses, 2, 4)
        assert guesses.is_guessing
    for number in range(1, 16):
        state = after(state, 4, 4)
        assert state.is_guessing == (number < 15)
    assert state == Guessing()


def test_a_doubt_ends() -> None:
    """One wrong verdict asks for more canaries; right ones end it, and so does patience."""
    doubt = after(Guessing(), 3, 4)
    assert doubt.is_doubtful
    assert not Guessing().is_doubtful
    state, number = doubt, 0
    while state.is_doubtful:
        state, number = after(state, 4, 4), number + 1
    assert number <= 3
    state, rng = doubt, Random(1)
    for _ in range(SOON):
        state = after(state, 4 if rng.random() < 0.6 else 3, 4)
    assert not state.is_doubtful


def test_evidence_has_an_end() -> None:
    """So that a judge that was weak for long is trusted again soon after it is not."""
    state = Guessing()
    for _ in range(1_000):
        state = after(state, 13, 16)
    assert not state.is_guessing
    assert state.evidence == THRESHOLD
    for _ in range(20):
        state = after(state, 4, 4)
    assert state == Guessing()
