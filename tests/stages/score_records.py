"""Score records for the book: few ids, offsets and times, so that they collide."""

from __future__ import annotations

from datetime import UTC, datetime
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


SCORES = st.sampled_from([0.0, 1 / 3, 0.5, 0.8, 1.0]) | st.floats(0, 1)
MARKS = st.just(UnscoredMark(unscored="NO_CLAIMS"))


@st.composite
def any_records(draw: st.DrawFn, *, directed: bool) -> ScoreRecord:
    """A record of any outcome; with ``directed`` also slots of several, m, u and expectations."""
    kind: Kind = draw(st.sampled_from(["with_reference", "with_reference", "without_reference"]))
    seconds = draw(st.integers(0, 200)) + draw(st.sampled_from([0.0, 0.25, 0.999]))
    outcome = draw(st.sampled_from([*[Outcome.SCORED] * 5, *OTHERS]))
    offset = draw(st.integers(0, 30))
    fields: dict[str, Any] = {"outcome": outcome, "sampling": draw(slots(offset, kind, directed))}
    scores: dict[str, object] = {}
    if outcome in (Outcome.SCORED, Outcome.UNSCORABLE):
        values = MARKS if outcome is Outcome.UNSCORABLE else SCORES | MARKS
        names = draw(st.sampled_from([METRICS, METRICS[:2], METRICS[:1]]))
        scores = {name: draw(values) for name in names}
    return record(
        str(offset),
        seconds,
        application=draw(st.sampled_from(["bot", "bot", "shop", "other"])),
        judged_at=at(seconds + draw(st.integers(0, 2))),
        judge=draw(st.sampled_from([FIRST, FIRST, SECOND])),
        scores=scores,
        segment=draw(st.sampled_from(SEGMENTS)),
        interaction=draw(st.sampled_from(TEXTS)),
        attributes=draw(st.sampled_from(ATTRIBUTES)),
        **fields,
    )


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


@st.composite
def slots(draw: st.DrawFn, offset: int, kind: Kind, directed: bool) -> SamplingRecord:
    """A slot around an offset, or none for a forced pick."""
    if draw(st.integers(0, 9)) == 0:
        return forced(kind)
    q = draw(st.sampled_from([1.0, 0.5, 0.1, 0.03]))
    if not directed:
        return slot(offset, kind, q=q)
    size = draw(st.sampled_from([1, 4, 16]))
    u = draw(st.floats(0.3, 4))
    f = draw(st.floats(0, 0.25)) / u
    return SamplingRecord(
        first_offset=offset // size * size,
        last_offset=offset // size * size + size - 1,
        kind=kind,
        m=draw(st.integers(1, size)),
        q=q,
        u=u,
        expected={name: (draw(st.floats(0, 0.25)), min(f, 0.25)) for name in METRICS},
    )


def pools(*, directed: bool) -> st.SearchStrategy[list[ScoreRecord]]:
    """Sets of up to 40 records, small ones no more often than large ones."""
    records = any_records(directed=directed)
    return st.integers(0, 40).flatmap(lambda n: st.lists(records, min_size=n, max_size=n))
