"""What the topics and the gauges say afterwards, against what was fed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitor.records import ScoreRecord, read_score_record
from tests.servers.kafka_topics import Record
from tests.stages import batch as from_scratch
from tests.stages.chaos.traffic import AGES, Made
from tests.stages.labelled import batch
from tests.stages.process import Samples

WINDOWS = {window: int(window[:-1]) * 3_600 for window in AGES}
DAY_S = 86_400
GAUGES = {
    "value": "rag_score",
    "lower": "rag_score_lower",
    "upper": "rag_score_upper",
    "samples": "rag_score_samples",
    "missing_ratio": "rag_score_missing_ratio",
}


@dataclass(frozen=True)
class OnTopic:
    """The score records of a run.

    ``replays`` counts records beyond one an interaction, ``judged_again`` the interactions that
    have more than one; ``wrong`` names those with another score than they must have.
    """

    records: int
    lost: tuple[str, ...]
    replays: int
    judged_again: int
    wrong: tuple[str, ...]


def on_topic(traffic: Sequence[Made], records: Sequence[ScoreRecord]) -> OnTopic:
    """What became of each interaction that was fed."""
    known = {one.id: one for one in traffic}
    counts = Counter(record.interaction_id for record in records)
    wrong = {
        record.interaction_id
        for record in records
        if record.interaction_id not in known or not _is_right(known[record.interaction_id], record)
    }
    return OnTopic(
        len(records),
        tuple(name for name in known if name not in counts),
        counts.total() - len(counts),
        sum(count > 1 for count in counts.values()),
        tuple(sorted(wrong)),
    )


def _is_right(made: Made, record: ScoreRecord) -> bool:
    found = {
        name: score if isinstance(score := record.scores.get(name), float) else None
        for name in ("faithfulness", "incorrect_claims")
    }
    expected = {"faithfulness": made.faithfulness, "incorrect_claims": made.incorrect_claims}
    return all(_difference(found[name], expected[name]) <= 1e-9 for name in found)


def score_records(read: Sequence[Record]) -> list[ScoreRecord]:
    """The score records of a topic."""
    return [read_score_record(record.value or b"") for record in read]


def of_most_spans(records: Sequence[ScoreRecord]) -> list[ScoreRecord]:
    """Those that saw as much of their trace as any other of it: the rest must not count."""
    most = Counter[str]()
    for record in records:
        spans = record.source.spans or 0
        most[record.interaction_id] = max(most[record.interaction_id], spans)
    return [one for one in records if one.source.spans == most[one.interaction_id]]


def differences(
    samples: Samples, traffic: Sequence[Made], records: Sequence[ScoreRecord], now: float
) -> dict[str, float]:
    """Gauge → how far it is from what it must be; infinite when one of the two is missing.

    Twice: against the records of the topic, each interaction once, computed from scratch; and for
    two families against the values that the interactions were made with. Of V, which chance lifts
    above 1 in one run of twenty by how the times fall into buckets, only the records tell.
    """
    found = {(name, tuple(sorted(labels))): value for (name, labels), value in samples.items()}
    judge = records[0].judge.label if records else ""
    return {
        f"{kind} {name} {metric} {window}": _difference(
            found.get((name, _labels(metric, window, judge))), value
        )
        for kind, expected in (
            ("records:", _by_records(records, now)),
            (
                "truth:",
                _by_truth(traffic, from_scratch.dependences(records, now, WINDOWS, DAY_S)),
            ),
        )
        for (name, metric, window), value in expected
    }


Expected = Iterator[tuple[tuple[str, str, str], float | None]]


def _by_records(records: Sequence[ScoreRecord], now: float) -> Expected:
    for series, gauges in from_scratch.gauges(records, now, WINDOWS, DAY_S).items():
        for field, name in GAUGES.items():
            yield (name, series.metric, series.window), getattr(gauges, field)


def _by_truth(traffic: Sequence[Made], repeated: Mapping[str, float]) -> Expected:
    groups = [traffic[i :: len(AGES)] for i in range(len(AGES))]
    for metric in ("faithfulness", "incorrect_claims"):
        picks = [[x for one in group for x in _picks(one, metric)] for group in groups]
        horizon = [x for group in picks for x in group]
        if not any(x is not None for x in horizon):
            continue  # without references nothing is defined, and nothing shown
        for i, window in enumerate(AGES):
            expected = batch(
                [x for group in picks[: i + 1] for x in group], horizon, repeated.get(metric, 1.0)
            )
            for field in ("value", "lower", "upper", "samples"):
                yield (GAUGES[field], metric, window), getattr(expected, field)


def _picks(one: Made, metric: str) -> list[float | None]:
    if metric == "faithfulness":
        return [one.faithfulness]
    return [] if one.incorrect_claims is None else [one.incorrect_claims]


def _labels(metric: str, window: str, judge: str) -> tuple[tuple[str, str], ...]:
    labels = {"metric": metric, "window": window, "application": "chaos", "judge": judge}
    return tuple(sorted(labels.items()))


def _difference(found: float | None, expected: float | None) -> float:
    if found is None or expected is None:
        return 0.0 if found is expected else float("inf")
    return abs(found - expected)


def worst(found: Mapping[str, float]) -> tuple[float, str]:
    """The largest difference and its gauge."""
    return max(((value, name) for name, value in found.items()), default=(float("inf"), "none"))
