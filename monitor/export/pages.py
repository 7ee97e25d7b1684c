"""The pages of ``/metrics``: made once for all who ask, and never for long in anybody's way.

What is on a page belongs to the event loop. A large part of it is made in steps, between which
others have their turn while the state that it shows is held still; the rest in one step. So all
series of a page are of one state. Text and gzip are then made in a thread.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

#: Others have their turn after so many seconds.
TURN_S: Final = 0.02
#: A page that takes more CPU than that, in seconds, is given again for so long: then scrapes,
#: however many, make one a second at most. Others are always as of now.
DEAR_S, GIVEN_FOR_S = 0.1, 1.0
#: Forms of one page; clients name versions, and whoever asks for yet another gets the plain one.
MOST_FORMS: Final = 4
#: 10 MB become 0.5 in a tenth of a second.
LEVEL: Final = 6

InputT = TypeVar("InputT")


class Slow(Protocol):
    """A collector whose next ``collect`` is prepared in steps, while its state is held still."""

    def steps(self) -> Iterator[None]:
        """Prepare it; whatever comes of it is given by the next ``collect``."""


class Page(NamedTuple):
    """A body and its type."""

    body: bytes
    content_type: str


class Pages:
    """Makes pages. ``before`` is called in the step in which the rest is looked at.

    ``cpu`` gives the seconds that this process has worked.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        before: Callable[[], None] = lambda: None,
        cpu: Callable[[], float] = time.process_time,
    ) -> None:
        self._registry, self._before, self._cpu = registry, before, cpu
        self._slow: Slow | None = None
        self._still = asyncio.Lock()
        self._look: _Look | None = None
        self._thread = ThreadPoolExecutor(1, "metrics-page")

    def made_in_steps(self, slow: Slow, still: asyncio.Lock) -> None:
        """Prepare this collector of the registry in steps; only who holds ``still`` changes it."""
        self._slow, self._still = slow, still

    async def page(self, accept: str, *, zipped: bool) -> Page:
        """The page in the form that is asked for; one that is being made, or was just now."""
        look = self._look
        if look is None:
            look = self._look = _Look(asyncio.create_task(self._collect()), self._cpu())
        encode, content_type = choose_encoder(accept)
        if content_type not in look.texts and len(look.texts) >= MOST_FORMS:
            encode, content_type = choose_encoder("")
        if content_type not in look.texts:
            look.texts[content_type] = asyncio.create_task(self._text(look, encode))
        made = look.texts[content_type]
        if zipped:
            if content_type not in look.zipped:
                look.zipped[content_type] = asyncio.create_task(self._zipped(made))
            made = look.zipped[content_type]
        # Whoever goes away takes nothing from the others.
        return Page(await asyncio.shield(made), content_type)

    def close(self) -> None:
        """No more pages."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _collect(self) -> list[Metric]:
        async with self._still:
            if self._slow is not None:
                await self._in_turns(self._slow.steps())
            self._before()
            return list(self._registry.collect())

    async def _in_turns(self, steps: Iterator[None]) -> None:
        began = time.perf_counter()
        for _ in steps:
            if time.perf_counter() - began >= TURN_S:
                await asyncio.sleep(0)
                began = time.perf_counter()

    async def _text(self, look: _Look, encode: Callable[[Collector], bytes]) -> bytes:
        is_dear = False
        try:
            families = await asyncio.shield(look.families)
            text = await self._apart(encode, _Collected(families))
            is_dear = self._cpu() - look.began > DEAR_S
        finally:  # one that fails is not kept: the next one who asks may have more luck
            if is_dear:
                asyncio.get_running_loop().call_later(GIVEN_FOR_S, self._forget, look)
            else:
                self._forget(look)
        return text

    async def _zipped(self, text: asyncio.Task[bytes]) -> bytes:
        return await self._apart(partial(gzip.compress, compresslevel=LEVEL), await text)

    async def _apart(self, work: Callable[[InputT], bytes], given: InputT) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, given)

    def _forget(self, look: _Look) -> None:
        """The next one who asks gets a new one."""
        if self._look is look:
            self._look = None


class _Look:
    """The registry as it was once, and the forms in which it was asked for, by type."""

    def __init__(self, families: asyncio.Task[list[Metric]], began: float) -> None:
        self.families, self.began = families, began
        self.texts: dict[str, asyncio.Task[bytes]] = {}
        self.zipped: dict[str, asyncio.Task[bytes]] = {}


class _Collected(Collector):
    """What was collected, for an encoder."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        """All of it."""
        return self._families


def wants_gzip(accepted: str) -> bool:
    """Whether a header ``Accept-Encoding`` takes gzip.

    >>> [wants_gzip(each) for each in ("br, gzip", "*", "gzip;q=0, *", "identity", "")]
    [True, True, False, False, False]
    """
    found = {}
    for part in accepted.split(","):
        name, _, options = part.strip().lower().partition(";")
        found[name.strip()] = not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", options)
    return found.get("gzip", found.get("*", False))
