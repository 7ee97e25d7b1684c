"""Schemas that were fetched, and those that are: records that need one wait, and nothing else does.

A schema never changes under its id, so it is kept for good. A registry that is away is asked again
until it answers; that it has no such schema is asked again now and then, since copies of a registry
may lag behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from monitor.errors import MessageRejected
from monitor.ingest.formats.schema_registry import Decode
from monitor.ingest.registry import client
from monitor.ingest.registry.client import NoSuchSchemaError, RegistryAccess, RegistryAwayError
from monitor.ingest.registry.decoding import UnreadableSchemaError, decode_by
from monitor.records import Reason
from monitor.runtime.health import Health
from monitor.runtime.logs import logger

#: Name in /readyz.
REGISTRY: Final = "registry"
#: Seconds between two tries while it is away, doubled up to the second; and for how long it is
#: believed that there is no such schema.
FIRST_WAIT_S, LONGEST_WAIT_S, ABSENT_S = 0.5, 10.0, 60.0


_MOST_REFUSED: Final = 10_000


class _RefusedSchema(NamedTuple):
    """Why nobody can decode by a schema, and until when that is believed (monotonic seconds)."""

    why: str
    cause: str
    until: float


class SchemaStore:
    """All schemas of one registry; ``monotonic`` gives seconds.

    While it is away it is asked again after ``first_wait_s``, and then less and less often.
    """

    def __init__(
        self,
        access: RegistryAccess,
        health: Health,
        monotonic: Callable[[], float],
        first_wait_s: float = FIRST_WAIT_S,
    ) -> None:
        self._access, self._health, self._monotonic = access, health, monotonic
        self._first_wait_s = first_wait_s
        self._decodes: dict[int, Decode] = {}
        self._refused: dict[int, _RefusedSchema] = {}
        self._fetches: dict[int, asyncio.Task[None]] = {}

    def is_known(self, schema_id: int) -> bool:
        """Whether ``decode_of`` can be asked; if not, it is fetched until it is."""
        if schema_id in self._decodes:
            return True
        refused = self._refused.get(schema_id)
        if refused is not None and self._monotonic() < refused.until:
            return True
        if schema_id not in self._fetches:
            try:
                task = asyncio.get_running_loop().create_task(self._fetch(schema_id))
            except RuntimeError:  # nobody runs who could fetch it
                return False
            self._fetches[schema_id] = task
            task.add_done_callback(lambda _: self._fetches.pop(schema_id, None))
        return False

    def decode_of(self, schema_id: int) -> Decode:
        """How a payload is decoded; raises ``MessageRejected`` with the schema's id."""
        decode = self._decodes.get(schema_id)
        if decode is None:
            refused = self._refused[schema_id]
            # A new one each time: what was raised before holds on to the records that it met.
            raise MessageRejected(refused.why, stage="decode", cause=refused.cause)
        return decode

    async def fetched(self, schema_id: int) -> None:
        """Fetch it, once: a registry that is away is an answer, too."""
        if schema_id in self._decodes:
            return
        try:
            await self._ask(schema_id)
        except RegistryAwayError as error:
            self._refuse(
                schema_id, f"schema {schema_id} cannot be fetched: {error}", "unknown_schema"
            )

    async def _fetch(self, schema_id: int) -> None:
        wait_s, was_away = self._first_wait_s, False
        while True:
            try:
                await self._ask(schema_id)
            except RegistryAwayError as error:
                why = f"ingest.registry: {error}; records wait for schema {schema_id}"
                self._health.waits(REGISTRY, why)
                if not was_away:
                    logger().error("registry_away", hint=why)
                was_away = True
                await asyncio.sleep(wait_s)
                wait_s = min(LONGEST_WAIT_S, 2 * wait_s)
            except Exception as bug:  # noqa: BLE001 - ours; records that wait for it would for ever
                logger().error("registry_bug", exc_info=bug)
                why = f"schema {schema_id}: internal error: {type(bug).__name__}"
                self._refuse(schema_id, why, Reason.INTERNAL)
                break
            else:
                break
        if was_away:
            logger().info("registry_back")
        self._health.ready(REGISTRY)

    async def _ask(self, schema_id: int) -> None:
        """It is known afterwards; raises ``RegistryAwayError``."""
        try:
            found = await client.schema(self._access, schema_id)
        except NoSuchSchemaError as error:
            self._refuse(schema_id, f"schema {schema_id}: {error}", "unknown_schema")
            return
        try:
            self._decodes[schema_id] = await asyncio.to_thread(decode_by, found)
        except UnreadableSchemaError as error:
            self._refuse(schema_id, f"schema {schema_id}: {error}", "unreadable_schema")
        else:
            self._refused.pop(schema_id, None)

    def _refuse(self, schema_id: int, why: str, cause: str) -> None:
        until = self._monotonic() + ABSENT_S
        self._refused.pop(schema_id, None)
        if len(self._refused) >= _MOST_REFUSED:  # ids come from the traffic
            del self._refused[next(iter(self._refused))]
        self._refused[schema_id] = _RefusedSchema(f"record: {why}", cause, until)
