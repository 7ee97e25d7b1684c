"""A real model behind the judge: are its replies accepted, are they right, what do they cost?

    python -m tests.benchmarks.real_model --api-base http://127.0.0.1:8080/v1 [--model NAME]
    python -m tests.benchmarks.real_model --path MODEL.gguf [--threads 2]
        [--pairs 60] [--groups 0] [--references 0] [--mixed 0] [--canaries 0] [--claims 1 4 8 12]
        [--pipelines joint single ragas pairs] [--rivals bare ragas]
        [--structured prompt json_schema] [--examples fixed shaped] [--replies replies.jsonl]

No model is fetched: it is whatever is served at the address, or lies in the file, which llama.cpp
then serves (``.venv-llama``, made from ``requirements/benchmarks/llama.txt``).

``--pairs`` are of the shipped labelled pairs, one claim each, evenly from all phenomena.
``--groups`` are made of the same, 12 claims by 3 passages. ``--references`` are interactions with
references, of the benchmark of costs. ``--mixed`` are so many of each of the three in turns, asked
of one judge: with ``--examples auto`` it learns from them as it does from traffic. ``--canaries``
are those of the package. ``--claims`` are asked in one call. Lists of settings are all combined.
``--rivals`` are asked about the same pairs: one bare question, and ragas' own prompt by ragas' own
client, in lists of ``--claims``.

A small model on a CPU takes 3 to 30 s a pair. With ``--replies`` every reply is kept in that file,
and not asked for again: a run goes on where it was cut. Seconds are those of the model, also of
replies that were kept. Balanced accuracy and AUC are over what was judged, with their 95 % interval
(bootstrap by interaction, seed 1).
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from monitor.errors import JudgeFailed
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.manner import Examples, MannerChoice
from monitor.judge.pipeline.identity import LlmSettings
from monitor.judge.protocol import CostMeter
from monitor.stats.guessing import Guessing, after
from tests.benchmarks.judging.environments import Unavailable
from tests.benchmarks.modelled import rivals
from tests.benchmarks.modelled.figures import Found, row
from tests.benchmarks.modelled.recording import RecordingServer
from tests.benchmarks.modelled.serving import served
from tests.benchmarks.modelled.sets import (
    Labelled,
    asked_canaries,
    groups,
    mixed,
    pairs,
    referenced,
)

SETS: Final[dict[str, Callable[[int], list[Labelled]]]] = {
    "pairs": pairs,
    "groups": groups,
    "references": referenced,
    "mixed": mixed,
    "canaries": asked_canaries,
}
PIPELINES: Final = ("joint", "single", "ragas", "pairs")
#: Sets in which all claims of an interaction fit one call, whatever is allowed.
_SMALL: Final = ("pairs", "canaries")
_HEAD: Final = (
    " first judged    balanced accuracy     AUC                    calls  tokens in + out  s each"
)


def main() -> None:
    """Print a row for each combination."""
    options = _parser().parse_args()
    try:
        with ExitStack() as stack:
            if options.path is not None:
                options.api_base = stack.enter_context(served(options.path, options.threads))
            if options.api_base is None:
                raise Unavailable("no model: give --path MODEL.gguf, or --api-base of a server")
            asyncio.run(_all(options))
    except Unavailable as why:
        print(f"NOT MEASURED  {why}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--api-base", help="of whatever serves the model; without it nothing is run"
    )
    parser.add_argument("--path", type=Path, help="a model as a GGUF file, to be served here")
    parser.add_argument("--threads", type=int, default=2, help="that llama.cpp computes with")
    parser.add_argument("--model", default="local")
    parser.add_argument("--pairs", type=int, default=60)
    for name in ("groups", "references", "mixed", "canaries"):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--claims", type=int, nargs="+", default=[1])
    parser.add_argument("--pipelines", nargs="*", default=PIPELINES, choices=PIPELINES)
    parser.add_argument("--rivals", nargs="*", default=[], choices=("bare", "ragas"))
    parser.add_argument("--structured", nargs="+", default=["prompt", "json_schema"])
    parser.add_argument("--examples", nargs="+", default=["fixed", "shaped"])
    parser.add_argument("--replies", type=Path, help="a file that keeps the model's replies")
    return parser


async def _all(options: argparse.Namespace) -> None:
    head = ("set", "asked by", "structured", "examples", "claims")
    print(*map("{:>11}".format, head), _HEAD, flush=True)
    async with RecordingServer(options.api_base, options.replies) as server:
        for name, make in SETS.items():
            labelled = make(wanted) if (wanted := getattr(options, name)) else []
            for shown, ask in _ways(options, name, server, labelled) if labelled else ():
                before = server.seconds
                try:
                    found = await ask()
                except Unavailable as why:
                    print(f"NOT MEASURED  {why}")
                    continue
                found.seconds = server.seconds - before
                print(*map("{:>11}".format, (name, *shown)), row(found), flush=True)
                if name == "canaries":
                    print(" " * 12 + guessing(found))


Way = tuple[tuple[str, str, str, int], Callable[[], Awaitable[Found]]]


def _ways(
    options: argparse.Namespace, name: str, server: RecordingServer, labelled: list[Labelled]
) -> Iterator[Way]:
    """Whom to ask, and how."""
    sizes = options.claims[:1] if name in _SMALL else options.claims
    combined = itertools.product(options.pipelines, options.structured, options.examples, sizes)
    for pipeline, structured, examples, size in combined:
        # A reply of one word has no format, no example and no second claim.
        first = options.structured[0], options.examples[0], sizes[0]
        if pipeline == "pairs" and (structured, examples, size) != first:
            continue
        how = {"pipeline": pipeline, "structured": structured, "examples": examples}
        settings = _settings(options.model, server.url, {**how, "claims_per_call": size})
        shown = ("-", "-", 1) if pipeline == "pairs" else (structured, examples, size)
        yield (pipeline, *shown), partial(run, settings, labelled)
    alike = all(each.asked for each in labelled)
    for size in sizes if alike and "ragas" in options.rivals else ():
        told = partial(rivals.ragas, server.url, options.model, labelled, size)
        yield ("ragas' own", "-", "-", size), told
    if alike and "bare" in options.rivals:
        yield ("bare", "-", "-", 1), partial(rivals.bare, server.url, options.model, labelled)


def _settings(model: str, url: str, how: dict[str, Any]) -> LlmSettings:
    return LlmSettings(
        model=model,
        api_base=url,
        attempt_timeout_s=1_800.0,
        retries=0,
        max_calls=1_000,
        calls_at_once=1,
        **how,
    )


async def run(settings: LlmSettings, labelled: Sequence[Labelled]) -> Found:
    """Judge all, one after the other."""
    heard, found = _CountedReplies(settings.examples), Found()
    judge = LlmJudge(settings, manner=heard)
    await judge.prepare()
    for about in labelled:
        spent = CostMeter()
        found.asked += 1
        try:
            judgement = await judge.judge(about.interaction, spent, about.claims)
        except JudgeFailed:
            pass
        else:
            found.judged += 1
            found.hits.append(list(zip(about.labels, about.read(judgement), strict=True)))
            if weights := about.scored(judgement):
                found.weights.append(list(zip(about.labels, weights, strict=True)))
        found.usage += spent.usage
    await judge.aclose()
    found.firsts, found.accepted = heard.replies.total(), heard.replies[False]
    return found


class _CountedReplies(MannerChoice):
    """Counts first replies by whether they were refused."""

    def __init__(self, wanted: Examples) -> None:
        super().__init__(wanted)
        self.replies = Counter[bool]()

    def observe(
        self, task: str, changes: int, *, refused: bool, several: bool = False, shape: str = ""
    ) -> None:
        self.replies[refused] += 1
        super().observe(task, changes, refused=refused, several=several, shape=shape)


def guessing(found: Found) -> str:
    """What the monitor would say of a judge with these verdicts on canaries, in their order."""
    whole = sum(all(label == verdict for label, verdict in hits) for hits in found.hits)
    counted = f"{whole} of {len(found.hits)} canaries wholly right"
    state = Guessing()
    for n, hits in enumerate(found.hits, 1):
        right = sum(label == verdict for label, verdict in hits)
        state = after(state, right, len(hits))
        if state.is_guessing:
            return f"answers, but does not judge: found at canary {n}; {counted}"
    return f"judges; {counted}"


if __name__ == "__main__":
    main()
