"""Score records for the book: few ids, offsets and times, so that they collide."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

from hypothesis import strategies as st

from monitor.records import (
    JudgeIdentity,
    Kind,
    Outcome,
    SamplingRecord,
    ScoreRecord,
    Source,
    UnscoredMark,
)
from tests.stages.records import METRICS, forced

WINDOWS = {"10s": 10, "40s": 40}
PERIOD = 60
#: The first ones more often.
SEGMENTS = ("acme", "acme", "acme", "bolt", "bolt", "cobra", "dune", "other", "")
#: A whole number of periods since the epoch.
START = 1_795_176_000

FIRST, SECOND = (
    JudgeIdentity(name="offline", version=v, model="lexical", prompts="p", pipeline="screen")
    for v in ("1", "2")
)


def at(seconds: float) -> datetime:
    """A moment after the start of these tests."""
    return datetime.fromtimestamp(START + seconds, UTC)


def record(name: str, seconds: float, faithfulness: float = 1.0, **fields: Any) -> ScoreRecord:
    """A scored record with one metric, picked from all; ``name`` is also its offset."""
    offset = int(name)
    given: dict[str, Any] = {
        "application": "bot",
        "interaction_id": name,
        "event_time": at(seconds),
        "judged_at": at(seconds),
        "source": Source(topic="t", partition=0, offset=offset),
        "judge": FIRST,
        "sampling": slot(offset),
        "scores": {"faithfulness": faithfulness},
        "outcome": Outcome.SCORED,
    }
    return ScoreRecord(**{**given, **fields})


def slot(offset: int, kind: Kind = "with_reference", **fields: Any) -> SamplingRecord:
    """A slot of one interaction."""
    return SamplingRecord(first_offset=offset, last_offset=offset, kind=kind, **fields)


#: Scores that are met often, and fractions that are hard to add up.
ROUND = (0.0, 1 / 3, 0.5, 0.8, 1.0)
ODD = (5e-324, 1e-200, 2**-53, 0.1, 1 - 2**-53)
MARK = UnscoredMark(unscored="NO_CLAIMS")


def any_records(*, directed: bool) -> st.SearchStrategy[ScoreRecord]:
    """A record of any outcome; with ``directed`` also slots of several, m, u and expectations.

    Of one number, as to draw each of its fields takes thirty times as long.
    """
    return st.integers(0, 2**32 - 1).map(lambda seed: _record_of(Random(seed), directed))


def _record_of(rng: Random, directed: bool) -> ScoreRecord:
    kind = rng.choice(KINDS)
    seconds = rng.randint(0, 200) + rng.choice((0.0, 0.25, 0.999))
    outcome = rng.choice((*[Outcome.SCORED] * 5, *OTHERS))
    offset = rng.randint(0, 30)
    scores: dict[str, object] = {}
    if outcome in (Outcome.SCORED, Outcome.UNSCORABLE):
        names = rng.choice((METRICS, METRICS[:2], METRICS[:1]))
        is_marked = 1.0 if outcome is Outcome.UNSCORABLE else 1 / 3
        scores = {name: MARK if rng.random() < is_marked else _fraction(rng) for name in names}
    return record(
        str(offset),
        seconds,
        application=rng.choice(("bot", "bot", "shop", "other")),
        outcome=outcome,
        sampling=_slot_of(rng, offset, kind, directed),
        judged_at=at(seconds + rng.randint(0, 2)),
        judge=rng.choice((FIRST, FIRST, SECOND)),
        scores=scores,
        segment=rng.choice(SEGMENTS),
        interaction=rng.choice(TEXTS),
        attributes=rng.choice(ATTRIBUTES),
    )


def _fraction(rng: Random) -> float:
    """A score; now and then one that is hard to add up."""
    return rng.choice((rng.choice(ROUND), rng.choice(ROUND), rng.choice(ODD), rng.random()))


KINDS: tuple[Kind, ...] = ("with_reference", "with_reference", "without_reference")
ATTRIBUTES: tuple[dict[str, Any], ...] = (
    {},
    {"session_id": "s1", "prompt_version": "v1"},
    {"session_id": 2, "prompt_version": "v1", "deployment": 7},
    {"prompt_version": "v2", "deployment": 8, "model": "large"},
)
#: Few questions and answers, so that answers are given again.
TEXTS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"user_input": "When?", "response": "Now."},
    {"user_input": "When?", "response": "Later."},
)
OTHERS = (Outcome.UNSCORABLE, Outcome.JUDGE_FAILED, Outcome.JUDGE_FAILED, Outcome.OVER_BUDGET)


def _slot_of(rng: Random, offset: int, kind: Kind, directed: bool) -> SamplingRecord:
    """A slot around an offset, or none for a forced pick."""
    if rng.randrange(10) == 0:
        return forced(kind)
    q = rng.choice((1.0, 0.5, 0.1, 0.03))
    if not directed:
        return slot(offset, kind, q=q)
    size = rng.choice((1, 4, 16))
    u = rng.choice((0.3, 1.0, 4.0, rng.uniform(0.3, 4)))
    f = min(0.25 * _fraction(rng) / u, 0.25)
    return SamplingRecord(
        first_offset=offset // size * size,
        last_offset=offset // size * size + size - 1,
        kind=kind,
        m=rng.randint(1, size),
        q=q,
        u=u,
        expected={name: (0.25 * _fraction(rng), f) for name in METRICS},
    )


def pools(*, directed: bool) -> st.SearchStrategy[list[ScoreRecord]]:
    """Sets of up to 40 records, small ones no more often than large ones."""
    records = any_records(directed=directed)
    return st.integers(0, 40).flatmap(lambda n: st.lists(records, min_size=n, max_size=n))
