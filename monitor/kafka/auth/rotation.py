"""Passwords that may be changed while we run: asked for again at every connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiokafka import AIOKafkaClient

from monitor.runtime.logs import logger


class KeptSecret:
    """What a secret file holds now, or held last when it cannot be read.

    A file is empty or missing for a moment while it is replaced; ``name`` is the setting's.
    """

    def __init__(self, read: Callable[[], str], first: str, name: str) -> None:
        self._read, self._last, self._name = read, first, name

    def __call__(self) -> str:
        """The secret."""
        try:
            found = self._read()
        except (OSError, UnicodeDecodeError) as error:
            self._keep((error.strerror if isinstance(error, OSError) else "") or "not UTF-8")
            return self._last
        if not found:
            self._keep("it is empty")
        elif found != self._last:
            self._last = found
            logger().info("kafka_secret_reloaded", what=self._name)
        return self._last

    def _keep(self, why: str) -> None:
        logger().warning(
            "kafka_secret_kept",
            what=self._name,
            error=why,
            hint="the previous one is used; the next connection reads the file again",
        )


class _Asking:
    """Mixed into an aiokafka client: the password is asked for where it is used."""

    _asks: Callable[[], str | None]

    @property
    def _sasl_plain_password(self) -> str | None:
        return type(self)._asks()


def plain_client(client: Any) -> AIOKafkaClient | None:
    """The plain client inside a consumer, a producer or an admin client; None in anything else."""
    for found in (client, getattr(client, "_client", None), getattr(client, "client", None)):
        if isinstance(found, AIOKafkaClient):
            return found
    return None


def ask_for_password(client: Any, password: Callable[[], str | None]) -> None:
    """Make an aiokafka client ask for the password at every connection to a broker.

    A consumer, a producer, an admin client or a plain one: each has a plain client inside, which
    keeps the password that it was built with, and reads that attribute once per connection.
    """
    inner = plain_client(client)
    assert inner is not None, "no client of aiokafka"
    kind = type(inner)
    inner.__class__ = type(kind.__name__, (_Asking, kind), {"_asks": staticmethod(password)})
