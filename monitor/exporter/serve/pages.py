"""The pages of ``/metrics``: made once for all who ask, and never for long in anybody's way.

What is on a page belongs to the event loop. A large part of it is made in steps, between which
others have their turn while the state that it shows is held still; the rest in one step. So all
series of a page are of one state. What is left of the text, and gzip, are made in a thread.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from monitor.exporter.serve.rolling import Prepared

#: Others have their turn after so many seconds.
TURN_S: Final = 0.02
#: A page that takes more CPU than that, in seconds, is given again for so long: then scrapes,
#: however many, make one a second at most. Others are always as of now.
DEAR_S, GIVEN_FOR_S = 0.1, 1.0
#: Forms of one page; clients name versions, and whoever asks for yet another gets the plain one.
MOST_FORMS: Final = 4
#: 10 MB become 0.5 in a tenth of a second.
LEVEL: Final = 6

Encode = Callable[[Collector], bytes]
InputT = TypeVar("InputT")
_END: Final = b"# EOF\n"


class InSteps(Protocol):
    """A part of all pages that is made in steps."""

    def steps(self) -> Iterator[None]:
        """Make ``prepared``; meanwhile its state is held still."""

    @property
    def prepared(self) -> Prepared:
        """What the last steps have made."""


class HttpPage(NamedTuple):
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
        self._part: InSteps | None = None
        self._still = asyncio.Lock()
        self._look: _PageState | None = None
        self._thread = ThreadPoolExecutor(1, "metrics-page")

    def with_part(self, part: InSteps, still: asyncio.Lock) -> None:
        """Add this behind the registry; only who holds ``still`` changes what it shows."""
        self._part, self._still = part, still

    async def page(self, accept: str, *, zipped: bool) -> HttpPage:
        """The page in the form that is asked for; one that is being made, or was just now."""
        look = self._look
        if look is None:
            look = self._look = _PageState(asyncio.create_task(self._collect()), self._cpu())
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
        return HttpPage(await asyncio.shield(made), content_type)

    def close(self) -> None:
        """No more pages."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _collect(self) -> Prepared:
        async with self._still:
            if self._part is not None:
                await self._in_turns(self._part.steps())
            self._before()
            others = list(self._registry.collect())
            if self._part is None:
                return Prepared(others, [])
            families, written = self._part.prepared
            return Prepared([*others, *families], written)

    async def _in_turns(self, steps: Iterator[None]) -> None:
        began = time.perf_counter()
        for _ in steps:
            if time.perf_counter() - began >= TURN_S:
                await asyncio.sleep(0)
                began = time.perf_counter()

    async def _text(self, look: _PageState, encode: Encode) -> bytes:
        is_dear = False
        try:
            prepared = await asyncio.shield(look.prepared)
            text = await self._offloaded(partial(whole, encode), prepared)
            is_dear = self._cpu() - look.began > DEAR_S
        finally:  # one that fails is not kept: the next one who asks may have more luck
            if is_dear:
                asyncio.get_running_loop().call_later(GIVEN_FOR_S, self._forget, look)
            else:
                self._forget(look)
        return text

    async def _zipped(self, text: asyncio.Task[bytes]) -> bytes:
        return await self._offloaded(partial(gzip.compress, compresslevel=LEVEL), await text)

    async def _offloaded(self, work: Callable[[InputT], bytes], given: InputT) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, given)

    def _forget(self, look: _PageState) -> None:
        """The next one who asks gets a new one."""
        if self._look is look:
            self._look = None


class _PageState:
    """All series as they were once, and the forms in which they were asked for, by type."""

    def __init__(self, prepared: asyncio.Task[Prepared], began: float) -> None:
        self.prepared, self.began = prepared, began
        self.texts: dict[str, asyncio.Task[bytes]] = {}
        self.zipped: dict[str, asyncio.Task[bytes]] = {}


class _Families(Collector):
    """What was collected, for an encoder."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """All of it."""
        return self._families


def whole(encode: Encode, prepared: Prepared) -> bytes:
    """A page; what marks the end of one in OpenMetrics stays there."""
    body = encode(_Families(prepared.families))
    end = _END if body.endswith(_END) else b""
    written = "".join(part for each in prepared.written for part in each.parts)
    return body.removesuffix(end) + written.encode() + end


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
