"""Records made up for tests: any score record that the types allow, and simple ones by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from pydantic import JsonValue

from monitor.records import (
    Claims,
    Interaction,
    JudgeIdentity,
    Kind,
    Outcome,
    SamplingRecord,
    ScoreRecord,
    Source,
    UnscoredMark,
    Usage,
    Verdicts,
)

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
JUDGE = JudgeIdentity(
    name="offline", version="1", model="lexical", prompts="none", pipeline="screen"
)
METRICS = (
    "faithfulness",
    "noise_sensitivity_relevant",
    "noise_sensitivity_irrelevant",
    "incorrect_claims",
    "hallucination",
)

# What JSON can carry: no lone surrogates.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FRACTIONS = st.floats(0, 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | FINITE | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
TIMES = st.datetimes(
    datetime.fromisoformat("1971-01-01"),
    datetime.fromisoformat("2200-01-01"),
    timezones=st.just(UTC),
)
JUDGES = st.builds(
    JudgeIdentity, name=TEXTS, version=TEXTS, model=TEXTS, prompts=TEXTS, pipeline=TEXTS
)
KINDS: st.SearchStrategy[Kind] = st.sampled_from(["with_reference", "without_reference"])
FLAGS = st.lists(st.booleans(), max_size=3).map(tuple)
MATRICES = st.lists(FLAGS, max_size=3).map(tuple)


@st.composite
def samplings(draw: st.DrawFn) -> SamplingRecord:
    """Slots of any size, and forced picks."""
    kind = draw(KINDS)
    if draw(st.booleans()):
        return forced(kind)
    first = draw(st.integers(0, 2**40))
    return SamplingRecord(
        first_offset=first,
        last_offset=first + draw(st.integers(0, 100)),
        kind=kind,
        m=draw(st.integers(1, 1000)),
        q=draw(st.floats(1e-6, 1)),
        u=draw(st.floats(1e-3, 5)),
        signal=draw(st.none() | FRACTIONS),
        segments=draw(st.dictionaries(TEXTS, st.integers(1, 9), max_size=2)),
        expected=draw(
            st.dictionaries(st.sampled_from(METRICS), st.tuples(FRACTIONS, FRACTIONS), max_size=2)
        ),
    )


def forced(kind: Kind) -> SamplingRecord:
    """The sampling of a pick that was asked for: no slot, no weight."""
    return SamplingRecord(
        first_offset=None, last_offset=None, kind=kind, m=None, q=None, u=None, forced=True
    )


VERDICTS = st.builds(
    Verdicts,
    response_by_passage=MATRICES,
    response_by_context=FLAGS,
    response_by_reference=FLAGS,
    reference_by_passage=MATRICES,
    reference_by_response=FLAGS,
)


QUOTES = st.dictionaries(TEXTS, st.none() | TEXTS, max_size=2)


@st.composite
def score_records(draw: st.DrawFn) -> ScoreRecord:
    """Any score record that the types allow."""
    scores = FRACTIONS | st.builds(UnscoredMark, unscored=TEXTS)
    return ScoreRecord(
        application=draw(TEXTS),
        interaction_id=draw(TEXTS),
        event_time=draw(TIMES),
        judged_at=draw(TIMES),
        source=Source(topic=draw(TEXTS), partition=0, offset=draw(st.integers(0, 2**62))),
        judge=draw(JUDGES),
        sampling=draw(samplings()),
        segment=draw(TEXTS),
        attributes=draw(st.dictionaries(TEXTS, JSON_VALUES, max_size=3)),
        interaction=draw(interactions_as_stored()),
        claims=Claims(response=draw(st.lists(TEXTS, max_size=2).map(tuple))),
        verdicts=draw(VERDICTS),
        evidence=draw(st.dictionaries(TEXTS, QUOTES, max_size=2)),
        scores=draw(st.dictionaries(st.sampled_from(METRICS), scores, max_size=4)),
        outcome=draw(st.sampled_from(Outcome)),
        reason=draw(st.none() | TEXTS),
        usage=Usage(
            calls=draw(st.integers(0, 9)),
            reasoning_tokens=draw(st.integers(0, 9)),
            usd=draw(st.floats(0, 9)),
        ),
        timings=draw(st.dictionaries(TEXTS, st.floats(0, 60), max_size=2)),
    )


@st.composite
def interactions_as_stored(draw: st.DrawFn) -> dict[str, JsonValue]:
    """The texts on a score record."""
    texts = st.text("aé中", max_size=60)
    passages: st.SearchStrategy[JsonValue] = st.builds(
        lambda id, text: {"id": id, "text": text}, TEXTS, texts
    )
    return {
        "user_input": draw(TEXTS),
        "response": draw(TEXTS),
        "retrieved_contexts": draw(st.lists(passages, max_size=4)),
    }


def attributed(application: str = "bot", **attributes: Any) -> Interaction:
    """An interaction with these attributes."""
    return Interaction(
        interaction_id="i",
        event_time=NOON,
        application=application,
        user_input="?",
        response="!",
        attributes=attributes,
        source=Source(topic="t", partition=0, offset=0),
    )
