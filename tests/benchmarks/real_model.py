"""A real model behind the judge: are its replies accepted, are they right, what do they cost?

    python -m tests.benchmarks.real_model --api-base http://127.0.0.1:8080/v1 [--model NAME]
        [--pairs 60] [--groups 0] [--claims 1] [--pipelines joint single ragas]
        [--structured prompt json_schema] [--examples fixed shaped] [--out replies.jsonl]

Nothing is fetched: the model is whatever is served at the address. ``--pairs`` are of the shipped
labelled pairs, one claim each, evenly from all phenomena. ``--groups`` are made of the same, 12
claims by 3 passages; ``--claims`` are asked in one call. Two lists of settings are all combined.
A small model on a CPU takes 3 to 30 s a pair. Balanced accuracy is over what was judged, with its
95 % interval (bootstrap by interaction, seed 1).
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final, TextIO

from monitor.errors import JudgeFailed
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.pipeline.identity import LlmSettings
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, Passage, Source, Usage

PAIRS: Final = Path(__file__).parents[2] / "monitor" / "judge_check" / "labelled_pairs.jsonl"
#: Passages of a group; each has four claims of its own.
IN_GROUP: Final = 3


@dataclass(frozen=True)
class Labelled:
    """An interaction, its claims, and by claim and passage whether that supports it.

    One row for each claim; of a pair a single entry, about all of its passages.
    """

    interaction: Interaction
    claims: tuple[str, ...]
    labels: tuple[tuple[bool, ...], ...]
    by_context: bool


@dataclass
class Found:
    """What a run has found; ``hits`` are (label, verdict), interaction by interaction."""

    asked: int = 0
    first_accepted: int = 0
    judged: int = 0
    hits: list[list[tuple[bool, bool]]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    wall_s: float = 0.0


def main() -> None:
    """Print a row for each combination."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--api-base", required=True)
    parser.add_argument("--model", default="local")
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--groups", type=int, default=0)
    parser.add_argument("--claims", type=int, nargs="+", default=[1])
    parser.add_argument("--pipelines", nargs="+", default=["joint", "single", "ragas"])
    parser.add_argument("--structured", nargs="+", default=["prompt", "json_schema"])
    parser.add_argument("--examples", nargs="+", default=["fixed", "shaped"])
    parser.add_argument("--out", type=Path, help="a file for what each interaction came to")
    options = parser.parse_args()
    rows = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    sets = {"pairs": pairs(rows, options.pairs), "groups": groups(rows, options.groups)}
    head = ("set", "pipeline", "structured", "examples", "claims", "first reply", "judged")
    print(
        *map("{:>11}".format, head), "balanced accuracy     tokens in + out    s each", flush=True
    )
    combined = itertools.product(
        sets, options.pipelines, options.structured, options.examples, options.claims
    )
    with (options.out or Path("/dev/null")).open("a", encoding="utf-8") as out:
        for name, pipeline, structured, examples, claims in combined:
            if not sets[name] or (name == "pairs" and claims != options.claims[0]):
                continue
            how = {"pipeline": pipeline, "structured": structured, "examples": examples}
            settings = _settings(options, {**how, "claims_per_call": claims})
            found = asyncio.run(run(settings, sets[name], out))
            print(*map("{:>11}".format, (name, *how.values(), claims)), _row(found), flush=True)


def _settings(options: argparse.Namespace, how: dict[str, Any]) -> LlmSettings:
    return LlmSettings(
        model=options.model,
        api_base=options.api_base,
        attempt_timeout_s=900.0,
        retries=0,
        max_calls=1_000,
        calls_at_once=1,
        **how,
    )


