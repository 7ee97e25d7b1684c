"""What a probe finds at servers that are not, or not quite, the broker that was meant.

Real brokers with their logins and certificates are probed end to end.
"""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from monitor.errors import ConfigurationError
from monitor.kafka.connection import Connection
from monitor.kafka.probe.diagnose import diagnose
from monitor.kafka.probe.steps import ProbeStep, probe
from tests.servers.ports import free_ports
from tests.stages.small_kafka import ended, noted, small_kafka

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server."""
    tasks: set[asyncio.Task[Any]] = set()

    async def handled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        noted(tasks)
        try:
            await handler(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(handled, "127.0.0.1", 0, ssl=tls)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    await ended(tasks)


async def hangs_up(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """At once."""


async def talks_http(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")


async def says_nothing(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


def last(steps: list[ProbeStep]) -> tuple[str, str | None]:
    """The step that failed, and the kind of trouble."""
    assert [step.kind for step in steps[:-1]] == [None] * (len(steps) - 1)
    assert all(bool(step.mend) == (step.kind is not None) for step in steps)
    return steps[-1].name, steps[-1].kind


class Certificates:
    """A CA, the context of a server that it has issued a certificate, and how to reach that."""

    def __init__(self, directory: Path, host: str = "127.0.0.1", **times: Any) -> None:
        self.ca = trustme.CA()
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.ca.issue_cert(host, **times).configure_cert(self.server)
        self.cafile = directory / "ca.pem"
        self.ca.cert_pem.write_to_path(str(self.cafile))
        self.client = Connection("unused:1", security_protocol="SSL", ssl_cafile=self.cafile)


async def test_a_kafka_is_fine() -> None:
    """Step by step, with nothing to mend."""
    async with small_kafka() as kafka:
        steps = await probe(kafka.connection, kafka.address)
    assert [(step.name, step.kind) for step in steps] == [
        ("dns", None),
        ("tcp", None),
        ("kafka", None),
    ]


@pytest.mark.parametrize(
    ("handler", "protocol", "expected"),
    [
        (hangs_up, "PLAINTEXT", ("kafka", "broker_away")),
        (hangs_up, "SSL", ("tls", "broker_away")),
        (talks_http, "PLAINTEXT", ("kafka", "wrong_protocol")),
        (talks_http, "SSL", ("tls", "wrong_protocol")),
        (says_nothing, "PLAINTEXT", ("kafka", "broker_away")),
        (says_nothing, "SSL", ("tls", "broker_away")),
    ],
)
async def test_who_is_no_broker_is_told_from_who_is_away(
    handler: Handler, protocol: str, expected: tuple[str, str]
) -> None:
    """A proxy with nothing behind it passes; what speaks otherwise has to be configured."""
    connection = Connection("unused:1", security_protocol=protocol)
    async with listening(handler) as address:
        assert last(await probe(connection, address, 0.5)) == expected


async def test_tls_spoken_to_in_plaintext_and_the_other_way_round(tmp_path: Path) -> None:
    """Each is recognised, and the mend names the setting."""
    tls = Certificates(tmp_path)
    async with small_kafka(tls.server) as secure, small_kafka() as plain:
        to_tls = await probe(Connection("unused:1"), secure.address)
        to_plain = await probe(tls.client, plain.address)
        right = await probe(tls.client, secure.address)
    assert last(to_tls) == ("kafka", "wrong_protocol")
    assert "speaks TLS" in to_tls[-1].found
    assert last(to_plain) == ("tls", "wrong_protocol")
    assert "does not speak TLS" in to_plain[-1].found
    assert "security_protocol" in to_tls[-1].mend
    assert "security_protocol" in to_plain[-1].mend
    assert last(right) == ("kafka", None)


def day(year: int) -> datetime.datetime:
    return datetime.datetime(year, 1, 1, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("host", "times", "kind", "found"),
    [
        ("127.0.0.1", (2020, 2021), "expired_certificate", "has expired"),
        ("127.0.0.1", (2090, 2091), "expired_certificate", "is not valid yet"),
        ("127.0.0.2", (2020, 2090), "wrong_host", "is not for 127.0.0.1"),
    ],
)
async def test_what_is_wrong_with_a_certificate(
    host: str, times: tuple[int, int], kind: str, found: str, tmp_path: Path
) -> None:
    """Its time and its name are told apart."""
    spans = {"not_before": day(times[0]), "not_after": day(times[1])}
    tls = Certificates(tmp_path, host, **spans)
    async with small_kafka(tls.server) as kafka:
        steps = await probe(tls.client, kafka.address)
    assert last(steps) == ("tls", kind)
    assert found in steps[-1].found


@pytest.mark.parametrize("cafile", [True, False])
async def test_a_certificate_of_another_ca(cafile: bool, tmp_path: Path) -> None:
    """It says which CA was tried: the file, or the system's."""
    right = Certificates(tmp_path)
    (tmp_path / "other").mkdir()
    other = Certificates(tmp_path / "other")
    client = other.client if cafile else replace(other.client, ssl_cafile=None)
    async with small_kafka(right.server) as kafka:
        steps = await probe(client, kafka.address)
    assert last(steps) == ("tls", "wrong_ca")
    assert (str(other.cafile) if cafile else "this system trusts") in steps[-1].found


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_client_certificate_that_is_demanded(
    version: ssl.TLSVersion, tmp_path: Path
) -> None:
    """The alert comes during the handshake, or since TLS 1.3 after it: recognised in both."""
    tls = Certificates(tmp_path)
    tls.server.maximum_version = tls.server.minimum_version = version
    tls.server.verify_mode = ssl.CERT_REQUIRED
    tls.ca.configure_trust(tls.server)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        # In a thread: asyncio's own servers hang up before the alert is sent.
        judging = asyncio.create_task(asyncio.to_thread(_shake_hands, server, tls.server, over))
        steps = await probe(tls.client, f"127.0.0.1:{server.getsockname()[1]}")
        over.set()
        await judging
    assert last(steps) == ("tls", "client_certificate")
    assert "none is configured" in steps[-1].found


