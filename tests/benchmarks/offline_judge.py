"""How well and how fast the offline judge screens: AUC, accuracy and pairs per CPU-second.

``python -m tests.benchmarks.offline_judge [--set dev|held_out|both]`` prints figures only, never a
pair: the held-out pairs must stay unseen by whoever works on the rules.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from monitor.judge.offline.judge import THRESHOLD, support_score
from monitor.judge.offline.sentences import read_sentence
from monitor.stats.ranking import area

DATA = Path(__file__).parents[1] / "data" / "claim_pairs"


class Scored(NamedTuple):
    """One pair, without its texts."""

    language: str
    kind: str
    supported: bool
    score: float


def auc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """The chance that a supported pair scores higher; ties count half. None if a side is empty.

    >>> auc([0.9, 0.5], [0.5, 0.1])
    0.875
    """
    cases = [(True, score) for score in positive] + [(False, score) for score in negative]
    return area([cases]).value


def accuracy(pairs: Sequence[Scored]) -> float:
    """The share of pairs on the right side of the shipped threshold."""
    return sum((p.score >= THRESHOLD) == p.supported for p in pairs) / len(pairs)


def score_all(path: Path) -> tuple[list[Scored], float]:
    """The scores of a file's pairs and the CPU seconds of scoring them, at best of five times.

    No sentence is kept from one time to the next; the table of word stems is, as in a long run.
    """
    with path.open(encoding="utf-8") as lines:
        pairs = [json.loads(line) for line in lines if line.strip()]
    spent = float("inf")
    for _ in range(5):
        read_sentence.cache_clear()
        begun = time.process_time()
        scores = [support_score(pair["claim"], pair["passage"]) for pair in pairs]
        spent = min(spent, time.process_time() - begun)
    return [
        Scored(pair["language"], pair["kind"], pair["supported"], score)
        for pair, score in zip(pairs, scores, strict=True)
    ], spent


def report(pairs: Sequence[Scored], label: str, against: Iterable[Scored] | None = None) -> str:
    """One line of figures; a group with one verdict only is ranked against the other's pairs."""
    rivals = list(against or pairs)
    positive = [p.score for p in pairs if p.supported] or [p.score for p in rivals if p.supported]
    negative = [p.score for p in pairs if not p.supported]
    negative = negative or [p.score for p in rivals if not p.supported]
    area = auc(positive, negative)
    shown = "    -" if area is None else f"{area:.3f}"
    return f"  {label:<24} n={len(pairs):4}  AUC {shown}  accuracy {accuracy(pairs):.3f}"


def groups(pairs: Sequence[Scored], key: Callable[[Scored], str]) -> list[tuple[str, list[Scored]]]:
    """The pairs by a label, in the order of the labels."""
    return [(name, [p for p in pairs if key(p) == name]) for name in sorted({*map(key, pairs)})]


def describe(path: Path) -> str:
    """All figures of one file."""
    pairs, spent = score_all(path)
    lines = [f"{path.name}  threshold {THRESHOLD}", report(pairs, "overall")]
    lines += [report(group, name) for name, group in groups(pairs, lambda p: p.language)]
    for language, same in groups(pairs, lambda p: p.language):
        lines += [
            report(group, f"{language} {name}", same)
            for name, group in groups(same, lambda p: p.kind)
        ]
    rate = len(pairs) / spent if spent else float("inf")
    return "\n".join([*lines, f"  {rate:,.0f} pairs per CPU-second (each sentence read once)"])


def main() -> None:
    """Print the figures of the chosen files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--set", choices=("dev", "held_out", "both"), default="both")
    chosen = parser.parse_args().set
    names = ("dev", "held_out") if chosen == "both" else (chosen,)
    for name in names:
        print(describe(DATA / f"{name}.jsonl"))


if __name__ == "__main__":
    main()
