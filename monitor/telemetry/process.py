"""What every process says of itself, of Kafka, and of what is paused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Info,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from monitor.telemetry.shared import LateGauge

#: Paused applications with series of their own; the others are ``other``, since the first of them.
MOST_PAUSED: Final = 100


class ProcessTelemetry:
    """What every process says of itself."""

    def __init__(self, registry: CollectorRegistry, version: str) -> None:
        self.build = Info("rag_monitor_build", "Version of this process.", registry=registry)
        self.build.info({"version": version})
        self.ready = Gauge(
            "rag_monitor_ready", "1 while the process is ready (as /readyz).", registry=registry
        )
        self.http_closed = Counter(
            "rag_monitor_http_connections_closed",
            "Connections to this port that were closed from this side, by reason: a request, an "
            "answer or a silence that took too long, or too many at once.",
            ["reason"],
            registry=registry,
        )


class KafkaTelemetry:
    """Problems with Kafka clusters; all clusters of a process share the gauge."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.problem = Gauge(
            "rag_monitor_kafka_problem",
            "1 while there is this problem with a Kafka cluster, 0 when it is over; see the log.",
            ["kind"],
            registry=registry,
        )
        self.offsets_lost = Counter(
            "rag_monitor_offsets_lost",
            "Offsets that were deleted from a topic before they were read.",
            ["topic"],
            registry=registry,
        )
        self.offsets_went_back = Counter(
            "rag_monitor_offsets_went_back",
            "Partitions that are read from their beginning again, each time: the topic was made "
            "anew, or its log was cut.",
            ["topic"],
            registry=registry,
        )
        self.clock_offset = LateGauge(
            "rag_monitor_clock_offset_seconds",
            "The brokers' time less that of this machine: negative when this clock is"
            " ahead; absent while the brokers report none.",
            registry,
        )
        self._offsets: dict[str, float] = {}
        self._lasting: dict[str, list[Callable[[], bool]]] = {}

    def show_offset(self, cluster: str, offset_s: float) -> None:
        """Broker's time − own, in seconds; of several clusters the largest difference is shown."""
        self._offsets[cluster] = offset_s
        self.clock_offset.set(max(self._offsets.values(), key=abs))

    def lost(self, topic: str, number: int) -> None:
        """So many offsets of the topic were lost; 0 when it begins to be read."""
        self.offsets_lost.labels(topic).inc(number)

    def went_back(self, topic: str, number: int) -> None:
        """So many partitions of the topic begin again; 0 when it begins to be read."""
        self.offsets_went_back.labels(topic).inc(number)

    def watch(self, kind: str, lasts: Callable[[], bool]) -> None:
        """Show a kind of problem from now on; ``lasts`` is one cluster's, and asked at scrapes."""
        clusters = self._lasting.setdefault(kind, [])
        clusters.append(lasts)
        self.problem.labels(kind).set_function(lambda: float(any(each() for each in clusters)))


class PausedTelemetry(Collector):
    """What is paused; asked for at scrapes, since a pause ends by itself."""

    def __init__(
        self, registry: CollectorRegistry, paused: Callable[[], Mapping[str, float]]
    ) -> None:
        self._paused = paused
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """The families; without samples while everything is judged."""
        family = GaugeMetricFamily(
            "rag_monitor_paused",
            "1 while an application is not judged (rag-monitor pause); * means all.",
            labels=["application"],
        )
        since = GaugeMetricFamily(
            "rag_monitor_paused_since_timestamp_seconds",
            "Since when an application has not been judged (rag-monitor pause); * means all.",
            labels=["application"],
        )
        paused = sorted(self._paused().items())
        shown, others = paused[:MOST_PAUSED], paused[MOST_PAUSED:]
        if others:
            shown.append(("other", min(began for _, began in others)))
        for application, began in shown:
            family.add_metric([application], 1.0)
            since.add_metric([application], began)
        yield family
        yield since
