"""Hostile interactions one by one through a running scorer, good ones around each."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from monitor.records import Outcome, read_score_record
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_topics import Record, committed, produce, read_all
from tests.stages.poison.calls import Tally
from tests.stages.poison.findings import MEMORY_MB, Findings, Seen
from tests.stages.poison.records import Poison, good, on_partition
from tests.stages.poison.sending import PARTITIONS, new_topics, send
from tests.stages.poison.watched import Watched, watched
from tests.stages.process import Samples, total

_NAME = "rag_monitor_interactions_total"
#: What turns a terminal's page over, and what turns its text round.
RAW = ("\x1b", "\x07", "\u009b", "\u202e", "\u2066", "\u2028")
#: By default 20, and `other`.
MOST_NAMES = 21
Fates = Counter[tuple[str, str]]


@dataclass
class Trial:
    """One scorer, what it was sent, and whose calls its judge gets."""

    bootstrap: str
    topics: Mapping[str, str]
    scorer: Watched
    tally: Tally
    around: int
    patience_s: float
    good: list[str] = field(default_factory=list)
    sent: int = 0
    _before: Fates = field(default_factory=Counter)

    @property
    def topic(self) -> str:
        """Where interactions are logged."""
        return self.topics["kafka__topics__interactions"]

    async def put(self, poison: Poison, place: int) -> Seen:
        """Good ones, the hostile one, good ones; back when all have ended, or patience has."""
        began = time.monotonic()
        await self._send_good(poison.name, "before")
        self.sent += await send(self.bootstrap, self.topic, poison, place)
        await self._send_good(poison.name, "after")
        ended = await self._all_ended()
        now = await self._fates()
        fates = now - self._before
        fates["scored", ""] -= 2 * self.around
        self._before = now
        return Seen(
            poison,
            {fate: number for fate, number in fates.items() if number},
            ended,
            time.monotonic() - began,
            self.scorer.health_since_last(),
            self.scorer.most_memory_mb(),
            self.tally.most()[1],
        )

    async def _send_good(self, name: str, when: str) -> None:
        names = [f"good_{name}_{when}_{i}" for i in range(self.around)]
        records = on_all_partitions([good(one) for one in names])
        await produce(self.bootstrap, self.topic, records)
        self.good += names
        self.sent += len(names)

    async def _all_ended(self) -> bool:
        deadline = time.monotonic() + self.patience_s
        while time.monotonic() < deadline and self.scorer.process.alive():
            samples = await self._scrape()
            if samples is not None and _ended(samples) >= self.sent:
                return _ended(samples) == self.sent
            await asyncio.sleep(0.1)
        return False

    async def _scrape(self) -> Samples | None:
        try:
            samples = await self.scorer.metrics()
        except (TimeoutError, aiohttp.ClientError):
            return None
        consumed = total(samples, "rag_monitor_interactions_consumed_total")
        in_flight = total(samples, "rag_monitor_interactions_in_flight")
        assert consumed == total(samples, _NAME) + in_flight
        return samples

    async def _fates(self) -> Fates:
        samples = await self._scrape() or {}
        found: Fates = Counter()
        for (name, labels), value in samples.items():
            if name == _NAME:
                said = dict(labels)
                found[said["outcome"], said["reason"]] += int(value)
        return found

    async def commits(self) -> bool:
        """Whether the group commits all that was sent, in good time."""
        group, topic = self.topics["kafka__group_id"], self.topic
        deadline = time.monotonic() + self.patience_s
        while time.monotonic() < deadline:
            if sum((await committed(self.bootstrap, group, topic)).values()) == self.sent:
                return True
            await asyncio.sleep(0.3)
        return False

    async def wrongs(self) -> list[str]:
        """What is not as it must be on the topic of score records, in the log and in labels."""
        found = [f"the log holds a raw {raw!r}" for raw in RAW if raw in self.scorer.text()]
        samples = await self._scrape() or {}
        named = {dict(labels).get("application") for _, labels in samples} - {None}
        if len(named) > MOST_NAMES:
            found.append(f"{len(named)} applications in labels")
        return found + await self._lost()

    async def _lost(self) -> list[str]:
        records = await read_all(self.bootstrap, self.topics["kafka__topics__scores"])
        scored = Counter(
            score.interaction_id
            for score in (read_score_record(record.value or b"") for record in records)
            if score.outcome is Outcome.SCORED
        )
        wrong = [name for name in self.good if scored[name] != 1]
        found = f"{len(wrong)} of {len(self.good)} good ones not scored just once: {wrong[:3]}"
        return [found] if wrong else []


def on_all_partitions(records: Sequence[Record]) -> list[Record]:
    """The records in turn on each of them."""
    return [
        one
        for i, record in enumerate(records)
        for one in on_partition([record], i % PARTITIONS)
        if isinstance(one, Record)
    ]


def _ended(samples: Samples) -> float:
    # What was handed over is read again, and has not ended.
    return total(samples, _NAME) - total(samples, _NAME, outcome="handed_over")


def settings(judge: JudgeServer) -> dict[str, Any]:
    """A scorer's with an LLM judge, all other things as they are by default.

    But for canaries: this judge says yes to everything, and would be found out. And but for age:
    some records have a fixed date, and what they are made to strain comes after it is looked at.
    """
    return {
        "ingest__start": "earliest",
        "judge__canaries": 0,
        "judge__kind": "llm",
        "judge__model": "openai/judge",
        "judge__api_base": judge.url,
        "judge__api_key": "none",
        "judge__concurrency": 32,
    }


async def scored(
    bootstrap: str,
    directory: Path,
    judge: JudgeServer,
    tally: Tally,
    poisons: Sequence[Poison],
    around: int,
    patience_s: float,
    name: str = "scorer",
) -> Findings:
    """All of them, one by one; then all at once, and SIGTERM while they are under way."""
    topics, findings = await new_topics(bootstrap), Findings()
    with watched("score", bootstrap, directory, name, **topics, **settings(judge)) as scorer:
        await scorer.ready()
        trial = Trial(bootstrap, topics, scorer, tally, around, patience_s)
        for place, poison in enumerate(poisons):
            findings.seen.append(await trial.put(poison, place))
            tally.calls.clear()
            if not findings.seen[-1].ended:
                break
        else:
            if not await trial.commits():
                findings.wrong.append("not all is committed")
        findings.wrong += await trial.wrongs()
        for place, poison in enumerate(poisons):
            await send(bootstrap, trial.topic, poison, place)
        await asyncio.sleep(1)
        if (most := scorer.most_memory_mb()) > MEMORY_MB:
            findings.wrong.append(f"all at once: {most:.0f} MB")
        await findings.end(scorer)
    return findings
