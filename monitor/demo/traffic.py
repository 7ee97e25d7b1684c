"""Made-up RAG traffic with known truth: pure, and the same for the same seed and index.

A response states facts of one topic, one per sentence. What each passage and the reference state
is chosen first (the scene); only then is everything put into words, each text in a wording of its
own. The truth follows from the scene.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, NamedTuple

from monitor.demo.facts import LANGUAGES, PHRASINGS, SLOT, Fact, Handbook, handbook
from monitor.demo.mix import Mix
from monitor.demo.scene import Scene, draw_scene
from monitor.demo.truth import Statement, Truth, values_of, verdicts_of
from monitor.records import Claims

APPLICATION = "support-bot"
TENANTS = {"acme": 5, "globex": 3, "initech": 2}
"""Who asks, with weights: segments of unequal size."""

MODEL = "brightfen-chat-1"
PROMPT_VERSION = "v12"
RELEVANT_SCORES = (0.60, 0.95)
OTHER_SCORES = (0.40, 0.85)
"""Retrieval scores overlap: from a score alone nobody can tell what a passage states."""


class Generated(NamedTuple):
    """An interaction in the native format, and apart from it what is true of it."""

    json: dict[str, Any]
    truth: Truth


@dataclass(frozen=True, slots=True)
class DemoTraffic:
    """Interactions of a support bot.

    ``mix_at`` maps Unix seconds of the event time to the mix of that moment. ``reference_share``
    of the interactions (independently of their kind) carry a reference, the others null.
    """

    seed: int
    mix_at: Callable[[float], Mix]
    reference_share: float = 0.8

    def interaction(self, index: int, event_time: datetime) -> Generated:
        """The interaction number ``index``; deterministic in seed, index and mix.

        Raises ``ValueError`` for an event time without a time zone.
        """
        if event_time.tzinfo is None:
            raise ValueError("event_time needs a time zone")
        rng = Random(f"{self.seed}/{index}")
        aggregator = handbook(rng.choice(LANGUAGES))
        (tenant,) = rng.choices(list(TENANTS), list(TENANTS.values()))
        has_reference = rng.random() < self.reference_share
        kind = self.mix_at(event_time.timestamp()).kind(rng.random())
        scene = draw_scene(kind, aggregator, rng)
        wording = _Wording(aggregator, rng)
        worded = _tell(scene, wording, has_reference=has_reference)
        interaction_id = f"demo-{self.seed}-{index:08d}"
        truth = _truth(interaction_id, scene, worded, has_reference=has_reference)
        json = {
            "interaction_id": interaction_id,
            "timestamp": event_time.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "application": APPLICATION,
            **_texts(scene, worded, aggregator, rng, has_reference=has_reference),
            "attributes": _attributes(tenant, aggregator),
        }
        return Generated(json, truth)


class _Worded(NamedTuple):
    response: tuple[str, ...]
    reference: tuple[str, ...]
    pages: tuple[str, ...]


class _Wording:
    """Puts statements into words; a fact gets another phrasing in each kind of text."""

    def __init__(self, aggregator: Handbook, rng: Random) -> None:
        self._aggregator = aggregator
        self._rng = rng
        self._phrasings: dict[Fact, list[str]] = {}

    def sentence(self, statement: Statement, role: int) -> str:
        """The statement as response (0), reference (1), relevant (2) or other passage (3)."""
        fact = statement.fact
        if fact not in self._phrasings:
            self._phrasings[fact] = self._rng.sample(fact.phrasings, PHRASINGS)
        return self._phrasings[fact][role].replace(SLOT, statement.value)

    def sentences(self, statements: Sequence[Statement], role: int) -> tuple[str, ...]:
        """One sentence per statement, in their order."""
        return tuple(self.sentence(statement, role) for statement in statements)

    def text(self, sentences: Sequence[str]) -> str:
        """The sentences in a random order, as one text."""
        return self._aggregator.separator.join(self._rng.sample(sentences, len(sentences)))


def _tell(scene: Scene, wording: _Wording, *, has_reference: bool) -> _Worded:
    return _Worded(
        response=wording.sentences(scene.response, 0),
        reference=wording.sentences(scene.reference, 1) if has_reference else (),
        pages=tuple(
            wording.text(
                (*page.neutral, *wording.sentences(page.states, 2 if page.is_relevant else 3))
            )
            for page in scene.pages
        ),
    )


def _truth(interaction_id: str, scene: Scene, worded: _Worded, *, has_reference: bool) -> Truth:
    verdicts = verdicts_of(
        scene.response,
        scene.reference if has_reference else None,
        [page.states for page in scene.pages],
    )
    return Truth(
        interaction_id=interaction_id,
        kind=scene.kind,
        claims=Claims(response=worded.response, reference=worded.reference),
        verdicts=verdicts,
        values=values_of(verdicts, has_reference=has_reference),
    )


def _texts(
    scene: Scene, worded: _Worded, aggregator: Handbook, rng: Random, *, has_reference: bool
) -> dict[str, Any]:
    return {
        "user_input": scene.question,
        "response": scene.refusal or aggregator.separator.join(worded.response),
        "retrieved_contexts": [
            _passage(page.is_relevant, text, rng)
            for page, text in zip(scene.pages, worded.pages, strict=True)
        ],
        "reference": aggregator.separator.join(worded.reference) if has_reference else None,
    }


def _passage(is_relevant: bool, text: str, rng: Random) -> dict[str, Any]:
    low, high = RELEVANT_SCORES if is_relevant else OTHER_SCORES
    # The id comes from the text, as in a real index, and tells nothing about its role.
    return {
        "id": f"kb-{zlib.crc32(text.encode()):08x}",
        "text": text,
        "score": round(rng.uniform(low, high), 3),
    }


def _attributes(tenant: str, aggregator: Handbook) -> dict[str, str]:
    return {
        "tenant": tenant,
        "language": aggregator.language,
        "model": MODEL,
        "prompt_version": PROMPT_VERSION,
    }
