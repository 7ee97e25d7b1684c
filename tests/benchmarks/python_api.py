"""``rag_monitor.evaluate`` beside ``ragas.evaluate`` and RAGChecker: differences, wall time, CPU.

One labelled set, and one server that derives every verdict from (claim, text) alone, as in
``judge_cost.py``: all clients must come to the same scores. Then rows at 50 ms a call, 16 at a
time: ours and ragas's own ``evaluate`` in turns within one run, each in a process of its own that
has scored eight other rows before. Medians of the turns, with their spread; how busy the whole
machine was stands beside each.

    python -m tests.benchmarks.python_api [--full] [--rows N] [--turns N] [--without ragas]

Without ``--full`` 24 rows are compared and 48 timed; with it 200 and 1,000.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
from collections.abc import Iterable, Sequence
from typing import Final

import psutil

from tests.benchmarks.judging.cases import Case, short_set
from tests.benchmarks.judging.environments import Unavailable, interpreter
from tests.benchmarks.judging.running import Bench, Client, Cost, Load, bench
from tests.benchmarks.judging.truth import Scores, compare, scores, true_judgement

RAGAS: Final = "ragas"
#: What ragas has of our catalogue.
SHARED: Final = "faithfulness,noise_sensitivity_relevant,noise_sensitivity_irrelevant"
LATENCY_MS: Final = 50.0
#: Rows of the turn that does not count.
WARM_UP: Final = 48


def main() -> None:
    """Print the differences, then walls and CPU with their ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--full", action="store_true", help="200 rows compared, 1,000 timed")
    parser.add_argument("--rows", type=int, help="how many are timed")
    parser.add_argument("--turns", type=int, default=3, help="how often each of them is timed")
    parser.add_argument("--without", action="append", choices=(RAGAS, "ragchecker"), default=[])
    options = parser.parse_args()
    compared, timed = (200, 1_000) if options.full else (24, 48)
    rows = _rows(options.rows or timed)
    rivals = list(_rivals(options.without))
    with bench([*short_set(), *rows], short_set(seed=2)[:8]) as server:
        _differences(server, short_set()[:compared], rivals)
        timed_rivals = [client for client in rivals if client.name == "ragas.evaluate"]
        _walls(server, rows, options.turns, timed_rivals)


def _rows(n: int) -> list[Case]:
    """So many of the short set, which is drawn anew for every 200 of them."""
    drawn = (
        dataclasses.replace(
            case, interaction={**case.interaction, "interaction_id": f"{seed}-{case.id}"}
        )
        for seed in range(100, 100 + -(-n // 200))
        for case in short_set(seed=seed)
    )
    return [case for _, case in zip(range(n), drawn, strict=False)]


def _rivals(without: Iterable[str]) -> Iterable[Client]:
    scripts = {
        RAGAS: [("ragas.evaluate", "client_ragas", "evaluate")],
        "ragchecker": [("RAGChecker", "client_ragchecker", "")],
    }
    for name, clients in scripts.items():
        if name in without:
            continue
        try:
            python = interpreter(name)
        except Unavailable as error:
            print(f"NOT MEASURED  {error}")
            continue
        for label, script, variant in clients:
            yield Client(label, script, python, variant)


def _differences(server: Bench, cases: Sequence[Case], rivals: Sequence[Client]) -> None:
    truth: Scores = {case.id: scores(true_judgement(case)) for case in cases}
    ours = server.run(Client("rag_monitor.evaluate", "client_api"), Load(tuple(cases)))
    print(f"scores that differ (bar 0), over {len(cases)} rows:")
    _compared("rag_monitor.evaluate, the labels", truth, ours.scores)
    for client in rivals:
        found = server.run(client, Load(tuple(cases)))
        _compared(f"rag_monitor.evaluate, {client.name}", ours.scores, found.scores)


def _compared(name: str, one: Scores, other: Scores) -> None:
    found = compare(one, other)
    print(
        f"{name:45} {found.different} of {found.compared} ({found.metrics} metrics;"
        f" {found.undefined} without a value in one)  {'MISSED' if found.different else 'ok'}",
        flush=True,
    )


def _walls(server: Bench, rows: Sequence[Case], turns: int, rivals: Sequence[Client]) -> None:
    """Each client once to warm up, then all of them in turns: another one begins each time."""
    load = Load(tuple(rows), 16, LATENCY_MS)
    clients = [
        Client("rag_monitor.evaluate, 3 metrics", "client_api", variant=SHARED),
        Client("rag_monitor.evaluate, the whole catalogue", "client_api"),
        *rivals,
    ]
    for client in clients:
        server.run(client, Load(tuple(rows[:WARM_UP]), 16, LATENCY_MS))
    costs: dict[str, list[Cost]] = {client.name: [] for client in clients}
    print(f"{len(rows)} rows, {LATENCY_MS:g} ms a call, 16 at a time; {turns} turns, by turn:")
    for turn in range(turns):
        for client in clients[turn % len(clients) :] + clients[: turn % len(clients)]:
            psutil.cpu_percent()  # from here on
            cost = server.run(client, load)
            busy = psutil.cpu_percent() / 100
            costs[client.name].append(cost)
            print(
                f"{turn + 1} {client.name:43} {cost.wall_s:8.2f} s wall"
                f" {_cpu_s(cost, rows):8.2f} s CPU   {busy:.0%} of the machine was busy",
                flush=True,
            )
    print(f"median (least–most): {'wall s':>33} {'CPU s':>25} {'calls a row':>14}")
    for name, of in costs.items():
        walls, cpus = [cost.wall_s for cost in of], [_cpu_s(cost, rows) for cost in of]
        calls = statistics.median(cost.calls for cost in of)
        print(f"{name:43} {_spread(walls)} {_spread(cpus)} {calls:9.2f}")
    for client in rivals:
        _ratios(client.name, costs[clients[0].name], costs[client.name])


def _ratios(name: str, ours: Sequence[Cost], theirs: Sequence[Cost]) -> None:
    """Of the medians, and the least and the most that two turns beside each other had."""
    print(f"{name} / ours, 3 metrics:", end="")
    for what in ("wall_s", "cpu_ms", "calls"):
        one, other = ([getattr(cost, what) for cost in of] for of in (ours, theirs))
        each = [b / a for a, b in zip(one, other, strict=True)]
        ratio = statistics.median(other) / statistics.median(one)
        print(f"  {what.split('_')[0]} {ratio:.1f} ({min(each):.1f}–{max(each):.1f})", end="")
    print()


def _cpu_s(cost: Cost, rows: Sequence[Case]) -> float:
    return cost.cpu_ms * len(rows) / 1e3


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):8.2f} ({min(values):6.2f}–{max(values):6.2f})"


if __name__ == "__main__":
    main()
