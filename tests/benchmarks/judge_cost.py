"""What a judgement costs, side by side with ragas 0.4.3 and RAGChecker 0.1.9.

One labelled set (200 interactions, English and Chinese, 20 of them with a claim that only two
passages together support), a second one with 5 passages of 400 tokens, and one server that derives
every verdict from (claim, text) alone, so that all clients must come to the same scores.

    python -m tests.benchmarks.judge_cost [--full] [--without ragas] [--without ragchecker]

Without ``--full`` 48 interactions of the first set and 8 of the second are judged, and walls are
measured for fewer. The rivals live in environments of their own, which are made from
``requirements/benchmarks/*.txt`` at the first run; where no package registry can be reached, that
is said, and the bars against them are not measured. Tokens of all clients are counted by the
server with one tokenizer, cl100k_base as litellm ships it.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Final

from monitor.judge.pipeline.prompts import load_prompts
from tests.benchmarks.judging.cases import Case, long_set, short_set
from tests.benchmarks.judging.environments import Unavailable, interpreter
from tests.benchmarks.judging.running import Bench, Client, Cost, Load, bench
from tests.benchmarks.judging.truth import Scores, compare, scores, true_judgement
from tests.tokens import count_tokens

RIVALS: Final = ("ragas", "ragchecker")
OURS: Final = (
    Client("joint, cold", "client_ours", variant="joint/12"),
    Client("joint, warm", "client_ours", variant="joint/12", primers="warm"),
    Client("joint, no reference", "client_ours", variant="joint/12"),
    Client("joint by 8, cold", "client_ours", variant="joint/8"),
    Client("joint by 8, warm", "client_ours", variant="joint/8", primers="warm"),
    Client("single", "client_ours", variant="single/12"),
    Client("ragas pipeline", "client_ours", variant="ragas/12"),
    Client("pairs", "client_ours", variant="pairs/12"),
)
SHIFTED: Final = Client("joint, verdicts shifted by one", "client_ours", variant="joint/12/shifted")
REPLAYED: Final = Client(
    "joint without litellm", "client_ours", variant="joint/12/replayed", primers="cases"
)

TIMED: Final = ("joint, cold", "joint, warm", "ragas")


@dataclasses.dataclass(frozen=True, slots=True)
class Size:
    """How much is done."""

    short: int
    long: int
    rounds: int
    #: Interactions by how many at a time.
    walls: Mapping[int, int]


QUICK: Final = Size(short=48, long=8, rounds=3, walls={1: 4, 16: 16, 64: 64})
FULL: Final = Size(short=200, long=40, rounds=3, walls={1: 20, 16: 100, 64: 200})


def main() -> None:
    """Print the tables and the bars."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all interactions")
    parser.add_argument("--without", action="append", choices=RIVALS, default=[])
    options = parser.parse_args()
    size = FULL if options.full else QUICK
    rivals = _rivals(options.without)
    short, long = short_set(), long_set(count_tokens)
    # Others than those that are measured: they only warm up what is imported and set up late.
    with bench([*short, *long], short_set(seed=2)[:16]) as server:
        _describe("short set", short)
        costs = _table(server, _some(short, size.short), rivals, size.rounds)
        _differences(costs, short)
        _bars(costs, "short")
        _describe("long set", long)
        costs = _table(server, _some(long, size.long), rivals, 1, OURS[:2])
        _differences(costs, long)
        _bars(costs, "long")
        _walls(server, short, rivals, size)


def _rivals(without: Iterable[str]) -> list[Client]:
    """The clients that can be run here."""
    found = []
    for name in RIVALS:
        if name in without:
            continue
        try:
            python = interpreter(name)
        except Unavailable as error:
            print(f"NOT MEASURED  {error}")
            continue
        found += _of(name, python)
    return found


def _of(name: str, python: Path) -> list[Client]:
    if name == "ragas":
        return [
            Client("ragas", "client_ragas", python, "collections"),
            Client("ragas, legacy metrics", "client_ragas", python, "legacy"),
        ]
    return [
        Client("RAGChecker", "client_ragchecker", python),
        Client("RAGChecker, warm", "client_ragchecker", python, "warm", "warm"),
    ]


def _some(cases: list[Case], n: int) -> tuple[Case, ...]:
    """So many of them, the same every time, in their order."""
    return tuple(cases[i] for i in sorted(Random(1).sample(range(len(cases)), n)))


def _describe(name: str, cases: list[Case]) -> None:
    n = len(cases)
    passages = sum(len(case.passages) for case in cases) / n
    tokens = sum(count_tokens(t) for c in cases for t in c.interaction["retrieved_contexts"]) / n
    claims = sum(len(case.response) + len(case.reference) for case in cases) / n
    together = sum(case.together is not None for case in cases)
    print(
        f"\n{name}: {n} interactions, on average {passages:.2f} passages with {tokens:,.0f} tokens"
        f" in all and {claims:.2f} claims; in {together} a claim that needs two passages"
    )


