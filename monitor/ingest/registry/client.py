"""Asking a registry for a schema, over Confluent's API (``GET /schemas/ids/ID``)."""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import aiohttp

from monitor.ingest.registry.schema import SCHEMA_TYPES, Schema

_TIMEOUT: Final = aiohttp.ClientTimeout(total=10.0)
#: Schemas that one may refer to, in all; and bytes of an answer.
_MOST_REFERENCES, _MOST_BYTES = 100, 8_388_608
#: What a registry says of an id that is none, or of what is gone: asking again changes nothing.
_NEVER: Final = frozenset({400, 404, 410, 422})


class RegistryAwayError(Exception):
    """No answer that says anything of the schema: asked again, it may come."""


class NoSuchSchemaError(Exception):
    """The registry has answered, and has no such schema, or none that can be read."""


@dataclass(frozen=True)
class RegistryAccess:
    """Where the registry is, and who we are there; ``ca_file`` None: the system's authorities."""

    url: str
    username: str | None = None
    password: str | None = None
    token: str | None = None
    ca_file: str | None = None


async def schema(access: RegistryAccess, schema_id: int) -> Schema:
    """The schema with this id, and all that it refers to.

    Raises ``RegistryAwayError`` or ``NoSuchSchemaError``, which say why.
    """
    headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
    if access.username is not None:
        pair = f"{access.username}:{access.password or ''}".encode()
        headers["Authorization"] = f"Basic {b64encode(pair).decode()}"
    elif access.token is not None:
        headers["Authorization"] = f"Bearer {access.token}"
    async with aiohttp.ClientSession(headers=headers, timeout=_TIMEOUT) as session:
        calls = _RegistryCalls(session, access, _tls(access))
        found = await calls.get(f"/schemas/ids/{schema_id}", f"schema {schema_id}")
        named = found.get("schemaType") or "AVRO"
        kind = next((each for each in SCHEMA_TYPES if each == named), None)
        if kind is None:
            raise NoSuchSchemaError(f"schema {schema_id} has a type that is not known here")
        references = await calls.referred(found, {})
        return Schema(kind, _text(found, f"schema {schema_id}"), tuple(references.items()))


def _tls(access: RegistryAccess) -> ssl.SSLContext | bool:
    return True if access.ca_file is None else ssl.create_default_context(cafile=access.ca_file)


@dataclass(frozen=True)
class _RegistryCalls:
    session: aiohttp.ClientSession
    access: RegistryAccess
    tls: ssl.SSLContext | bool

    async def referred(self, found: dict[str, Any], known: dict[str, str]) -> dict[str, str]:
        """Texts by their names, those that others refer to first."""
        for each in found.get("references") or ():
            if not isinstance(each, dict):
                raise NoSuchSchemaError("its answer refers to something that is no schema")
            name, subject = str(each.get("name")), str(each.get("subject"))
            if name in known:
                continue
            if len(known) >= _MOST_REFERENCES:
                raise NoSuchSchemaError(f"it refers to more than {_MOST_REFERENCES} others")
            version = str(each.get("version"))
            path = f"/subjects/{quote(subject, safe='')}/versions/{quote(version, safe='')}"
            other = await self.get(path, f"version {version} of {subject}, which it refers to")
            known[name] = ""
            await self.referred(other, known)
            del known[name]
            known[name] = _text(other, subject)
        return known

    async def get(self, path: str, what: str) -> dict[str, Any]:
        """The answer; raises ``RegistryAwayError`` and ``NoSuchSchemaError``."""
        url = self.access.url.rstrip("/") + path
        try:
            async with self.session.get(url, ssl=self.tls, allow_redirects=False) as response:
                if response.status in _NEVER:
                    raise NoSuchSchemaError(f"the registry has no {what}")
                if response.status != 200:
                    raise RegistryAwayError(_in_words(response.status))
                body = await _whole(response.content, what)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise RegistryAwayError(f"it does not answer ({type(error).__name__})") from error
        return _object(body, what)


async def _whole(content: aiohttp.StreamReader, what: str) -> bytes:
    """The body; raises ``NoSuchSchemaError`` for one that no schema is as large as."""
    body = bytearray()
    async for chunk in content.iter_chunked(65_536):
        body += chunk
        if len(body) > _MOST_BYTES:
            raise NoSuchSchemaError(f"the registry's answer for {what} is larger than 8 MiB")
    return bytes(body)


def _in_words(status: int) -> str:
    if status in (401, 403):
        return f"it refuses us (HTTP {status}): check username, password and token"
    if 300 <= status < 400:
        return f"it leads elsewhere (HTTP {status}): set ingest.registry.url to its API"
    return f"it answers HTTP {status}"


def _object(body: bytes, what: str) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError as error:
        raise RegistryAwayError(
            "its answer is no JSON: set ingest.registry.url to the path of its API"
        ) from error
    if not isinstance(found, dict):
        raise NoSuchSchemaError(f"its answer for {what} is no object")
    return found


def _text(found: dict[str, Any], what: str) -> str:
    text = found.get("schema")
    if not isinstance(text, str):
        raise NoSuchSchemaError(f"its answer for {what} has no schema")
    return text
