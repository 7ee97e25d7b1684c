"""Pages: one for all who ask at once, of one state, and never for long in anybody's way."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterable, Iterator
from itertools import count

import pytest
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from monitor.exporter.serve.pages import DEAR_S, MOST_FORMS, TURN_S, Pages
from monitor.exporter.serve.rolling import Prepared, Written
from tests.stages.process import until

OPENMETRICS = "application/openmetrics-text;version=1.0.0"


class Counting(Collector):
    """A gauge that says how often it was looked at."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.looks = 0
        self.fails = False
        registry.register(self)

    def describe(self) -> Iterable[Metric]:
        return [GaugeMetricFamily("looks", "Looks.")]

    def collect(self) -> Iterator[Metric]:
        if self.fails:
            raise ArithmeticError("no page")
        self.looks += 1
        yield GaugeMetricFamily("looks", "Looks.", self.looks)


def pages(registry: CollectorRegistry, *, dear: bool) -> Pages:
    """Whose pages take more CPU than is spent for each, or none at all."""
    spent = count(0.0, 2 * DEAR_S) if dear else count(0.0, 0.0)
    return Pages(registry, cpu=lambda: next(spent))


@pytest.mark.parametrize("dear", [False, True])
async def test_all_who_ask_at_once_get_one_page(dear: bool) -> None:
    """In whatever form: the registry is looked at once."""
    registry = CollectorRegistry()
    seen, made = Counting(registry), pages(registry, dear=dear)
    forms = [made.page(accept, zipped=z) for accept in ("", OPENMETRICS) for z in (False, True)]
    plain, zipped, other, _ = await asyncio.gather(*forms)
    assert seen.looks == 1
    assert b"looks 1.0" in plain.body
    assert gzip.decompress(zipped.body) == plain.body
    assert other.body.endswith(b"# EOF\n")
    made.close()


async def test_a_dear_page_is_given_again_for_a_second() -> None:
    """Until then nobody looks at the registry; a cheap one is made anew for whoever comes later."""
    registry = CollectorRegistry()
    seen, made = Counting(registry), pages(registry, dear=True)
    for _ in range(10):
        await made.page("", zipped=True)
    assert seen.looks == 1

    async def anew() -> bool:
        return b"looks 2.0" in (await made.page("", zipped=False)).body

    await until(anew, "a page that was made anew")
    assert seen.looks == 2
    cheap = pages(registry, dear=False)
    await cheap.page("", zipped=False)
    await cheap.page("", zipped=False)
    assert seen.looks == 4
    made.close()
    cheap.close()


async def test_a_page_that_fails_is_not_kept() -> None:
    """Who asks meanwhile is told; the next one gets a page."""
    registry = CollectorRegistry()
    seen, made = Counting(registry), pages(registry, dear=True)
    seen.fails = True
    with pytest.raises(ArithmeticError):
        await made.page("", zipped=True)
    seen.fails = False
    assert b"looks 1.0" in (await made.page("", zipped=False)).body
    made.close()


async def test_who_goes_away_takes_nothing_from_the_others() -> None:
    """The page goes on being made."""
    registry = CollectorRegistry()
    seen, made = Counting(registry), pages(registry, dear=True)
    first = asyncio.create_task(made.page("", zipped=False))
    second = asyncio.create_task(made.page("", zipped=False))
    await asyncio.sleep(0)
    first.cancel()
    assert b"looks 1.0" in (await second).body
    assert seen.looks == 1
    assert first.cancelled()
    made.close()


async def test_forms_that_clients_invent_are_bounded() -> None:
    """The format has versions; whoever asks for yet another one gets the plain text."""
    registry = CollectorRegistry()
    Counting(registry)
    made = pages(registry, dear=True)
    kinds = {
        (await made.page(f"application/openmetrics-text;version={n}.0.0", zipped=False))[1]
        for n in range(1, 50)
    }
    assert len(kinds) == MOST_FORMS + 1
    assert "text/plain; version=0.0.4; charset=utf-8" in kinds
    made.close()


class Watching:
    """Writes down a number that others change, in many steps that each take a while."""

    def __init__(self, state: list[int], steps: int) -> None:
        self._state, self._steps = state, steps
        self.prepared = Prepared([], [])

    def steps(self) -> Iterator[None]:
        seen = set()
        for _ in range(self._steps):
            seen.add(self._state[0])
            _work(TURN_S)
            yield
        self.prepared = Prepared([], [Written([f"seen {n}\n" for n in seen], len(seen))])


def _work(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        pass


async def test_others_have_their_turn_and_the_page_is_of_one_state() -> None:
    """Between the steps the loop goes on; who wants to change the state waits for the page."""
    registry, state, steps, turns = CollectorRegistry(), [0], 20, 0
    still, slow = asyncio.Lock(), Watching(state, steps)
    made = Pages(registry)
    made.with_part(slow, still)

    async def change() -> None:
        while True:
            async with still:
                state[0] += 1
            await asyncio.sleep(0)

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    others = [asyncio.create_task(change()), asyncio.create_task(turn())]
    await asyncio.sleep(0)
    page = await made.page("", zipped=False)
    assert page.body.count(b"seen ") == 1
    assert turns > steps
    assert state[0] > 1, "and goes on afterwards"
    for other in others:
        other.cancel()
    made.close()


async def test_what_is_said_before_a_look_is_on_the_page() -> None:
    """In the same step as all the rest."""
    registry = CollectorRegistry()
    ready = Gauge("ready", "Ready.", registry=registry)
    made = Pages(registry, lambda: ready.set(1))
    assert b"ready 1.0" in (await made.page("", zipped=False)).body
    made.close()
