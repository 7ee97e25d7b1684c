"""The server: four pages, and what is said when it cannot be bound."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from monitor.errors import DependencyRefused
from monitor.exporter.serve.front_page import Front
from monitor.exporter.serve.hosts import AllowedHosts
from monitor.exporter.serve.http import PIECE, HttpServer
from monitor.records.control import PauseRecord
from monitor.runtime.health import STUCK_AFTER_S, Health
from monitor.telemetry import MOST_PAUSED, ProcessTelemetry, ScorerTelemetry, new_registry
from tests.stages.captured_log import captured_log


class Served(NamedTuple):
    """A running server and what it shows."""

    url: str
    health: Health
    clock: list[float]
    scorer: ScorerTelemetry
    paused: list[PauseRecord]

    async def get(self, path: str, accept: str = "") -> tuple[int, str, str]:
        """Status, content type and body."""
        headers = {"Accept": accept} if accept else {}
        async with (
            aiohttp.ClientSession() as session,
            session.get(self.url + path, headers=headers) as answer,
        ):
            return answer.status, answer.headers["Content-Type"], await answer.text()

    async def asked(self, path: str) -> tuple[int, dict[str, Any]]:
        """Status and JSON."""
        async with aiohttp.ClientSession() as session, session.get(self.url + path) as answer:
            return answer.status, await answer.json()


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    """A server on a free port."""
    registry, clock = new_registry(), [0.0]
    health = Health(lambda: clock[0])
    paused: list[PauseRecord] = []
    server = HttpServer(
        registry, health, ProcessTelemetry(registry, "0.1.0"), lambda: Front("0.1.0", (), paused)
    )
    scorer = ScorerTelemetry(registry)
    port = await server.start("127.0.0.1", 0)
    try:
        yield Served(f"http://127.0.0.1:{port}", health, clock, scorer, paused)
    finally:
        await server.stop()


async def test_metrics_is_a_page_for_prometheus(served: Served) -> None:
    """The classic text format, unless OpenMetrics is asked for."""
    status, kind, body = await served.get("/metrics")
    assert (status, kind.split(";")[0]) == (200, "text/plain")
    assert 'rag_monitor_build_info{version="0.1.0"} 1.0' in body
    assert "process_resident_memory_bytes" in body


async def test_openmetrics_carries_exemplars(served: Served) -> None:
    """The id leads from the bucket to the interaction, escaped where it has to be."""
    served.scorer.observe_score("faithfulness", "bot", 0.35, 'a"b\\c\n中')
    status, kind, body = await served.get("/metrics", "application/openmetrics-text;version=1.0.0")
    assert (status, kind.split(";")[0]) == (200, "application/openmetrics-text")
    (line,) = [line for line in body.splitlines() if "interaction_id" in line]
    assert 'le="0.4"' in line
    assert ' # {interaction_id="a\\"b\\\\c\\n中"} 0.35 ' in line
    assert body.endswith("# EOF\n")


async def test_ready_names_what_it_waits_for(served: Served) -> None:
    """503 with the parts and their reasons; 200 when none is left. The gauge says the same."""
    served.health.waits("consumer", "partitions of t")
    served.health.waits("exporter", "replay of s")
    served.health.ready("exporter")
    assert await served.asked("/readyz") == (
        503,
        {"ok": False, "waiting_for": {"consumer": "partitions of t"}, "paused": {}},
    )
    assert "rag_monitor_ready 0.0" in (await served.get("/metrics"))[2]
    served.health.ready("consumer")
    assert await served.asked("/readyz") == (
        200,
        {"ok": True, "waiting_for": {}, "paused": {}},
    )
    assert "rag_monitor_ready 1.0" in (await served.get("/metrics"))[2]


async def test_healthy_means_that_no_loop_is_stuck(served: Served) -> None:
    """Waiting for a dependency is no reason to be restarted; a silent loop is."""
    served.health.waits("producer", "topic t: no leader")
    served.health.beat("consumer")
    served.clock[0] = STUCK_AFTER_S
    assert await served.asked("/healthz") == (200, {"ok": True, "stuck": {}})
    served.clock[0] = STUCK_AFTER_S + 1
    assert await served.asked("/healthz") == (503, {"ok": False, "stuck": {"consumer": 61.0}})


async def test_a_pause_is_no_reason_not_to_be_ready(served: Served) -> None:
    """It is said, with its end: nothing is wrong, but nobody is judged."""
    until = datetime(2026, 11, 20, 12, tzinfo=UTC)
    served.paused.extend([PauseRecord(application="bot", until=until), PauseRecord()])
    status, said = await served.asked("/readyz")
    assert status == 200
    assert said["paused"] == {"bot": "2026-11-20T12:00:00+00:00", "*": None}
    status, kind, page = await served.get("/")
    assert (status, kind.split(";")[0]) == (200, "text/html")
    assert "bot, until 2026-11-20T12:00:00+00:00" in page


async def test_of_many_pauses_some_are_named(served: Served) -> None:
    """The others are counted."""
    served.paused.extend(PauseRecord(application=f"bot{n}") for n in range(MOST_PAUSED + 7))
    _, said = await served.asked("/readyz")
    assert (len(said["paused"]), said["paused_too"]) == (MOST_PAUSED, 7)


@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz", "/readyz", "/admin", "/\\"])
async def test_every_answer_has_the_same_headers(served: Served, path: str) -> None:
    """Pages and errors: in nobody's frame, taken for nothing else, and no version is told."""
    for method in (b"GET", b"POST", b"\x16\x03"):
        request = method + b" " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
        head = (await raw(served, request)).partition(b"\r\n\r\n")[0].decode()
        assert "frame-ancestors 'none'" in head
        assert "X-Content-Type-Options: nosniff" in head
        assert "Cache-Control: no-store" in head
        assert re.findall("Server: (.*)", head) == ["rag-monitor\r"] * head.count("Server:")
        assert "ython" not in head


