"""What each client runs in, whichever environment it comes from; standard library only.

A client is a script with ``main(Client)``, where a client judges a list of interactions, so many at
a time, and gives their scores by id. It is called first with the primers, which are not measured:
they import what is imported late, open connections and fill caches.
"""

from __future__ import annotations

import argparse
import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

Scores = dict[str, dict[str, float | None]]
#: (interactions, how many at a time) → scores by interaction id.
Judge = Callable[[list[dict[str, Any]], int], Scores]


def main(make: Callable[[argparse.Namespace], Judge]) -> None:
    """Judge the primers, then measure; writes scores, CPU and wall seconds to ``--out``."""
    options = _parser().parse_args()
    judge = make(options)
    judge(_read(options.primers), options.concurrency)
    begin(options.url, options.latency_ms)
    cpu, wall = time.process_time(), time.perf_counter()
    scores = judge(_read(options.cases), options.concurrency)
    found = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    options.out.write_text(json.dumps({**found, "scores": scores}), encoding="utf-8")


def begin(url: str, latency_ms: float) -> None:
    """From here on the server counts."""
    request = urllib.request.Request(f"{url}/begin?latency_ms={latency_ms:g}", method="POST")
    with urllib.request.urlopen(request, timeout=30) as response:
        response.read()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True, help="of the server, without /v1")
    parser.add_argument("--cases", type=Path, required=True, help="native JSONL")
    parser.add_argument("--primers", type=Path, required=True, help="native JSONL")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--variant", default="", help="what the client makes of it")
    return parser


def _read(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
