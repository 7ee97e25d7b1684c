"""Runs a client against the server, in a process of its own, and tells what that has cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.judging.cases import Case, all_labels, primer
from tests.benchmarks.judging.environments import ROOT
from tests.benchmarks.judging.truth import Scores
from tests.servers.guarded import GuardedProcess

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Client:
    """What to run: a script of this folder, in which Python, and what it shall make of it.

    ``primers``: ``cold`` (others, so that only what is imported late is there), ``warm`` (the same
    questions and references with other responses) or ``cases`` (the same interactions).
    """

    name: str
    script: str
    python: Path = Path(sys.executable)
    variant: str = ""
    primers: str = "cold"


@dataclass(frozen=True, slots=True)
class Load:
    """Which cases, how many at a time, and how long each of the server's replies takes."""

    cases: tuple[Case, ...]
    concurrency: int = 16
    latency_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one interaction, on average, but for ``wall_s``, ``peak`` and ``refused``."""

    calls: float
    sequential: float
    instructions: float
    variable: float
    schema: float
    completion: float
    cpu_ms: float
    wall_s: float
    peak: int
    refused: int
    scores: Scores

    @property
    def prompt(self) -> float:
        """All tokens in."""
        return self.instructions + self.variable + self.schema

    @property
    def total(self) -> float:
        """All tokens."""
        return self.prompt + self.completion


class Bench:
    """A running server that knows the labels, and a folder for files."""

    def __init__(self, url: str, folder: Path, others: Sequence[Case]) -> None:
        self.url = url
        self._folder = folder
        self._others = others

    def run(self, client: Client, load: Load) -> Cost:
        """Run a client once. Raises ``RuntimeError`` with its last words if it fails."""
        primers = {
            "cold": self._others,
            "warm": [primer(case) for case in load.cases],
            "cases": load.cases,
        }[client.primers]
        out = self._folder / "out.json"
        out.unlink(missing_ok=True)
        command = [str(client.python), str(_HERE / f"{client.script}.py"), "--url", self.url]
        command += ["--cases", self._written("cases.jsonl", load.cases)]
        command += ["--primers", self._written("primers.jsonl", primers), "--out", str(out)]
        command += ["--concurrency", str(load.concurrency), "--variant", client.variant]
        command += ["--latency-ms", f"{load.latency_ms:g}"]
        # Not ours: the rivals have environments of their own, and need only the standard library.
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode or not out.exists():
            raise RuntimeError(f"{client.name} failed: {done.stderr.strip()[-800:]}")
        return self._cost(json.loads(out.read_text(encoding="utf-8")), len(load.cases))

    def asked(self) -> list[dict[str, object]]:
        """Every request of the last run, as the server understood it."""
        with urllib.request.urlopen(f"{self.url}/asked", timeout=30) as response:
            found: list[dict[str, object]] = json.load(response)
        return found

    def _written(self, name: str, cases: Sequence[Case]) -> str:
        path = self._folder / name
        lines = (json.dumps(case.interaction, ensure_ascii=False) + "\n" for case in cases)
        path.write_text("".join(lines), encoding="utf-8")
        return str(path)

    def _cost(self, found: dict[str, object], n: int) -> Cost:
        with urllib.request.urlopen(f"{self.url}/counts", timeout=30) as response:
            counts: dict[str, int] = json.load(response)
        scores, cpu_s, wall_s = found["scores"], found["cpu_s"], found["wall_s"]
        assert isinstance(scores, dict)
        assert isinstance(cpu_s, float)
        assert isinstance(wall_s, float)
        return Cost(
            calls=counts["calls"] / n,
            sequential=counts["sequential"] / n,
            instructions=counts["system_tokens"] / n,
            variable=counts["user_tokens"] / n,
            schema=counts["schema_tokens"] / n,
            completion=counts["completion_tokens"] / n,
            cpu_ms=cpu_s / n * 1e3,
            wall_s=wall_s,
            peak=counts["peak"],
            refused=counts["refused"],
            scores=scores,
        )


@contextmanager
def bench(cases: Sequence[Case], others: Sequence[Case]) -> Iterator[Bench]:
    """A server for all these cases and their primers; ``others`` prime a cold client."""
    everything = [*cases, *others, *(primer(case) for case in cases)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        all_labels(everything).write(folder / "labels.jsonl")
        log = folder / "server.log"
        command = [sys.executable, "-m", "tests.benchmarks.judging.server"]
        process = GuardedProcess([*command, str(folder / "labels.jsonl")], log)
        try:
            yield Bench(_address(log, process), folder, others)
        finally:
            process.end()


def _address(log: Path, process: GuardedProcess) -> str:
    while not (lines := log.read_text().splitlines()):
        if not process.alive():
            raise RuntimeError("the server did not start")
        time.sleep(0.05)
    return lines[0]
