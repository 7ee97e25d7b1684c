"""What several of them need: a registry, a cap for labels, a gauge without a first value."""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    metrics,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

# A second series per counter, with the time of its creation, that nobody asks for.
metrics.disable_created_metrics()  # type: ignore[no-untyped-call]

OTHER = "other"
#: Result of a record whose schema is newer than this version reads.
NEWER_SCHEMA = "newer_schema"


def new_registry() -> CollectorRegistry:
    """A registry with what the interpreter and the operating system say of this process."""
    registry = CollectorRegistry()
    for collector in (PlatformCollector, ProcessCollector, GCCollector):
        collector(registry=registry)
    return registry


class LabelCap:
    """Lets ``most`` distinct values through at a time, beside ``always``; the rest is ``other``.

    The first ones at once. A value that has not been seen for ``idle_s`` seconds gives up its place
    to one that keeps coming (``TIMES``), so that names seen once hold none for ever; ``forget`` is
    told of it. ``monotonic`` gives seconds.

    >>> cap = LabelCap(1)
    >>> cap("a"), cap("b"), cap("a")
    ('a', 'other', 'a')
    """

    #: How often a value must have come to get the place of another.
    TIMES = 3
    #: Values that are remembered while they wait, for each place.
    REMEMBERED = 10

    def __init__(
        self,
        most: int,
        idle_s: float = 3_600.0,
        monotonic: Callable[[], float] = time.monotonic,
        forget: Callable[[str], None] = lambda _value: None,
        always: Collection[str] = (),
    ) -> None:
        self._always = frozenset(always)
        self._most, self._idle_s = most, idle_s
        self._monotonic, self._forget = monotonic, forget
        #: When each was last seen, and how often those without a place; the latest ones last.
        self._known = OrderedDict[str, float]()
        self._waiting = OrderedDict[str, int]()

    def __call__(self, value: str) -> str:
        """The label value to use."""
        if value in self._always:
            return value
        now = self._monotonic()
        if value not in self._known and not self._has_place_for(value, now):
            return OTHER
        self._known[value] = now
        self._known.move_to_end(value)
        return value

    def _has_place_for(self, value: str, now: float) -> bool:
        if len(self._known) < self._most:
            return True
        self._waiting[value] = times = self._waiting.get(value, 0) + 1
        self._waiting.move_to_end(value)
        if len(self._waiting) > self.REMEMBERED * self._most:
            self._waiting.popitem(last=False)
        oldest = next(iter(self._known), None)
        if oldest is None or times < self.TIMES or now - self._known[oldest] <= self._idle_s:
            return False
        del self._known[oldest], self._waiting[value]
        self._forget(oldest)
        return True


class SeriesPart:
    """What one of several says of a series: a value, or ``value`` of so many."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.said: tuple[float, float] | None = None
        self._changed = changed

    def set(self, value: float, of: float = 1.0) -> None:
        """Say so from now on."""
        self.said = (value, of)
        self._changed()


def largest(said: Sequence[tuple[float, float]]) -> float:
    """Of all values."""
    return max(value for value, _ in said)


def share(said: Sequence[tuple[float, float]]) -> float:
    """Of all together.

    >>> share([(1, 2), (0, 2)])
    0.25
    """
    return sum(value for value, _ in said) / sum(of for _, of in said)


class SharedGauge:
    """A gauge whose series are told by several: each shows the largest value, or their share.

    >>> found = SharedGauge("guesses", "Whether any does.", ["model"], CollectorRegistry())
    >>> one, other = found.part("m"), found.part("m")
    >>> one.set(1), other.set(0), found.of("m")
    (None, None, 1)
    """

    def __init__(
        self,
        name: str,
        text: str,
        labels: Sequence[str],
        registry: CollectorRegistry,
        combined: Callable[[Sequence[tuple[float, float]]], float] = largest,
    ) -> None:
        self._gauge, self._combined = Gauge(name, text, labels, registry=registry), combined
        self._parts = defaultdict[tuple[str, ...], list[SeriesPart]](list)
        self._series = dict[tuple[str, ...], Gauge]()

    def of(self, *labels: str) -> float:
        """What a series shows; somebody has told it."""
        said = (part.said for part in self._parts[labels])
        return self._combined([one for one in said if one is not None])

    def part(self, *labels: str) -> SeriesPart:
        """One more that tells this series, as long as the process runs."""
        part = SeriesPart(lambda: self._show(labels))
        self._parts[labels].append(part)
        return part

    def _show(self, labels: tuple[str, ...]) -> None:
        # Looked up once, when there is something to show: it is told of again with each judgement.
        series = self._series.get(labels)
        if series is None:
            series = self._series[labels] = self._gauge.labels(*labels)
        series.set(self.of(*labels))


class LateGauge(Collector):
    """A gauge that has no sample until it is set: 0 would say something that nobody knows.

    ``of`` is asked at each scrape instead, and gives None as long as nobody knows.
    """

    def __init__(
        self,
        name: str,
        text: str,
        registry: CollectorRegistry,
        of: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._name, self._text, self._of = name, text, of
        registry.register(self)

    def set(self, value: float) -> None:
        """Show it from now on."""
        self._of = lambda: value

    def collect(self) -> Iterator[Metric]:
        """The family; without samples before there is a value."""
        family = GaugeMetricFamily(self._name, self._text)
        if (value := self._of()) is not None:
            family.add_metric([], value)
        yield family
