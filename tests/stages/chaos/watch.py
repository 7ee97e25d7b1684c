"""Scrapes all scorers several times a second: in every answer the counts must be even."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import aiohttp

from tests.stages.process import MonitorProcess, Samples, outcomes, parsed, total

EVERY_S = 0.2
KEPT = ("rag_monitor_interactions", "rag_monitor_rebalances", "rag_monitor_publish_retries")


def kept(text: str) -> Samples:
    """The few samples of an exposition that are looked at here: parsing all of it takes longer."""
    lines = [line for line in text.splitlines() if line.startswith(KEPT)]
    return parsed("\n".join(lines) + "\n")


def uneven(samples: Samples) -> str:
    """By how much consumed differs from outcomes and in flight; empty when it does not.

    >>> uneven(kept("rag_monitor_interactions_consumed_total 2"))
    'consumed 2, outcomes {}, in flight 0'
    >>> uneven(kept('rag_monitor_interactions_consumed_total 2\\n'
    ...             'rag_monitor_interactions_total{outcome="scored",reason=""} 1\\n'
    ...             'rag_monitor_interactions_in_flight 1'))
    ''
    """
    consumed = total(samples, "rag_monitor_interactions_consumed_total")
    in_flight = total(samples, "rag_monitor_interactions_in_flight")
    ended = outcomes(samples)
    if consumed == sum(ended.values()) + in_flight:
        return ""
    return f"consumed {consumed:.0f}, outcomes {ended}, in flight {in_flight:.0f}"


class Watch:
    """What the scrapes of all processes say, those included that are long gone."""

    def __init__(self) -> None:
        self.checked = 0
        self.uneven: list[str] = []
        #: Process id → its last answer.
        self.last: dict[int, Samples] = {}

    async def follow(self, places: Sequence[MonitorProcess]) -> None:
        """Scrape whoever stands in the places, for ever."""
        limit = aiohttp.ClientTimeout(total=5)
        async with aiohttp.ClientSession(timeout=limit) as session, asyncio.TaskGroup() as group:
            for place in range(len(places)):
                group.create_task(self._follow(places, place, session))

    async def _follow(
        self, places: Sequence[MonitorProcess], place: int, session: aiohttp.ClientSession
    ) -> None:
        while True:
            process = places[place]
            # One that is struck meanwhile does not answer: then its successor is asked.
            with suppress(aiohttp.ClientError, TimeoutError, RuntimeError):
                if not process.url:
                    await process.listening()
                async with session.get(f"{process.url}/metrics") as answer:
                    self._take(process, kept(await answer.text()))
            await asyncio.sleep(EVERY_S)

    def _take(self, process: MonitorProcess, samples: Samples) -> None:
        self.checked += 1
        self.last[process.pid] = samples
        if wrong := uneven(samples):
            self.uneven.append(f"{process.log.name} pid {process.pid}: {wrong}")

    def sum(self, name: str, **labels: str) -> int:
        """The sum over all processes of what each said last."""
        return int(sum(total(samples, name, **labels) for samples in self.last.values()))

    def outcomes(self) -> dict[str, int]:
        """Interactions by outcome over all processes, as each said last."""
        sums: dict[str, int] = {}
        for samples in self.last.values():
            for outcome, count in outcomes(samples).items():
                sums[outcome] = sums.get(outcome, 0) + count
        return sums