def _without_reference(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    return tuple(
        dataclasses.replace(case, interaction={**case.interaction, "reference": None})
        for case in cases
    )


def _table(
    server: Bench,
    cases: tuple[Case, ...],
    rivals: list[Client],
    rounds: int,
    ours: tuple[Client, ...] = OURS,
) -> dict[str, Cost]:
    """Run all clients in turn, those of ``TIMED`` so many times; keep the least CPU of each."""
    found: dict[str, Cost] = {}
    everybody = (*ours, REPLAYED, SHIFTED, *rivals)
    # More rounds for those whose CPU is compared: others use this machine, too.
    again = tuple(client for client in everybody if client.name in TIMED)
    for clients in (everybody, *[again] * (rounds - 1)):
        for client in clients:
            chosen = _without_reference(cases) if "no reference" in client.name else cases
            cost = server.run(client, Load(chosen))
            known = found.get(client.name)
            if known is None or cost.cpu_ms < known.cpu_ms:
                found[client.name] = cost
    print(f"for each of {len(cases)} interactions, 16 at a time, no latency:")
    print(f"{'':31} {'calls':>6} {'instr.':>7} {'variable':>9} {'schema':>7} {'compl.':>7}"
          f" {'tokens':>7} {'CPU ms':>7}")  # fmt: skip
    for name, cost in found.items():
        print(
            f"{name:31} {cost.calls:6.2f} {cost.instructions:7,.0f} {cost.variable:9,.0f}"
            f" {cost.schema:7,.0f} {cost.completion:7,.0f} {cost.total:7,.0f} {cost.cpu_ms:7.1f}"
            + (f"  {cost.refused} REFUSED" if cost.refused else "")
        )
    return found


def _differences(costs: Mapping[str, Cost], cases: list[Case]) -> None:
    truth: Scores = {case.id: scores(true_judgement(case)) for case in cases}
    print("scores that differ from the labels' own (bar 0), and of the shifted client (bar > 0):")
    for name, cost in costs.items():
        if name in (REPLAYED.name, "joint, no reference"):
            continue
        found = compare(truth, cost.scores)
        fails = found.different == 0 if name == SHIFTED.name else found.different > 0
        print(
            f"{name:31} {found.different} of {found.compared} ({found.metrics} metrics;"
            f" {found.undefined} undefined in ours)  {'MISSED' if fails else 'ok'}"
        )


def _bars(costs: Mapping[str, Cost], which: str) -> None:
    cold, warm = costs["joint, cold"], costs["joint, warm"]
    if which == "short":
        _bar("calls, cold", cold.calls, 3.0)
        _bar("calls, with a cached reference", warm.calls, 2.0)
        _bar("calls, without a reference", costs["joint, no reference"].calls, 2.0)
        _bar("variable prompt tokens", cold.variable, 600)
        _bar("completion tokens", cold.completion, 210)
        prompts = load_prompts()
        extract, verify = prompts.longest("extract_claims"), prompts.longest("verify_claims")
        both = count_tokens(extract) + count_tokens(verify)
        _bar("instructions (extract + verify)", both, 1250, least=700)
    against: dict[str, dict[str, tuple[float, float | None]]] = {
        "short": {"ragas": (14, 10.5), "RAGChecker": (2.5, None)},
        "long": {"RAGChecker": (3, None)},
    }
    for rival, (by_warm, by_cold) in against[which].items():
        if rival not in costs:
            print(f"{'tokens against ' + rival:44} NOT MEASURED")
            continue
        other = costs[rival].total
        _bar(f"tokens of {rival} / ours, warm", other / warm.total, None, least=by_warm)
        if by_cold is not None:
            _bar(f"tokens of {rival} / ours, cold", other / cold.total, None, least=by_cold)
    if which == "short":
        _cpu_bars(costs, cold, warm)


def _cpu_bars(costs: Mapping[str, Cost], cold: Cost, warm: Cost) -> None:
    if "ragas" in costs:
        for name, ours in (("cold", cold), ("warm", warm)):
            _bar(
                f"CPU of ragas / ours, {name}", costs["ragas"].cpu_ms / ours.cpu_ms, None, least=10
            )
    own = costs[REPLAYED.name].cpu_ms
    print(
        f"client CPU of joint, cold: {cold.cpu_ms:.1f} ms, of which litellm and what it stands on"
        f" {cold.cpu_ms - own:.1f} ms ({1 - own / cold.cpu_ms:.0%}) and ours {own:.2f} ms"
    )


def _bar(what: str, value: float, most: float | None, *, least: float | None = None) -> None:
    low = least is None or value >= least
    fine = low and (most is None or value <= most)
    limits = " to ".join(f"{x:,g}" for x in (least, most) if x is not None)
    kind = "bar" if most is None or least is not None else "bar at most"
    print(f"{what:44} {value:8,.2f}  {kind} {limits}  {'ok' if fine else 'MISSED'}")


def _walls(server: Bench, cases: list[Case], rivals: list[Client], size: Size) -> None:
    """How long it takes, by latency and concurrency; and how many calls follow one another."""
    print("\nwall seconds (calls one after another for an interaction), short set:")
    clients = [OURS[0], OURS[1], *(client for client in rivals if client.primers != "warm")]
    print(f"{'latency ms, at a time, of':31}", "".join(f"{c.name:>23}" for c in clients))
    for latency_ms in (0.0, 50.0):
        for concurrency, n in size.walls.items():
            load = Load(_some(cases, n), concurrency, latency_ms)
            costs = [server.run(client, load) for client in clients]
            chain = latency_ms > 0 and concurrency == 1
            shown = [
                f"{cost.wall_s:.2f}" + (f" ({cost.sequential:.1f})" if chain else "")
                for cost in costs
            ]
            row = f"{latency_ms:.0f} ms, {concurrency}, {n} interactions"
            print(f"{row:31}", "".join(f"{cell:>23}" for cell in shown), flush=True)
            if chain:
                _bar("sequential calls, cold", costs[0].sequential, 2.0)


if __name__ == "__main__":
    main()
