"""Starting clients and asking brokers patiently: what is away is waited for, what says no ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, Self, TypeVar

from aiokafka import errors

from monitor.errors import DependencyRefused
from monitor.health import Health
from monitor.kafka.connection import Connection
from monitor.logs import logger

FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 10.0
UNREACHABLE = "waiting for it; check kafka.bootstrap_servers, security_protocol and sasl_*"

#: Answers of a broker that waiting does not heal.
REFUSALS = (
    errors.TopicAuthorizationFailedError,
    errors.GroupAuthorizationFailedError,
    errors.ClusterAuthorizationFailedError,
    errors.AuthenticationFailedError,
    errors.SaslAuthenticationFailed,
    errors.UnsupportedSaslMechanismError,
    errors.InvalidTopicError,
)


class Startable(Protocol):
    """What all aiokafka clients have in common."""

    async def start(self) -> Any:
        """Connect."""

    async def stop(self) -> Any:
        """Disconnect."""


Client = TypeVar("Client", bound=Startable)
Result = TypeVar("Result")


class _Overheard(logging.Handler):
    """What aiokafka logs while a client starts.

    A wrong password ends in «Unable to bootstrap», as a broker that is away does; the cause stands
    in the log only.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.login_refused = ""

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if "Authentication" in message or "UnsupportedSaslMechanism" in message:
            self.login_refused = message

    def __enter__(self) -> Self:
        logging.getLogger("aiokafka").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("aiokafka").removeHandler(self)


async def start_patiently(
    build: Callable[[], Client], connection: Connection, health: Health, part: str
) -> Client:
    """Build and start a client; wait for a broker that is away, as not ready.

    Raises ``DependencyRefused`` when the broker answers and says no.
    """

    async def start() -> Client:
        client = build()
        with _Overheard() as said:
            try:
                await client.start()
            except BaseException:
                await client.stop()
                if said.login_refused:
                    raise DependencyRefused(refusal(connection, said.login_refused)) from None
                raise
        return client

    return await patiently(start, connection, health, part)


async def patiently(
    action: Callable[[], Awaitable[Result]], connection: Connection, health: Health, part: str
) -> Result:
    """The action's result, tried again while the broker is away; until then not ready.

    Raises ``DependencyRefused`` when the broker answers and says no.
    """
    wait = FIRST_WAIT_S
    while True:
        try:
            result = await action()
        except REFUSALS as error:
            raise DependencyRefused(refusal(connection, error)) from error
        except (errors.KafkaError, OSError, TimeoutError) as error:
            why = f"broker {connection.bootstrap_servers} ({connection.security_protocol})"
            health.waits(part, why)
            logger().warning(
                "kafka_unreachable", what=part, broker=why, error=str(error), hint=UNREACHABLE
            )
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_S)
        else:
            health.ready(part)
            return result


def refusal(connection: Connection, error: Exception | str, topic: str = "") -> str:
    """One line that names broker, protocol, principal and topic."""
    why = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    who = f" as {connection.sasl_username}" if connection.sasl_username else ""
    where = f", topic {topic}" if topic else ""
    return (
        f"Kafka {connection.bootstrap_servers} ({connection.security_protocol}{who}{where}) "
        f"refuses: {why}; check kafka.* settings and the broker's rights"
    )


async def bounded(action: Awaitable[Result], limit_s: float) -> Result:
    """The action's result within ``limit_s`` seconds, else ``TimeoutError``."""
    async with asyncio.timeout(limit_s):
        return await action
