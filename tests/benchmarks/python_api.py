"""``rag_monitor.evaluate`` beside ``ragas.evaluate`` and RAGChecker: differences, wall time, CPU.

One labelled set, and one server that derives every verdict from (claim, text) alone, as in
``judge_cost.py``: all clients must come to the same scores. Then rows at 50 ms a call, 16 at a
time, ours and ragas's own ``evaluate`` in turns within one run.

    python -m tests.benchmarks.python_api [--full] [--rows N] [--without ragas]

Without ``--full`` 24 rows are compared and 48 timed; with it 200 and 1,000.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Final

from tests.benchmarks.judging.cases import Case, short_set
from tests.benchmarks.judging.environments import Unavailable, interpreter
from tests.benchmarks.judging.running import Bench, Client, Load, bench
from tests.benchmarks.judging.truth import Scores, compare, scores, true_judgement

RAGAS: Final = "ragas"
#: What ragas has of our catalogue.
SHARED: Final = "faithfulness,noise_sensitivity_relevant,noise_sensitivity_irrelevant"
LATENCY_MS: Final = 50.0


def main() -> None:
    """Print the differences, then walls and CPU with their ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--full", action="store_true", help="200 rows compared, 1,000 timed")
    parser.add_argument("--rows", type=int, help="how many are timed")
    parser.add_argument("--without", action="append", choices=(RAGAS, "ragchecker"), default=[])
    options = parser.parse_args()
    compared, timed = (200, 1_000) if options.full else (24, 48)
    rows = _rows(options.rows or timed)
    rivals = list(_rivals(options.without))
    with bench([*short_set(), *rows], short_set(seed=2)[:8]) as server:
        _differences(server, short_set()[:compared], rivals)
        _walls(server, rows, [client for client in rivals if client.name == "ragas.evaluate"])


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


def _walls(server: Bench, rows: Sequence[Case], rivals: Sequence[Client]) -> None:
    load = Load(tuple(rows), 16, LATENCY_MS)
    print(f"{len(rows)} rows, {LATENCY_MS:g} ms a call, 16 at a time:")
    print(f"{'':45} {'wall s':>8} {'CPU s':>8} {'calls a row':>12}")
    clients = [
        Client("rag_monitor.evaluate, 3 metrics", "client_api", variant=SHARED),
        Client("rag_monitor.evaluate, the whole catalogue", "client_api"),
        *rivals,
    ]
    costs = {}
    for client in clients:
        cost = costs[client.name] = server.run(client, load)
        cpu = cost.cpu_ms * len(rows) / 1e3
        print(f"{client.name:45} {cost.wall_s:8.2f} {cpu:8.2f} {cost.calls:12.2f}", flush=True)
    ours = costs[clients[0].name]
    for client in rivals:
        theirs = costs[client.name]
        print(
            f"{client.name} / ours: wall {theirs.wall_s / ours.wall_s:.1f}, CPU"
            f" {theirs.cpu_ms / ours.cpu_ms:.1f}, calls {theirs.calls / ours.calls:.1f}"
        )


if __name__ == "__main__":
    main()
