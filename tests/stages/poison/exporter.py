"""Hostile score records one by one under a running exporter, good ones around each."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from tests.servers.kafka_topics import produce
from tests.stages.poison.findings import Findings, Seen
from tests.stages.poison.records import Poison
from tests.stages.poison.score_records import GOOD, score, written
from tests.stages.poison.sending import new_topics, send
from tests.stages.poison.watched import SCRAPE_S, Watched, watched
from tests.stages.process import until

#: What was read after the first scrape that showed all stands in the page of this much later.
AGAIN_S = 1.0
_WINDOW = "24h"
_LABELS = f'application="{GOOD}",judge="j@1",metric="faithfulness",window="{_WINDOW}"'
_VALUE = re.compile(
    rf"^(rag_score|rag_score_samples)\{{{re.escape(_LABELS)}\}} (\S+)$", re.MULTILINE
)


@dataclass
class Trial:
    """One exporter, and how many good ones it was sent."""

    bootstrap: str
    topic: str
    exporter: Watched
    around: int
    patience_s: float
    good: int = 0

    async def put(self, poison: Poison, place: int) -> Seen:
        """Good ones, the hostile one, good ones; back when the gauges show all good ones."""
        began = time.monotonic()
        await self._send_good(f"{poison.name}-before")
        await send(self.bootstrap, self.topic, poison, place)
        await self._send_good(f"{poison.name}-after")
        try:
            ended = bool(await until(self._shown, "all good ones in the gauges", self.patience_s))
        except TimeoutError:
            ended = False
        return Seen(
            poison,
            {},
            ended,
            time.monotonic() - began,
            self.exporter.health_since_last(),
            self.exporter.most_memory_mb(),
        )

    async def wrongs(self) -> list[str]:
        """What is not as it must be once all that was read stands in the page."""
        await asyncio.sleep(AGAIN_S)
        return [] if await self._shown() else ["the gauges show something else a moment later"]

    async def _send_good(self, name: str) -> None:
        records = [written(score(f"{name}-{i}")) for i in range(self.around)]
        await produce(self.bootstrap, self.topic, records)
        self.good += len(records)

    async def _shown(self) -> bool:
        """Whether the gauges say that all of them, and nothing but them, are faithful."""
        if not self.exporter.process.alive():
            raise TimeoutError("the exporter has ended")
        limit = aiohttp.ClientTimeout(total=SCRAPE_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit) as session,
                session.get(self.exporter.process.url + "/metrics") as answer,
            ):
                found = dict(_VALUE.findall(await answer.text()))
        except (TimeoutError, aiohttp.ClientError):
            return False
        return {name: float(value) for name, value in found.items()} == {
            "rag_score": 1.0,
            "rag_score_samples": float(self.good),
        }


async def exported(
    bootstrap: str,
    directory: Path,
    poisons: Sequence[Poison],
    around: int,
    patience_s: float,
    name: str = "exporter",
) -> Findings:
    """All of them, one by one; then SIGTERM."""
    topics, findings = await new_topics(bootstrap), Findings()
    with watched("export", bootstrap, directory, name, **topics) as exporter:
        await exporter.ready()
        topic = topics["kafka__topics__scores"]
        trial = Trial(bootstrap, topic, exporter, around, patience_s)
        for place, poison in enumerate(poisons):
            findings.seen.append(await trial.put(poison, place))
            if not findings.seen[-1].ended:
                break
        findings.wrong += await trial.wrongs()
        await findings.end(exporter)
    return findings