def _shake_hands(server: socket.socket, tls: ssl.SSLContext, over: threading.Event) -> None:
    """Take connections, and end each after its handshake."""
    server.settimeout(0.1)
    while not over.is_set():
        with suppress(OSError):
            taken, _ = server.accept()
            with taken:
                taken.settimeout(5)
                tls.wrap_socket(taken, server_side=True).close()


async def test_nobody_listens_and_nobody_has_the_name() -> None:
    """Where the machine is, but not the broker; and where there is no machine."""
    (port,) = free_ports(1)
    connection = Connection("unused:1")
    assert last(await probe(connection, f"127.0.0.1:{port}")) == ("tcp", "broker_away")
    assert last(await probe(connection, "no-such-host.invalid:9092")) == ("dns", "dns")


async def test_files_that_cannot_be_read_are_the_settings_fault(tmp_path: Path) -> None:
    """Nothing is probed then."""
    connection = Connection("k:1", security_protocol="SSL", ssl_cafile=tmp_path / "none.pem")
    with pytest.raises(ConfigurationError, match=r"none\.pem"):
        await probe(connection, "127.0.0.1:1")


async def test_one_broker_that_answers_is_a_cluster_that_does() -> None:
    """The others may be restarted one after the other."""
    (port,) = free_ports(1)
    async with small_kafka() as kafka:
        some = Connection(f"127.0.0.1:{port}, {kafka.address}")
        assert await diagnose(some, 1.0) is None


async def test_a_refusal_says_more_than_silence() -> None:
    """Of several addresses the most telling finding is taken."""
    (port,) = free_ports(1)
    async with listening(talks_http) as address:
        finding = await diagnose(Connection(f"127.0.0.1:{port},{address}"), 1.0)
    assert finding is not None
    assert (finding.kind.value, finding.broker) == ("wrong_protocol", address)


async def test_the_addresses_that_the_cluster_tells_have_to_be_reached() -> None:
    """Nobody there: it says whose word that was."""
    (port,) = free_ports(1)
    async with small_kafka() as kafka:
        kafka.told = f"127.0.0.1:{port}"
        finding = await diagnose(kafka.connection, 1.0)
        assert finding is not None
        assert finding.broker == kafka.told
        assert f"announced by {kafka.address}" in finding.found
        assert "advertised.listeners" in finding.mend
