"""Asks a cluster for its time every few seconds, and says so when this machine's is another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from aiokafka import AIOKafkaClient, errors

from monitor.kafka.connection import Connection
from monitor.kafka.flexible_requests import QuorumRequest, controller_ms
from monitor.kafka.retrying import settled, stopped
from monitor.runtime.health import Health
from monitor.runtime.logs import logger

EVERY_S, LIMIT_S = 5.0, 5.0
#: One request; below the limit of the whole look, so that the client itself hangs up.
REQUEST_S = 2.0
#: To a cluster that does not tell: rights may be granted while we run.
SELDOM_S = 300.0
#: What it is called in /readyz.
PART = "clock"
_TOO_OLD = (errors.IncompatibleBrokerVersion, NotImplementedError)


class ClockWatch:
    """Compares with one cluster; what differs by more than ``limit_s`` seconds is off.

    ``show`` is given the difference (broker − own, seconds) whenever it is looked at.
    """

    def __init__(
        self,
        connection: Connection,
        health: Health,
        limit_s: float,
        show: Callable[[float], None],
    ) -> None:
        self._connection, self._health = connection, health
        self._limit_s, self._show = limit_s, show
        self._part = PART if connection.section == "kafka" else f"{PART}_{connection.section}"
        self._client: AIOKafkaClient | None = None
        self._is_off = self._reported_unknown = False

    async def run(self) -> None:
        """Look for ever."""
        asked_at = -SELDOM_S
        loop, every_s = asyncio.get_running_loop(), EVERY_S
        try:
            while True:
                # Whether it lets us in, others find out: a login that is refused may be locked.
                problems = self._connection.problems
                welcome = problems.let_in and not problems.is_refused
                if welcome and loop.time() - asked_at >= every_s:
                    asked_at = loop.time()
                    every_s = EVERY_S if await self._ask() else SELDOM_S
                self._look()
                await asyncio.sleep(EVERY_S)
        finally:
            await self._hang_up()

    def _look(self) -> None:
        """Say what is so now; writes may have told of the time, too."""
        clock = self._connection.clock
        if clock.offset_s is not None:
            self._show(clock.offset_s)
        is_off = clock.is_off(self._limit_s)
        if is_off:
            where = self._connection.bootstrap_servers
            self._health.waits(self._part, f"{clock.in_words} ({where}); set it right")
        if is_off == self._is_off:
            return
        self._is_off = is_off
        if is_off:
            logger().error(
                "clock_off",
                broker=self._connection.bootstrap_servers,
                offset_s=round(clock.offset_s or 0.0, 1),
                hint=f"{clock.in_words}: set it right; windows, budgets and pauses go by it",
            )
        else:
            self._health.ready(self._part)
            logger().info("clock_right", broker=self._connection.bootstrap_servers)

    async def _ask(self) -> bool:
        """Whether it is worth asking again soon."""
        try:
            async with asyncio.timeout(LIMIT_S):
                return await self._ask_once()
        except _TOO_OLD:
            self._unknown("Kafka 3.3 with KRaft, or newer, reports its time")
            return False
        except (
            errors.KafkaError,
            OSError,
            TimeoutError,
            ValueError,
        ):  # away: another check says so
            await self._hang_up()
            return True

    async def _ask_once(self) -> bool:
        client, clock = await self._connected(), self._connection.clock
        node = client.get_random_node()
        if node is None:
            raise errors.NodeNotReadyError
        began_s = clock.own()
        found = controller_ms(await client.send(node, QuorumRequest()))
        if found is None:
            self._unknown("grant Describe on the cluster, and it reports its time")
            return False
        clock.observe(found / 1000, began_s)
        return True

    async def _connected(self) -> AIOKafkaClient:
        if self._client is None:
            options = self._connection.options() | {"request_timeout_ms": int(REQUEST_S * 1000)}
            client = self._connection.renewing(AIOKafkaClient(**options))
            try:
                await settled(client.bootstrap())
            except BaseException:
                await stopped(client.close(), self._part)
                raise
            self._client = client
        return self._client

    def _unknown(self, hint: str) -> None:
        if not self._reported_unknown:
            self._reported_unknown = True
            logger().info("broker_time_unknown", what=self._part, hint=hint)

    async def _hang_up(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            with suppress(errors.KafkaError, OSError):
                await stopped(client.close(), self._part)
