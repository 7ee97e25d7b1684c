"""Three scorers and what is done to them; each has a successor as soon as it has ended."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.stages.process import KILLED, MonitorProcess


class Crew:
    """Scorer processes in fixed places. ``module`` is the program, by default the product's.

    ``turns`` are settings besides the usual: each new process takes the next of them.
    """

    def __init__(
        self,
        size: int,
        bootstrap: str,
        directory: Path,
        settings: Mapping[str, Any],
        module: str = "monitor",
        turns: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._turns = itertools.cycle(turns or ({},))
        self._bootstrap, self._directory = bootstrap, directory
        self._settings, self._module = settings, module
        self._ending: set[int] = set()
        #: How they ended after SIGTERM.
        self.exits: list[int | None] = []
        #: Those that ended although nobody had told them to: name and end of the log.
        self.deserters: list[str] = []
        self.places = [self._new(place) for place in range(size)]

    def _new(self, place: int) -> MonitorProcess:
        return MonitorProcess(
            "score",
            self._bootstrap,
            self._directory,
            f"scorer{place}",
            module=self._module,
            **{**KILLED, **self._settings, **next(self._turns)},
        )

    async def ready(self) -> None:
        """Wait until all of them say that they are ready."""
        for process in self.places:
            await process.ready()

    def kill(self, pick: float) -> bool:
        """SIGKILL one that nobody has told to end; False when there is none."""
        place = self._chosen(pick, [*range(len(self.places))])
        if place is None:
            return False
        self.places[place].kill()
        self.places[place] = self._new(place)
        return True

    async def term(self, pick: float) -> bool:
        """SIGTERM one that is up, wait for its end, start the next; False when there is none."""
        up = [place for place, process in enumerate(self.places) if process.url]
        place = self._chosen(pick, up)
        if place is None:
            return False
        await self.restart(place)
        return True

    async def restart(self, place: int) -> None:
        """SIGTERM the one in this place, wait for its end, start the next."""
        self._ending.add(place)
        try:
            await self.places[place].end()
            self.exits.append(self.places[place].exit_code())
            self.places[place] = self._new(place)
        finally:
            self._ending.discard(place)

    async def replace_deserters(self) -> None:
        """Note for ever who ends by himself, and start the next in his place."""
        while True:
            for place, process in enumerate(self.places):
                if place not in self._ending and not process.alive():
                    said = process.log.read_text(encoding="utf-8")[-1_500:]
                    self.deserters.append(f"{process.log.name} {process.exit_code()}: {said}")
                    process.kill()
                    self.places[place] = self._new(place)
            await asyncio.sleep(0.2)

    async def end(self) -> None:
        """SIGTERM to all at once; wait for their ends."""
        self._ending.update(range(len(self.places)))
        await asyncio.gather(*(process.end() for process in self.places))
        self.exits += [process.exit_code() for process in self.places]

    def abandon(self) -> None:
        """Kill what is left; nothing is counted any more."""
        for process in self.places:
            process.kill()

    def _chosen(self, pick: float, places: list[int]) -> int | None:
        free = [place for place in places if place not in self._ending]
        return free[int(pick * len(free))] if free else None
