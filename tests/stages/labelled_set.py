"""A labelled set with known truth: native lines for the command, labels for the simulated judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.servers.judge_labels import Labels

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass
class MadeUp:
    """Native lines and the labels that say the same."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    labels: Labels = field(default_factory=Labels)

    def write(self, path: Path) -> Path:
        """The lines as a labelled file."""
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in self.lines)
        path.write_text(text, encoding="utf-8")
        return path


@dataclass(frozen=True)
class Entry:
    """One labelled verdict: the pair as the judge sees it, its kind and its place."""

    kind: str
    claim: str
    text: str
    label: bool
    interaction: str
    row: int
    column: int | None


def made_up(
    interactions: int,
    *,
    seed: int = 1,
    claims: Sequence[int] = (2, 3, 4),
    passages: int = 3,
    reference: bool = True,
) -> MadeUp:
    """Interactions of invented words; ``claims`` are the sizes of responses, in turn."""
    rng, found = Random(seed), MadeUp()
    for number in range(interactions):
        size = claims[number % len(claims)]
        line, labels = _interaction(number, size, passages, reference, rng)
        found.lines.append(line)
        found.labels |= labels
    return found


def changed(found: MadeUp, change: Callable[[str], str]) -> MadeUp:
    """The same set with every text and every claim changed in one way."""
    made = MadeUp()
    for line in found.lines:
        said = line["interaction"]
        interaction = {
            "user_input": change(said["user_input"]),
            "response": change(said["response"]),
            "retrieved_contexts": list(map(change, said["retrieved_contexts"])),
            "reference": None if said["reference"] is None else change(said["reference"]),
        }
        claims = {name: list(map(change, each)) for name, each in line["claims"].items()}
        made.lines.append({**line, "interaction": interaction, "claims": claims})
        made.labels |= _labels(made.lines[-1])
    return made


def entries(found: MadeUp, kinds: Sequence[str]) -> list[Entry]:
    """The labelled verdicts of some kinds against single texts."""
    return [entry for line in found.lines for kind in kinds for entry in _entries(line, kind)]


def _entries(line: dict[str, Any], kind: str) -> Iterator[Entry]:
    interaction, name = line["interaction"], line["interaction_id"]
    claims = line["claims"][kind.split("_")[0]]
    whole = {"response_by_reference": "reference", "reference_by_response": "response"}
    for i, (claim, labels) in enumerate(zip(claims, line["verdicts"][kind], strict=True)):
        if kind in whole:
            yield Entry(kind, claim, interaction[whole[kind]], labels, name, i, None)
            continue
        for j, (text, label) in enumerate(
            zip(interaction["retrieved_contexts"], labels, strict=True)
        ):
            yield Entry(kind, claim, text, label, name, i, j)


def _interaction(
    number: int, size: int, n: int, has_reference: bool, rng: Random
) -> tuple[dict[str, Any], Labels]:
    c = [_sentence(rng) for _ in range(size)]
    r = [_sentence(rng) for _ in range(2)] if has_reference else []
    by_passage = [[rng.random() < 0.35 for _ in range(n)] for _ in c]
    together = [not any(row) and n > 1 and rng.random() < 0.3 for row in by_passage]
    of_reference = [[rng.random() < 0.4 for _ in range(n)] for _ in r]
    contexts = [
        f"Passage {number}.{j}. "
        + " ".join(claim for claim, row in zip(c + r, by_passage + of_reference, strict=True)
                   if row[j])
        for j in range(n)
    ]  # fmt: skip
    verdicts: dict[str, Any] = {
        "response_by_passage": by_passage,
        "response_by_context": [any(row) or t for row, t in zip(by_passage, together, strict=True)],
    }
    if has_reference:
        verdicts["response_by_reference"] = [rng.random() < 0.5 for _ in c]
        verdicts["reference_by_passage"] = of_reference
        verdicts["reference_by_response"] = [rng.random() < 0.5 for _ in r]
    line = {
        "interaction_id": f"made-up-{number}",
        "interaction": {
            "user_input": f"Question {number}?",
            "response": f"Response {number}. {' '.join(c)}",
            "retrieved_contexts": contexts,
            "reference": f"Reference {number}. {' '.join(r)}" if has_reference else None,
        },
        "claims": {"response": c, "reference": r},
        "verdicts": verdicts,
        "language": ("en", "zh")[number % 2],
        "phenomenon": ("number", "date", "name swap")[number % 3],
    }
    return line, _labels(line)


def _labels(line: dict[str, Any]) -> Labels:
    interaction, claims, verdicts = line["interaction"], line["claims"], line["verdicts"]
    texts = {"response": interaction["response"], "reference": interaction["reference"]}
    contexts = interaction["retrieved_contexts"]
    kinds = [kind for kind in verdicts if kind != "response_by_context"]
    supported = {(e.claim, e.text) for kind in kinds for e in _entries(line, kind) if e.label}
    supported |= {(claim, text) for name, text in texts.items() for claim in claims[name]}
    held = [c for c, yes in zip(claims["response"], verdicts["response_by_context"], strict=True)
            if yes]  # fmt: skip
    supported |= {(claim, "\n".join(contexts)) for claim in held}
    return Labels(
        claims={
            (interaction["user_input"], text): tuple(claims[name])
            for name, text in texts.items()
            if text is not None
        },
        supported=frozenset(supported),
        together=frozenset((claim, tuple(contexts)) for claim in held),
    )


def _sentence(rng: Random) -> str:
    return f"{_word(rng).title()} {_word(rng)} {_word(rng)} {_word(rng)}."


def _word(rng: Random) -> str:
    return "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(4))
