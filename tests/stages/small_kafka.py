"""The two answers of a Kafka that a probe and a pulse need, and ways to withhold them."""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from monitor.kafka.connection import Connection

_API_VERSIONS, _METADATA = 18, 3


@dataclass
class SmallKafka:
    """A server on ``port``; ``told`` is the address that it tells its clients to go to."""

    port: int = 0
    told: str = ""
    #: Cleared: it reads, and answers nothing.
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    #: Set once somebody has asked for the brokers, which are told ``pause_s`` seconds later.
    asked_for_brokers: asyncio.Event = field(default_factory=asyncio.Event)
    pause_s: float = 0.0
    connections: list[asyncio.StreamWriter] = field(default_factory=list)
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"127.0.0.1:{self.port}"

    @property
    def connection(self) -> Connection:
        """How to reach it."""
        return Connection(self.address)

    def hang_up(self) -> None:
        """Close all connections."""
        for writer in self.connections:
            writer.transport.abort()

    async def over(self) -> None:
        """Hang up on everybody, and return when both ends know."""
        self.answers.set()
        self.hang_up()
        await ended(self.tasks)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections.append(writer)
        noted(self.tasks)
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                if size > 1_000_000:  # as a Kafka does: this is no request, but TLS perhaps
                    return
                key, _, correlation = struct.unpack(">hhi", (await reader.readexactly(size))[:8])
                if key == _METADATA:
                    self.asked_for_brokers.set()
                    await asyncio.sleep(self.pause_s)
                await self.answers.wait()
                body = struct.pack(">i", correlation) + self._answer(key)
                writer.write(struct.pack(">i", len(body)) + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()

    def _answer(self, key: int) -> bytes:
        if key == _API_VERSIONS:  # v0: no error; ApiVersions v0 and Metadata v1 are known
            known = ((_API_VERSIONS, 0, 0), (_METADATA, 0, 1))
            return struct.pack(">hi", 0, 2) + b"".join(struct.pack(">hhh", *each) for each in known)
        host, _, port = (self.told or self.address).rpartition(":")
        name = struct.pack(">h", len(host)) + host.encode()
        broker = struct.pack(">i", 1) + name + struct.pack(">i", int(port)) + struct.pack(">h", -1)
        return struct.pack(">i", 1) + broker + struct.pack(">ii", 1, 0)


@asynccontextmanager
async def small_kafka(tls: ssl.SSLContext | None = None) -> AsyncIterator[SmallKafka]:
    """One on a free port, answering."""
    kafka = SmallKafka()
    kafka.answers.set()
    server = await asyncio.start_server(kafka.serve, "127.0.0.1", 0, ssl=tls)
    kafka.port = server.sockets[0].getsockname()[1]
    try:
        yield kafka
    finally:
        server.close()
        await kafka.over()


def noted(tasks: set[asyncio.Task[Any]]) -> None:
    """Add the current task."""
    if task := asyncio.current_task():
        tasks.add(task)


async def ended(tasks: set[asyncio.Task[Any]]) -> None:
    """Return when all have ended, and transports that were aborted are closed."""
    await asyncio.gather(*tasks, return_exceptions=True)
    for _ in range(3):
        await asyncio.sleep(0)
