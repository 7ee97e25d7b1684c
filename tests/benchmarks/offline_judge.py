"""How well and how fast the offline judge screens: AUC, accuracy and pairs per CPU-second.

``python -m tests.benchmarks.offline_judge [--set dev|held_out|both] [--rgb FILE]
[--ragchecker FILE]`` prints figures only, never a pair: the held-out pairs must stay unseen by
whoever works on the rules. Beside the AUC stands that of the plain overlap on the same pairs: the
rules must not cost ranking.

``--rgb`` is a ``data/*_fact.json`` of github.com/chen700564/RGB: a question with its answer, right
and made up, against the passages that say the one, the other, and neither. ``--ragchecker`` is the
``examples/checking_outputs.json`` of github.com/amazon-science/RAGChecker. Neither is fetched.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from monitor.judge.offline.judge import THRESHOLD, support_score
from monitor.judge.offline.sentences import read_sentence
from monitor.judge_check.labelled import script
from monitor.stats.ranking import area
from tests.stages.overlap import DATA, plain_share

SCREEN, PLAIN = attrgetter("score"), attrgetter("plain")


class Scored(NamedTuple):
    """One pair, without its texts."""

    language: str
    kind: str
    supported: bool
    score: float
    plain: float


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


def score_all(pairs: Sequence[Mapping[str, Any]]) -> tuple[list[Scored], float]:
    """The scores of pairs and the CPU seconds of scoring them, at best of five times.

    No sentence is kept from one time to the next; the table of word stems is, as in a long run.
    """
    spent = float("inf")
    for _ in range(5):
        read_sentence.cache_clear()
        begun = time.process_time()
        scores = [support_score(pair["claim"], pair["passage"]) for pair in pairs]
        spent = min(spent, time.process_time() - begun)
    return [
        Scored(
            pair["language"],
            pair["kind"],
            pair["supported"],
            score,
            plain_share(pair["claim"], pair["passage"]),
        )
        for pair, score in zip(pairs, scores, strict=True)
    ], spent


def report(pairs: Sequence[Scored], label: str, against: Iterable[Scored] | None = None) -> str:
    """One line of figures; a group with one verdict only is ranked against the other's pairs."""
    rivals = list(against or pairs)
    positive = [p for p in pairs if p.supported] or [p for p in rivals if p.supported]
    negative = [p for p in pairs if not p.supported] or [p for p in rivals if not p.supported]
    areas = [auc([by(p) for p in positive], [by(p) for p in negative]) for by in (SCREEN, PLAIN)]
    screen, plain = ("    -" if area is None else f"{area:.3f}" for area in areas)
    figures = f"AUC {screen}  plain overlap {plain}  accuracy {accuracy(pairs):.3f}"
    return f"  {label:<24} n={len(pairs):4}  {figures}"


def groups(pairs: Sequence[Scored], key: Callable[[Scored], str]) -> list[tuple[str, list[Scored]]]:
    """The pairs by a label, in the order of the labels."""
    return [(name, [p for p in pairs if key(p) == name]) for name in sorted({*map(key, pairs)})]


def rgb(path: Path) -> list[dict[str, Any]]:
    """The pairs of a file of RGB's counterfactual facts."""
    found: list[dict[str, Any]] = []
    for fact in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        claims = [f"{fact['query']} {_first(fact[name])}" for name in ("answer", "fakeanswer")]
        texts = [(text, 0) for text in fact["positive"]]
        texts += [(text, 1) for text in fact["positive_wrong"]]
        found += [_pair(c, text, i == says) for text, says in texts for i, c in enumerate(claims)]
        found += [_pair(claims[0], text, False) for text in fact["negative"][:3]]
    return found


def ragchecker(path: Path) -> list[dict[str, Any]]:
    """The pairs of RAGChecker's own example, as its judge labelled them."""
    found = []
    for one in json.loads(path.read_text(encoding="utf-8"))["results"]:
        passages = [each["text"] for each in one["retrieved_context"]]
        answer, response = one["gt_answer_claims"], one["response_claims"]
        sides = [
            (response, one["retrieved2response"], passages),
            (answer, one["retrieved2answer"], passages),
            (response, [[v] for v in one["answer2response"]], [one["gt_answer"]]),
            (answer, [[v] for v in one["response2answer"]], [one["response"]]),
        ]
        found += [
            _pair(" ".join(claim), text, verdict == "Entailment")
            for claims, rows, texts in sides
            for claim, row in zip(claims, rows, strict=True)
            for text, verdict in zip(texts, row, strict=True)
        ]
    return found


def _first(answer: Any) -> str:
    """RGB lists several wordings of some answers."""
    return _first(answer[0]) if isinstance(answer, list) else str(answer)


def _pair(claim: str, passage: str, supported: bool) -> dict[str, Any]:
    named = {"language": script(passage), "kind": "any"}
    return {**named, "claim": claim, "passage": passage, "supported": supported}


def describe(name: str, found: Sequence[Mapping[str, Any]]) -> str:
    """All figures of one set."""
    pairs, spent = score_all(found)
    lines = [f"{name}  threshold {THRESHOLD}", report(pairs, "overall")]
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
    parser.add_argument("--rgb", type=Path, action="append", default=[], help="*_fact.json")
    parser.add_argument("--ragchecker", type=Path, help="checking_outputs.json")
    chosen = parser.parse_args()
    for name in ("dev", "held_out") if chosen.set == "both" else (chosen.set,):
        lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        print(describe(f"{name}.jsonl", [json.loads(line) for line in lines]))
    for path in chosen.rgb:
        print(describe(path.name, rgb(path)))
    if chosen.ragchecker:
        print(describe(chosen.ragchecker.name, ragchecker(chosen.ragchecker)))


if __name__ == "__main__":
    main()