async def raw(served: Served, request: bytes) -> bytes:
    """What is answered, byte by byte, until the server has no more to say."""
    port = int(served.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    found = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    return found


@pytest.mark.parametrize("path", ["/", "/metrics"])
async def test_pages_are_compressed_for_who_asks(served: Served, path: str) -> None:
    """And for nobody else."""
    sizes = {}
    for asked in ("gzip", "identity", "gzip;q=0"):
        async with (
            aiohttp.ClientSession() as session,
            session.get(served.url + path, headers={"Accept-Encoding": asked}) as answer,
        ):
            encoding = answer.headers.get("Content-Encoding")
            assert encoding == ("gzip" if asked == "gzip" else None)
            assert "rag-monitor" in await answer.text() or "rag_monitor" in await answer.text()
            sizes[asked] = int(answer.headers["Content-Length"])
    # Between two requests the gauges go on, so two plain pages may differ by some figures.
    assert sizes["gzip"] < min(sizes["identity"], sizes["gzip;q=0"])


async def test_a_page_under_a_strange_name_is_refused(served: Served) -> None:
    """A web page whose name leads here reads nothing; it says what to do, and names the setting."""
    for path in ("/", "/metrics", "/readyz", "/healthz"):
        async with (
            aiohttp.ClientSession() as session,
            session.get(served.url + path, headers={"Host": "evil.example:9750"}) as answer,
        ):
            assert answer.status == 421
            assert "http.allowed_hosts" in await answer.text()


async def test_strange_names_are_logged_once_a_minute(served: Served) -> None:
    """However many ask, and under however many names."""
    with captured_log("info", "json") as read:
        for number in range(5):
            request = f"GET / HTTP/1.1\r\nHost: evil{number}.example\r\n\r\n"
            assert b" 421 " in await raw(served, request.encode())
    assert read().count("http_host_refused") == 1


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:9750",
        "10.244.1.17:9750",
        "[::1]:9750",
        "[fd00::7]",
        "localhost",
        "LOCALHOST.:80",
        "demo.localhost:9750",
        "bound.example",
        "rag-monitor.monitoring.svc:9750",
        "rag-monitor-0.rag-monitor.monitoring.svc.cluster.local",
        "monitor:9750",
        "rag.ops.example.org",
        None,
    ],
)
def test_addresses_and_names_that_are_ours_are_allowed(host: str | None) -> None:
    """Probes ask pods by address, Prometheus Services by name; HTTP/1.0 has no name at all."""
    assert AllowedHosts("bound.example", ["*.ops.example.org"])(host)


@pytest.mark.parametrize(
    "host",
    ["", ".", "evil.example", "127.0.0.1.evil.example", "a.xlocalhost", "a.svc.evil.example"],
)
def test_other_names_are_not(host: str) -> None:
    """Also not those that look like one of ours; unless all are allowed."""
    assert not AllowedHosts("0.0.0.0", ["*.ops.example.org"])(host)
    assert AllowedHosts("0.0.0.0", ["*"])(host)


async def test_a_large_page_is_written_in_pieces(served: Served) -> None:
    """A client that does not read it makes nobody hold it; and it arrives whole."""
    for number in range(200):
        served.scorer.observe_score(f"metric-{number}", "bot", 0.5, "i")
    _, _, body = await served.get("/metrics")
    assert len(body) > 2 * PIECE
    assert body.count("\nrag_interaction_score_count{") == 200
    plain, url = {"Accept-Encoding": "identity"}, f"{served.url}/metrics"
    async with aiohttp.ClientSession() as session, session.head(url, headers=plain) as head:
        assert int(head.headers["Content-Length"]) > 2 * PIECE


async def test_there_is_no_other_page(served: Served) -> None:
    """404, without naming what serves it."""
    status, _, _ = await served.get("/admin")
    assert status == 404


def made(registry: CollectorRegistry) -> HttpServer:
    """A server with nothing to say."""
    telemetry = ProcessTelemetry(registry, "x")
    return HttpServer(registry, Health(lambda: 0.0), telemetry, lambda: Front("x"))


async def test_a_taken_port_is_refused_with_the_mend() -> None:
    """The setting to change is in the message."""
    registry = new_registry()
    server = made(registry)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(DependencyRefused, match=rf"127\.0\.0\.1:{port}: .*set http\.port"):
            await server.start("127.0.0.1", port)
    await server.stop()


async def test_a_server_that_never_started_can_be_stopped() -> None:
    """So that a failed start needs no care."""
    registry = new_registry()
    await made(registry).stop()
    assert registry.get_sample_value("rag_monitor_build_info", {"version": "x"}) == 1
