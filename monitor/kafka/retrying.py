"""Starting clients and asking brokers patiently: what is away is waited for, what says no ends.

aiokafka gives the same error for a broker that is away and for one that refuses us. So every
failure is followed by a probe, which finds out by connections of its own what it was; what other
clients of the process meet meanwhile cannot be taken for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from aiokafka import errors

from monitor.errors import ConfigurationError, DependencyRefused
from monitor.kafka.auth.rotation import plain_client
from monitor.kafka.connection import Connection
from monitor.kafka.probe.diagnose import diagnose, unreadable
from monitor.kafka.problems import PASSING, Problem, ProblemKind, refused
from monitor.kafka.refusals import REFUSALS, refusal
from monitor.runtime.health import Health
from monitor.runtime.logs import logger
from monitor.runtime.offload import retrieved

__all__ = [
    "FIRST_WAIT_S",
    "LONGEST_WAIT_S",
    "REFUSALS",
    "bounded",
    "patiently",
    "refusal",
    "settled",
    "start_patiently",
    "stopped",
]

FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 10.0
#: A broker that is just starting or stopping may hang up in the middle of anything: only what it
#: says again this much later is taken for its answer.
CONFIRM_S = 2.0
STOP_LIMIT_S = 10.0
#: A start that nobody waits for any more ends by itself within this, unless its broker is frozen.
SETTLE_LIMIT_S = 2.0


class Startable(Protocol):
    """What all aiokafka clients have in common."""

    async def start(self) -> Any:
        """Connect."""

    async def stop(self) -> Any:
        """Disconnect."""


StartableT = TypeVar("StartableT", bound=Startable)
ResultT = TypeVar("ResultT")


async def start_patiently(
    build: Callable[[], StartableT], connection: Connection, health: Health, part: str
) -> StartableT:
    """Build and start a client; wait for a broker that is away, as not ready.

    Raises ``DependencyRefused`` when the broker answers and says no.
    """

    async def start() -> StartableT:
        client = connection.renewing(build())
        try:
            await settled(client.start())
            _let_in(client)
        except BaseException:
            await stopped(client.stop(), part)
            raise
        return client

    return await patiently(start, connection, health, part)


def _let_in(client: Startable) -> None:
    """Raises ``KafkaConnectionError`` for a client that has started without hearing of a broker.

    aiokafka takes the refusal of an OAuth token for a yes, and the empty answer to its next request
    for a cluster without topics.
    """
    inner = plain_client(client)
    if inner is not None and not inner.cluster.brokers():
        raise errors.KafkaConnectionError("the cluster names none of its brokers")


async def patiently(
    action: Callable[[], Awaitable[ResultT]],
    connection: Connection,
    health: Health,
    part: str,
    *,
    operation: str = "Read",
) -> ResultT:
    """The action's result, tried again while the broker is away; until then not ready.

    Raises ``DependencyRefused`` when the broker answers and says no. Once it has let us in, a
    refused login or certificate is waited for, too: it may be in the middle of a change.
    """
    wait, problems = FIRST_WAIT_S, connection.problems
    while True:
        try:
            result = await action()
        except REFUSALS as error:
            raise DependencyRefused(refusal(connection, error, operation=operation)) from error
        except (errors.KafkaError, OSError, TimeoutError) as error:
            finding = await _cause(connection, error)
            problems.meet(connection.name, part, finding)
            where = finding.broker or connection.bootstrap_servers
            health.waits(part, f"Kafka {where}: {finding.found}; {finding.mend}")
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_S)
        except ConfigurationError as error:
            if not problems.let_in:
                raise
            problems.meet(connection.name, part, unreadable(error))
            health.waits(part, str(error))
            await asyncio.sleep(LONGEST_WAIT_S)
        else:
            problems.let_in = True
            problems.over(connection.name, part)
            health.ready(part)
            return result


async def _cause(connection: Connection, error: Exception) -> Problem:
    """Why it failed; raises ``DependencyRefused`` when it is a refusal that waiting cannot heal."""
    finding = await diagnose(connection)
    if finding is None:  # it answers by now; or only what was asked for is missing
        message = f"{type(error).__name__}: {error}"
        mend = "it is tried again; if this goes on, look into the broker's log"
        return Problem(ProblemKind.BROKER_AWAY, f"a request failed ({message})", mend)
    if finding.kind not in PASSING and not connection.problems.let_in:
        await asyncio.sleep(CONFIRM_S)
        again = await diagnose(connection)
        if again is not None and again.kind == finding.kind:
            raise DependencyRefused(refused(connection.name, again)) from error
    return finding


async def stopped(stopping: Coroutine[Any, Any, Any], what: str) -> None:
    """Wait for a client to end, but not for ever: its broker may be away.

    In a task of its own: aiokafka swallows a cancellation while it closes a client, and whoever
    was told to end just then would go on for ever.
    """
    task = asyncio.create_task(stopping)
    task.add_done_callback(retrieved)
    await asyncio.wait({task}, timeout=STOP_LIMIT_S)
    if not task.done():
        task.cancel()
        logger().warning("kafka_stop_timeout", what=what)
        return
    task.result()


async def settled(starting: Coroutine[Any, Any, ResultT]) -> ResultT:
    """The start's result; whoever is cancelled meanwhile still lets it end, for a moment.

    aiokafka leaves open the connection by which it asks for the brokers when that is cancelled.
    """
    task = asyncio.create_task(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        try:
            await asyncio.wait({task}, timeout=SETTLE_LIMIT_S)
        finally:  # whatever came of it, nobody asks any more
            task.cancel()
            task.add_done_callback(retrieved)
        raise


async def bounded(action: Awaitable[ResultT], limit_s: float) -> ResultT:
    """The action's result within ``limit_s`` seconds, else ``TimeoutError``."""
    async with asyncio.timeout(limit_s):
        return await action
