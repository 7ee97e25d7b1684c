"""Interactions with known verdicts, the judge's labels for them, and a batch computation.

The batch computation is written apart from ``monitor.metrics`` and ``monitor.stats``: plain floats
over plain lists, from the formulas alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

from tests.servers.judge_labels import Labels
from tests.servers.kafka_topics import Record

METRICS = (
    "faithfulness",
    "noise_sensitivity_relevant",
    "noise_sensitivity_irrelevant",
    "incorrect_claims",
    "hallucination",
)
Z = 1.959963984540054


@dataclass(frozen=True)
class Case:
    """One interaction, its event time (epoch seconds) and its true verdict matrices."""

    interaction: dict[str, Any]
    event_time: float
    labels: Labels
    by_passage: tuple[tuple[bool, ...], ...]
    by_context: tuple[bool, ...]
    by_reference: tuple[bool, ...] | None
    reference_by_passage: tuple[tuple[bool, ...], ...]

    @property
    def id(self) -> str:
        """The interaction id."""
        return str(self.interaction["interaction_id"])

    @property
    def value(self) -> bytes:
        """The record as it is logged."""
        return json.dumps(self.interaction, ensure_ascii=False).encode()

    def scores(self) -> dict[str, float | None]:
        """The true value per metric; None where it is undefined."""
        claims, passages = len(self.by_context), len(self.interaction["retrieved_contexts"])
        relevant = [any(row[j] for row in self.reference_by_passage) for j in range(passages)]
        totals = dict.fromkeys(METRICS, 0)
        for i in range(claims):
            held = [j for j in range(passages) if self.by_passage[i][j]]
            totals["faithfulness"] += self.by_context[i]
            if self.by_reference is None or self.by_reference[i]:
                continue
            totals["incorrect_claims"] += 1
            if not held:
                totals["hallucination"] += 1
            elif any(relevant[j] for j in held):
                totals["noise_sensitivity_relevant"] += 1
            else:
                totals["noise_sensitivity_irrelevant"] += 1
        return {
            metric: total / claims if self._defined(metric, claims, passages) else None
            for metric, total in totals.items()
        }

    def picks(self, metric: str) -> list[float | None]:
        """What it adds to a series: nothing without a reference, but for faithfulness."""
        if metric != "faithfulness" and self.by_reference is None:
            return []
        return [self.scores()[metric]]

    def _defined(self, metric: str, claims: int, passages: int) -> bool:
        if not claims or (metric != "faithfulness" and self.by_reference is None):
            return False
        if metric.startswith("noise") and not self.reference_by_passage:
            return False
        return bool(passages) or metric == "incorrect_claims"


def case(name: str, rng: Random, event_time: float, *, together: bool = False) -> Case:
    """A random case; with ``together`` its first claim needs two passages at once."""
    chinese = rng.random() < 0.5
    word = "说法" if chinese else "claim"
    question = f"[{name}] 这是什么？" if chinese else f'[{name}] what "is" this? {{}}'
    claims = [f"{word} {name} c{i}" for i in range(rng.randint(1, 5))]
    count = rng.randint(2, 4) if together else rng.choice([0, 1, 2, 3, 4])
    passages = [f"passage {name} p{j}\n段落" for j in range(count)]
    has_reference = rng.random() < 0.85 or not passages
    truths = [f"{word} {name} r{i}" for i in range(rng.randint(1, 3))] if has_reference else []
    response, reference = f"response {name} 回答", f"reference {name}"
    a = [[rng.random() < 0.35 for _ in passages] for _ in claims]
    if together:
        a[0] = [False] * count
    f = [any(row) for row in a]
    t = [rng.random() < 0.6 for _ in claims]
    g = [[rng.random() < 0.3 for _ in passages] for _ in truths]
    supported = {(c, response) for c in claims} | {(r, reference) for r in truths}
    for claim, row in [*zip(claims, a, strict=True), *zip(truths, g, strict=True)]:
        supported |= {(claim, passages[j]) for j, held in enumerate(row) if held}
    supported |= {(c, reference) for c, y in zip(claims, t, strict=True) if y and has_reference}
    supported |= {(r, response) for r in truths if rng.random() < 0.5}
    if together:
        f[0] = True
    return Case(
        interaction={
            "interaction_id": name,
            "timestamp": datetime.fromtimestamp(event_time, UTC).isoformat(),
            "application": "labelled",
            "user_input": question,
            "response": response,
            "retrieved_contexts": passages,
            "reference": reference if has_reference else None,
            "attributes": {"tenant": rng.choice(["acme", "globex"])},
        },
        event_time=event_time,
        labels=Labels(
            claims={(question, response): tuple(claims), (question, reference): tuple(truths)},
            supported=frozenset(supported),
            together=frozenset({(claims[0], tuple(passages[:2]))} if together else ()),
        ),
        by_passage=tuple(map(tuple, a)),
        by_context=tuple(f),
        by_reference=tuple(t) if has_reference else None,
        reference_by_passage=tuple(map(tuple, g)),
    )


def as_logged(cases: Iterable[Case]) -> list[Record]:
    """The Kafka records of the cases, keyed by interaction."""
    return [Record(one.value, key=one.id.encode()) for one in cases]


def all_labels(cases: Iterable[Case]) -> Labels:
    """The labels of all cases."""
    claims: dict[tuple[str, str], tuple[str, ...]] = {}
    supported: set[tuple[str, str]] = set()
    together: set[tuple[str, tuple[str, ...]]] = set()
    for one in cases:
        claims.update(one.labels.claims)
        supported |= one.labels.supported
        together |= one.labels.together
    return Labels(claims, frozenset(supported), frozenset(together))


@dataclass(frozen=True)
class Batch:
    """What one gauge family must show for one metric and window."""

    value: float
    lower: float
    upper: float
    samples: float


Picks = Sequence[float | None]


def batch(picks: Picks, horizon: Picks, repeated: float = 1.0) -> Batch:
    """Mean, Wilson bounds and count of equally weighted picks, none of them failed.

    ``repeated`` is V, how much neighbours repeat each other. A pick without a value is None. The
    bounds need no direction: Wilson's interval of 1 − x is the mirror of that of x.
    """
    values = [x for x in picks if x is not None]
    n, p = len(values), sum(values) / len(values)
    long = _spread(horizon) if sum(x is not None for x in horizon) >= 500 else 1.0
    n_eff = n / (repeated * min(1.5, max(0.05, long, _spread(picks))))
    centre = (p + Z * Z / (2 * n_eff)) / (1 + Z * Z / n_eff)
    half = Z / (1 + Z * Z / n_eff) * math.sqrt(p * (1 - p) / n_eff + Z * Z / (4 * n_eff**2))
    return Batch(p, max(0.0, centre - half), min(1.0, centre + half), n)


def _spread(picks: Picks) -> float:
    """D: the variance of the picks with a value, against that of a proportion."""
    values = [x for x in picks if x is not None]
    p = sum(values) / len(values)
    if p in (0.0, 1.0):
        return 1.0
    return sum((x - p) ** 2 for x in values) / len(values) / (p * (1 - p))
