"""Schemas are fetched once, waited for while the registry is away, and refused for good reasons."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from monitor.errors import MessageRejected
from monitor.ingest.formats.schema_registry import decoded_by
from monitor.ingest.registry.client import RegistryAccess
from monitor.ingest.registry.store import SchemaStore
from monitor.runtime.health import Health
from tests.servers.ports import free_ports
from tests.stages.process import until
from tests.stages.registered import JSON_SCHEMA, PASSAGE, avro, avro_schema, framed, turn


@dataclass
class Served:
    """What a registry answers, by path; all else is a 404 as a registry has it."""

    answers: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.path, request.headers.get("Authorization")))
        if self.status != 200:
            return web.Response(status=self.status, headers={"Location": "/elsewhere"})
        if request.path not in self.answers:
            return web.json_response({"error_code": 40403, "message": "?"}, status=404)
        found = self.answers[request.path]
        return web.Response(text=found) if isinstance(found, str) else web.json_response(found)


@asynccontextmanager
async def serving(served: Served, port: int) -> AsyncIterator[None]:
    """A registry at this port."""
    app = web.Application()
    app.router.add_get("/{path:.*}", served.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield
    finally:
        await runner.cleanup()


def store(port: int, **access: str) -> tuple[SchemaStore, Health]:
    """One that asks there."""
    health = Health(time.monotonic)
    where = RegistryAccess(f"http://127.0.0.1:{port}/api", **access)
    return SchemaStore(where, health, time.monotonic, first_wait_s=0.05), health


async def known(found: SchemaStore, schema_id: int) -> None:
    """Wait until it is."""
    await until(lambda: found.is_known(schema_id), "the schema", every_s=0.01)


AVRO = {
    "schema": json.dumps(avro_schema(1)),
    "references": [{"name": "rag.Passage", "subject": "rag/passage", "version": 3}],
}


async def test_a_schema_and_what_it_refers_to_are_fetched_once() -> None:
    """Without a type it is Avro; whoever needs it meanwhile waits."""
    (port,), served = free_ports(1), Served()
    served.answers = {
        "/api/schemas/ids/7": AVRO,
        "/api/subjects/rag/passage/versions/3": {"schema": json.dumps(PASSAGE)},
    }
    async with serving(served, port):
        found, health = store(port, username="ann", password="secret")
        assert not any(found.is_known(7) for _ in range(3))
        await known(found, 7)
        assert decoded_by(found, framed(7, avro(turn(1)))) == turn(1)
        await known(found, 7)
    paths = [path for path, _ in served.asked]
    assert paths == ["/api/schemas/ids/7", "/api/subjects/rag/passage/versions/3"]
    assert all(said is not None and said.startswith("Basic ") for _, said in served.asked)
    assert health.waiting == {}


async def test_a_registry_that_is_away_is_waited_for() -> None:
    """It is said what is waited for, until it is back."""
    (port,) = free_ports(1)
    found, health = store(port, token="t0k3n")
    assert not found.is_known(1)
    await until(lambda: health.waiting, "it to be said", every_s=0.01)
    said = health.waiting["registry"]
    assert said.startswith("ingest.registry: it does not answer (")
    assert said.endswith("; records wait for schema 1")
    served = Served({"/api/schemas/ids/1": {"schema": JSON_SCHEMA, "schemaType": "JSON"}})
    async with serving(served, port):
        await known(found, 1)
    assert served.asked[0][1] == "Bearer t0k3n"
    await until(lambda: not health.waiting, "it to be ready", every_s=0.01)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "it refuses us (HTTP 401): check username, password and token"),
        (302, "it leads elsewhere (HTTP 302): set ingest.registry.url to its API"),
        (500, "it answers HTTP 500"),
    ],
)
async def test_what_is_no_answer_about_a_schema_loses_no_record(status: int, said: str) -> None:
    """It is said, and asked again; a redirect is not followed with our password."""
    (port,), served = free_ports(1), Served(status=status)
    served.answers = {"/api/schemas/ids/1": {"schema": JSON_SCHEMA, "schemaType": "JSON"}}
    async with serving(served, port):
        found, health = store(port)
        assert not found.is_known(1)
        await until(lambda: said in health.waiting.get("registry", ""), "it to be said")
        served.status = 200
        await known(found, 1)
    assert {path for path, _ in served.asked} == {"/api/schemas/ids/1"}


@pytest.mark.parametrize(
    ("answer", "cause", "said"),
    [
        (None, "unknown_schema", "record: schema 5: the registry has no schema 5"),
        (
            {"schema": "{}", "schemaType": "XML"},
            "unknown_schema",
            "record: schema 5: schema 5 has a type that is not known here",
        ),
        (
            {"schema": "{}", "references": ["x"]},
            "unknown_schema",
            "record: schema 5: its answer refers to something that is no schema",
        ),
        (
            {"schema": "x" * 9_000_000},
            "unknown_schema",
            "record: schema 5: the registry's answer for schema 5 is larger than 8 MiB",
        ),
        (
            {"schema": "no json"},
            "unreadable_schema",
            "record: schema 5: the schema (AVRO) cannot be read: JSONDecodeError",
        ),
    ],
)
async def test_a_schema_that_is_not_there_or_unreadable_is_a_dead_letter_with_its_id(
    answer: Any, cause: str, said: str
) -> None:
    """Known as that, so that nothing waits for it."""
    (port,), served = free_ports(1), Served()
    if answer is not None:
        served.answers = {"/api/schemas/ids/5": answer}
    async with serving(served, port):
        found, _ = store(port)
        assert not found.is_known(5)
        await known(found, 5)
    errors = []
    for _ in range(2):
        with pytest.raises(MessageRejected) as caught:
            decoded_by(found, framed(5, b"x"))
        errors.append(caught.value)
    assert {(error.cause, str(error)) for error in errors} == {(cause, said)}
    assert errors[0] is not errors[1]  # one that is raised again holds on to every record it met


async def test_who_does_not_wait_is_told_that_it_is_away() -> None:
    """A command looks once."""
    (port,) = free_ports(1)
    found, _ = store(port)
    await asyncio.wait_for(found.fetched(9), 20)
    with pytest.raises(MessageRejected) as caught:
        decoded_by(found, framed(9, b"x"))
    assert "schema 9 cannot be fetched: it does not answer" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b'{"a": 1}', "JSON without the id of a schema, expected a byte 0"),
        (b"\x00\x00", "expected a byte 0 and the id of a schema"),
        (b"\x1f\x8b\x08\x00\x00\x00", "found gzip"),
    ],
)
def test_what_has_no_id_of_a_schema_is_said(value: bytes, said: str) -> None:
    """And what to set instead."""
    found, _ = store(1)
    with pytest.raises(MessageRejected) as caught:
        decoded_by(found, value)
    assert said in str(caught.value)
    assert caught.value.cause == "no_schema_id"
