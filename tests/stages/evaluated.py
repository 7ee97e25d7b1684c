"""Files for ``evaluate``: many rows whose scores differ, and the examples of the metrics."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

_FACTS: Final = (
    "The warranty lasts {n} months.",
    "Shipping costs {n} euros.",
    "The shop opens at {n} in the morning.",
    "A return takes {n} days.",
    "The battery holds {n} hours.",
)


def rows(number: int, seed: int = 7) -> list[dict[str, Any]]:
    """Interactions of one to five claims; some wrong or unsupported, some without a reference."""
    random = Random(seed)
    return [_row(n, random) for n in range(number)]


def _row(number: int, random: Random) -> dict[str, Any]:
    facts = random.sample(_FACTS, random.randint(1, len(_FACTS)))
    right = [fact.format(n=random.randint(2, 9)) for fact in facts]
    wrong = [fact.format(n=random.randint(12, 19)) for fact in facts]
    share = random.choice((0.0, 0.0, 0.2, 0.6))
    said = [w if random.random() < share else r for r, w in zip(right, wrong, strict=True)]
    passages = [*right, *(each for each in wrong if random.random() < 0.7)]
    random.shuffle(passages)
    return {
        "interaction_id": f"i{number}",
        "timestamp": "2026-11-01T12:00:00Z",
        "user_input": "What should I know?",
        "response": " ".join(said),
        "retrieved_contexts": passages,
        "reference": None if random.random() < 0.1 else " ".join(right),
    }


def as_lines(found: list[dict[str, Any]]) -> str:
    """As JSONL."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
