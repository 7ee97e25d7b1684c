"""The labelled pairs at hand, and the plain overlap that the offline judge is held against."""

from __future__ import annotations

import json
from pathlib import Path

from monitor.judge.offline.overlap import gather, shared
from monitor.judge.offline.sentences import read_sentence, read_text
from monitor.judge_check.shipped import shipped_pairs

DATA = Path(__file__).parents[1] / "data" / "claim_pairs"

Pair = tuple[str, str, bool]
"""Claim, text, and whether the one follows from the other."""


def plain_share(claim: str, text: str) -> float:
    """How much of a claim the best one or two sentences hold; no rule looks at what differs."""
    evidence = gather(read_sentence(claim), read_text(text))
    return 0.0 if evidence is None else shared(evidence)


def labelled_pairs(name: str) -> list[Pair]:
    """Of a file in ``tests/data/claim_pairs``, or those that come with the package: ``shipped``."""
    if name == "shipped":
        rows = [json.loads(line) for line in shipped_pairs().splitlines()]
        texts = ["\n".join(row.get("passages") or [row["passage"]]) for row in rows]
        return [(r["claim"], text, r["supported"]) for r, text in zip(rows, texts, strict=True)]
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [(row["claim"], row["passage"], row["supported"]) for row in rows]
