"""A running ``rag-monitor`` process, driven from outside: environment, signals, HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.servers.forked import ForkedProcess, forks
from tests.servers.guarded import GuardedProcess
from tests.stages.command import environ_of

Labels = frozenset[tuple[str, str]]
Samples = dict[tuple[str, Labels], float]
#: What a slow machine needs; one that ends later than this hangs.
PATIENCE_S = 300.0
#: Settings of a process whose partitions others get soon after a SIGKILL, as in production.
KILLED: Mapping[str, Any] = {"kafka__session_timeout_s": 10.0}


async def until(
    said: Callable[[], Any], what: str, patience_s: float = PATIENCE_S, every_s: float = 0.1
) -> Any:
    """The first true answer of ``said`` (a function or coroutine function)."""
    deadline = time.monotonic() + patience_s
    while True:
        found = said()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {patience_s} s still not: {what}")
        await asyncio.sleep(every_s)


def parsed(text: str) -> Samples:
    """Samples by name and labels."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {
        _series(series): float(value) for series, _, value in (li.rpartition(" ") for li in lines)
    }


@lru_cache(maxsize=50_000)
def _series(series: str) -> tuple[str, Labels]:
    # The same ones in every scrape, and to take one apart costs far more than to read its value.
    (family,) = text_string_to_metric_families(f"{series} 0\n")
    (sample,) = family.samples
    assert sample.timestamp is None, f"a value and a time: {series}"
    return sample.name, frozenset(sample.labels.items())


def total(samples: Samples, name: str, **labels: str) -> float:
    """The sum of the samples of a name whose labels include ``labels``."""
    wanted = set(labels.items())
    return sum(v for (n, found), v in samples.items() if n == name and wanted <= found)


def outcomes(samples: Samples) -> dict[str, int]:
    """Interactions by outcome."""
    counts: dict[str, int] = {}
    for (name, labels), value in samples.items():
        if name == "rag_monitor_interactions_total":
            outcome = dict(labels)["outcome"]
            counts[outcome] = counts.get(outcome, 0) + int(value)
    return counts


class JudgeAt(Protocol):
    """A server that plays the model."""

    @property
    def url(self) -> str:
        """The API base."""


def asking(judge: JudgeAt, **settings: Any) -> dict[str, Any]:
    """Settings of a scorer that asks this judge, each thing once unless told otherwise."""
    return {
        "judge__recheck_rate": 0,
        "judge__canaries": 0,
        "judge__kind": "llm",
        "judge__model": "openai/judge",
        "judge__api_base": judge.url,
        "judge__api_key": "none",
        **settings,
    }


class MonitorProcess:
    """``python -m monitor COMMAND ARGUMENTS``, settings from the environment and a free port.

    ``module`` is another program in the place of ``monitor``. The process is forked of one that
    has imported everything. A busy machine costs it no partition; whoever kills it, and waits until
    another one has them, gives it ``**KILLED``.
    """

    def __init__(
        self,
        command: str,
        bootstrap: str,
        directory: Path,
        name: str,
        *,
        module: str = "monitor",
        arguments: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        self.log = directory / f"{name}.log"
        usual = {"http__port": 0, "log__format": "json", "kafka__session_timeout_s": 120}
        env = environ_of(bootstrap, {**usual, **settings})
        self._before = self.log.stat().st_size if self.log.exists() else 0
        self._process = self._begun(module, [command, *arguments], env)
        self.url = ""

    def _begun(
        self, module: str, command: Sequence[str], env: Mapping[str, str]
    ) -> GuardedProcess | ForkedProcess:
        return forks().start(command, {**os.environ, **env}, self.log, self.log, module)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def events(self) -> list[dict[str, Any]]:
        """The log so far, without lines that are not JSON."""
        events = []
        with self.log.open(encoding="utf-8") as lines:
            lines.seek(self._before)
            for line in lines:
                try:
                    events.append(json.loads(line))
                except ValueError:
                    continue
        return [event for event in events if isinstance(event, dict)]

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.alive()

    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.exit_code()

    async def listening(self) -> None:
        """Wait for the HTTP server."""
        self.url = await until(self._url, "http_listening in the log")

    def _url(self) -> str:
        if not self.alive():
            raise RuntimeError(f"ended: {self.log.read_text('utf-8')[-3000:]}")
        found = [event for event in self.events() if event.get("event") == "http_listening"]
        return str(found[-1]["url"]) if found else ""

    async def ready(self) -> None:
        """Wait until ``/readyz`` says yes."""
        if not self.url:
            await self.listening()

        async def answers() -> bool:
            status, _ = await self.get("/readyz")
            return status == 200

        await until(answers, f"{self.url}/readyz")

    async def get(self, path: str) -> tuple[int, str]:
        """Status and body."""
        async with aiohttp.ClientSession() as session, session.get(self.url + path) as answer:
            return answer.status, await answer.text()

    async def metrics(self) -> Samples:
        """One scrape."""
        _, text = await self.get("/metrics")
        return parsed(text)

    async def quality_lines(self) -> list[str]:
        """The ``rag_score*`` lines of a scrape, as they are."""
        _, text = await self.get("/metrics")
        return [line for line in text.splitlines() if line.startswith("rag_score")]

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()

    async def end(self) -> None:
        """SIGTERM, and wait for the graceful end."""
        self._process.signal(signal.SIGTERM)
        await until(lambda: not self.alive(), "end after SIGTERM")
        self._process.end()


class StartedProcess(MonitorProcess):
    """The same by a start of Python, as people do it: for what the start itself has a part in."""

    def _begun(
        self, module: str, command: Sequence[str], env: Mapping[str, str]
    ) -> GuardedProcess | ForkedProcess:
        exports = [f"{key}={value}" for key, value in env.items()]
        whole = ["env", *exports, sys.executable, "-m", module, *command]
        return GuardedProcess(whole, self.log)