def pairs(rows: Sequence[dict[str, Any]], n: int) -> list[Labelled]:
    """So many of the pairs, at equal distances."""
    step = max(1, len(rows) // max(1, n))
    return [
        Labelled(
            _interaction(row["id"], row["claim"], row["passages"]),
            (row["claim"],),
            ((row["supported"],),),
            by_context=True,
        )
        for row in rows[::step][:n]
    ]


def groups(rows: Iterable[dict[str, Any]], n: int) -> list[Labelled]:
    """So many interactions of three passages with all their claims."""
    by_passage: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if len(row["passages"]) == 1:
            by_passage.setdefault(row["passages"][0], []).append(row)
    passages = list(by_passage)
    found = []
    for i in range(0, len(passages) - IN_GROUP + 1, IN_GROUP):
        chosen = passages[i : i + IN_GROUP]
        claims = [(row, passage) for passage in chosen for row in by_passage[passage]]
        texts = tuple(row["claim"] for row, _ in claims)
        labels = tuple(
            tuple(passage == own and row["supported"] for passage in chosen) for row, own in claims
        )
        made = _interaction(f"group-{i}", " ".join(texts), chosen)
        found.append(Labelled(made, texts, labels, by_context=False))
    return found[:n]


def _interaction(name: str, response: str, passages: Iterable[str]) -> Interaction:
    return Interaction(
        interaction_id=name,
        event_time=datetime(2026, 1, 1, tzinfo=UTC),
        application="real-model",
        user_input="",
        response=response,
        retrieved_contexts=tuple(Passage(text=text) for text in passages),
        source=Source(topic="none", partition=0, offset=0),
    )


async def run(settings: LlmSettings, labelled: Sequence[Labelled], out: TextIO) -> Found:
    """Judge all, one after the other."""
    judge, found, began = LlmJudge(settings), Found(), time.perf_counter()
    await judge.prepare()
    for about in labelled:
        spent, verdicts = CostMeter(), None
        try:
            judgement = await judge.judge(about.interaction, spent, Claims(response=about.claims))
            said = judgement.verdicts
            verdicts = (
                [(held,) for held in said.response_by_context]
                if about.by_context
                else list(said.response_by_passage)
            )
        except JudgeFailed as failure:
            why: str | None = str(failure)
        else:
            why = None
            found.judged += 1
            flat = itertools.chain.from_iterable
            found.hits.append(list(zip(flat(about.labels), flat(verdicts), strict=True)))
        found.asked += 1
        found.first_accepted += not spent.refused.total()
        found.usage += spent.usage
        shown = {"id": about.interaction.interaction_id, "verdicts": verdicts, "failed": why}
        refused, version = dict(spent.refused), judge.identity.version
        out.write(json.dumps({**shown, "refused": refused, "judge": version}) + "\n")
        out.flush()
    found.wall_s = time.perf_counter() - began
    await judge.aclose()
    return found


def balanced(hits: Iterable[Sequence[tuple[bool, bool]]]) -> float | None:
    """The mean of both shares of right verdicts; None where a label is missing."""
    right, all_ = {True: 0, False: 0}, {True: 0, False: 0}
    for label, verdict in itertools.chain.from_iterable(hits):
        right[label] += label == verdict
        all_[label] += 1
    return sum(right[x] / all_[x] for x in all_) / 2 if all(all_.values()) else None


def _row(found: Found) -> str:
    accuracy, rng = balanced(found.hits), Random(1)
    drawn = [
        balanced(rng.choices(found.hits, k=len(found.hits))) for _ in range(2_000 * bool(accuracy))
    ]
    spread = sorted(value for value in drawn if value is not None)
    shown = "none"
    if accuracy is not None and spread:
        low, high = spread[len(spread) // 40], spread[-1 - len(spread) // 40]
        shown = f"{accuracy:.3f} [{low:.2f}, {high:.2f}]"
    n, usage = max(1, found.asked), found.usage
    return (
        f"{found.first_accepted / n:>11.0%} {found.judged:>5} of {n:<3} {shown:<21}"
        f" {usage.prompt_tokens / n:>7,.0f} + {usage.completion_tokens / n:<5,.0f}"
        f" {found.wall_s / n:>8.1f}"
    )


if __name__ == "__main__":
    main()
