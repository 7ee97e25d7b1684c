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


def make(name: str, rng: Random, event_time: float) -> Made:
    """A response of one to four sentences, some of them wrong; most have a reference."""
    stated = rng.sample(range(len(FACTS)), rng.randint(1, len(FACTS)))
    true = [rng.random() < 0.8 for _ in stated]
    claims = [FACTS[fact][0 if held else 1] for fact, held in zip(stated, true, strict=True)]
    known = sorted(rng.sample(range(len(FACTS)), 3)) if rng.random() < 0.8 else []
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


def make_all(count: int, seed: int, now: float) -> list[Made]:
    """Interactions with event times in all windows up to ``now`` (epoch seconds)."""
    rng, ages = Random(f"traffic/{seed}"), list(AGES.values())
    return [make(f"c{i:05d}", rng, now - rng.uniform(*ages[i % len(ages)])) for i in range(count)]


def labels_of(traffic: Sequence[Made]) -> Labels:
    """The labels of all interactions."""
    claims = {key: found for one in traffic for key, found in one.labels.claims.items()}
    return Labels(claims, frozenset().union(*(one.labels.supported for one in traffic)))


class Feeder:
    """One patient producer, which writes each interaction exactly once whatever happens."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap, self._topic = bootstrap, topic
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
                    await producer.send(self._topic, encoded(one.interaction), key=one.id.encode())
                    for one in traffic[self.fed : until]
                ]
                await asyncio.gather(*sent)
                self.fed = max(self.fed, until)
                await asyncio.sleep(EVERY_S if self.fed >= allowed() else 0)
        finally:
            await producer.stop()
