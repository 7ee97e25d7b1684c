"""Score records as they stand on the topic: five applications, many tenants, 14 metrics."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate, count, islice
from typing import Final

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.learning import Learner, LearningSettings
from monitor.exporter.scores.aggregator import ScoreAggregator, SegmentLabels
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings, Normal
from monitor.metrics.catalogue import CATALOGUE, Metric
from monitor.records import (
    Claims,
    JudgeIdentity,
    Outcome,
    SamplingRecord,
    ScoreRecord,
    Source,
    Verdicts,
)
from monitor.stats.baseline import NOTHING, Baseline

DAY: Final = 86_400
#: A midnight.
START: Final = 20_778 * DAY
WINDOWS: Final = {"5m": 300, "1h": 3_600, "24h": DAY}
APPLICATIONS: Final = 5
TENANTS: Final = 1_000
#: With «other», 20.
NAMED: Final = 19
ALARMED: Final = (
    "faithfulness",
    "noise_sensitivity_relevant",
    "noise_sensitivity_irrelevant",
)
JUDGE: Final = JudgeIdentity(
    name="llm", version="3f2a91", model="a/model", prompts="c1d2", pipeline="joint"
)


def catalogue(metrics: int) -> Mapping[str, Metric]:
    """The catalogue, made longer by copies of its metrics, or cut short."""
    found = list(CATALOGUE.values())
    names = (replace(m, name=f"{m.name}_{n}") for n in count(2) for m in found)
    return {m.name: m for m in islice([*found, *islice(names, metrics)], metrics)}


def aggregators(
    metrics: int, *, segments: bool, fixed: bool = True
) -> tuple[ScoreAggregator, Baselines]:
    """An empty book as the exporter has it, with detectors and baselines; and the latter.

    They are ``fixed`` by the configuration, or are still to be learned.
    """
    settings = DriftSettings(ALARMED, 1.0, None, NOTHING, DAY, 60)
    normal = Normal({name: Baseline(0.6, 0.01, {}) for name in ALARMED})
    drift = DriftDetectors(settings, lambda _application, _judge: normal if fixed else None)
    aggregator = ScoreAggregator(
        WINDOWS,
        DAY,
        drift=drift,
        segments=SegmentLabels(most=NAMED) if segments else None,
        catalogue=catalogue(metrics),
    )
    return aggregator, Baselines(drift, Learner(LearningSettings(2_000, 600)))


def lines(seed: int, start: float, step_s: float, metrics: int) -> Iterator[bytes]:
    """One record every ``step_s`` seconds from ``start`` on, for ever.

    Applications and tenants are drawn by their size (tenant k has a share of 1/k); a score is the
    share of k of n claims; one in 50 has no claims, one in 100 failed.
    """
    rng = random.Random(seed)
    sizes = list(accumulate(1 / k for k in range(1, TENANTS + 1)))
    shares = list(accumulate(range(APPLICATIONS, 0, -1)))
    names = list(catalogue(metrics))
    templates = [_template(claims) for claims in range(8)]
    for number in count():
        time = datetime.fromtimestamp(start + number * step_s, UTC).isoformat()
        (tenant,) = rng.choices(range(TENANTS), cum_weights=sizes)
        (application,) = rng.choices(range(APPLICATIONS), cum_weights=shares)
        failed, claims = rng.random() < 0.01, 0 if rng.random() < 0.02 else rng.randint(1, 7)
        outcome = "judge_failed" if failed else "scored" if claims else "unscorable"
        yield templates[claims] % {
            b"application": b"app-%d" % application,
            b"tenant": b"tenant-%d" % tenant,
            b"number": number,
            b"time": time.encode(),
            b"outcome": outcome.encode(),
            b"scores": b"" if failed else _scores(rng, names, claims).encode(),
        }


def _scores(rng: random.Random, names: list[str], claims: int) -> str:
    if not claims:
        return ",".join(f'"{name}":{{"unscored":"NO_CLAIMS"}}' for name in names)
    return ",".join(f'"{name}":{rng.randint(0, claims) / claims!r}' for name in names)


def _template(claims: int) -> bytes:
    """A record with texts of the usual length; what differs is filled in."""
    passages = 4
    texts = {"user_input": "question " * 8, "response": "answer " * 15 * max(claims, 1)}
    record = ScoreRecord(
        application="%(application)s",
        interaction_id="%(number)s",
        event_time=datetime.fromtimestamp(START, UTC),
        judged_at=datetime.fromtimestamp(START, UTC),
        source=Source(topic="rag.interactions.v1", partition=0, offset=7_777_777),
        judge=JUDGE,
        sampling=SamplingRecord(
            first_offset=7_777_777,
            last_offset=7_777_777,
            kind="with_reference",
            segments={"%(tenant)s": 1},
        ),
        segment="%(tenant)s",
        attributes={"tenant": "%(tenant)s", "model": "some-model", "prompt_version": "v12"},
        interaction={**texts, "retrieved_contexts": [{"id": "doc#1", "text": "word " * 150}] * 4},
        claims=Claims(response=("A claim of some words.",) * claims, reference=("A fact.",) * 3),
        verdicts=Verdicts(
            response_by_passage=((True,) * passages,) * claims,
            response_by_context=(True,) * claims,
            response_by_reference=(True,) * claims,
            reference_by_passage=((False,) * passages,) * 3,
            reference_by_response=(False,) * 3,
        ),
        scores={"faithfulness": 1.0},
        outcome=Outcome.SCORED,
    ).to_json()
    time = b'"' + datetime.fromtimestamp(START, UTC).isoformat().replace("+00:00", "Z").encode()
    replaced = {
        time + b'"': b'"%(time)s"',
        b"7777777": b"%(number)d",
        b'"%(number)s"': b'"%(number)d"',
        b'"faithfulness":1.0': b"%(scores)s",
        b'"outcome":"scored"': b'"outcome":"%(outcome)s"',
    }
    for old, new in replaced.items():
        if old not in record:
            raise AssertionError(old)
        record = record.replace(old, new)
    return record
