"""The chaos run in its long form, and its two companions, with printed figures.

``python -m tests.benchmarks.chaos [chaos | naive | rolling]``: 20,000 interactions, three scorers,
30 SIGKILLs, 20 SIGTERMs and 5 broker restarts; the same for a scorer that commits its position,
which must lose records; a rolling restart under steady traffic. Exit code 1 when something is not
as it must be. A real Kafka broker is needed (``.ci/fetch-kafka``).

``--blocks 32``: one judgement for each slot of a block; ``--blocks 32 16 64 1``: each new scorer
takes the next length; ``--restless 1 8 32 128``: each takes another of these lengths at random
every two seconds. ``--times 20``: blocks wait for three seconds, and not for sixty. ``--shares 0.3
1``: without longer blocks, each takes another share at random every two seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.stages.chaos.acts import chaos, rolling_restart
from tests.stages.chaos.figures import Figures
from tests.stages.chaos.run import Setup, Stage, run
from tests.stages.chaos.strikes import Blows
from tests.stages.hurried import MODULE as HURRIED
from tests.stages.hurried import hurried

NAIVE = "tests.stages.chaos.naive"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("chaos", "naive", "rolling"), default="chaos")
    parser.add_argument("--interactions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scorers", type=int, default=3)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--terms", type=int, default=20)
    parser.add_argument("--broker-kills", type=int, default=3)
    parser.add_argument("--broker-stops", type=int, default=2)
    parser.add_argument("--bursts", type=int, default=40)
    parser.add_argument("--spread", type=float, default=8.0, help="seconds of a burst")
    parser.add_argument("--judge-latency", type=float, help="an LLM judge over HTTP; seconds")
    parser.add_argument("--rounds", type=int, default=2, help="rolling: times round")
    parser.add_argument("--rate", type=float, default=20.0, help="rolling: interactions a second")
    parser.add_argument(
        "--blocks", type=int, nargs="*", default=[], help="lengths that scorers take in turn"
    )
    parser.add_argument("--restless", type=int, nargs="*", default=[], help="lengths at random")
    parser.add_argument("--times", type=float, default=1.0, help="faster than the blocks' clock")
    parser.add_argument("--shares", type=float, nargs="*", default=[], help="shares at random")
    parser.add_argument("--sampling-rate", type=float, default=1.0, help="share before blocks")
    parser.add_argument("--directory", type=Path, help="where logs and broker data are kept")
    return parser.parse_args()


def act(given: argparse.Namespace) -> Callable[[Stage], Awaitable[None]]:
    """What is done to the stage."""
    if given.what == "rolling":
        return lambda stage: rolling_restart(stage, given.rounds, given.rate)
    blows = Blows(
        given.kills,
        given.terms,
        given.broker_kills,
        given.broker_stops,
        given.bursts,
        given.spread,
    )
    return lambda stage: chaos(stage, blows)


def as_expected(given: argparse.Namespace, figures: Figures) -> bool:
    """Whether nothing is wrong; of the naive scorer, whether it has lost records."""
    if given.what == "naive":
        return bool(figures.topic.lost)
    for fault in figures.faults():
        print(f"FAULT {fault}")
    return not figures.faults()


def main() -> int:
    """Run once and print the figures; the exit code."""
    given = arguments()
    is_hurried = given.restless or given.shares or given.times != 1
    setup = Setup(
        given.interactions,
        given.seed,
        given.judge_latency,
        given.scorers,
        module=NAIVE if given.what == "naive" else HURRIED if is_hurried else "monitor",
        settings={"sampling__rate": given.sampling_rate},
        blocks=(1,) if given.shares else tuple(given.blocks or given.restless),
        shares=tuple(given.shares),
    )
    with (
        hurried(given.times, given.restless, given.shares),
        tempfile.TemporaryDirectory(prefix="chaos-") as temporary,
    ):
        directory = given.directory or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        figures = asyncio.run(run(setup, directory, act(given)))
    print(f"{given.what}, seed {given.seed}\n{figures}", flush=True)
    return 0 if as_expected(given, figures) else 1


if __name__ == "__main__":
    sys.exit(main())
