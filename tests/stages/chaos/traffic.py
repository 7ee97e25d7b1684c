"""Interactions whose scores are known beforehand, and the producer that feeds them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

from aiokafka import AIOKafkaProducer

from tests.servers.judge_labels import Labels
from tests.stages.otlp_spans import as_json, span
from tests.stages.otlp_spans import made as one_record
from tests.stages.plain import encoded

HOUR = 3_600
#: Window → (youngest, oldest) age of the event times put into it: far from its edges, also when
#: the run takes half an hour.
AGES = {"1h": (0, 1_500), "6h": (2 * HOUR, 5 * HOUR), "24h": (7 * HOUR, 22 * HOUR)}
#: What the passages say, and the same with another number.
FACTS = (
    ("The warranty lasts 24 months.", "The warranty lasts 36 months."),
    ("Returns are accepted within 30 days.", "Returns are accepted within 90 days."),
    ("Shipping to Norway takes 5 days.", "Shipping to Norway takes 2 days."),
    ("The battery holds for 12 hours.", "The battery holds for 40 hours."),
)
CHUNK = 50
EVERY_S = 0.05


@dataclass(frozen=True)
class Made:
    """One interaction and the values that it must get (None: no reference, so no value)."""

    interaction: dict[str, Any]
    labels: Labels
    faithfulness: float
    incorrect_claims: float | None

    @property
    def id(self) -> str:
        """The interaction id."""
        return str(self.interaction["interaction_id"])


def make(name: str, rng: Random, event_time: float, *, with_reference: bool = True) -> Made:
    """A response of one to four sentences, some of them wrong; most have a reference."""
    stated = rng.sample(range(len(FACTS)), rng.randint(1, len(FACTS)))
    true = [rng.random() < 0.8 for _ in stated]
    claims = [FACTS[fact][0 if held else 1] for fact, held in zip(stated, true, strict=True)]
    has_reference = with_reference and rng.random() < 0.8
    known = sorted(rng.sample(range(len(FACTS)), 3)) if has_reference else []
    agreed = [held and fact in known for fact, held in zip(stated, true, strict=True)]
    interaction = {
        "interaction_id": name,
        "timestamp": datetime.fromtimestamp(event_time, UTC).isoformat(),
        "application": "chaos",
        "user_input": f"[{name}] What are the terms?",
        "response": " ".join(claims),
        "retrieved_contexts": [right for right, _ in FACTS],
        "reference": " ".join(FACTS[fact][0] for fact in known) if known else None,
    }
    return Made(
        interaction,
        _labels(interaction, claims, [FACTS[fact][0] for fact in known]),
        sum(true) / len(true),
        1 - sum(agreed) / len(agreed) if known else None,
    )


def _labels(interaction: dict[str, Any], claims: list[str], truths: list[str]) -> Labels:
    """What an LLM judge finds in it: a sentence holds in every text that contains it."""
    texts = [interaction["response"], *interaction["retrieved_contexts"]]
    asked = {(interaction["user_input"], interaction["response"]): tuple(claims)}
    if truths:
        texts.append(interaction["reference"])
        asked[interaction["user_input"], interaction["reference"]] = tuple(truths)
    held = {(claim, text) for claim in (*claims, *truths) for text in texts if claim in text}
    return Labels(asked, frozenset(held))


def make_all(count: int, seed: int, now: float, *, spans: bool = False) -> list[Made]:
    """Interactions with event times in all windows up to ``now`` (epoch seconds).

    As ``spans`` their ids are those of traces, and they have no references.
    """
    rng, ages = Random(f"traffic/{seed}"), list(AGES.values())
    names = (f"{i + 1:032x}" if spans else f"c{i:05d}" for i in range(count))
    return [
        make(name, rng, now - rng.uniform(*ages[i % len(ages)]), with_reference=not spans)
        for i, name in enumerate(names)
    ]


def as_spans(made: Made) -> list[bytes]:
    """Three records: what was retrieved, the model, and the root, which ends last."""
    found = made.interaction
    end_ns = int(datetime.fromisoformat(found["timestamp"]).timestamp() * 1e6) * 1_000
    kind, trace = "openinference.span.kind", int(made.id, 16)
    documents = {
        f"retrieval.documents.{n}.document.content": text
        for n, text in enumerate(found["retrieved_contexts"])
    }
    texts = {"input.value": found["user_input"], "output.value": found["response"]}
    spans = (
        span(trace, 2, 1, {kind: "RETRIEVER", **documents}, begin_ns=end_ns - 999),
        span(trace, 3, 1, {kind: "LLM", "llm.model_name": "m"}, begin_ns=end_ns - 999),
        span(trace, 1, None, {kind: "CHAIN", **texts}, begin_ns=end_ns - 999),
    )
    return [as_json(one_record(each, service=found["application"])) for each in spans]


def labels_of(traffic: Sequence[Made]) -> Labels:
    """The labels of all interactions."""
    claims = {key: found for one in traffic for key, found in one.labels.claims.items()}
    return Labels(claims, frozenset().union(*(one.labels.supported for one in traffic)))


class Feeder:
    """One patient producer, which writes each interaction exactly once whatever happens.

    As ``spans`` in records of parts, those of many traces between one another.
    """

    def __init__(self, bootstrap: str, topic: str, *, spans: bool = False) -> None:
        self._bootstrap, self._topic, self._spans = bootstrap, topic, spans
        self.fed = 0
        self.enough = False

    async def run(self, traffic: Sequence[Made], allowed: Callable[[], float]) -> None:
        """Write until all is written, or ``enough`` is set.

        Before each step ``allowed`` says how many may be written so far.
        """
        producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap, enable_idempotence=True, request_timeout_ms=120_000
        )
        await producer.start()
        try:
            while self.fed < len(traffic) and not self.enough:
                until = min(self.fed + CHUNK, len(traffic), int(allowed()))
                sent = [
                    await producer.send(self._topic, value, key=key)
                    for key, value in self._records(traffic[self.fed : until])
                ]
                await asyncio.gather(*sent)
                self.fed = max(self.fed, until)
                await asyncio.sleep(EVERY_S if self.fed >= allowed() else 0)
        finally:
            await producer.stop()

    def _records(self, traffic: Sequence[Made]) -> list[tuple[bytes, bytes]]:
        """Keys and values, in their order."""
        if not self._spans:
            return [(one.id.encode(), encoded(one.interaction)) for one in traffic]
        parts = [(one.id.encode(), as_spans(one)) for one in traffic]
        return [(key, values[n]) for n in range(3) for key, values in parts]
